package accounts

import (
	"context"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
)

// Usage counts the requests of a token on one route on one day.
type Usage struct {
	// TokenID is empty for payments without a token.
	TokenID string
	Day     time.Time // midnight UTC
	Route   string
	// Session is the run of the API node that counted; empty for a sum over all.
	Session string
	governance.UsageCounts
}

// PutUsage writes the counts of sessions since their start. Writing equal or earlier counts again changes nothing.
func (a Accounts) PutUsage(ctx context.Context, counts []Usage) error {
	return warehouse.InsertRows(ctx, a.w, `INSERT INTO usage_counts (token_id, day, route, session,
		requests, ok, not_modified, refused, failed, charged, bytes, payments)`, "write usage",
		warehouse.Values(counts, func(u Usage) []any {
			return []any{
				u.TokenID, u.Day, u.Route, u.Session,
				u.Requests, u.OK, u.NotModified, u.Refused, u.Failed, u.Charged, u.Bytes, u.Payments,
			}
		}))
}

// UsageBetween returns the usage of some tokens, or of all if none are named, summed over sessions, from the day
// first to the day last, inclusive.
func (a Accounts) UsageBetween(ctx context.Context, first, last time.Time, tokenIDs []string) ([]Usage, error) {
	ids := warehouse.NonNilTexts(tokenIDs)
	return warehouse.Find[Usage](ctx, a.w, "read usage", sqlText("usage_between"),
		first.Format(time.DateOnly), last.Format(time.DateOnly), ids, ids)
}

// LastUsedDays returns the last day, midnight UTC, with a request of each token, by the token's id.
func (a Accounts) LastUsedDays(ctx context.Context) (map[string]time.Time, error) {
	return warehouse.FindBy[string, time.Time](ctx, a.w, "read the last use of tokens", sqlText("usage_last_days"))
}
