package follow

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"pnyx/backoff"
	"pnyx/fetch"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// healthInterval is the time between two writes of what pollers have reported.
	healthInterval = 5 * time.Second
	// lateIntervals intervals, but at least minLate, is how long a poller may have no success before it is behind.
	lateIntervals, minLate = 3, 30 * time.Second
)

// entry is a cursor in memory.
type entry struct {
	// cursor has the state that its poller set, and else is as it will be written.
	cursor records.FollowCursor
	// trouble overrides the state of the poller when it is set.
	trouble governance.SourceState
	// interval is the poller's interval; 0 when no poller is registered.
	interval time.Duration
	// since is when the poller was registered.
	since time.Time
	// pending is true while something of it is not written.
	pending bool
}

// newEntry takes over a stored cursor. A state that says how polls went stays until the next poll that succeeds,
// and one that the poller gave with a reason until it gives another.
func newEntry(cursor records.FollowCursor) *entry {
	e := &entry{cursor: cursor}
	switch isReasoned := cursor.Failures == 0 && cursor.Error != ""; {
	case isReasoned && cursor.State == governance.SourceOff:
		e.trouble, e.cursor.State = cursor.State, governance.SourceBehind
	case isReasoned, cursor.State == governance.SourceLive, cursor.State == governance.SourceBackfilling:
	default:
		e.trouble, e.cursor.State = cursor.State, governance.SourceLive
		if cursor.Done < cursor.Total {
			e.cursor.State = governance.SourceBackfilling
		}
	}
	return e
}

// move takes over what the poller sets of a cursor. A time of upstream that has not come yet, or lies before all of
// them, is not believed: it would hide any lag, and may be none that can be written.
func (e *entry) move(to records.FollowCursor, now time.Time) {
	const maxAhead = 15 * time.Minute // how far a clock of upstream may be ahead of ours
	from := e.cursor
	if at := to.UpstreamAt; at != nil && (at.Unix() < 0 || at.After(now.Add(maxAhead))) {
		to.UpstreamAt = from.UpstreamAt
	}
	to.Upstream, to.Provider, to.SourceID, to.Poller = from.Upstream, from.Provider, from.SourceID, from.Poller
	to.SucceededAt, to.FailedAt, to.RetryAt, to.Failures = from.SucceededAt, from.FailedAt, from.RetryAt, from.Failures
	switch {
	case to.Failures > 0:
		to.Error = from.Error
	case to.State == governance.SourceBehind, to.State == governance.SourceFailing, to.State == governance.SourceMissing:
		to.Error = record.Clip(to.Error, maxReason)
	default:
		to.Error = "" // what the poller said while it was behind
	}
	to.State = cmp.Or(to.State, governance.SourceLive)
	e.cursor, e.pending = to, true
	if e.interval == 0 {
		e.state("") // no poll of its own reports how it fares
	}
}

func (e *entry) stored() records.FollowCursor {
	cursor := e.cursor
	cursor.State = cmp.Or(e.trouble, cursor.State, governance.SourceLive)
	return cursor
}

func (e *entry) state(trouble governance.SourceState) {
	if e.trouble != trouble {
		e.trouble, e.pending = trouble, true
	}
}

// isLate reports whether no poll has succeeded for too long.
func (e *entry) isLate(now time.Time) bool {
	if e.interval == 0 {
		return false
	}
	last := e.since
	if at := e.cursor.SucceededAt; at != nil && at.After(last) && !at.After(now) {
		last = *at
	}
	return now.Sub(last) > max(lateIntervals*e.interval, minLate)
}

// lag is the time since the last success of a poller at the end, and otherwise since the newest item.
func (e *entry) lag(now time.Time) time.Duration {
	at := e.since
	if c := e.cursor; c.State != governance.SourceBackfilling && c.State != governance.SourceBehind && c.SucceededAt != nil {
		at = *c.SucceededAt
	} else if c.UpstreamAt != nil {
		at = *c.UpstreamAt
	}
	return max(0, now.Sub(at))
}

