package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// A payment is claimed before any work is done for it, by whoever holds its lease:
// one request, or one attempt to find out what became of it. The lease ends by
// itself, so that a payment outlives the node that worked on it. Every state from
// settling on is queued for the ledger in the same step in which it is written.

// Errors of payments.
var (
	// ErrNotRestored is a Redis without the payments that the ledger knows, because
	// it is new or was flushed: a payment that was used could not be told from a
	// fresh one.
	ErrNotRestored = errors.New("the payments are not restored yet")
	// ErrPaymentLeased is a payment whose lease has passed to another.
	ErrPaymentLeased = errors.New("the payment is being worked on by another")
)

// paymentKeptFor is how long a payment is remembered after it has run out.
const paymentKeptFor = 10 * time.Minute

// Payments have no expiry, lest a Redis that is full evicts them: a payer who repeats
// a request would be refused. Their ends are listed, and DeleteExpiredPayments keeps to
// the list.

// paidAnswerKeptFor is how long the answer to a payment is kept. Those who ask
// with the same payment after that get it made again.
const paidAnswerKeptFor = 5 * time.Minute

// stateMark begins the value of a payment, for scripts to see its state.
func stateMark(state governance.PaymentState) string {
	switch state {
	case governance.PaymentClaimed:
		return "c"
	case governance.PaymentSettling:
		return "p"
	case governance.PaymentSettled, governance.PaymentRefused, governance.PaymentUnknown:
	}
	return "e"
}

// claimPayment takes a payment that nobody knows, or whose claimant has died: 1.
// Else it returns what is known, and takes the lease if the outcome is open and
// nobody is at it: {2, value} with the lease, {0, value} without.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var claimPayment = redis.NewScript(`
if redis.call('EXISTS', KEYS[3]) == 0 then return {-1} end
local held = redis.call('GET', KEYS[1])
local mark = held and string.sub(held, 1, 1)
if mark == 'e' then return {0, held} end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {0, held or ''} end
if mark == 'p' then return {2, held} end
redis.call('SET', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[4], ARGV[4], ARGV[5])
return {1}`)

// PaymentLease is the right to work on one payment.
type PaymentLease struct {
	// Owner is whoever works on it: a name that nobody else has.
	Owner string
	// TTL is how long the lease lasts by itself.
	TTL time.Duration
}

// ClaimPayment claims a payment for its request. It returns the payment as it is
// known then: the given one when it was not known, and mine says whether the lease
// was got. The error is ErrNotRestored or ErrUnavailable.
func (s *Store) ClaimPayment(
	ctx context.Context, p governance.Payment, lease PaymentLease,
) (known governance.Payment, mine bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	value, err := encodePayment(p)
	if err != nil {
		return governance.Payment{}, false, err
	}
	keys := []string{
		string(paymentKey(p.ID)), string(paymentLeaseKey(p.ID)), string(paymentRestoredKey), string(paymentEndsKey),
	}
	result, err := claimPayment.Run(ctx, s.client, keys,
		lease.Owner, lease.TTL.Milliseconds(), value, endOf(p), p.ID).Slice()
	if err != nil {
		return governance.Payment{}, false, readError(err)
	}
	switch code, _ := result[0].(int64); code {
	case -1:
		return governance.Payment{}, false, ErrNotRestored
	case 1:
		return p, true, nil
	default:
		held, _ := result[1].(string)
		if held == "" { // the lease outlived what it is for, by a moment
			return p, false, nil
		}
		known, err := decodePayment([]byte(held))
		return known, code == 2, err
	}
}

// takePayment takes the lease of a payment whose outcome is open.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var takePayment = redis.NewScript(`
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 1, 1) ~= 'p' then
	redis.call('ZREM', KEYS[3], ARGV[3])
	return false
end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return '' end
return held`)

// LeasePayment takes the lease of a payment whose outcome is open. The error is
// ErrMiss when there is no such payment, ErrPaymentLeased when another is at it, or
// ErrUnavailable.
func (s *Store) LeasePayment(ctx context.Context, id string, lease PaymentLease) (governance.Payment, error) {
	keys := []string{string(paymentKey(id)), string(paymentLeaseKey(id)), string(paymentDueKey)}
	held, err := takePayment.Run(ctx, s.client, keys, lease.Owner, lease.TTL.Milliseconds(), id).Text()
	if err != nil {
		return governance.Payment{}, readError(err)
	}
	if held == "" {
		return governance.Payment{}, ErrPaymentLeased
	}
	return decodePayment([]byte(held))
}

// Payment reads what is known of a payment. The error is ErrMiss or
// ErrUnavailable.
func (s *Store) Payment(ctx context.Context, id string) (governance.Payment, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	value, err := s.client.Get(ctx, string(paymentKey(id))).Bytes()
	if err != nil {
		return governance.Payment{}, readError(err)
	}
	return decodePayment(value)
}

// PaymentUpdate is a change of a payment by the holder of its lease.
type PaymentUpdate struct {
	Payment governance.Payment
	Lease   PaymentLease
	// KeepLease says that the lease is held on to, and prolonged.
	KeepLease bool
	// Due is when an open outcome should be looked into; nil for never.
	Due *time.Time
	// Response is what the payment is for, set once.
	Response []byte
}

// savePayment changes a payment if the lease is the caller's, or if nothing is
// known of it since Redis was flushed; else it returns 0.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var savePayment = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] and redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[6], ARGV[4], ARGV[6])
if ARGV[2] == '0' then
	redis.call('DEL', KEYS[2])
else
	redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
end
if ARGV[5] == '' then
	redis.call('ZREM', KEYS[3], ARGV[6])
else
	redis.call('ZADD', KEYS[3], ARGV[5], ARGV[6])
end
if ARGV[7] ~= '' then redis.call('SET', KEYS[5], ARGV[7], 'PX', ARGV[8]) end
redis.call('XADD', KEYS[4], '*', 'p', ARGV[3])
return 1`)

