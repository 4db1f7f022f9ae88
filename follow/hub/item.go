package hub

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"pnyx/clock"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// watchedAfterEnd is how long after its end a proposal without final scores is watched.
	watchedAfterEnd = 30 * 24 * time.Hour
	// minRevealPause is the least time between two walks of votes that are still encrypted.
	minRevealPause = 10 * time.Minute
)

// walksAfterFinal are the times after the final scores at which all votes are read: powers may still change.
func walksAfterFinal() []time.Duration { return []time.Duration{0, time.Hour, 24 * time.Hour} }

// note is what is remembered of a proposal. Times are in seconds since 1970, 0 for never.
type note struct {
	// Final is when the scores were first seen final.
	Final int64 `json:"final,omitempty"`
	// Walked is when the last complete walk over the votes began.
	Walked int64 `json:"walked,omitempty"`
	// Lack is the number of votes stated at that walk that could not be held: encrypted ones, and invalid ones.
	Lack uint64 `json:"lack,omitempty"`
	// Shutter is true for a proposal whose votes are encrypted until it is over.
	Shutter bool `json:"shutter,omitempty"`
	// Waiting is the number of votes that were encrypted then.
	Waiting uint64 `json:"waiting,omitempty"`
	// Hole says what the walk could not read.
	Hole string `json:"hole,omitempty"`
	// Missing is when the proposal, or the space, was first not found.
	Missing int64 `json:"missing,omitempty"`
	// Looked is when the space was last not found, and Near the most similar id that exists.
	Looked int64  `json:"looked,omitempty"`
	Near   string `json:"near,omitempty"`
}

// item is a proposal that may still change without a message.
type item struct {
	note

	space, origin string
	end           time.Time
	// created is nil where it is not known.
	created   *governance.Timestamp
	encrypted bool
	// content is a hash of the proposal as written last; 0 for unknown.
	content uint64
	// votes is the number of votes stated at the last look, previous at the look before, and even one that the votes
	// held agree with.
	votes, previous, even uint64
	// changed is true for a note that is not written.
	changed bool
}

func (n note) walkDue(now time.Time) bool {
	if n.Final == 0 {
		return false
	}
	final, walked := time.Unix(n.Final, 0), time.Unix(n.Walked, 0)
	for _, pause := range walksAfterFinal() {
		if at := final.Add(pause); (walked.Before(at) || walked.After(now)) && !now.Before(at) {
			return true
		}
	}
	return n.Waiting > 0 && clock.Elapsed(now, walked) >= max(minRevealPause, now.Sub(final)/10)
}

// reveals reports whether a walk may be the first to see votes that were encrypted.
func (n note) reveals() bool { return n.Shutter && (n.Waiting > 0 || n.Walked < n.Final) }

// settled reports whether nothing more is expected of a proposal but what sweeps find.
func (n note) settled(end, now time.Time) bool {
	if n.Missing > 0 || n.Waiting > 0 {
		return false
	}
	pauses := walksAfterFinal()
	walkedLast := n.Final > 0 && !time.Unix(n.Walked, 0).Before(time.Unix(n.Final, 0).Add(pauses[len(pauses)-1]))
	return walkedLast && now.After(end) || now.After(end.Add(watchedAfterEnd))
}

// watched reports whether a proposal is looked at each minute: its scores are not final, or it is missing.
func (i *item) watched(now time.Time) bool {
	return i.Final == 0 && now.Before(i.end.Add(watchedAfterEnd)) || i.Missing > 0
}

// load reads what was remembered and what is held, once.
func (p *reader) load(ctx context.Context) error {
	if p.loaded {
		return nil
	}
	p.items, p.walked, p.lack = map[string]*item{}, map[string]bool{}, map[string]uint64{}
	p.holes = map[string]hole{}
	p.missing, p.seen, p.after = map[string]note{}, map[int64]time.Time{}, 0
	p.queue, p.queueSpace, p.lookedAt = nil, "", time.Time{}
	if err := p.beginAnew(ctx); err != nil {
		return err
	}
	stored, err := records.FollowedItems(ctx, p.journal.Warehouse, p.ID())
	if err != nil {
		return err
	}
	for _, s := range stored {
		if !p.follows(s.SourceID) {
			continue
		}
		var n note
		if err := json.Unmarshal([]byte(s.Note), &n); err != nil {
			return err
		}
		p.recall(s, n)
	}
	now := p.Clock.Now()
	held, err := records.HeldProposals(ctx, p.journal.Warehouse, governance.Snapshot, p.Spaces, now.Add(-watchedAfterEnd))
	if err != nil {
		return err
	}
	for _, h := range held {
		if i := p.items[h.ExternalID]; i != nil || !h.Withdrawn {
			p.adopt(h, i)
		}
	}
	maps.DeleteFunc(p.items, func(_ string, i *item) bool { return i.settled(i.end, now) })
	p.loaded = true
	return nil
}

// recall takes what was remembered of a space or a proposal.
func (p *reader) recall(s records.FollowedItem, n note) {
	if s.ItemID == "" {
		if n.Missing > 0 {
			n.Looked = max(n.Missing, n.Looked)
			p.missing[s.SourceID] = n
		}
		return
	}
	if n.Lack > 0 {
		p.lack[s.ItemID] = n.Lack
	}
	if n.Hole != "" {
		p.holes[s.ItemID] = hole{s.SourceID, n.Hole}
	}
	_, at := p.past(s.SourceID)
	if n.Walked < at.Anew {
		n.Walked = 0
	}
	if n.Walked > 0 && at.Phase != done {
		p.walked[s.ItemID] = true
	}
	p.items[s.ItemID] = &item{note: n, space: s.SourceID} // without an end: settled, if it is not held as a recent one
}

func (p *reader) adopt(h records.HeldProposal, i *item) {
	if i == nil {
		i = &item{space: h.SourceID}
		p.items[h.ExternalID] = i
	}
	i.origin, i.created = h.Origin, h.CreatedAt
	if h.EndAt != nil {
		i.end = h.EndAt.Time()
	}
}

func (p *reader) saveNotes(ctx context.Context) error {
	var rows []records.FollowedItem
	for id, i := range p.items {
		if i.changed {
			rows = append(rows, p.journal.Note(sourceRef(i.space), id, i.note))
		}
	}
	if err := records.WriteFollowedItems(ctx, p.journal.Warehouse, rows); err != nil {
		return err
	}
	now := p.Clock.Now()
	for id, i := range p.items {
		i.changed = false
		if i.settled(i.end, now) {
			delete(p.items, id)
		}
	}
	return nil
}

func hashes(ids []string) []record.RefHash {
	return warehouse.Values(ids, func(id string) record.RefHash { return proposalRef(id).Hash() })
}
