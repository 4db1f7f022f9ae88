package hub_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pnyx/test/env"
	fake "pnyx/test/upstream/hub"
)

// history acts at random on a hub that is followed meanwhile.
type history struct {
	*fixture

	random    *rand.Rand
	proposals []string
	deleted   map[string]bool
	made      int
}

// pick returns a proposal that is open, or "".
func (h *history) pick() string {
	id := h.proposals[h.random.IntN(len(h.proposals))]
	if h.deleted[id] {
		return ""
	}
	return id
}

func (h *history) voter() string { return fake.Voter(fmt.Sprint(h.random.IntN(40))) }

func (h *history) propose() {
	h.made++
	id := h.open(func(p *fake.Proposal) {
		p.Title, p.End = fmt.Sprint("Renew ", h.made), start.AddDate(0, 0, 20)
		if h.random.IntN(4) == 0 {
			p.Privacy = "shutter"
		}
	})
	h.proposals = append(h.proposals, id)
}

func (h *history) act() {
	id := h.pick()
	action := h.random.IntN(20)
	switch {
	case action == 0:
		h.propose()
	case id == "":
	case action == 1 && len(h.proposals) > 4:
		h.deleted[id] = true
		h.hub.Delete(id)
	case action == 2:
		h.hub.Flag(id)
	case action == 3:
		if voter := h.votes(id); voter != "" {
			h.hub.SetPower(id, voter, fmt.Sprintf("%d.125", h.random.IntN(1000)))
		}
	case action == 4:
		if voter := h.votes(id); voter != "" {
			h.hub.RemoveVote(id, voter)
		}
	case action == 5:
		h.hub.Set(func(s *fake.Switches) {
			s.Burn, s.LogDelay = h.random.Int64N(3), time.Duration(h.random.IntN(40))*time.Second
		})
	case action == 6:
		h.hub.SwapLast(time.Duration(h.random.IntN(50)) * time.Second)
	default:
		age := time.Duration(h.random.IntN(5*24)) * time.Hour
		_, _ = h.hub.Cast(fake.Vote{ // refused where the voter has a later one
			Proposal: id, Voter: h.voter(), Choice: fmt.Sprint(1 + h.random.IntN(2)), Power: fmt.Sprintf("%d.5", h.random.IntN(100)),
			Created: h.clock.Now().Add(-age),
		})
	}
}

// votes returns a voter of a proposal whose votes are not encrypted.
func (h *history) votes(id string) string {
	for voter := range h.hub.Truth().Proposals[id].Votes {
		return voter
	}
	return ""
}

// follow runs a poller, or is killed and starts again.
func (h *history) follow() {
	pollers := []string{"log", "log", "log", "watch", "close", "backfill", "sweep"}
	if h.random.IntN(12) == 0 {
		h.restart()
	}
	env.Must(h.Pollers[pollers[h.random.IntN(len(pollers))]].Run(h.Context()))(h)
}

// checkHistory acts at random while pollers run in any order and processes die. When all
// polls are final, what is held is what the hub has, and what a follower holds that starts from
// nothing then. Such a one lacks what the hub has forgotten: casts that were replaced, what was
// deleted, and which message stated a proposal.
func checkHistory(t *testing.T, seed uint64, steps int) {
	t.Helper()
	h := &history{
		fixture: newFixture(t), random: rand.New(rand.NewPCG(seed, 0)), deleted: map[string]bool{},
	}
	for range 3 {
		h.propose()
	}
	for range steps {
		for range 1 + h.random.IntN(3) {
			h.act()
		}
		h.follow()
		h.clock.Step(time.Duration(h.random.IntN(30)) * time.Second)
	}
	h.Poll("backfill")
	h.clock.Step(start.AddDate(0, 0, 20).Add(2 * time.Minute).Sub(h.clock.Now()))
	for _, id := range h.proposals {
		h.hub.Finalize(id, nil)
		h.hub.Reveal(id)
	}
	h.restart()
	for range 3 {
		h.Poll("log", "watch", "close", "sweep", "close")
		h.clock.Step(24 * time.Hour)
	}
	h.agree()
	late := h.fromNothing()
	late.fill()
	late.Poll("close", "sweep")
	late.agree()
	env.WantSame(t, "who followed live, and who starts from nothing", h.stored(), late.stored())
}

func TestAnyHistoryEndsInTheTruth(t *testing.T) {
	t.Parallel()
	checkHistory(t, 0, 60)
}

func TestLongHistoriesEndInTheTruth(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			checkHistory(t, seed, 150)
		})
	}
}
