package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/cache"
	"pnyx/governance"
)

var (
	// ErrNotRestored means that Redis lacks payments of the ledger, because it is new or
	// was flushed: a used payment could not be told from a new one.
	ErrNotRestored = errors.New("payments are not restored from the ledger yet")
	// ErrPaymentLeased means that another request or process holds the lease.
	ErrPaymentLeased = errors.New("the lease of the payment is held by another")
)

// paymentRetention is how long a payment is kept after its authorization expires. A submitted payment has no TTL,
// because a full Redis evicts keys that have one: a payer who repeats a paid request would be refused.
// paymentExpiryKey lists when each is to be deleted, and DeleteExpiredPayments deletes them.
const paymentRetention = 10 * time.Minute

// The first byte of a stored payment is its stage, so that scripts need not decode the rest.
const (
	stageClaimed    = "c"
	stageInProgress = "p"
	stageFinal      = "e"
)

func stageOf(state governance.PaymentState) string {
	switch state {
	case governance.PaymentClaimed:
		return stageClaimed
	case governance.PaymentSettling:
		return stageInProgress
	case governance.PaymentSettled, governance.PaymentRefused, governance.PaymentUnknown:
	}
	return stageFinal
}

func encodePayment(p governance.Payment) []byte {
	return append([]byte(stageOf(p.State)), cache.Encode(&p)...)
}

func decodePayment(value []byte) (governance.Payment, error) {
	var p governance.Payment
	if len(value) == 0 {
		return p, fmt.Errorf("%w: %w: empty payment", cache.ErrMiss, cache.ErrCorrupt)
	}
	if err := msgpack.Unmarshal(value[1:], &p); err != nil {
		return p, fmt.Errorf("%w: %w: decode a payment: %w", cache.ErrMiss, cache.ErrCorrupt, err)
	}
	return p, nil
}

// Payment returns what is stored of a payment. The error is cache.ErrMiss or cache.ErrUnavailable.
func (s *Store) Payment(ctx context.Context, id string) (governance.Payment, error) {
	value, err := cache.Get(ctx, s.conn, paymentKey(id)).Bytes()
	if err != nil {
		return governance.Payment{}, cache.WrapError(err)
	}
	return decodePayment(value)
}

// DuePayments returns the ids of up to limit unresolved payments whose next check is due.
func (s *Store) DuePayments(ctx context.Context, now time.Time, limit int) ([]string, error) {
	return s.idsUntil(ctx, paymentDueKey, now, limit)
}

// idsUntil returns up to limit ids of a sorted set with a time up to now.
func (s *Store) idsUntil(ctx context.Context, key cache.Key, now time.Time, limit int) ([]string, error) {
	ids, err := cache.Client(s.conn).ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: string(key), ByScore: true, Start: "-inf", Stop: now.UnixMilli(), Count: int64(limit),
	}).Result()
	return ids, cache.WrapError(err)
}

// expiryOf returns when a payment is to be deleted, in Unix milliseconds.
func expiryOf(p governance.Payment) int64 {
	end := p.ValidBefore.Time()
	if now := time.Now(); end.Before(now) {
		end = now
	}
	return end.Add(paymentRetention).UnixMilli()
}

// millisecondsUntil returns the TTL of a key that is to go at a time in Unix milliseconds.
func millisecondsUntil(at int64) int64 { return max(1, at-time.Now().UnixMilli()) }

// deleteExpired deletes a payment unless its expiry was postponed.
// KEYS: payment, expiry. ARGV: id, now.
var deleteExpired = redis.NewScript(`
local expiry = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]))
if not expiry or expiry > tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])`)

// DeleteExpiredPayments deletes up to limit payments whose retention has ended.
func (s *Store) DeleteExpiredPayments(ctx context.Context, now time.Time, limit int) error {
	ids, err := s.idsUntil(ctx, paymentExpiryKey, now, limit)
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = cache.Client(s.conn).Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, id := range ids {
			keys := []string{string(paymentKey(id)), string(paymentExpiryKey)}
			deleteExpired.Eval(ctx, pipe, keys, id, now.UnixMilli())
		}
		return nil
	})
	return cache.WrapError(err)
}
