package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrChangesMoved means that the stream of changes does not end where a caller takes it to end.
var ErrChangesMoved = errors.New("the stream of changes ends elsewhere")

// ChangeHead is the end of the stream of changes.
type ChangeHead struct {
	// Exists is false for a stream that was flushed, or never written.
	Exists bool
	Last   ChangeID
	// Time is later than the time of Last, and otherwise by the clock of Redis, in milliseconds since 1970.
	Time uint64
}

// changeHead returns the clock of Redis in milliseconds and the id of the last row, or "". KEYS: stream.
var changeHead = redis.NewScript(`
local time, last = redis.call('TIME'), redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
return {string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), last[1] and last[1][1] or ''}`)

// ChangeHead returns the end of the stream. The error is ErrUnavailable.
func (s *Store) ChangeHead(ctx context.Context) (head ChangeHead, err error) {
	found, err := Run(ctx, s.conn, changeHead, []string{string(changesKey)}).StringSlice()
	if err != nil || len(found) != 2 {
		return head, fmt.Errorf("%w: read the end of the changes: %w", ErrUnavailable, err)
	}
	now, err := parseChangeID(found[0] + "-0")
	if head.Exists = found[1] != ""; err == nil && head.Exists {
		head.Last, err = parseChangeID(found[1])
	}
	if err != nil {
		return head, fmt.Errorf("%w: id of a change: %w", ErrUnavailable, err)
	}
	head.Time = max(now.Time, head.Last.Time+1)
	return head, nil
}

// appendChanges adds rows after a place, unless the stream ends elsewhere, and removes what is too old or too
// much: the newest entry that is too old stays, as the beginning. The place "new" replaces the stream.
// KEYS: stream. ARGV: place, TTL in ms, maximum length, rows of six values.
var appendChanges = redis.NewScript(`
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
if ARGV[1] == 'new' then
	redis.call('DEL', KEYS[1])
elseif (last[1] or {})[1] ~= ARGV[1] then
	return redis.error_reply('MOVED_CHANGES')
end
for i = 4, #ARGV, 6 do
	redis.call('XADD', KEYS[1], ARGV[i], 'k', ARGV[i + 1], 'n', ARGV[i + 2], 'd', ARGV[i + 3], 't', ARGV[i + 4], 'r', ARGV[i + 5])
end
local time = redis.call('TIME')
local oldest = string.format('%.0f', time[1] * 1000 - ARGV[2])
local expired = redis.call('XREVRANGE', KEYS[1], oldest, '-', 'COUNT', 1)
if #expired > 0 then redis.call('XTRIM', KEYS[1], 'MINID', expired[1][1]) end
redis.call('XTRIM', KEYS[1], 'MAXLEN', ARGV[3])
return redis.call('XLEN', KEYS[1])`)

// AppendChanges adds rows, whose values were written before, after the row at a place, which must be the last one;
// nil replaces the stream. It returns the length of the stream. The error is ErrChangesMoved or ErrUnavailable.
func (s *Store) AppendChanges(ctx context.Context, after *ChangeID, rows []ChangeRow) (length int64, err error) {
	keys := []string{string(changesKey)}
	place := "new"
	if after != nil {
		place = after.String()
	}
	for batch := range slices.Chunk(rows, changeBatchSize) {
		args := append(make([]any, 0, 3+6*len(batch)), place, ChangeTTL.Milliseconds(), MaxChanges)
		for _, c := range batch {
			args = append(args, c.ID.String(), string(c.Kind), c.Key, c.DAOID, int64(c.ChangedAt), string(c.Revision))
		}
		place = batch[len(batch)-1].ID.String()
		length, err = appendChanges.Run(ctx, Client(s.conn), keys, args...).Int64()
		switch {
		case err != nil && strings.Contains(err.Error(), "MOVED_CHANGES"):
			return 0, ErrChangesMoved
		case err != nil:
			return 0, fmt.Errorf("%w: add %d changes: %w", ErrUnavailable, len(batch), err)
		}
	}
	return length, nil
}

// SetFeedState stores the state of the feed. The error is ErrUnavailable.
func (s *Store) SetFeedState(ctx context.Context, state FeedState) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	text := fmt.Sprintf("%d %d %d", state.Revision, state.VisibleThrough, state.FullRevision)
	return WrapError(Client(s.conn).Set(ctx, string(feedStateKey), text, 0).Err())
}
