package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
)

// QuotaTTL is how long the count of a month is kept: longer than any month.
const QuotaTTL = 40 * 24 * time.Hour

// raiseQuota raises a count to at least a value. KEYS: count. ARGV: value, TTL in seconds.
var raiseQuota = redis.NewScript(`
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2]) end
return 0`)

// RaiseQuotas restores the counts of a month, by caller, that a flushed Redis has lost, and lowers none.
func (s *Store) RaiseQuotas(ctx context.Context, month string, used map[string]int64) error {
	pipe := cache.Client(s.conn).Pipeline()
	for caller, count := range used {
		keys := []string{string(QuotaKey(caller, month))}
		raiseQuota.Eval(ctx, pipe, keys, count, int(QuotaTTL.Seconds()))
	}
	if pipe.Len() == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("%w: raise %d quotas: %w", cache.ErrUnavailable, len(used), err)
	}
	return nil
}

// QuotaUsed returns how many responses a caller has used in a month; cache.ErrMiss for none.
func (s *Store) QuotaUsed(ctx context.Context, caller, month string) (int64, error) {
	used, err := cache.Get(ctx, s.conn, QuotaKey(caller, month)).Int64()
	return used, cache.WrapError(err)
}
