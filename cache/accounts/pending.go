package accounts

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
)

// Pending is what a worker has to do for the accounts.
type Pending struct {
	// TokensRevision is the revision of the published tokens; zero where TokensMissing is set.
	TokensRevision uint64
	// TokensMissing says that no tokens are published, or none that can be read.
	TokensMissing bool
	UsageCounters int64
	// Payments says that payments are queued for the ledger, have expired, or are to be restored.
	Payments bool
}

// Pending reads what there is to do at a time, in one round trip where Redis is one server.
func (s *Store) Pending(ctx context.Context, now time.Time) (found Pending, err error) {
	var revision *redis.StringCmd
	var counters, queued, expired, restored *redis.IntCmd
	err = cache.Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) {
		revision = pipe.GetRange(ctx, string(tokensKey), 0, cache.RevisionDigits-1)
		counters = pipe.HLen(ctx, string(usageKey))
		queued = pipe.XLen(ctx, string(paymentQueueKey))
		expired = pipe.ZCount(ctx, string(paymentExpiryKey), "-inf", strconv.FormatInt(now.UnixMilli(), 10))
		restored = pipe.Exists(ctx, string(paymentRestoredKey))
	})
	if err != nil {
		return Pending{}, cache.WrapError(err)
	}
	found.UsageCounters = counters.Val()
	found.Payments = queued.Val() > 0 || expired.Val() > 0 || restored.Val() == 0
	found.TokensRevision, err = tokensRevision(revision)
	if found.TokensMissing = errors.Is(err, cache.ErrMiss); found.TokensMissing {
		err = nil
	}
	return found, err
}
