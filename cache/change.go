package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/governance"
)

// Changes are rows of one Redis stream: the key of each subject that was published, after its values were
// written. It is a copy of the log in the warehouse, which has each row before it. Its first entry is where it
// begins: a reader that has read up to an entry before it may have missed rows. An entry without a kind marks a
// beginning.

const (
	// ChangeTTL is how long rows are kept.
	ChangeTTL = 7 * 24 * time.Hour
	// MaxChanges bounds the rows that are kept, some 70 bytes of Redis each. Beyond it the stream begins later.
	MaxChanges      = 500_000
	changeBatchSize = 500
)

// ChangeID is the place of a row in the stream: rows are in the order of their ids.
type ChangeID struct {
	// Time is when the row was written by the clock of Redis, in milliseconds since 1970.
	Time   uint64 `msgpack:"t"`
	Number uint64 `msgpack:"n"` // distinguishes rows of one millisecond
}

// Before reports whether an id comes before another.
func (i ChangeID) Before(other ChangeID) bool {
	return i.Time < other.Time || i.Time == other.Time && i.Number < other.Number
}

// String returns the id as Redis writes it.
func (i ChangeID) String() string {
	return strconv.FormatUint(i.Time, 10) + "-" + strconv.FormatUint(i.Number, 10)
}

func parseChangeID(text string) (id ChangeID, err error) {
	at, number, _ := strings.Cut(text, "-")
	var errs [2]error
	id.Time, errs[0] = strconv.ParseUint(at, 10, 64)
	id.Number, errs[1] = strconv.ParseUint(number, 10, 64)
	return id, errors.Join(errs[:]...)
}

// ChangeRow is a row of the stream.
type ChangeRow struct {
	governance.Change
	ID ChangeID
}

// ChangeSlice is a part of the stream.
type ChangeSlice struct {
	// State is the state of publication. Places of another ChangesEpoch mean nothing.
	State PublicationState
	// First is where the stream begins, and Last the place of its last row.
	First, Last ChangeID
	// Rows are the rows after the place that was asked for. HasMore says that others follow.
	Rows    []ChangeRow
	HasMore bool
}

// FeedState is up to where rows of events and signals are in the stream.
type FeedState struct {
	// Revision is the revision of the last rows of the feed that were added.
	Revision uint64
	// VisibleThrough is the time up to which those are added that became visible.
	VisibleThrough governance.Timestamp
	// FullRevision is PublicationState.LastFullRevision when the versions of all lists of the feed were known to
	// be in Redis; zero before the first full publication.
	FullRevision uint64
}

// FeedState returns the state of the feed. The error is ErrMiss or ErrUnavailable.
func (s *Store) FeedState(ctx context.Context) (state FeedState, err error) {
	text, err := Get(ctx, s.conn, feedStateKey).Result()
	if err != nil {
		return state, WrapError(err)
	}
	if _, err := fmt.Sscanf(text, "%d %d %d", &state.Revision, &state.VisibleThrough, &state.FullRevision); err != nil {
		return FeedState{}, fmt.Errorf("%w: decode the state of the feed: %w", ErrMiss, err)
	}
	return state, nil
}

// Changes returns at most limit rows after a place. The error is ErrMiss before the first full
// publication is complete, with ErrCorrupt for a stream that is lost, or ErrUnavailable.
func (s *Store) Changes(ctx context.Context, after ChangeID, limit int) (ChangeSlice, error) {
	var first, last, rows *redis.XMessageSliceCmd
	var state *redis.StringCmd
	_ = Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) {
		// The state comes last: if it is of the epoch that was asked for, so are the rows. The
		// first entry comes after the rows, so that none was removed before they were read.
		rows = pipe.XRangeN(ctx, string(changesKey), "("+after.String(), "+", int64(limit)+1)
		first = pipe.XRangeN(ctx, string(changesKey), "-", "+", 1)
		last = pipe.XRevRangeN(ctx, string(changesKey), "+", "-", 1)
		state = pipe.Get(ctx, string(publicationKey))
	}) // each command has its error
	published, err := decodePublicationState(state)
	if err != nil {
		return ChangeSlice{}, err
	}
	slice := ChangeSlice{State: published}
	if slice.Rows, err = decodeChanges(rows); err != nil {
		return ChangeSlice{}, err
	}
	if slice.HasMore = len(slice.Rows) > limit; slice.HasMore {
		slice.Rows = slice.Rows[:limit]
	}
	for _, end := range []struct {
		id    *ChangeID
		reply *redis.XMessageSliceCmd
	}{{&slice.First, first}, {&slice.Last, last}} {
		entries, err := end.reply.Result()
		switch {
		case err != nil:
			return ChangeSlice{}, WrapError(err)
		case len(entries) == 0: // a full publication begins with it
			return ChangeSlice{}, fmt.Errorf("%w: %w: the stream of changes is lost", ErrMiss, ErrCorrupt)
		}
		if *end.id, err = parseChangeID(entries[0].ID); err != nil {
			return ChangeSlice{}, fmt.Errorf("%w: id of a change: %w", ErrUnavailable, err)
		}
	}
	slice.Rows = slices.DeleteFunc(slice.Rows, func(r ChangeRow) bool { return r.Kind == "" })
	return slice, nil
}

func decodeChanges(reply *redis.XMessageSliceCmd) ([]ChangeRow, error) {
	entries, err := reply.Result()
	if err != nil {
		return nil, WrapError(err)
	}
	rows := make([]ChangeRow, len(entries))
	for i, entry := range entries {
		text := func(name string) string {
			value, _ := entry.Values[name].(string)
			return value
		}
		id, err := parseChangeID(entry.ID)
		if err != nil {
			return nil, fmt.Errorf("%w: id of a change: %w", ErrUnavailable, err)
		}
		at, _ := strconv.ParseInt(text("t"), 10, 64) // a marker has none
		rows[i] = ChangeRow{ID: id, Change: governance.Change{
			Kind: governance.ChangeKind(text("k")), Key: text("n"), DAOID: text("d"),
			ChangedAt: governance.Timestamp(at), Revision: governance.Decimal(text("r")),
		}}
	}
	return rows, nil
}
