package webhook

import (
	"errors"
	"fmt"
	"time"

	"pnyx/access"
	"pnyx/warehouse/accounts"
)

// CheckToken returns an error unless a token may have endpoints at a time: it is valid, and
// opens the lists of events and signals.
func CheckToken(t accounts.Token, now time.Time) error {
	caller := access.Caller{}
	for _, scope := range t.Scopes {
		caller.Scopes = append(caller.Scopes, access.Scope(scope))
	}
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
