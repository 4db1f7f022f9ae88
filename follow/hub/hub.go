// Package hub follows the spaces of a Snapshot hub.
//
// The hub's log of messages tells what arrives, by a number that only grows. Much changes
// without a message: powers, scores, encrypted choices. Other pollers read again what is
// open, what has closed, and slowly everything.
package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// The intervals of the pollers.
const (
	logInterval, watchInterval, closeInterval, backfillInterval = 10 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second
	// lookInterval is between two looks at all watched proposals. Those that ended within justEnded, whose scores
	// become final without a message, are looked at each time.
	lookInterval, justEnded = time.Minute, 10 * time.Minute
	// sweepInterval is the time in which each space is swept once; minSweepPause is between two spaces.
	sweepInterval, minSweepPause = 24 * time.Hour, 10 * time.Second
)

// Pace is how often a hub may be asked: it allows an address 100 requests in any minute, the burst included.
func Pace(keyed bool) fetch.Pace {
	if keyed {
		return fetch.Pace{Requests: 300, Burst: 30, Per: time.Minute}
	}
	return fetch.Pace{Requests: 90, Burst: 9, Per: time.Minute}
}

// Hub is a hub as one upstream, with what is followed there. It is safe for concurrent use.
type Hub struct {
	// Host is the hub; its address is the GraphQL endpoint.
	Host *fetch.Host
	// APIKey raises the hub's limit; it may be empty.
	APIKey string
	Spaces []string
	// Clock is nil for the system's.
	Clock *clock.Clock
	// Logger is not nil.
	Logger *slog.Logger

	// withheld is the time in seconds before which the last restricted answer has nothing, because the key has no
	// access to the past; 0 for an answer that has all.
	withheld atomic.Int64
}

// ID returns "snapshot:" and the host's name.
func (h *Hub) ID() string { return "snapshot:" + h.Host.Name() }

// Sources returns the followed spaces.
func (h *Hub) Sources() []record.SourceRef { return warehouse.Values(h.Spaces, sourceRef) }

// Pollers implements follow.Upstream.
func (h *Hub) Pollers(journal *follow.Journal) []follow.Poller {
	p := &reader{Hub: h, journal: journal, failed: failures{}, unsure: map[string]uint64{}, absurd: -1}
	names := &follow.Names{Journal: journal, Source: governance.NameOfSnapshot, Provider: governance.Snapshot, Ask: p.profiles}
	return []follow.Poller{
		{Name: logPoller, Interval: logInterval, Run: messageLog{p}.pollLog},
		{Name: watchPoller, Interval: watchInterval, Run: watcher{p}.watch},
		{Name: closePoller, Interval: closeInterval, Run: closer{p}.walkClosed},
		{Name: sweepPoller, Interval: max(minSweepPause, sweepInterval/time.Duration(2*max(1, len(h.Spaces)))), Run: sweeper{p}.sweep},
		{Name: backfillPoller, Interval: backfillInterval, Run: backfiller{p}.backfill},
		names.Poller(),
	}
}

// The names of the pollers.
const (
	logPoller, watchPoller, closePoller, sweepPoller, backfillPoller = "log", "watch", "close", "sweep", "backfill"
)

// reader is what the pollers share while this process leads the hub.
type reader struct {
	*Hub

	journal *follow.Journal

	// turn is held from a request to its commit: what is read earlier is written earlier. It guards the following.
	turn   sync.Mutex
	loaded bool
	// since is logPosition.Since of the followed spaces.
	since map[string]int64
	// items are the proposals that may still change without a message, by id.
	items map[string]*item
	// walked are the proposals whose votes were read once, in spaces that are still being backfilled.
	walked map[string]bool
	// lack is the number of stated votes that could not be held, by proposal.
	lack map[string]uint64
	// unsure is the number of those that one walk alone did not find.
	unsure map[string]uint64
	// holes is what cannot be read, by proposal.
	holes map[string]hole
	// missing are the spaces that the hub did not know.
	missing map[string]note
	// spacesReadAt is when all spaces were last read, or the process began to.
	spacesReadAt time.Time
	// seen has the messages read beyond the log's cursor, with the time of the first look; after is the last of them
	// while there are more. absurd is the last number that was refused, or after which one could not be read at
	// absurdAt, and missed counts what sweeps found since the log last had anything.
	seen          map[int64]time.Time
	after, absurd int64
	absurdAt      time.Time
	missed        uint64
	// lookedAt is when all watched proposals were last looked at.
	lookedAt time.Time
	// walks are the walks that pollers have asked for and that wait for their turn.
	walks []*walk
	// walking and filling are the walks in progress of the pollers close and backfill.
	walking, filling *walk
	// queue are the unread proposals of queueSpace, and paged the held ones of pagedSpace.
	queue                  []due
	paged                  map[string]bool
	queueSpace, pagedSpace string
	// failed has other spaces come first.
	failed failures
}

