// Package changelog adds to the log of changes. The warehouse has the log, and Redis the copy that API nodes serve.
//
// A row is in the warehouse before it is in Redis, so that no reader is ahead of the log. Rows that only the
// warehouse has, because their writer died or another worker was first, are added again later: a key comes once
// more, but never less. The copy is completed, or made anew, whenever it does not end where this process has left
// it.
package changelog

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/records"
)

const (
	// attempts bounds how often rows are added while other workers add some.
	attempts = 10
	// rowBits are the bits of ChangeID.Number that count the rows of one call; the others name
	// the writer, so that no two writers give one place.
	rowBits = 24
	// upgradeReach is how long before an upgrade from a version without the log a reader may have read last: all
	// that it has missed is told after the upgrade.
	upgradeReach = 24 * time.Hour
	chunkSize    = 10_000
)

// Options configures a Log.
type Options struct {
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	// Format names what answers are made with, beside cache format and rules: after a change everything is told.
	Format string
	// OnChanges is called with how many rows were added to the copy, and how many it has.
	OnChanges func(added int, length int64)
}

// Log is the log of changes. It is safe for concurrent use.
type Log struct {
	Options
	rows   counts.ChangeLog
	writer uint64

	mu sync.Mutex
	// epoch is zero before the log was read. tail is where this process has left the copy.
	epoch uint64
	tail  cache.ChangeID
}

// New returns a Log. Nothing is read yet.
func New(o Options) *Log {
	var random [8]byte
	rand.Read(random[:])
	o.Format = fmt.Sprint(cache.Namespace, rules.FeedRulesVersion(), " ", o.Format)
	return &Log{Options: o, rows: counts.NewChangeLog(o.Warehouse), writer: binary.BigEndian.Uint64(random[:]) << rowBits}
}

// Told says up to where the log tells what was published.
type Told struct {
	Epoch uint64
	// Position is nil while nothing was published in this epoch.
	Position *counts.ChangePosition
	// Everything says that answers are made in another way since: all keys are to be told.
	Everything bool
}

// Open reads the log, completes the copy, and returns up to where the log tells what was published.
func (l *Log) Open(ctx context.Context) (told Told, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(ctx); err != nil {
		return told, err
	}
	told.Epoch = l.epoch
	position, err := l.rows.Position(ctx, counts.PublicationPosition)
	if err == nil && position == nil {
		// A version without the log may have published: all may be answered in another way since.
		var revision uint64
		revision, err = l.Warehouse.LastRevision(ctx)
		told.Everything = revision > 0
	}
	if err != nil || position == nil || position.Epoch != l.epoch {
		return told, err
	}
	told.Position, told.Everything = position, position.Format != l.Format
	return told, nil
}

// Advance states up to where the log tells what was published. The rows were added before.
func (l *Log) Advance(ctx context.Context, p counts.ChangePosition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch == 0 {
		if err := l.open(ctx); err != nil {
			return err
		}
	}
	p.Epoch, p.Format = l.epoch, l.Format
	return l.rows.SetPosition(ctx, counts.PublicationPosition, p)
}

// Add adds rows, whose values were written before, and then states up to where the feed is told, if given.
func (l *Log) Add(ctx context.Context, changes []governance.Change, feed *cache.FeedState) error {
	if len(changes) > 0 {
		if err := l.add(ctx, changes); err != nil {
			return err
		}
	}
	if feed == nil {
		return nil
	}
	// The warehouse first: what it states less is told again.
	err := l.rows.SetPosition(ctx, counts.FeedPosition, counts.ChangePosition{
		Revision: feed.Revision, VisibleThrough: feed.VisibleThrough,
	})
	if err != nil {
		return err
	}
	return l.Store.SetFeedState(ctx, *feed)
}

// Feed returns up to where rows of the feed are told, for a Redis that has lost it; nil for nowhere.
func (l *Log) Feed(ctx context.Context) (*counts.ChangePosition, error) {
	return l.rows.Position(ctx, counts.FeedPosition)
}

func (l *Log) add(ctx context.Context, changes []governance.Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range attempts {
		head, err := l.head(ctx)
		if err != nil {
			return err
		}
		rows := l.place(head.Time, changes)
		if err := l.rows.Append(ctx, l.epoch, logged(rows)); err != nil {
			return err
		}
		length, err := l.Store.AppendChanges(ctx, &head.Last, rows)
		if errors.Is(err, cache.ErrChangesMoved) {
			continue
		}
		if err != nil {
			return err
		}
		l.tail = rows[len(rows)-1].ID
		l.OnChanges(len(rows), length)
		return nil
	}
	return fmt.Errorf("add %d changes: %w after %d attempts", len(changes), cache.ErrChangesMoved, attempts)
}