func (j *Journal) register(poller Poller) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entry(poller.Source, poller.Name)
	e.interval, e.since = poller.Interval, j.Clock.Now()
}

func (j *Journal) succeeded(poller Poller) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entry(poller.Source, poller.Name)
	if e.cursor.Failures > 0 {
		e.cursor.Failures, e.cursor.Error, e.cursor.RetryAt = 0, "", nil
	}
	e.cursor.SucceededAt, e.pending = new(j.Clock.Now()), true
	e.state("")
}

// failed notes that a poller could not poll. retryAt is nil when it is not tried again.
func (j *Journal) failed(poller Poller, err error, retryAt *time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entry(poller.Source, poller.Name)
	now := j.Clock.Now()
	c := &e.cursor
	c.FailedAt, c.RetryAt, c.Error, c.Failures = &now, retryAt, record.Clip(err.Error(), maxReason), c.Failures+1
	e.pending = true
	_, limited := errors.AsType[*fetch.LimitedError](err)
	switch {
	case limited:
		e.state(governance.SourceLimited)
	case retryAt == nil || e.isLate(now) || errors.Is(err, ErrEndless):
		e.state(governance.SourceFailing)
	}
}

// keep notes in the cursors of sources that are not followed that they are off, and in all others that they are not.
// Every source has a cursor, before its first poller moves one.
func (j *Journal) keep() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for source := range j.sources {
		if e := j.entry(source, records.FollowSource); e.cursor.State == "" {
			e.cursor.State, e.pending = governance.SourceLive, true
		}
	}
	for key, e := range j.cursors {
		switch followed := key.source.ID == "" || j.sources[key.source]; {
		case !followed:
			e.state(governance.SourceOff)
		case e.trouble == governance.SourceOff:
			e.state("")
		}
	}
}

// pending returns the entries to write. Pollers that are late are noted first.
func (j *Journal) pending() (due []*entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.Clock.Now()
	for _, e := range j.cursors {
		if e.trouble == "" && e.isLate(now) {
			e.state(governance.SourceBehind)
		}
		if e.pending {
			due = append(due, e)
		}
	}
	return due
}

// writeHealth writes what pollers have reported until ctx ends.
func (f *Follower) writeHealth(ctx context.Context) {
	failing := false
	for backoff.Wait(ctx, healthInterval); ctx.Err() == nil; backoff.Wait(ctx, healthInterval) {
		err := writePending(ctx, f.Warehouse, f.opened()...)
		if err != nil && !failing && ctx.Err() == nil {
			f.Logger.LogAttrs(ctx, slog.LevelWarn, "writing source health failed, retrying", slog.Any("error", err))
		}
		failing = err != nil
	}
}

func writePending(ctx context.Context, w *warehouse.Warehouse, journals ...*Journal) error {
	due := map[*Journal][]*entry{}
	var failed error
	for _, j := range journals {
		due[j] = j.pending()
		failed = errors.Join(failed, j.writeRejects(ctx))
	}
	return errors.Join(failed, writeEntries(ctx, w, due))
}

// writeEntries writes cursors with one insert. What changes meanwhile, or could not be written, is pending. Two
// writes of a journal do not overlap, so that the later one is the later version.
func writeEntries(ctx context.Context, w *warehouse.Warehouse, due map[*Journal][]*entry) error {
	var cursors []records.FollowCursor
	for j, entries := range due {
		j.writing.Lock()
		defer j.writing.Unlock()
		j.mu.Lock()
		for _, e := range entries {
			cursors = append(cursors, e.stored())
			e.pending = false
		}
		j.mu.Unlock()
	}
	err := records.WriteFollowCursors(ctx, w, cursors)
	if err == nil {
		return nil
	}
	for j, entries := range due {
		j.mu.Lock()
		for _, e := range entries {
			e.pending = true
		}
		j.mu.Unlock()
	}
	return err
}
