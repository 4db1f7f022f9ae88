package accounts

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
)

// PaymentLease is the exclusive right to process one payment: to answer a request with it,
// or to find out the outcome of its settlement. A lease expires, so that another process
// can continue when its holder has died.
type PaymentLease struct {
	// Owner identifies the holder, unique per request or check.
	Owner string
	// TTL is how long the lease lasts unless it is released.
	TTL time.Duration
}

// claimPayment claims a payment that is not stored, or whose claimant let its lease
// expire: {1}. Otherwise it returns the stored state and takes the lease if the payment
// is in progress and the lease is free: {2, value} with the lease, {0, value} without.
// Before payments are restored it returns {-1}. A claim expires with its lease, so that a
// payment that was never submitted leaves nothing.
//
// KEYS: payment, lease, restored. ARGV: owner, TTL, value.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var claimPayment = redis.NewScript(`
if redis.call('EXISTS', KEYS[3]) == 0 then return {-1} end
local stored = redis.call('GET', KEYS[1])
local stage = stored and string.sub(stored, 1, 1)
if stage == 'e' then return {0, stored} end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {0, stored or ''} end
if stage == 'p' then return {2, stored} end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
return {1}`)

// Replies of claimPayment.
const (
	replyNotRestored = -1
	replyClaimed     = 1
	replyTakenOver   = 2
)

// ClaimPayment claims a payment before any work is done for it. It returns the payment
// as stored: the given one when it was unknown. leased reports whether the caller now
// holds the lease. The error is ErrNotRestored or cache.ErrUnavailable.
func (s *Store) ClaimPayment(
	ctx context.Context, p governance.Payment, lease PaymentLease,
) (stored governance.Payment, leased bool, err error) {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	value, err := encodePayment(p)
	if err != nil {
		return governance.Payment{}, false, err
	}
	keys := []string{
		string(paymentKey(p.ID)), string(paymentLeaseKey(p.ID)),
		string(paymentRestoredKey),
	}
	reply, err := claimPayment.Run(ctx, s.conn.Client, keys,
		lease.Owner, lease.TTL.Milliseconds(), value).Slice()
	if err != nil {
		return governance.Payment{}, false, cache.WrapError(err)
	}
	code, _ := reply[0].(int64)
	switch code {
	case replyNotRestored:
		return governance.Payment{}, false, ErrNotRestored
	case replyClaimed:
		return p, true, nil
	}
	content, _ := reply[1].(string)
	if content == "" { // a lease that briefly outlives the payment it was for
		return p, false, nil
	}
	stored, err = decodePayment([]byte(content))
	return stored, code == replyTakenOver, err
}

// leasePayment takes the lease of a payment that is in progress. It returns false for
// no such payment, and "" while another holds the lease.
//
// KEYS: payment, lease, due. ARGV: owner, TTL, id.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var leasePayment = redis.NewScript(`
local stored = redis.call('GET', KEYS[1])
if not stored or string.sub(stored, 1, 1) ~= 'p' then
	redis.call('ZREM', KEYS[3], ARGV[3])
	return false
end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return '' end
return stored`)

// LeasePayment takes the lease of a payment that is in progress. The error is
// cache.ErrMiss when there is no such payment, ErrPaymentLeased while another holds the
// lease, or cache.ErrUnavailable.
func (s *Store) LeasePayment(ctx context.Context, id string, lease PaymentLease) (governance.Payment, error) {
	keys := []string{string(paymentKey(id)), string(paymentLeaseKey(id)), string(paymentDueKey)}
	stored, err := leasePayment.Run(ctx, s.conn.Client, keys, lease.Owner, lease.TTL.Milliseconds(), id).Text()
	if err != nil {
		return governance.Payment{}, cache.WrapError(err)
	}
	if stored == "" {
		return governance.Payment{}, ErrPaymentLeased
	}
	return decodePayment([]byte(stored))
}

// releasePayment releases the caller's lease and deletes a payment that is only claimed.
//
// KEYS: payment, lease. ARGV: owner.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var releasePayment = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
if redis.call('GETRANGE', KEYS[1], 0, 0) == 'c' then redis.call('DEL', KEYS[1]) end
return 1`)

// ReleasePayment releases the lease of a payment. A payment that is only claimed is
// deleted: it was not charged and may pay for another request. It does nothing for a
// lease that another holds.
func (s *Store) ReleasePayment(ctx context.Context, id string, lease PaymentLease) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	keys := []string{string(paymentKey(id)), string(paymentLeaseKey(id))}
	return cache.WrapError(releasePayment.Run(ctx, s.conn.Client, keys, lease.Owner).Err())
}
