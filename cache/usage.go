package cache

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// UsageCounter is what one session of an API node has counted so far, under a field that
// names session, token, day and route.
type UsageCounter struct {
	Field string
	Value string
}

// WriteCounters writes counts, each in place of an earlier one.
func (s *Store) WriteCounters(ctx context.Context, counts []UsageCounter) error {
	pairs := make([]any, 0, 2*len(counts))
	for _, count := range counts {
		pairs = append(pairs, count.Field, count.Value)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return readError(s.client.HSet(ctx, string(usageKey), pairs...).Err())
}

// Counters returns some of the counts that nobody has taken yet.
func (s *Store) Counters(ctx context.Context, most int64) ([]UsageCounter, error) {
	found, _, err := s.client.HScan(ctx, string(usageKey), 0, "", most).Result()
	if err != nil {
		return nil, readError(err)
	}
	counts := make([]UsageCounter, 0, len(found)/2)
	for i := 0; i+1 < len(found); i += 2 {
		counts = append(counts, UsageCounter{Field: found[i], Value: found[i+1]})
	}
	return counts, nil
}

// dropCounts removes counts that did not change since they were read.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var dropCounts = redis.NewScript(`
for i = 1, #ARGV, 2 do
	if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
		redis.call('HDEL', KEYS[1], ARGV[i])
	end -- else it went on
end
return 0`)

// DeleteCounters takes counts away, but for those that went on meanwhile.
func (s *Store) DeleteCounters(ctx context.Context, counts []UsageCounter) error {
	args := make([]any, 0, 2*len(counts))
	for _, count := range counts {
		args = append(args, count.Field, count.Value)
	}
	return readError(dropCounts.Run(ctx, s.client, []string{string(usageKey)}, args...).Err())
}