func (l *Log) place(at uint64, changes []governance.Change) []cache.ChangeRow {
	rows := make([]cache.ChangeRow, len(changes))
	for i, change := range changes {
		rows[i] = cache.ChangeRow{Change: change, ID: cache.ChangeID{Time: at, Number: l.writer | uint64(i)}}
	}
	return rows
}

// head returns the end of the copy, which has all rows of the log then.
func (l *Log) head(ctx context.Context) (cache.ChangeHead, error) {
	for range attempts {
		head, err := l.Store.ChangeHead(ctx)
		if err != nil || l.epoch != 0 && head.Exists && head.Last == l.tail {
			return head, err
		}
		if err := l.open(ctx); err != nil {
			return head, err
		}
	}
	return cache.ChangeHead{}, cache.ErrChangesMoved
}

// open finds the epoch, or begins one, and completes the copy, also while other workers do.
func (l *Log) open(ctx context.Context) (err error) {
	for range attempts {
		if err = l.tryOpen(ctx); !errors.Is(err, cache.ErrChangesMoved) {
			return err
		}
	}
	return err
}

func (l *Log) tryOpen(ctx context.Context) error {
	restored, err := records.LastRestore(ctx, l.Warehouse)
	if err != nil {
		return err
	}
	position, err := l.rows.Position(ctx, counts.LogPosition)
	if err != nil {
		return err
	}
	head, err := l.Store.ChangeHead(ctx)
	if err != nil {
		return err
	}
	if position == nil || position.Restored != restored {
		at := head.Time
		if position == nil {
			published, err := l.Warehouse.LastRevision(ctx)
			if err != nil {
				return err
			}
			if published > 0 { // by a version without the log: everything is told
				at -= uint64(upgradeReach / time.Millisecond)
			}
		}
		if err := l.begin(ctx, restored, at); err != nil {
			return err
		}
		return l.copyAll(ctx, head)
	}
	l.epoch = position.Epoch
	state, err := l.Store.PublicationState(ctx)
	switch {
	case err != nil && !errors.Is(err, cache.ErrMiss):
		return err
	case err != nil && l.tail == (cache.ChangeID{}), !head.Exists, err == nil && state.ChangesEpoch != l.epoch:
		return l.copyAll(ctx, head)
	}
	return l.copyAfter(ctx, head.Last, &head.Last)
}

func (l *Log) begin(ctx context.Context, restored string, at uint64) error {
	now, err := l.Warehouse.Now(ctx)
	if err != nil {
		return err
	}
	epoch := uint64(now.UnixMicro())
	if err := l.rows.Append(ctx, epoch, logged(l.place(at, make([]governance.Change, 1)))); err != nil {
		return err
	}
	if err := l.rows.SetPosition(ctx, counts.LogPosition, counts.ChangePosition{Epoch: epoch, Restored: restored}); err != nil {
		return err
	}
	l.epoch = epoch
	return nil
}

// copyAll makes the copy anew. It begins with a mark at the place after which it has every row.
func (l *Log) copyAll(ctx context.Context, head cache.ChangeHead) error {
	atMs, number, err := l.rows.Beginning(ctx, l.epoch, cache.MaxChanges-1)
	if err != nil {
		return err
	}
	begin := cache.ChangeID{Time: atMs, Number: number}
	if oldest := (cache.ChangeID{Time: head.Time - uint64(cache.ChangeTTL/time.Millisecond)}); begin.Before(oldest) {
		begin = oldest
	}
	if began := (cache.ChangeID{Time: l.epoch / 1000}); begin.Before(began) {
		return l.copyAfter(ctx, cache.ChangeID{}, nil)
	}
	mark := []cache.ChangeRow{{ID: begin}}
	if _, err := l.Store.AppendChanges(ctx, nil, mark); err != nil {
		return err
	}
	return l.copyAfter(ctx, begin, &begin)
}

// copyAfter adds the rows of the log after a place to the copy, which ends at another; nil makes it anew.
func (l *Log) copyAfter(ctx context.Context, place cache.ChangeID, end *cache.ChangeID) error {
	rows := make([]cache.ChangeRow, 0, chunkSize)
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		length, err := l.Store.AppendChanges(ctx, end, rows)
		if err != nil {
			return err
		}
		end = new(rows[len(rows)-1].ID)
		l.OnChanges(0, length)
		rows = rows[:0]
		return nil
	}
	err := l.rows.Read(ctx, l.epoch, place.Time, place.Number, func(row counts.LoggedChange) error {
		rows = append(rows, cache.ChangeRow{Change: row.Change, ID: cache.ChangeID{Time: row.AtMs, Number: row.Number}})
		if len(rows) < chunkSize {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil && end != nil {
		l.tail = *end
	}
	return err
}

func logged(rows []cache.ChangeRow) []counts.LoggedChange {
	return warehouse.Values(rows, func(row cache.ChangeRow) counts.LoggedChange {
		return counts.LoggedChange{Change: row.Change, AtMs: row.ID.Time, Number: row.ID.Number}
	})
}
