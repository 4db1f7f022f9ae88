package tally

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/warehouse/source"
)

// openFor is how long after its end a proposal that is not executed is polled. The daily walk finds later changes.
const openFor = 30 * 24 * time.Hour

type note struct {
	// State is the provider's, and End the end of voting.
	State string                `json:"state,omitempty"`
	End   *governance.Timestamp `json:"end,omitempty"`
	// Draft is true for a proposal that is not on the chain yet.
	Draft bool `json:"draft,omitempty"`
	// Stated is the number of votes that the proposal states, Newest the newest vote read when it stated Read.
	Stated uint64 `json:"stated,omitempty"`
	Read   uint64 `json:"read,omitempty"`
	Newest string `json:"newest,omitempty"`
	// Walked is the stated number when all votes were read last, which was at WalkedAt, or
	// nil for never; Closed is true if voting had ended then. Recount asks for it again.
	Walked   *uint64    `json:"walked,omitempty"`
	WalkedAt *time.Time `json:"walkedAt,omitempty"`
	Closed   bool       `json:"closed,omitempty"`
	Recount  bool       `json:"recount,omitempty"`
}

func (n note) isOpen(now time.Time) bool {
	outcome, _ := governance.Tally.StatedOutcome(n.State, "")
	switch {
	case governance.IsOpenState(n.State):
		return true
	case outcome == governance.Passed, !governance.IsKnownState(n.State):
		return n.End == nil || now.Sub(n.End.Time()) < openFor
	}
	return n.Draft && !governance.IsVoteOver(n.State, "")
}

func (n note) isVoting() bool {
	return governance.IsOpenState(n.State) || !governance.IsKnownState(n.State)
}

type head struct {
	ID        string `json:"id"`
	OnchainID string `json:"onchainId"`
	Status    string `json:"status"`
	Governor  struct {
		ID         string `json:"id"`
		IsBehind   bool   `json:"isBehind"`
		IsIndexing bool   `json:"isIndexing"`
	} `json:"governor"`
}

type taken struct {
	records []record.Record
	changes map[string]func(*note)
	hashes  map[string]uint64
	// known is true if one of the proposals was known before.
	known bool
	// newest is the latest time of creation.
	newest *governance.Timestamp
}

// take reads proposals without those that have not changed since the last answer; of drafts, only a note is kept.
func (o *organization) take(nodes ...json.RawMessage) taken {
	o.mu.Lock()
	defer o.mu.Unlock()
	got := taken{changes: map[string]func(*note){}, hashes: map[string]uint64{}}
	for _, text := range nodes {
		var h head
		err, hash := fetch.Decode(text, &h), maphash.Bytes(hashSeed, text)
		if err != nil {
			h.ID = cmp.Or(idOf(text), fmt.Sprintf("node %x", hash))
		}
		if h.ID == "" {
			continue
		}
		n, known := o.notes[h.ID]
		got.known = got.known || err == nil && known && !n.Draft
		o.behind[h.Governor.ID] = h.Governor.IsBehind || h.Governor.IsIndexing
		if o.seen[h.ID] == hash {
			continue
		}
		got.hashes[h.ID] = hash
		switch {
		case err != nil:
			o.journal.Reject(o.source, h.ID, fmt.Errorf("read a proposal: %w", err))
			continue
		case h.OnchainID == "":
			got.changes[h.ID] = func(n *note) { n.State, n.Draft = strings.ToLower(h.Status), true }
			continue
		}
		read := o.journal.Read(follow.Asked{Format: source.TallyProposal, Source: o.source, ItemID: h.ID}, text)
		proposal, is := read.(*record.Proposal)
		if !is {
			continue
		}
		if proposal.CreatedAt != nil && (got.newest == nil || *proposal.CreatedAt > *got.newest) {
			got.newest = proposal.CreatedAt
		}
		got.records = append(got.records, proposal)
		got.changes[h.ID] = func(n *note) {
			n.State, n.Draft, n.End, n.Stated = proposal.State, false, proposal.EndAt, 0
			if proposal.StatedVotes != nil {
				n.Stated = *proposal.StatedVotes
			}
		}
	}
	return got
}

// hashSeed is of the process: hashes are not kept.
var hashSeed = maphash.MakeSeed() //nolint:gochecknoglobals // a constant of the process

