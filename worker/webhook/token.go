package webhook

import (
	"errors"
	"fmt"
	"time"

	"pnyx/access"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
)

// CheckToken returns an error unless a token may have endpoints at a time: it is valid, and opens events and
// signals. launchedAt is the launch of v2; zero for none.
func CheckToken(t accounts.Token, launchedAt, now time.Time) error {
	scopes := warehouse.Values(t.Scopes, func(scope string) access.Scope { return access.Scope(scope) })
	caller := access.Caller{Scopes: access.EffectiveScopes(scopes, t.CreatedAt, launchedAt, now)}
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
