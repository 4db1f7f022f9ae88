package drills

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/upstream/hub"
)

// drilledHub is a hub with a proposal in each of ten spaces, on which people vote. Others are proposed and
// deleted. One space is dropped, and missingSpaces are followed that the hub does not have.
type drilledHub struct {
	*hub.Hub

	proposals []string

	mu sync.Mutex
	// drafts are the other proposals, by id, with their number and whether they are deleted.
	drafts map[string]*drilledDraft
	// dropped is the proposal of the space that is dropped, and droppedAt when it was.
	dropped   string
	droppedAt time.Time
}

// drilledDraft is a proposal on which nobody votes.
type drilledDraft struct {
	dao     int
	title   string
	deleted bool
}

// missingSpaces are followed in vain. droppedFor is how long a dropped space may show: two looks.
const (
	missingSpaces = 20
	droppedFor    = 15 * time.Minute
)

// newDrilledHub makes the hub. daos is its part of the sources file.
func newDrilledHub(random *rand.Rand) (h *drilledHub, daos string, err error) {
	h = &drilledHub{Hub: hub.New(nil), drafts: map[string]*drilledDraft{}}
	for n := range 10 {
		space := fmt.Sprintf("harbor%d.eth", n)
		h.AddSpace(hub.Space{ID: space, Name: space, Network: "1", Symbol: "HRB"})
		now := time.Now()
		h.proposals = append(h.proposals, h.Propose(hub.Proposal{
			Space: space, Title: "Renew " + space, Choices: []string{"Yes", "No"},
			Created: now.Add(-time.Hour), Start: now.Add(-time.Hour), End: now.Add(48 * time.Hour),
		}))
		daos += fmt.Sprintf("- {id: dao%d, name: Harbor, snapshot: [%s]}\n", n, space)
	}
	h.AddSpace(hub.Space{ID: "wreck.eth", Name: "Wreck", Network: "1", Symbol: "WRK"})
	now := time.Now()
	h.dropped = h.Propose(hub.Proposal{
		Space: "wreck.eth", Title: "Salvage", Choices: []string{"Yes", "No"}, Created: now, Start: now, End: now.Add(48 * time.Hour),
	})
	daos += "- {id: wreck, name: Wreck, snapshot: [wreck.eth]}\n"
	for n := range missingSpaces {
		daos += fmt.Sprintf("- {id: lost%d, name: Lost, snapshot: [lost%d.eth]}\n", n, n)
	}
	for range 500 {
		err = errors.Join(err, h.change(random))
	}
	return h, daos, err
}

func (*drilledHub) every() time.Duration { return 20 * time.Millisecond }

// change casts a vote, or, one time in a hundred, proposes, edits or deletes a draft.
func (h *drilledHub) change(random *rand.Rand) error {
	if random.IntN(100) == 0 {
		return h.changeDraft(random)
	}
	n := random.IntN(1 << 14)
	_, err := h.Cast(hub.Vote{
		Proposal: h.proposals[random.IntN(len(h.proposals))], Voter: hub.Voter(strconv.Itoa(n)),
		Choice: strconv.Itoa(1 + n%2), Power: strconv.Itoa(1+n) + ".25",
	})
	if errors.Is(err, hub.ErrVotedLater) {
		return nil // a voter who votes twice in a second is refused half of the time
	}
	return err
}

func (h *drilledHub) changeDraft(random *rand.Rand) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for id, draft := range h.drafts { // any of them
		switch {
		case draft.deleted || random.IntN(2) == 0:
		case random.IntN(2) == 0:
			draft.deleted = true
			h.Delete(id)
			return nil
		default:
			draft.title += ", edited"
			return h.Update(id, draft.title, now)
		}
		break
	}
	draft := &drilledDraft{dao: random.IntN(len(h.proposals)), title: fmt.Sprint("Draft ", len(h.drafts))}
	id := h.Propose(hub.Proposal{
		Space: fmt.Sprintf("harbor%d.eth", draft.dao), Title: draft.title, Choices: []string{"Yes", "No"},
		Created: now, Start: now.Add(24 * time.Hour), End: now.Add(48 * time.Hour),
	})
	h.drafts[id] = draft
	return nil
}

