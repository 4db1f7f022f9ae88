package accounts

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
)

// rankShift puts the rank of a payment's state above all revisions, which are times in
// microseconds.
const rankShift = 60

// ledgerRevision returns the revision by which the ledger keeps one state of a payment: a settlement with its
// transaction, or else a settlement, or else the latest state, in whatever order nodes learn them.
func ledgerRevision(p governance.Payment) uint64 {
	switch {
	case p.State != governance.PaymentSettled:
		return p.Revision
	case p.Transaction == "":
		return p.Revision | 1<<rankShift
	}
	return p.Revision | 2<<rankShift
}

// WritePayments writes states of payments to the ledger. Writing a state again changes nothing.
func (a Accounts) WritePayments(ctx context.Context, payments []governance.Payment) error {
	rows := warehouse.Values(payments, func(p governance.Payment) []any {
		return []any{
			p.ID, string(p.State), p.RouteID, p.Request, p.Header, p.Payer, p.PayTo, p.Nonce,
			p.Network, p.Asset, p.Symbol, p.Amount, p.Units,
			p.ValidBefore.Time(), p.ClaimedAt.Time(), p.ChangedAt.Time(), warehouse.TimeOrNull(p.SettledAt),
			p.Transaction, p.Reason, uint32(p.Attempts), p.Unanswered, string(p.Settlement), ledgerRevision(p), //nolint:gosec // a small count
		}
	})
	return warehouse.InsertRows(ctx, a.w, sqlText("payment_insert"), fmt.Sprintf("write %d payments", len(payments)), rows)
}

// PaymentFilter selects payments; its zero value selects all.
type PaymentFilter struct {
	// ValidAfter selects authorizations that expire after it, Since payments claimed at or after it.
	ValidAfter, Since time.Time
	// State and Payer select payments in one state and of one payer; empty for any.
	State governance.PaymentState
	Payer string
	// Limit bounds the number of payments, newest first; 0 for no bound.
	Limit uint64
}

// Payments returns the payments that the filter selects, newest first.
func (a Accounts) Payments(ctx context.Context, f PaymentFilter) ([]governance.Payment, error) {
	type row struct {
		governance.Payment
		Amount   decimal.Decimal
		Attempts uint32
	}
	if f.Limit == 0 {
		f.Limit = math.MaxInt64
	}
	payer := strings.ToLower(f.Payer)
	rows, err := warehouse.Find[row](ctx, a.w, "read payments", sqlText("payment_list"), unixMilliseconds(f.ValidAfter),
		unixMilliseconds(f.Since), string(f.State), string(f.State), payer, payer, f.Limit)
	return warehouse.Values(rows, func(r row) governance.Payment {
		p := r.Payment
		p.Amount, p.Attempts = r.Amount.String(), int(r.Attempts)
		p.Revision &= 1<<rankShift - 1
		if len(p.Settlement) == 0 {
			p.Settlement = nil
		}
		return p
	}), err
}

// unixMilliseconds returns the milliseconds of a time; 0 for the zero time.
func unixMilliseconds(t time.Time) int64 { return max(t.UnixMilli(), 0) }
