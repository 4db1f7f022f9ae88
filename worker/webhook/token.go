package webhook

import (
	"errors"
	"fmt"
	"time"

	"pnyx/access"
	"pnyx/warehouse/accounts"
)

// CheckToken returns an error unless a token may have endpoints at a time: it is valid, and
// opens the lists of events and signals. launchedAt is the launch of v2; zero for none.
func CheckToken(t accounts.Token, launchedAt, now time.Time) error {
	caller := access.Caller{}
	for _, scope := range t.Scopes {
		caller.Scopes = append(caller.Scopes, access.Scope(scope))
	}
	caller.Scopes = access.EffectiveScopes(caller.Scopes, t.CreatedAt, launchedAt, now)
	switch {
	case t.RevokedAt != nil:
		return errors.New("the token is revoked")
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return errors.New("the token has expired")
	case !caller.HasScope(access.V2Standard):
		return fmt.Errorf("the token lacks the scope %s", access.V2Standard)
	}
	return nil
}
