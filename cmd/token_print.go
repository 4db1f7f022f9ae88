package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"pnyx/access"
	"pnyx/governance"
	"pnyx/warehouse"
)

// stateOf says in a word whether a token is good.
func stateOf(t warehouse.Token, now time.Time) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked"
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return "expired"
	case now.Before(t.PreviousUntil):
		return "valid, the one before too"
	}
	return "valid"
}

// endOf is when a token expires, for people.
func endOf(t warehouse.Token) string {
	if t.ExpiresAt == nil {
		return "never"
	}
	return t.ExpiresAt.UTC().Format(time.DateTime)
}

// shownToken is what may be seen of a token.
type shownToken struct {
	ID            string                `json:"id"`
	Token         string                `json:"token,omitempty"`
	Name          string                `json:"name"`
	Plan          string                `json:"plan"`
	Scopes        []string              `json:"scopes"`
	Limits        []uint32              `json:"limits,omitempty"`
	CreatedAt     governance.Timestamp  `json:"createdAt"`
	ExpiresAt     *governance.Timestamp `json:"expiresAt"`
	PreviousUntil *governance.Timestamp `json:"previousUntil"`
	RevokedAt     *governance.Timestamp `json:"revokedAt"`
	State         string                `json:"state"`
}

// printNewToken prints a token that was just made.
func printNewToken(out io.Writer, t warehouse.Token, raw string, asJSON bool) error {
	if asJSON {
		seen := seenOf(t)
		seen.Token = raw
		return json.NewEncoder(out).Encode(seen)
	}
	_, err := fmt.Fprintf(out, "token %s of %s, plan %s, scopes %s\n\n  %s\n\nIt is shown this once. It goes into the header %s.\n",
		t.ID, t.Name, t.Plan, strings.Join(t.Scopes, ","), raw, strings.ToLower(access.HeaderToken))
	return err
}

func printTokensJSON(out io.Writer, tokens ...warehouse.Token) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, t := range tokens {
		if err := encoder.Encode(seenOf(t)); err != nil {
			return err
		}
	}
	return nil
}

func seenOf(t warehouse.Token) shownToken {
	seen := shownToken{
		ID: t.ID, Name: t.Name, Plan: t.Plan, Scopes: t.Scopes, Limits: t.Limits, CreatedAt: governance.TimestampOf(t.CreatedAt),
		ExpiresAt: stampOf(t.ExpiresAt), RevokedAt: stampOf(t.RevokedAt), State: stateOf(t, time.Now()),
	}
	if t.PreviousUntil.Unix() > 0 {
		seen.PreviousUntil = stampOf(&t.PreviousUntil)
	}
	return seen
}

func stampOf(moment *time.Time) *governance.Timestamp {
	if moment == nil {
		return nil
	}
	stamp := governance.TimestampOf(*moment)
	return &stamp
}
