package accounts

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
)

// Every state from settling on is queued for the ledger by the script that stores it.

// PaymentUpdate is a new state of a payment, written by the holder of its lease.
type PaymentUpdate struct {
	Payment governance.Payment
	Lease   PaymentLease
	// KeepLease renews the lease instead of releasing it.
	KeepLease bool
	// Due is when an unresolved settlement is checked; nil for never.
	Due *time.Time
	// Response is what the payment pays for, kept until the payment is deleted; nil leaves it unchanged.
	Response []byte
}

// mayUpdate begins the scripts that change a payment. mine is whether the caller holds the
// lease, or held it before a flush of Redis: the payment is lost then, or restored with a
// lease that stands for the caller's.
const mayUpdate = `
local held, stage = redis.call('GET', KEYS[2]), redis.call('GETRANGE', KEYS[1], 0, 0)
local mine = held == ARGV[1] or held == '` + restoredOwner + `' or not held and stage == ''
`

// savePayment stores a state if the caller holds the lease and the stored state is not final; otherwise it
// returns 0. A settlement with its transaction is always stored, whoever holds the lease: its outcome is known.
// KEYS: payment, lease, due, queue, response, expiry. ARGV: owner, TTL of the lease or 0 to release it,
// value, time of expiry, time of the next check or "", id, response or "", TTL of the response, 1 for a
// settlement with its transaction.
var savePayment = redis.NewScript(mayUpdate + `
if ARGV[9] ~= '1' and (not mine or stage == 'e') then return 0 end
redis.call('SET', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[6], ARGV[4], ARGV[6])
if ARGV[2] == '0' then
	if mine then redis.call('DEL', KEYS[2]) end -- if
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

// SavePayment stores a new state of a payment and queues it for the ledger. The error is ErrPaymentLeased
// when the lease has passed to another or the stored state is final.
func (s *Store) SavePayment(ctx context.Context, u PaymentUpdate) error {
	p := u.Payment
	var due, leaseTTL any = "", int64(0)
	if u.Due != nil {
		due = u.Due.UnixMilli()
	}
	if u.KeepLease {
		leaseTTL = u.Lease.TTL.Milliseconds()
	}
	keys := []string{
		string(paymentKey(p.ID)), string(paymentLeaseKey(p.ID)), string(paymentDueKey),
		string(paymentQueueKey), string(paidResponseKey(p.ID)), string(paymentExpiryKey),
	}
	expiry, isFinal := expiryOf(p), 0
	if p.State == governance.PaymentSettled && p.Transaction != "" {
		isFinal = 1
	}
	saved, err := savePayment.Run(ctx, cache.Client(s.conn), keys, u.Lease.Owner, leaseTTL, encodePayment(p),
		expiry, due, p.ID, u.Response, millisecondsUntil(expiry), isFinal).Int()
	return leaseError(saved, err)
}

// deleteRefused deletes a payment that was refused and queues that for the ledger. The revision stays, so
// that the next claim has a higher one, whatever the clock of its node. KEYS: payment, lease, due, queue,
// response, expiry, revision. ARGV: owner, id, value, revision, TTL of the revision.
var deleteRefused = redis.NewScript(mayUpdate + `
if not mine or stage == 'e' then return 0 end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[5])
redis.call('SET', KEYS[7], ARGV[4], 'PX', ARGV[5])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('ZREM', KEYS[6], ARGV[2])
redis.call('XADD', KEYS[4], '*', 'p', ARGV[3])
return 1`)

// DeleteRefusedPayment deletes a payment whose settlement was refused and queues the refusal for the ledger:
// nothing was charged, so the payer may use the authorization again. The error is ErrPaymentLeased when the lease
// has passed to another or the stored state is final.
func (s *Store) DeleteRefusedPayment(ctx context.Context, p governance.Payment, lease PaymentLease) error {
	keys := []string{
		string(paymentKey(p.ID)), string(paymentLeaseKey(p.ID)), string(paymentDueKey),
		string(paymentQueueKey), string(paidResponseKey(p.ID)), string(paymentExpiryKey),
		string(refusedRevisionKey(p.ID)),
	}
	deleted, err := deleteRefused.Run(ctx, cache.Client(s.conn), keys, lease.Owner, p.ID, encodePayment(p),
		p.Revision, millisecondsUntil(expiryOf(p))).Int()
	return leaseError(deleted, err)
}

// leaseError returns the error of a script that returns 0 when the caller does not hold the lease.
func leaseError(done int, err error) error {
	if err != nil {
		return cache.WrapError(err)
	}
	if done == 0 {
		return ErrPaymentLeased
	}
	return nil
}
