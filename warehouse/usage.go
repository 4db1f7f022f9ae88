package warehouse

import (
	"context"
	"fmt"
	"time"
)

// Usage is what a token was used for on one route in one day.
type Usage struct {
	TokenID string
	// Day is midnight UTC.
	Day   time.Time
	Route string
	// Session is the API node that counted; empty for a sum over all.
	Session string

	Requests, OK, NotModified, Refused, Failed uint64
	// Charged counts the answers of the month's quota, Bytes those of bodies.
	Charged, Bytes, Payments uint64
}

// PutUsage writes what sessions have counted so far. Writing the same again, or an
// earlier count, changes nothing.
func (w *Warehouse) PutUsage(ctx context.Context, counts []Usage) error {
	insert, err := w.conn.PrepareBatch(ctx, `INSERT INTO usage_counts (token_id, day, route, session,
		requests, ok, not_modified, refused, failed, charged, bytes, payments)`)
	if err != nil {
		return fmt.Errorf("write usage: %w", classifyError(err))
	}
	defer insert.Close()
	for _, u := range counts {
		if err := insert.Append(u.TokenID, u.Day, u.Route, u.Session,
			u.Requests, u.OK, u.NotModified, u.Refused, u.Failed, u.Charged, u.Bytes, u.Payments); err != nil {
			return fmt.Errorf("write usage: %w", err)
		}
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("write usage: %w", classifyError(err))
	}
	return nil
}

// UsageBetween returns the use by some tokens, or by all when none are named, from
// one day to another, both included.
func (w *Warehouse) UsageBetween(ctx context.Context, first, last time.Time, tokenIDs []string) ([]Usage, error) {
	rows, err := w.conn.Query(ctx, sqlText("usage_between"),
		first.Format(time.DateOnly), last.Format(time.DateOnly), nonNilTexts(tokenIDs), nonNilTexts(tokenIDs))
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", classifyError(err))
	}
	defer rows.Close()
	var all []Usage
	for rows.Next() {
		var u Usage
		if err := rows.Scan(&u.TokenID, &u.Day, &u.Route,
			&u.Requests, &u.OK, &u.NotModified, &u.Refused, &u.Failed, &u.Charged, &u.Bytes, &u.Payments); err != nil {
			return nil, fmt.Errorf("read usage: %w", err)
		}
		all = append(all, u)
	}
	return all, classifyError(rows.Err())
}
