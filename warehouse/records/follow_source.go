package records

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// FollowBackfill is the poller that reads the past, and FollowSource the poller of the cursor
// which says at which upstream a source is followed. The latter is never polled.
const (
	FollowBackfill = "backfill"
	FollowSource   = ""
)

// staleAfter is how long after the last success of any of its pollers a source counts as not polled.
// Every upstream has a poller that polls each minute.
const staleAfter = 5 * time.Minute

// SourceFollow says how following one source goes.
type SourceFollow struct {
	// Status is what callers get. It lacks the lag.
	Status governance.SourceStatus
	// Complete is true when all of the past has been read.
	Complete bool
	// Lacks says what the source states and is not held; empty for nothing. Callers of the API learn only that there
	// is something.
	Lacks string
	// Position is the cursor of the poller that has read furthest, as JSON.
	Position string
	// LatestReject says which item was refused last, and why, and Error what the last poller in trouble says of it;
	// empty for none. Callers of the API get neither.
	LatestReject, Error string
}

// SourceFollows returns how following each source goes at a time.
func SourceFollows(ctx context.Context, w *warehouse.Warehouse, at time.Time) (map[record.SourceRef]SourceFollow, error) {
	type rejects struct {
		Upstream string
		Provider governance.Provider
		SourceID string
		Rejected uint64
		Latest   string
	}
	cursors, err := FollowCursors(ctx, w, "")
	if err != nil || len(cursors) == 0 {
		return nil, err
	}
	rejected, err := warehouse.Find[rejects](ctx, w, "count rejected items", sqlText("follow_source_rejects"))
	if err != nil {
		return nil, err
	}
	follows, upstreams := sourceFollows(cursors, at), followedAt(cursors)
	// What is of no source counts for each source of its upstream, as its pollers do.
	for _, r := range rejected {
		source := record.SourceRef{Provider: r.Provider, ID: r.SourceID}
		for of := range follows {
			if upstreams[of] == r.Upstream && (of == source || r.SourceID == "") {
				f := follows[of]
				f.Status.Rejected += r.Rejected
				f.LatestReject = r.Latest
				if of == source {
					f.lack(fmt.Sprintf("%d refused items, the last is %s", r.Rejected, r.Latest))
				}
				follows[of] = f
			}
		}
	}
	return follows, nil
}

// lack notes what is not held of a source, and gives a state that needs no reason that one.
func (f *SourceFollow) lack(what string) {
	f.Lacks = cmp.Or(f.Lacks, what)
	if f.Lacks != "" && f.Status.Reason == nil {
		f.Status.Reason = new("the source states something that is not stored")
	}
}

// followedAt returns the upstream of each source, which may have been followed at others before.
func followedAt(cursors []FollowCursor) map[record.SourceRef]string {
	upstreams := map[record.SourceRef]string{}
	for _, c := range cursors {
		if source := c.Source(); upstreams[source] == "" || c.Poller == FollowSource && c.State != governance.SourceOff {
			upstreams[source] = c.Upstream
		}
	}
	return upstreams
}

// sourceFollows evaluates cursors. The pollers of an upstream that have no source count for each of its sources.
func sourceFollows(cursors []FollowCursor, at time.Time) map[record.SourceRef]SourceFollow {
	shared := map[string][]FollowCursor{}
	pollers := map[record.SourceRef][]FollowCursor{}
	for _, c := range cursors {
		if c.SourceID == "" {
			shared[c.Upstream] = append(shared[c.Upstream], c)
		}
	}
	upstreams := followedAt(cursors)
	for _, c := range cursors {
		switch {
		case c.SourceID == "", c.Upstream != upstreams[c.Source()]:
			continue
		case c.Poller == FollowSource:
			pollers[c.Source()] = append(pollers[c.Source()], shared[c.Upstream]...)
		default:
			c = withHealth(c, shared[c.Upstream])
		}
		pollers[c.Source()] = append(pollers[c.Source()], c)
	}
	follows := map[record.SourceRef]SourceFollow{}
	for source, cursors := range pollers {
		follows[source] = evaluateSource(source, cursors, at)
	}
	return follows
}