func (o *organization) keep(ctx context.Context, got taken, cursors ...records.FollowCursor) error {
	if err := o.journal.Commit(ctx, got.records, cursors...); err != nil {
		return err
	}
	if err := o.note(ctx, got.changes); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(o.seen, got.hashes)
	return nil
}

func (o *organization) note(ctx context.Context, changes map[string]func(*note)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	items, changed := make([]records.FollowedItem, 0, len(changes)), map[string]note{}
	for id, change := range changes {
		n := o.notes[id]
		change(&n)
		changed[id], items = n, append(items, o.journal.Note(o.source, id, n))
	}
	err := records.WriteFollowedItems(ctx, o.journal.Warehouse, items)
	if err == nil {
		maps.Copy(o.notes, changed)
	}
	return err
}

// readNewest reads the newest proposals, page by page until one is known. The first time it reads one page.
func (o *organization) readNewest(ctx context.Context) (bool, error) {
	if err := o.load(ctx); err != nil {
		return false, err
	}
	o.mu.Lock()
	clear(o.behind) // Governors may have left the newest page
	o.mu.Unlock()
	cursor := o.cursor(pollerLog, new(struct{}))
	first, before := cursor.Position == "", cursor
	for after, pages := "", 1; ; pages++ {
		if pages > maxPages {
			return false, o.endless("proposals", o.source.ID, maxPages)
		}
		got, err := o.page(ctx, "proposals", map[string]any{"organizationId": o.id}, after)
		if err != nil {
			return false, err
		}
		found := o.take(got.nodes...)
		if at := found.newest; at != nil && (cursor.UpstreamAt == nil || at.Time().After(*cursor.UpstreamAt)) {
			cursor.UpstreamAt = new(at.Time())
		}
		if err := o.keep(ctx, found); err != nil {
			return false, err
		}
		if after = got.after; first || found.known || after == "" {
			break
		}
	}
	cursor.Position, cursor.State = "{}", o.state()
	if cursor.State == before.State && cursor.UpstreamAt == before.UpstreamAt && !first {
		return false, nil
	}
	return false, o.journal.Commit(ctx, nil, cursor)
}

func (o *organization) readOpen(ctx context.Context) (bool, error) {
	if err := o.load(ctx); err != nil {
		return false, err
	}
	cursor := o.cursor(pollerWatch, new(struct{}))
	if cursor.Position == "" { // it may run before the other poller at first
		if _, err := o.readNewest(ctx); err != nil {
			return false, err
		}
	}
	began := o.Clock.Now()
	open := o.choose(func(n note) bool { return n.isOpen(began) })
	var refused error
	for _, id := range open {
		err := o.readOne(ctx, id)
		if errors.As(err, new(*queryError)) { // the others are read all the same
			if !o.noted(id).Draft { // which may be deleted
				refused = err
			}
			continue
		}
		if err != nil {
			return false, err
		}
	}
	if refused != nil {
		return false, refused
	}
	cursor.Position, cursor.State, cursor.Error = "{}", o.state(), ""
	if took := o.Clock.Now().Sub(began); took > pollInterval {
		cursor.State = governance.SourceBehind
		cursor.Error = fmt.Sprintf("%d open proposals at about one request a second are read every %s", len(open), took.Round(time.Second))
	}
	return false, o.journal.Commit(ctx, nil, cursor)
}

func (o *organization) readOne(ctx context.Context, id string) error {
	text, err := o.askProposal(ctx, id)
	if err != nil {
		return err
	}
	if err := o.keep(ctx, o.take(text)); err != nil {
		return err
	}
	return o.readNewVotes(ctx, id)
}

// askProposal asks for a proposal. An answer with another one is an error.
func (o *organization) askProposal(ctx context.Context, id string) (json.RawMessage, error) {
	answered, err := o.ask(ctx, "proposal", map[string]any{"id": id})
	if err != nil {
		return nil, err
	}
	var said struct {
		ID string `json:"id"`
	}
	if err := fetch.Decode(answered.value, &said); err != nil || said.ID != id {
		return nil, &queryError{fmt.Sprintf("answer of %s to proposal %s is another one, or none", o.Host.Name(), id)}
	}
	return answered.value, nil
}

// choose returns the ids of the proposals whose notes a rule chooses, newest first.
func (o *organization) choose(rule func(note) bool) (ids []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, n := range o.notes {
		if rule(n) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return compareIDs(b, a) })
	return ids
}
