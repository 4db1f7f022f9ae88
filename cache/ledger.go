package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/governance"
)

// The queue of the ledger holds what became of payments until a worker has written
// it to the warehouse. Any number of workers may read it at once: an entry is taken
// away by its own id, and the ledger keeps one row a payment.

// LedgerEntry is a payment on its way to the ledger.
type LedgerEntry struct {
	// ID names the entry in the queue.
	ID      string
	Payment governance.Payment
}

// QueuedPayments returns up to most entries of the queue, oldest first. What does
// not decode is returned with an empty payment.
func (s *Store) QueuedPayments(ctx context.Context, most int) ([]LedgerEntry, error) {
	messages, err := s.client.XRangeN(ctx, string(paymentJournalKey), "-", "+", int64(most)).Result()
	if err != nil {
		return nil, readError(err)
	}
	entries := make([]LedgerEntry, len(messages))
	for i, message := range messages {
		text, _ := message.Values["p"].(string)
		p, _ := decodePayment([]byte(text)) // an empty payment says so
		entries[i] = LedgerEntry{ID: message.ID, Payment: p}
	}
	return entries, nil
}

// UnqueuePayments takes entries that are in the ledger off the queue.
func (s *Store) UnqueuePayments(ctx context.Context, entries []LedgerEntry) error {
	ids := make([]string, len(entries))
	for i, entry := range entries {
		ids[i] = entry.ID
	}
	return readError(s.client.XDel(ctx, string(paymentJournalKey), ids...).Err())
}

// PaymentsRestored says whether the payments of the ledger are there.
func (s *Store) PaymentsRestored(ctx context.Context) (bool, error) {
	there, err := s.client.Exists(ctx, string(paymentRestoredKey)).Result()
	return there == 1, readError(err)
}

// RestorePayments writes the payments of the ledger that Redis does not know, and
// says that they are there. Open ones are due at once.
func (s *Store) RestorePayments(ctx context.Context, payments []governance.Payment) error {
	_, err := s.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, p := range payments {
			value, err := encodePayment(p)
			if err != nil {
				return err
			}
			pipe.SetNX(ctx, string(paymentKey(p.ID)), value, keptFor(p))
			if p.State == governance.PaymentSettling {
				pipe.ZAddNX(ctx, string(paymentDueKey), redis.Z{Score: float64(time.Now().UnixMilli()), Member: p.ID})
			}
		}
		pipe.Set(ctx, string(paymentRestoredKey), "1", 0)
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore %d payments: %w", len(payments), readError(err))
	}
	return nil
}
