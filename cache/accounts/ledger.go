package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
)

// The ledger queue holds payment states until a worker has written them to the warehouse. Any number of
// workers may read it: an entry is removed by its own id, and the ledger keeps one row per payment.

// LedgerEntry is a payment state that the worker has yet to write to the ledger.
type LedgerEntry struct {
	ID string
	// Payment is the state; the zero value for an entry that does not decode.
	Payment governance.Payment
}

// QueuedPayments returns up to limit entries of the ledger queue, oldest first.
func (s *Store) QueuedPayments(ctx context.Context, limit int) ([]LedgerEntry, error) {
	messages, err := cache.Client(s.conn).XRangeN(ctx, string(paymentQueueKey), "-", "+", int64(limit)).Result()
	if err != nil {
		return nil, cache.WrapError(err)
	}
	entries := make([]LedgerEntry, len(messages))
	for i, message := range messages {
		value, _ := message.Values["p"].(string)
		p, _ := decodePayment([]byte(value)) // zero for an entry that does not decode
		entries[i] = LedgerEntry{ID: message.ID, Payment: p}
	}
	return entries, nil
}

// DequeuePayments removes entries that the ledger holds from the queue.
func (s *Store) DequeuePayments(ctx context.Context, entries []LedgerEntry) error {
	ids := make([]string, len(entries))
	for i, entry := range entries {
		ids[i] = entry.ID
	}
	return cache.WrapError(cache.Client(s.conn).XDel(ctx, string(paymentQueueKey), ids...).Err())
}

// PaymentsRestored reports whether Redis holds all payments of the ledger.
func (s *Store) PaymentsRestored(ctx context.Context) (bool, error) {
	count, err := cache.Client(s.conn).Exists(ctx, string(paymentRestoredKey)).Result()
	return count == 1, cache.WrapError(err)
}

// RequirePaymentRestore records that Redis may lack payments of the ledger. ClaimPayment returns ErrNotRestored
// until RestorePayments has run.
func (s *Store) RequirePaymentRestore(ctx context.Context) error {
	return cache.WrapError(cache.Client(s.conn).Del(ctx, string(paymentRestoredKey)).Err())
}

// SubmittedPayments returns the payments that were submitted for settlement in the last minutes: a ledger that was
// restored from a backup may lack them.
func (s *Store) SubmittedPayments(ctx context.Context) ([]governance.Payment, error) {
	ids, err := cache.Client(s.conn).ZRange(ctx, string(paymentExpiryKey), 0, -1).Result()
	if err != nil || len(ids) == 0 {
		return nil, cache.WrapError(err)
	}
	replies := make([]*redis.StringCmd, len(ids))
	_, err = cache.Client(s.conn).Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			replies[i] = pipe.Get(ctx, string(paymentKey(id)))
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, cache.WrapError(err)
	}
	var payments []governance.Payment
	for _, reply := range replies {
		// One that was deleted meanwhile is empty, and does not decode.
		if p, err := decodePayment([]byte(reply.Val())); err == nil && p.State != governance.PaymentClaimed {
			payments = append(payments, p)
		}
	}
	return payments, nil
}

// restoredOwner holds the lease of a payment that is restored while its settlement may still be under way, so that
// it is not settled a second time. A node that began to work on it before the flush takes the lease for its own.
const restoredOwner = "restored"

// restoredLeaseTTL is how long after its last change a restored payment stays leased: more than a node takes for a
// settlement by the default timeouts.
const restoredLeaseTTL = time.Minute

// restorePayment writes a payment unless its stored state is at least as far: claimed (c), then in
// progress (p), then final (e).
// KEYS: payment, due, expiry, lease. ARGV: value, time of expiry, id, now, TTL of the lease or 0.
var restorePayment = redis.NewScript(`
local order = {c = 1, p = 2, e = 3}
local stored, new = redis.call('GETRANGE', KEYS[1], 0, 0), string.sub(ARGV[1], 1, 1)
if (order[stored] or 0) >= order[new] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[3])
if new == 'p' then
	redis.call('ZADD', KEYS[2], 'NX', ARGV[4], ARGV[3])
	if ARGV[5] ~= '0' then redis.call('SET', KEYS[4], '` + restoredOwner + `', 'NX', 'PX', ARGV[5]) end -- if
else
	redis.call('ZREM', KEYS[2], ARGV[3])
end
return 1`)

// RestorePayments writes the payments of the ledger that Redis lacks or holds in an earlier state,
// and records that all are restored. Unresolved payments are due for a check at once.
func (s *Store) RestorePayments(ctx context.Context, payments []governance.Payment) error {
	_, err := cache.Client(s.conn).TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, p := range payments {
			keys := []string{
				string(paymentKey(p.ID)), string(paymentDueKey), string(paymentExpiryKey),
				string(paymentLeaseKey(p.ID)),
			}
			lease := time.Until(p.ChangedAt.Time().Add(restoredLeaseTTL)).Milliseconds()
			restorePayment.Eval(ctx, pipe, keys, encodePayment(p), expiryOf(p), p.ID, time.Now().UnixMilli(),
				max(0, min(lease, restoredLeaseTTL.Milliseconds())))
		}
		pipe.Set(ctx, string(paymentRestoredKey), "1", 0)
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore %d payments: %w", len(payments), cache.WrapError(err))
	}
	return nil
}