func (h *drilledHub) faults(*followed) []fault {
	return []fault{
		{"the hub's database is in trouble", func() { h.Set(func(s *hub.Switches) { s.Trouble = 5 }) }},
		{"the hub drops a space", func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.droppedAt.IsZero() {
				h.DeleteSpace("wreck.eth")
				h.droppedAt = time.Now()
			}
		}},
	}
}

// differFromDrafts compares the drafts, and the space that was dropped.
func (h *drilledHub) differFromDrafts(api *env.Pnyx) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	keyOf := func(dao, id string) string {
		return string((governance.Identity{DAOID: dao, Provider: governance.Snapshot, ExternalID: id}).ProposalKey())
	}
	for id, draft := range h.drafts {
		var detail struct{ Title string }
		r, err := api.Ask("/v2/proposals/"+keyOf(fmt.Sprintf("dao%d", draft.dao), id), &detail)
		switch {
		case err != nil:
			return err
		case draft.deleted && r.Status != http.StatusNotFound:
			return fmt.Errorf("%s was deleted: got %d, want 404", draft.title, r.Status)
		case !draft.deleted && (r.Status != http.StatusOK || detail.Title != draft.title):
			return fmt.Errorf("got %d and %q, want %q", r.Status, detail.Title, draft.title)
		}
	}
	r, err := api.Ask("/v2/proposals/"+keyOf("wreck", h.dropped), nil)
	if err == nil && r.Status == http.StatusOK && !h.droppedAt.IsZero() && time.Since(h.droppedAt) > droppedFor {
		err = fmt.Errorf("a space that was dropped %s ago still shows", time.Since(h.droppedAt))
	}
	return err
}

func (h *drilledHub) differ(f *followed) error {
	truth := h.Truth().Proposals
	for n, id := range h.proposals {
		key := string((governance.Identity{DAOID: fmt.Sprintf("dao%d", n), Provider: governance.Snapshot, ExternalID: id}).ProposalKey())
		want := map[string]drilledBallot{}
		for voter, v := range truth[id].Votes {
			want[voter] = drilledBallot{v.ID, v.Choice, v.Power}
		}
		if err := differFromBallots(f.api, key, want); err != nil {
			return fmt.Errorf("proposal %s: %w", id, err)
		}
	}
	return h.differFromDrafts(f.api)
}

// drilledBallot is what a voter's ballot has to be.
type drilledBallot struct{ id, choice, power string }

// differFromBallots compares the ballots of a proposal, and their sum, with those wanted, by voter.
func differFromBallots(api *env.Pnyx, key string, want map[string]drilledBallot) error {
	rows, err := api.Walk("/v2/proposals/"+key+"/votes", 500)
	if err != nil {
		return err
	}
	if len(rows) != len(want) {
		return fmt.Errorf("got %d votes, want %d", len(rows), len(want))
	}
	sum := decimal.Zero
	for _, raw := range rows {
		var got struct {
			VoteID, VoterIdentity, ChoiceKey string
			VotingPower                      decimal.Decimal
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			return err
		}
		if held := (drilledBallot{got.VoteID, got.ChoiceKey, got.VotingPower.String()}); held != want[got.VoterIdentity] {
			return fmt.Errorf("got %s, want %+v", raw, want[got.VoterIdentity])
		}
		sum = sum.Add(got.VotingPower)
	}
	var summary struct {
		Totals *struct {
			Votes       json.Number
			VotingPower decimal.Decimal
		}
	}
	if _, err := api.Read("/v2/proposals/"+key+"/votes/summary", &summary); err != nil {
		return err
	}
	if summary.Totals == nil {
		return errors.New("got no totals")
	}
	if !summary.Totals.VotingPower.Equal(sum) || summary.Totals.Votes.String() != strconv.Itoa(len(want)) {
		return fmt.Errorf("got power %s of %s votes, want %s of %d", summary.Totals.VotingPower, summary.Totals.Votes, sum, len(want))
	}
	return nil
}
