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

// DequeuePayments takes entries that are in the ledger off the queue.
func (s *Store) DequeuePayments(ctx context.Context, entries []LedgerEntry) error {
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

// RequirePaymentRestore says that payments of the ledger may be missing. None is taken
// until they are restored.
func (s *Store) RequirePaymentRestore(ctx context.Context) error {
	return readError(s.client.Del(ctx, string(paymentRestoredKey)).Err())
}

// restorePayment writes a payment unless as much is known of it: first it is only
// claimed (c), then open (p), then at its end (e).
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var restorePayment = redis.NewScript(`
local order = {c = 1, p = 2, e = 3}
local held, mark = redis.call('GETRANGE', KEYS[1], 0, 0), string.sub(ARGV[1], 1, 1)
if (order[held] or 0) >= order[mark] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[3])
if mark == 'p' then
	redis.call('ZADD', KEYS[2], 'NX', ARGV[4], ARGV[3])
else
	redis.call('ZREM', KEYS[2], ARGV[3])
end
return 1`)

// RestorePayments writes the payments of the ledger that Redis does not know, or
// knows less of, and says that they are there. Open ones are due at once.
func (s *Store) RestorePayments(ctx context.Context, payments []governance.Payment) error {
	_, err := s.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, p := range payments {
			value, err := encodePayment(p)
			if err != nil {
				return err
			}
			keys := []string{string(paymentKey(p.ID)), string(paymentDueKey), string(paymentEndsKey)}
			restorePayment.Eval(ctx, pipe, keys, value, endOf(p), p.ID, time.Now().UnixMilli())
		}
		pipe.Set(ctx, string(paymentRestoredKey), "1", 0)
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore %d payments: %w", len(payments), readError(err))
	}
	return nil
}
