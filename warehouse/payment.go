package warehouse

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// WritePayments appends states of payments to the ledger. It may be called again
// with the same ones.
func (w *Warehouse) WritePayments(ctx context.Context, payments []governance.Payment) error {
	insert, err := w.conn.PrepareBatch(ctx, sqlText("payment_insert"))
	if err != nil {
		return fmt.Errorf("write %d payments: %w", len(payments), classifyError(err))
	}
	defer insert.Close()
	for _, p := range payments {
		amount, err := decimal.NewFromString(p.Amount)
		if err != nil {
			return fmt.Errorf("write payment %s: amount %q: %w", p.ID, p.Amount, err)
		}
		if err := insert.Append(
			p.ID, string(p.State), p.RouteID, p.Request, p.Header, p.Payer, p.PayTo, p.Nonce,
			p.Network, p.Asset, p.Symbol, amount, p.Units,
			p.ValidBefore.Time(), p.ClaimedAt.Time(), p.ChangedAt.Time(), timeOrNull(p.SettledAt),
			p.Transaction, p.Reason, uint32(p.Attempts), p.Unanswered, string(p.Settlement), p.Revision, //nolint:gosec // a small count
		); err != nil {
			return fmt.Errorf("write payment %s: %w", p.ID, err)
		}
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("write %d payments: %w", len(payments), classifyError(err))
	}
	return nil
}

// PaymentFilter says which payments are asked for; its zero value means all.
type PaymentFilter struct {
	// ValidAfter leaves out those that had run out by then, Since those that were
	// claimed before.
	ValidAfter, Since time.Time
	State             governance.PaymentState
	Payer             string
	// Limit bounds how many are returned, the newest; 0 for no bound.
	Limit uint64
}

// Payments reads the ledger, newest first.
func (w *Warehouse) Payments(ctx context.Context, f PaymentFilter) ([]governance.Payment, error) {
	if f.Limit == 0 {
		f.Limit = math.MaxInt64
	}
	payer := strings.ToLower(f.Payer)
	rows, err := w.conn.Query(ctx, sqlText("payment_list"), unixMilliseconds(f.ValidAfter), unixMilliseconds(f.Since),
		string(f.State), string(f.State), payer, payer, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("read payments: %w", classifyError(err))
	}
	defer rows.Close()
	var payments []governance.Payment
	for rows.Next() {
		p, err := scanPayment(rows)
		if err != nil {
			return nil, fmt.Errorf("read a payment: %w", err)
		}
		payments = append(payments, p)
	}
	return payments, rows.Err()
}

// unixMilliseconds is a time as queries take it; the zero time is before all others.
func unixMilliseconds(t time.Time) int64 {
	return max(t.UnixMilli(), 0)
}

func scanPayment(rows driver.Rows) (governance.Payment, error) {
	var p governance.Payment
	var state, settlement string
	var amount decimal.Decimal
	var validBefore, claimedAt, changedAt time.Time
	var settledAt *time.Time
	var attempts uint32
	err := rows.Scan(&p.ID, &state, &p.RouteID, &p.Request, &p.Header, &p.Payer, &p.PayTo, &p.Nonce,
		&p.Network, &p.Asset, &p.Symbol, &amount, &p.Units, &validBefore, &claimedAt, &changedAt, &settledAt,
		&p.Transaction, &p.Reason, &attempts, &p.Unanswered, &settlement, &p.Revision)
	p.State, p.Amount, p.Attempts = governance.PaymentState(state), amount.String(), int(attempts)
	p.ValidBefore, p.ClaimedAt = governance.TimestampOf(validBefore), governance.TimestampOf(claimedAt)
	p.ChangedAt, p.SettledAt = governance.TimestampOf(changedAt), timestampOf(settledAt)
	if settlement != "" {
		p.Settlement = []byte(settlement)
	}
	return p, err
}