// findings are what one request or walk found, for the cursor of its poller. rejected counts what is no record.
type findings struct {
	records                   []record.Record
	gaps, withdrawn, rejected uint64
}

// commit writes findings and moves a cursor. After an error all is loaded again: what is remembered may not be written.
func (p *reader) commit(ctx context.Context, cursor records.FollowCursor, f findings) error {
	_, err := p.commitCounted(ctx, cursor, f)
	return err
}

func (p *reader) commitCounted(ctx context.Context, cursor records.FollowCursor, f findings) (records.Counts, error) {
	cursor.Gaps += f.gaps
	cursor.Withdrawn += f.withdrawn
	if cursor.Poller == backfillPoller {
		p.explain(&cursor)
	}
	counts, err := p.journal.CommitCounted(ctx, f.records, cursor)
	if err != nil {
		p.loaded = false
	}
	return counts, err
}

// hole is what cannot be read of a proposal in a space.
type hole struct{ space, text string }

// explain says in the cursor of a space what keeps it from being complete.
func (p *reader) explain(cursor *records.FollowCursor) {
	reason := ""
	for id, h := range p.holes {
		if h.space == cursor.SourceID {
			reason = fmt.Sprintf("proposal %s: %s", fetch.Clip(id), h.text)
		}
	}
	var before backfillPosition
	_ = cursor.ReadPosition(&before) // as in past
	if before.Cut {
		reason = fmt.Sprintf("%s lists more than %d proposals of %s", p.Host.Name(), maxListed, cursor.SourceID)
	}
	if before.Withheld > 0 {
		reason = fmt.Sprintf("%s withholds what was created before %s: it asks for an API key with access to the past", p.Host.Name(), at(before.Withheld))
	}
	gone, missing := p.missing[cursor.SourceID]
	switch {
	case missing:
		cursor.State, cursor.Error = governance.SourceMissing, p.missingText(cursor.SourceID, gone.Near)
	case reason != "":
		cursor.State, cursor.Error = governance.SourceBehind, reason
	case cursor.State != governance.SourceBehind && cursor.State != governance.SourceMissing:
	case before.Phase == done:
		cursor.State = governance.SourceLive
	default:
		cursor.State = governance.SourceBackfilling
	}
}

func (p *reader) past(space string) (cursor records.FollowCursor, at backfillPosition) {
	cursor = p.journal.At(sourceRef(space), backfillPoller, &at)
	return cursor, at
}

// spaceCursor returns the cursor of a poller for a space, or with "" for all spaces.
func (p *reader) spaceCursor(space, poller string) records.FollowCursor {
	return p.journal.Cursor(sourceRef(space), poller)
}

func sourceRef(space string) record.SourceRef {
	return record.SourceRef{Provider: governance.Snapshot, ID: space}
}

func proposalRef(id string) record.ProposalRef {
	return record.ProposalRef{Provider: governance.Snapshot, ExternalID: id}
}

// read adds the record of an item to the findings. It returns nil for an item that is none, or not what was asked for.
func (p *reader) read(f *findings, asked follow.Asked, row json.RawMessage) record.Record {
	read := p.journal.Read(asked, row)
	if read == nil {
		f.rejected++
		return nil
	}
	f.records = append(f.records, read)
	return read
}

// reject keeps an item of a space, or with "" of the hub, that is no record.
func (p *reader) reject(f *findings, space, id string, reason error) {
	f.rejected++
	if !p.follows(space) {
		space = ""
	}
	p.journal.Reject(sourceRef(space), id, reason)
}

func (h *Hub) follows(space string) bool { return slices.Contains(h.Spaces, space) }

// filter is the condition on spaces of a list that allows no more than maxFiltered; nil for none.
func (h *Hub) filter() any {
	const maxFiltered = 100 // the number of spaces up to which the log is filtered by them
	if len(h.Spaces) > maxFiltered {
		return nil
	}
	return h.Spaces
}
