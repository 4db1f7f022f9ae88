package accounts

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
)

// PaymentLease is the exclusive right to process one payment: to answer a request with it, or to find out the
// outcome of its settlement. It expires, so that another process can continue when its holder has died. Its holder
// may take it again: the client repeats what a broken connection left without an answer.
type PaymentLease struct {
	Owner string // unique for each request or check
	TTL   time.Duration
}

// claimPayment claims a payment that is not stored, or whose claimant let its lease expire: {1, revision
// of an earlier refusal or ""}. Otherwise it returns {2, value} with the lease, if the payment is in
// progress and the lease is free, or {0, value} without; {-1} before payments are restored. A claim expires
// with its lease, so that a payment that was never submitted leaves nothing.
// KEYS: payment, lease, restored, refused revision. ARGV: owner, TTL, value.
var claimPayment = redis.NewScript(`
if redis.call('EXISTS', KEYS[3]) == 0 then return {-1} end
local stored = redis.call('GET', KEYS[1])
local stage = stored and string.sub(stored, 1, 1)
if stage == 'e' then return {0, stored} end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) and redis.call('GET', KEYS[2]) ~= ARGV[1] then return {0, stored or ''} end
if stage == 'p' then return {2, stored} end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
return {1, redis.call('GET', KEYS[4]) or ''}`)

// Replies of claimPayment and leaseResponse.
const (
	replyNotRestored = -1
	replyClaimed     = 1
	replyTakenOver   = 2
)

// ClaimPayment claims a payment before any work is done for it. It returns the payment as stored: the
// given one when it was unknown, with a revision above the revision of an earlier refusal. leased reports whether
// the caller now holds the lease. The error may be ErrNotRestored.
func (s *Store) ClaimPayment(
	ctx context.Context, p governance.Payment, lease PaymentLease,
) (stored governance.Payment, leased bool, err error) {
	keys := []string{
		string(paymentKey(p.ID)), string(paymentLeaseKey(p.ID)),
		string(paymentRestoredKey), string(refusedRevisionKey(p.ID)),
	}
	reply, err := cache.Run(ctx, s.conn, claimPayment, keys,
		lease.Owner, lease.TTL.Milliseconds(), encodePayment(p)).Slice()
	if err != nil {
		return governance.Payment{}, false, s.unanswered(ctx, err, p.ID, lease)
	}
	code, _ := reply[0].(int64)
	if code == replyNotRestored {
		return governance.Payment{}, false, ErrNotRestored
	}
	content, _ := reply[1].(string)
	if code == replyClaimed {
		refused, _ := strconv.ParseUint(content, 10, 64) // zero if there was no refusal
		p.Revision = max(p.Revision, refused+1)
		return p, true, nil
	}
	if content == "" { // a lease that briefly outlives the payment it was for
		return p, false, nil
	}
	stored, err = decodePayment([]byte(content))
	return stored, code == replyTakenOver, err
}

// leasePayment takes the lease of a payment in progress. It returns false for no such payment, and ""
// while another holds the lease. KEYS: payment, lease, due. ARGV: owner, TTL, id.
var leasePayment = redis.NewScript(`
local stored = redis.call('GET', KEYS[1])
if not stored or string.sub(stored, 1, 1) ~= 'p' then
	redis.call('ZREM', KEYS[3], ARGV[3])
	return false
end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) and redis.call('GET', KEYS[2]) ~= ARGV[1] then return '' end
return stored`)

// LeasePayment takes the lease of a payment that is in progress. The error is cache.ErrMiss if there is no such
// payment, and ErrPaymentLeased while another holds the lease.
func (s *Store) LeasePayment(ctx context.Context, id string, lease PaymentLease) (governance.Payment, error) {
	keys := []string{string(paymentKey(id)), string(paymentLeaseKey(id)), string(paymentDueKey)}
	stored, err := leasePayment.Run(ctx, cache.Client(s.conn), keys, lease.Owner, lease.TTL.Milliseconds(), id).Text()
	if err != nil {
		return governance.Payment{}, s.unanswered(ctx, err, id, lease)
	}
	if stored == "" {
		return governance.Payment{}, ErrPaymentLeased
	}
	return decodePayment([]byte(stored))
}

// releasePayment releases the caller's lease and deletes a payment that is only claimed.
// KEYS: payment, lease. ARGV: owner.
var releasePayment = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
if redis.call('GETRANGE', KEYS[1], 0, 0) == 'c' then redis.call('DEL', KEYS[1]) end
return 1`)

// ReleasePayment releases the lease of a payment. A payment that is only claimed is deleted: it was
// not charged and may pay for another request. It does nothing for a lease that another holds.
func (s *Store) ReleasePayment(ctx context.Context, id string, lease PaymentLease) error {
	keys := []string{string(paymentKey(id)), string(paymentLeaseKey(id))}
	return cache.WrapError(cache.Run(ctx, s.conn, releasePayment, keys, lease.Owner).Err())
}

// unanswered wraps the error of a request for a lease, and releases what it may have taken.
func (s *Store) unanswered(ctx context.Context, err error, id string, lease PaymentLease) error {
	if err = cache.WrapError(err); errors.Is(err, cache.ErrUnavailable) {
		_ = s.ReleasePayment(context.WithoutCancel(ctx), id, lease) // else it expires
	}
	return err
}

// leaseResponse returns the stored response of a paid payment, {1, response}, or takes the lease to make
// it again: {2}; {0} while another does. KEYS: response, lease. ARGV: owner, TTL.
var leaseResponse = redis.NewScript(`
local stored = redis.call('GET', KEYS[1])
if stored then return {1, stored} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[2]) == ARGV[1] then return {2} end
return {0}`)

// LeasePaidResponse returns the stored response that a payment paid for. If it is lost the error is cache.ErrMiss,
// and the caller has the lease to make it again, which SavePaidResponse or ReleasePayment ends. The error is
// ErrPaymentLeased while another caller makes it.
func (s *Store) LeasePaidResponse(ctx context.Context, id string, lease PaymentLease) ([]byte, error) {
	keys := []string{string(paidResponseKey(id)), string(paymentLeaseKey(id))}
	reply, err := cache.Run(ctx, s.conn, leaseResponse, keys, lease.Owner, lease.TTL.Milliseconds()).Slice()
	if err != nil {
		return nil, s.unanswered(ctx, err, id, lease)
	}
	switch code, _ := reply[0].(int64); code {
	case replyClaimed:
		response, _ := reply[1].(string)
		return []byte(response), nil
	case replyTakenOver:
		return nil, cache.ErrMiss
	}
	return nil, ErrPaymentLeased
}

// saveResponse stores a response that was made again and releases the lease; it returns 0 if another
// holds the lease. KEYS: response, lease. ARGV: owner, response, TTL of the response.
var saveResponse = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[2])
return 1`)

// SavePaidResponse stores a response that was made again; ErrPaymentLeased if another has the lease.
func (s *Store) SavePaidResponse(ctx context.Context, p governance.Payment, lease PaymentLease, response []byte) error {
	keys := []string{string(paidResponseKey(p.ID)), string(paymentLeaseKey(p.ID))}
	saved, err := saveResponse.Run(ctx, cache.Client(s.conn), keys, lease.Owner, response, millisecondsUntil(expiryOf(p))).Int()
	return leaseError(saved, err)
}
