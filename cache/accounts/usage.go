package accounts

import (
	"context"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
)

// UsageCounter is the running total of one meter for one token, day and route.
type UsageCounter struct {
	// Field names meter, token, day and route.
	Field string
	Value string
}

// WriteCounters stores counters; each replaces the earlier value of its field.
func (s *Store) WriteCounters(ctx context.Context, counters []UsageCounter) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	return cache.WrapError(cache.Client(s.conn).HSet(ctx, string(usageKey), arguments(counters)...).Err())
}

// Counters returns about limit counters from a cursor on, and the next cursor. It begins at 0, and ends when
// the next one is 0: each counter that was there all the time has been returned then, perhaps twice.
func (s *Store) Counters(ctx context.Context, cursor uint64, limit int64) (counters []UsageCounter, next uint64, err error) {
	pairs, next, err := cache.Client(s.conn).HScan(ctx, string(usageKey), cursor, "", limit).Result()
	if err != nil {
		return nil, 0, cache.WrapError(err)
	}
	counters = make([]UsageCounter, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		counters = append(counters, UsageCounter{Field: pairs[i], Value: pairs[i+1]})
	}
	return counters, next, nil
}

// PendingCounters returns the number of counters that are not drained yet.
func (s *Store) PendingCounters(ctx context.Context) (int64, error) {
	pending, err := cache.Client(s.conn).HLen(ctx, string(usageKey)).Result()
	return pending, cache.WrapError(err)
}

// deleteCounters deletes counters whose value is still the one given.
// KEYS: usage. ARGV: each field, followed by its value.
var deleteCounters = redis.NewScript(`
for i = 1, #ARGV, 2 do
	if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
		redis.call('HDEL', KEYS[1], ARGV[i])
	end -- if
end
return 0`)

// DeleteCounters deletes counters that the warehouse holds. A counter that changed since it was read stays: the
// warehouse lacks its new value.
func (s *Store) DeleteCounters(ctx context.Context, counters []UsageCounter) error {
	err := deleteCounters.Run(ctx, cache.Client(s.conn), []string{string(usageKey)}, arguments(counters)...).Err()
	return cache.WrapError(err)
}

func arguments(counters []UsageCounter) []any {
	args := make([]any, 0, 2*len(counters))
	for _, counter := range counters {
		args = append(args, counter.Field, counter.Value)
	}
	return args
}