// SavePayment writes a change of a payment and queues it for the ledger. The error
// is ErrPaymentLeased when the lease has passed to another, or ErrUnavailable.
func (s *Store) SavePayment(ctx context.Context, step PaymentUpdate) error {
	p := step.Payment
	value, err := encodePayment(p)
	if err != nil {
		return err
	}
	var due, leaseFor any = "", int64(0)
	if step.Due != nil {
		due = step.Due.UnixMilli()
	}
	if step.KeepLease {
		leaseFor = step.Lease.TTL.Milliseconds()
	}
	keys := []string{
		string(paymentKey(p.ID)), string(paymentLeaseKey(p.ID)), string(paymentDueKey),
		string(paymentJournalKey), string(paidAnswerKey(p.ID)), string(paymentEndsKey),
	}
	saved, err := savePayment.Run(ctx, s.client, keys, step.Lease.Owner, leaseFor, value,
		endOf(p), due, p.ID, step.Response, paidAnswerKeptFor.Milliseconds()).Int()
	if err != nil {
		return readError(err)
	}
	if saved == 0 {
		return ErrPaymentLeased
	}
	return nil
}

// freePayment gives the lease up, and forgets a payment that was only claimed.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var freePayment = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
if redis.call('GETRANGE', KEYS[1], 0, 0) == 'c' then redis.call('DEL', KEYS[1]) end
return 1`)

// ReleasePayment gives the lease of a payment up. What was only claimed is forgotten:
// it was not charged, and may pay for something else.
func (s *Store) ReleasePayment(ctx context.Context, id string, lease PaymentLease) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	keys := []string{string(paymentKey(id)), string(paymentLeaseKey(id))}
	return readError(freePayment.Run(ctx, s.client, keys, lease.Owner).Err())
}

// forgetPayment ends a payment that was refused for good: nothing was charged, and
// the ledger is told.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var forgetPayment = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[5])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('XADD', KEYS[4], '*', 'p', ARGV[3])
return 1`)

// DeleteRefusedPayment ends a payment that was handed over and refused, and queues that
// for the ledger. The error is ErrPaymentLeased or ErrUnavailable.
func (s *Store) DeleteRefusedPayment(ctx context.Context, p governance.Payment, lease PaymentLease) error {
	value, err := encodePayment(p)
	if err != nil {
		return err
	}
	keys := []string{
		string(paymentKey(p.ID)), string(paymentLeaseKey(p.ID)), string(paymentDueKey),
		string(paymentJournalKey), string(paidAnswerKey(p.ID)),
	}
	done, err := forgetPayment.Run(ctx, s.client, keys, lease.Owner, p.ID, value).Int()
	if err != nil {
		return readError(err)
	}
	if done == 0 {
		return ErrPaymentLeased
	}
	return nil
}

// PaidResponse reads the answer that a payment was for. The error is ErrMiss or
// ErrUnavailable.
func (s *Store) PaidResponse(ctx context.Context, id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	value, err := s.client.Get(ctx, string(paidAnswerKey(id))).Bytes()
	return value, readError(err)
}

// DuePayments returns the ids of up to most payments whose outcome should be
// looked into.
func (s *Store) DuePayments(ctx context.Context, now time.Time, most int) ([]string, error) {
	ids, err := s.client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: string(paymentDueKey), ByScore: true, Start: "-inf", Stop: now.UnixMilli(), Count: int64(most),
	}).Result()
	return ids, readError(err)
}

func encodePayment(p governance.Payment) ([]byte, error) {
	content, err := msgpack.Marshal(&p)
	if err != nil {
		return nil, fmt.Errorf("encode a payment: %w", err)
	}
	return append([]byte(stateMark(p.State)), content...), nil
}

func decodePayment(value []byte) (governance.Payment, error) {
	var p governance.Payment
	if len(value) == 0 {
		return p, fmt.Errorf("%w: %w: empty payment", ErrMiss, ErrCorrupt)
	}
	if err := msgpack.Unmarshal(value[1:], &p); err != nil {
		return p, fmt.Errorf("%w: %w: decode a payment: %w", ErrMiss, ErrCorrupt, err)
	}
	return p, nil
}

// endOf is until when a payment is remembered, in Unix milliseconds.
func endOf(p governance.Payment) int64 {
	end := p.ValidBefore.Time()
	if now := time.Now(); end.Before(now) {
		end = now
	}
	return end.Add(paymentKeptFor).UnixMilli()
}

// forgetEnded removes a payment whose end has come, unless it was put off.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var forgetEnded = redis.NewScript(`
local ends = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]))
if not ends or ends > tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])`)

// DeleteExpiredPayments removes up to most payments whose end has come.
func (s *Store) DeleteExpiredPayments(ctx context.Context, now time.Time, most int) error {
	ids, err := s.client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: string(paymentEndsKey), ByScore: true, Start: "-inf", Stop: now.UnixMilli(), Count: int64(most),
	}).Result()
	if err != nil || len(ids) == 0 {
		return readError(err)
	}
	_, err = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, id := range ids {
			forgetEnded.Eval(ctx, pipe, []string{string(paymentKey(id)), string(paymentEndsKey)}, id, now.UnixMilli())
		}
		return nil
	})
	return readError(err)
}
