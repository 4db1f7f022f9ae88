package cache

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// FeedNames returns the names, by DAO id, that lists of events and signals show; none after a flush.
func (s *Store) FeedNames(ctx context.Context) (map[string]string, error) {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	names, err := Client(s.conn).HGetAll(ctx, string(feedNamesKey)).Result()
	return names, WrapError(err)
}

// SetFeedNames replaces the names. The error is ErrUnavailable.
func (s *Store) SetFeedNames(ctx context.Context, names map[string]string) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	_, err := Client(s.conn).TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Del(ctx, string(feedNamesKey))
		if len(names) > 0 {
			pipe.HSet(ctx, string(feedNamesKey), names)
		}
		return nil
	})
	return WrapError(err)
}
