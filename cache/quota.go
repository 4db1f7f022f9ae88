package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// QuotaTTL is how long the count of a month is kept: it is asked for until the
// month is over.
const QuotaTTL = 40 * 24 * time.Hour

// raiseQuota lifts a count to what the warehouse knows of.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var raiseQuota = redis.NewScript(`
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2]) end
return 0`)

// RaiseQuotas lifts the counts of a month, by caller, to at least what is given:
// a Redis that was flushed counts on from there.
func (s *Store) RaiseQuotas(ctx context.Context, month string, used map[string]int64) error {
	pipe := s.client.Pipeline()
	for caller, count := range used {
		raiseQuota.Eval(ctx, pipe, []string{string(QuotaKey(caller, month))}, count, int(QuotaTTL.Seconds()))
	}
	if pipe.Len() == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("%w: raise %d quotas: %w", ErrUnavailable, len(used), err)
	}
	return nil
}

// QuotaUsed returns how much of a month a caller has used.
func (s *Store) QuotaUsed(ctx context.Context, caller, month string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	used, err := s.client.Get(ctx, string(QuotaKey(caller, month))).Int64()
	return used, readError(err)
}
