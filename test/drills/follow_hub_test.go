package drills

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/upstream/hub"
)

// drilledHub is a hub with a proposal in each of ten spaces, on which people vote.
type drilledHub struct {
	*hub.Hub

	proposals []string
}

// newDrilledHub makes the hub. daos is its part of the sources file.
func newDrilledHub(random *rand.Rand) (h *drilledHub, daos string, err error) {
	h = &drilledHub{Hub: hub.New(nil)}
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
	for range 500 {
		err = errors.Join(err, h.change(random))
	}
	return h, daos, err
}

func (*drilledHub) every() time.Duration { return 20 * time.Millisecond }

// change casts a vote that nobody or an earlier voter has cast.
func (h *drilledHub) change(random *rand.Rand) error {
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

func (h *drilledHub) faults(*followed) []fault {
	return []fault{{"the hub's database is in trouble", func() { h.Set(func(s *hub.Switches) { s.Trouble = 5 }) }}}
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
	return nil
}

// drilledBallot is what a voter's ballot has to be.
type drilledBallot struct{ id, choice, power string }

// differFromBallots compares the ballots of a proposal, and their sum, with those wanted, by
// voter.
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
