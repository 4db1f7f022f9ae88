package tally

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/warehouse/source"
)

const (
	// maxNewPages bounds the pages of new votes in one poll of a proposal; beyond, the backfill reads all its votes.
	maxNewPages = 5
	// recountAfter is the time between two readings of all votes of an open proposal.
	recountAfter = time.Hour
)

// compareIDs compares ids, which are whole numbers beyond the precision of floats, by date.
func compareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

type votes struct {
	records []record.Record
	ids     []string
	// unread are the ids of votes that are none, as far as they state one.
	unread []string
}

// takeVotes reads votes on a proposal. Pending ones, which become plain when they arrive from another chain, and
// nodes of other types are left out.
func (o *organization) takeVotes(proposal string, nodes []json.RawMessage) (got votes) {
	for _, text := range nodes {
		var said struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Proposal struct {
				ID string `json:"id"`
			} `json:"proposal"`
			Voter struct {
				Name *string `json:"name"`
			} `json:"voter"`
		}
		if err := fetch.Decode(text, &said); err != nil {
			got.unread = append(got.unread, idOf(text))
			o.journal.Reject(o.source, idOf(text), fmt.Errorf("read a vote: %w", err))
			continue
		}
		if said.ID == "" || strings.HasPrefix(strings.ToLower(said.Type), "pending") {
			continue
		}
		if said.Proposal.ID != proposal {
			o.journal.Reject(o.source, said.ID, fmt.Errorf("%w: it is on proposal %q where %q was asked for",
				follow.ErrForeign, fetch.Clip(said.Proposal.ID), proposal))
			continue
		}
		got.ids = append(got.ids, said.ID)
		ballot := o.journal.Read(follow.Asked{Format: source.TallyVote, Source: o.source, ItemID: said.ID, Proposal: proposal}, text)
		if ballot == nil {
			continue
		}
		got.records = append(got.records, ballot)
		if b, is := ballot.(*record.Ballot); is && said.Voter.Name != nil {
			got.records = append(got.records, &record.Name{Voter: b.Voter, Source: governance.NameOfTally, Name: *said.Voter.Name})
		}
	}
	return got
}

// readNewVotes reads the votes of a proposal whose stated number has changed, newest first until a known one. Where
// that does not explain the number, as when a vote arrives late with an old id, all votes are to be read again.
func (o *organization) readNewVotes(ctx context.Context, id string) error {
	n := o.noted(id)
	if n.Draft || n.Stated == n.Read {
		return nil
	}
	newest, reached, after := n.Newest, false, ""
	for range maxNewPages {
		got, err := o.page(ctx, queryVotes, map[string]any{"proposalId": id}, after)
		if err != nil {
			return err
		}
		found := o.takeVotes(id, got.nodes)
		if err := o.journal.Commit(ctx, found.records); err != nil {
			return err
		}
		for _, vote := range found.ids {
			if compareIDs(vote, newest) > 0 {
				newest = vote
			}
			reached = reached || n.Newest != "" && compareIDs(vote, n.Newest) <= 0
		}
		if after = got.after; reached || got.short || after == "" {
			reached = true
			break
		}
	}
	hash := ref(id).Hash()
	held, err := records.HeldVoters(ctx, o.journal.Warehouse, []record.RefHash{hash})
	if err != nil {
		return err
	}
	return o.note(ctx, map[string]func(*note){id: func(now *note) {
		now.Read, now.Recount = n.Stated, now.Recount || !reached || held[hash] != n.Stated
		if compareIDs(newest, now.Newest) > 0 {
			now.Newest = newest
		}
	}})
}

func (o *organization) noted(id string) note {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.notes[id]
}

func ref(id string) record.ProposalRef {
	return record.ProposalRef{Provider: governance.Tally, ExternalID: id}
}

// walk is a reading of all votes of a proposal, newest first.
type walk struct {
	proposal string
	// stated is the number of votes that the proposal stated when the walk began, first the newest vote then.
	stated uint64
	first  string
	// closed is true if voting had ended when it began.
	closed bool
	after  string
	seen   map[string]bool
	pages  int
	// unread is true if upstream could not answer a vote whole.
	unread bool
}

// most is the number of pages after which a walk ends although the list goes on. Votes may arrive during the walk.
func (w *walk) most() int {
	return int(min(2*min(w.stated, maxVotePages*maxPage)/maxPage+100, maxVotePages))
}

// nextWalk returns a walk over the votes of the newest proposal that needs one: it has closed since its votes were
// last read, or their number is not explained. It is nil if no proposal does.
func (o *organization) nextWalk() *walk {
	now := o.Clock.Now()
	due := o.choose(func(n note) bool {
		switch {
		case n.Draft:
			return false
		case n.isVoting():
			return n.Recount && (n.WalkedAt == nil || clock.Elapsed(now, *n.WalkedAt) >= recountAfter)
		}
		return n.Walked == nil || *n.Walked != n.Stated || !n.Closed
	})
	due = slices.DeleteFunc(due, func(id string) bool { return now.Sub(o.refused[id].at) < recountAfter })
	if len(due) == 0 {
		return nil
	}
	n := o.noted(due[0])
	return &walk{proposal: due[0], stated: n.Stated, closed: !n.isVoting(), seen: map[string]bool{}}
}

// step reads one page of a walk; after the last, it withdraws what is held and was on no page, and is done.
func (o *organization) step(ctx context.Context, w *walk) (done bool, withdrawn uint64, err error) {
	if w.pages >= w.most() {
		return false, 0, o.endless("votes", w.proposal, w.most())
	}
	got, err := o.page(ctx, queryVotes, map[string]any{"proposalId": w.proposal}, w.after)
	if err != nil {
		return false, 0, err
	}
	found := o.takeVotes(w.proposal, got.nodes)
	w.unread = w.unread || len(got.unread) > 0
	for _, id := range slices.Concat(found.ids, found.unread, got.unread) {
		w.first = cmp.Or(w.first, id)
		w.seen[id] = true
	}
	records := found.records
	last := got.after == "" || got.short && uint64(len(w.seen)) >= w.stated
	if last {
		gone, err := o.gone(ctx, w)
		if err != nil {
			return false, 0, err
		}
		records, withdrawn = append(records, gone...), uint64(len(gone))
	}
	if err := o.journal.Commit(ctx, records); err != nil {
		return false, 0, err
	}
	w.after, w.pages = got.after, w.pages+1
	return last, withdrawn, nil
}

// gone returns the held votes that a walk has not seen, withdrawn. A walk that saw none, or fewer than are stated, says
// nothing, nor does one about votes since it began.
func (o *organization) gone(ctx context.Context, w *walk) (gone []record.Record, err error) {
	if len(w.seen) == 0 || uint64(len(w.seen)) < w.stated {
		return nil, nil
	}
	err = records.HeldBallots(ctx, o.journal.Warehouse, ref(w.proposal), func(b record.Ballot) error {
		if !w.seen[b.VoteID] && compareIDs(b.VoteID, w.first) < 0 {
			b.Withdrawn = true
			gone = append(gone, &b)
		}
		return nil
	})
	return gone, err
}