// withHealth returns the cursor of one source with how its poller fares, where one poller polls all sources.
func withHealth(c FollowCursor, shared []FollowCursor) FollowCursor {
	for _, poller := range shared {
		if poller.Poller == c.Poller && c.SucceededAt == nil {
			c.SucceededAt = poller.SucceededAt
			if c.State == governance.SourceLive && c.Poller != FollowBackfill {
				c.State = poller.State
			}
		}
	}
	return c
}

func evaluateSource(source record.SourceRef, cursors []FollowCursor, at time.Time) SourceFollow {
	e := sourceEvaluation{status: governance.SourceStatus{
		SourceType: source.Provider, SourceID: source.ID, State: governance.SourceLive,
	}}
	for _, c := range cursors {
		e.add(c)
	}
	s := &e.status
	complete := e.read && !e.unread
	switch {
	case e.off:
		s.State = governance.SourceOff
	case s.LastSuccessAt == nil || at.Sub(s.LastSuccessAt.Time()) > staleAfter:
		s.State = governance.SourceStale
	case !complete && s.State == governance.SourceLive:
		s.State = governance.SourceBackfilling
	}
	if !complete && !e.off {
		s.Backfill = &e.progress
	}
	s.Reason = s.State.Reason(e.stopped)
	f := SourceFollow{Status: *s, Complete: complete, Position: e.position, Error: e.trouble}
	f.lack(e.lacks)
	return f
}

// sourceEvaluation is what the pollers of one source add up to.
type sourceEvaluation struct {
	status   governance.SourceStatus
	progress governance.BackfillProgress
	// read and unread say that there are pollers of the past that are done, and that are not.
	read, unread bool
	// off says that the source is not followed, and stopped that a poller waits for a person.
	off, stopped             bool
	position, trouble, lacks string
}

func (e *sourceEvaluation) add(c FollowCursor) {
	s := &e.status
	if c.Poller == FollowSource {
		e.off = c.State == governance.SourceOff
		return
	}
	e.lacks = cmp.Or(e.lacks, c.Lacks)
	s.Gaps += c.Gaps
	s.Withdrawn += c.Withdrawn
	s.Reorganizations += c.Reorgs
	s.LastSuccessAt = governance.Later(s.LastSuccessAt, governance.OptionalTimestamp(c.SucceededAt))
	if c.Poller == FollowBackfill && c.SourceID != "" {
		e.addBackfill(c)
	}
	// A poller that is off for a while belongs to a source that is back.
	if c.State != governance.SourceOff && rankOf(c.State) > rankOf(s.State) {
		s.State = c.State
	}
	if c.State == governance.SourceFailing && c.RetryAt == nil {
		e.stopped = true
	}
	if retry := governance.OptionalTimestamp(c.RetryAt); c.Failures > 0 && retry != nil &&
		(s.NextAttemptAt == nil || *retry < *s.NextAttemptAt) {
		s.NextAttemptAt = retry
	}
	if c.Error != "" {
		e.trouble = c.Poller + ": " + c.Error
	}
	through := governance.Later(s.ReadThroughAt, readThrough(c))
	if c.Position != "" && (e.position == "" || through != s.ReadThroughAt) {
		e.position = c.Position
	}
	s.ReadThroughAt = through
}

func (e *sourceEvaluation) addBackfill(c FollowCursor) {
	e.progress.Done += c.Done
	e.progress.Total += c.Total
	if c.State == governance.SourceLive || c.State != governance.SourceMissing && c.Total > 0 && c.Done >= c.Total {
		e.read = true
	} else {
		e.unread = true
	}
}

// readThrough returns the time up to which a poller that looks for what is new has read
// everything: the time of its last success when it is at the end.
func readThrough(c FollowCursor) *governance.Timestamp {
	switch c.Poller {
	case FollowBackfill, "sweep", "final":
		return nil
	}
	through := governance.OptionalTimestamp(c.UpstreamAt)
	if through != nil && c.State == governance.SourceLive {
		through = governance.Later(through, governance.OptionalTimestamp(c.SucceededAt))
	}
	return through
}

// rankOf orders states, the worst last.
func rankOf(state governance.SourceState) int { return slices.Index(governance.SourceStates(), state) }
