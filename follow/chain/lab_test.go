package chain_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/follow/chain"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const labChain = 31337

type labFollower struct {
	*follower

	lab *env.ChainLab
}

func followLab(t *testing.T, lab *env.ChainLab, urls ...string) labFollower {
	t.Helper()
	f := labFollower{&follower{t: t, chainID: labChain, warehouse: env.Warehouse(t), urls: urls}, lab}
	for _, g := range lab.Expected() {
		f.governors = append(f.governors, chain.Governor{Address: g.Address})
	}
	f.start()
	return f
}

// run runs all pollers until they have nothing more to read. Failures are retried, as the loop does.
func (f labFollower) run() {
	f.t.Helper()
	for _, poller := range []string{"backfill", "tip", "final", "state"} {
		env.Until(f.t, func() error { return f.TryPoll(f.t.Context(), poller) })
	}
}

// check compares all that was followed with what the lab expects.
func (f labFollower) check() {
	f.t.Helper()
	if wrong := f.differences(); len(wrong) > 0 {
		f.t.Error(strings.Join(wrong, "\n"))
	}
}

func (f labFollower) differences() (wrong []string) {
	f.t.Helper()
	all := env.Must(records.AllProposals(f.t.Context(), f.warehouse))(f.t)
	held := env.Must(records.Proposals(f.t.Context(), f.warehouse, all))(f.t)
	found := map[string]records.Proposal{}
	for _, p := range held {
		if !p.Withdrawn {
			found[p.ExternalID] = p
		}
	}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, g := range f.lab.Expected() {
		for _, want := range g.Proposals {
			id := chain.SourceID(labChain, g.Address) + "/" + want.ID
			got, known := found[id]
			if !known {
				say("%s proposal %s is missing", g.Name, want.ID)
				continue
			}
			delete(found, id)
			for _, difference := range f.compare(g, want, got) {
				say("%s %q: %s", g.Name, got.Title, difference)
			}
		}
	}
	for id := range found {
		say("%s is not expected", id)
	}
	return wrong
}

func units(text string, decimals uint8) decimal.Decimal {
	n, _ := new(big.Int).SetString(text, 10)
	return decimal.NewFromBigInt(n, -int32(decimals))
}

func (f labFollower) compare(g env.LabGovernor, want env.LabProposal, got records.Proposal) (wrong []string) {
	f.t.Helper()
	say := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("got %s %v, want %v", what, got, want))
	}
	if got.Body != want.Description || got.ProposerID != strings.ToLower(want.Proposer) {
		say("body", got.Body, want.Description)
	}
	if want.State != "" && got.State != want.State {
		say("state", got.State, want.State)
	}
	if want.Quorum != "" && (got.Quorum == nil || !got.Quorum.Equal(units(want.Quorum, g.Decimals)) || got.QuorumRaw != want.Quorum) {
		say("quorum", got.QuorumRaw, want.Quorum)
	}
	if got.StartAt == nil || got.EndAt == nil {
		say("times", got.StartAt, want.Start)
	} else if g.Clock == "timestamp" && (fmt.Sprint(got.StartAt.Time().Unix()) != want.Start || fmt.Sprint(got.EndAt.Time().Unix()) != want.End) {
		say("times", got.StartAt, want.Start)
	}
	totals := env.Must(counts.VoteTotalsOf(f.t.Context(), f.warehouse, []record.RefHash{got.Ref}))(f.t)
	for side, text := range want.Tally {
		if power := totals[got.Ref].Choices[side].Power; !power.Equal(units(text, g.Decimals)) {
			say("power "+side, power, units(text, g.Decimals))
		}
	}
	if votes := totals[got.Ref].Votes; votes != uint64(want.Voters) {
		say("voters", votes, want.Voters)
	}
	return wrong
}

func TestLongTheLabIsFollowedThroughFailingEndpoints(t *testing.T) {
	t.Parallel()
	lab := env.StartChainLab(t)
	t.Run("from nothing", func(t *testing.T) {
		f := followLab(t, lab, lab.URL)
		f.run()
		f.check()
		f.start()
		f.run()
		f.check()
	})
	t.Run("logs three blocks behind the head", func(t *testing.T) {
		lab.Control(usual())
		lab.Control(map[string]any{"lag": 3})
		f := followLab(t, lab, lab.ProxyURL)
		f.run()
		lab.Mine(12)
		f.run()
		f.check()
		if f.count(gaps) == 0 {
			t.Error("got no gaps, want those that the second look mended")
		}
	})
	for _, knobs := range []map[string]any{
		{"as": "alchemy", "range": 100},
		{"as": "infura", "range": 90},
		{"as": "quicknode", "range": 1000},
		{"as": "ankr", "range": 3000},
		{"as": "cloudflare", "range": 800},
		{"as": "publicnode", "range": 700},
		{"as": "chainstack", "range": 100},
		{"as": "base", "range": 60},
		{"as": "generic", "range": 70},
		{"as": "generic", "results": 10},
		{"as": "silent", "results": 40},
		{"rate": 30, "retryAfter": 1},
		{"rate": 30, "in200": true},
		{"flap": []int{3, 5}},
		{"fail": 0.2},
		{"nobatch": true},
		{"nofinal": true},
		{"forget": 0.1},
	} {
		t.Run(fmt.Sprint(knobs), func(t *testing.T) {
			lab.Control(usual())
			lab.Control(knobs)
			f := followLab(t, lab, lab.ProxyURL)
			env.Until(t, func() error {
				f.run()
				if wrong := f.differences(); len(wrong) > 0 {
					lab.Mine(12) // the second look at the last blocks comes when they are final
					return errors.New(strings.Join(wrong, "\n"))
				}
				return nil
			})
		})
	}
	for name, knobs := range map[string]map[string]any{"pruned history": {"prune": 500}, "an endpoint that hangs": {"hang": 0.02}} {
		t.Run(name+", with another endpoint", func(t *testing.T) {
			lab.Control(usual())
			lab.Control(knobs)
			f := followLab(t, lab, lab.ProxyURL, lab.URL)
			f.run()
			f.check()
		})
	}
}

func TestLongTheLabIsFollowedThroughReorganizations(t *testing.T) {
	t.Parallel()
	lab := env.StartChainLab(t)
	f, stopped := followLab(t, lab, lab.URL), followLab(t, lab, lab.URL)
	f.run()
	lab.Script("reorg", "prepare")
	f.run()
	f.check()
	stopped.run()
	stopped.check()
	for _, step := range []string{"apply", "shrink"} {
		lab.Script("reorg", step)
		f.run()
		f.check()
	}
	t.Run("while nobody followed", func(t *testing.T) {
		stopped.t = t
		stopped.start()
		stopped.run()
		stopped.check()
	})
}

// usual is how the RPC in front of the lab behaves when nothing fails.
func usual() map[string]any {
	return map[string]any{
		"as": "generic", "range": 0, "results": 0, "rate": 0, "retryAfter": 0, "in200": false, "lag": 0, "flap": nil,
		"fail": 0, "hang": 0, "nobatch": false, "prune": 0, "nofinal": false, "forget": 0,
	}
}
