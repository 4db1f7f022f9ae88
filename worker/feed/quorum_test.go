package feed

import (
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/check"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

// counted is a Governor's vote of 60 ballots that is over, with the powers of for, against and abstain,
// all of which were cast before the last day.
func counted(change func(*record.Proposal), basis governance.Basis, powers ...int64) proposal {
	r := governorProposal("", func(p *record.Proposal) {
		p.StartAt, p.EndAt, p.VoteType = in(-96), in(-24), governance.SingleChoice
		change(p)
	})
	r.ObservedAt = governance.TimestampOf(now)
	p := proposal{record: r, state: stateOf(r)}
	s := &p.state
	s.Lifecycle, s.VoteReady, s.Settled, s.Basis, s.Votes, s.TotalVotes = governance.Closed, true, true, basis, 60, new(uint64(60))
	s.Choices = governance.GovernorChoices()
	for i, power := range powers {
		amount := decimal.NewFromInt(power)
		s.Scores, s.TotalPower = append(s.Scores, governance.Score{Votes: 20, Power: amount}), s.TotalPower.Add(amount)
		p.interim = append(p.interim, feed.InterimTally{
			Choice: s.Choices[i].Key, Votes: []uint64{20, 20, 20}, Powers: []decimal.Decimal{amount, amount, amount},
			Largest: amount, LargestVoter: "0xa",
		})
	}
	s.Power = s.TotalPower
	return p
}

func quorumOf(power int64, kind governance.QuorumType, choices ...string) func(*record.Proposal) {
	return func(p *record.Proposal) {
		p.QuorumRaw, p.Quorum, p.QuorumType, p.QuorumChoices = "q", new(decimal.NewFromInt(power)), kind, choices
	}
}

// The quorum of a Governor counts what its contract counts. A quorum of rejection is nothing that a vote
// lacks, and no lead decides beside it.
func TestSignalsFollowTheQuorumOfTheContract(t *testing.T) {
	t.Parallel()
	missed, atRisk, lead := "quorum_missed", "quorum_at_risk", "contested_result"
	for name, c := range map[string]struct {
		p    proposal
		want []string
		none []string
		// counted is the figure of the evidence.
		counted string
	}{
		"for and abstain make it": {
			counted(quorumOf(60, ""), governance.BallotsBasis, 51, 49, 9), []string{lead}, []string{missed, atRisk}, "",
		},
		"for and abstain miss it, against does not count": {
			counted(quorumOf(61, ""), governance.BallotsBasis, 51, 49, 9), []string{missed, atRisk}, []string{lead}, "60",
		},
		"for alone misses it": {
			counted(quorumOf(60, "", governance.GovernorFor), governance.BallotsBasis, 51, 49, 9), []string{missed, atRisk}, []string{lead}, "51",
		},
		"against counts where the contract says so": {
			counted(quorumOf(109, "", governance.GovernorFor, governance.GovernorAgainst, governance.GovernorAbstain), governance.BallotsBasis, 51, 49, 9),
			[]string{lead},
			[]string{missed, atRisk},
			"",
		},
		"a quorum of rejection is missed": {
			counted(quorumOf(60, governance.QuorumOfRejection), governance.BallotsBasis, 51, 49, 9), nil, []string{missed, atRisk, lead, "decisive_ballot", "close_race"}, "",
		},
		"a quorum of rejection is exceeded": {
			counted(quorumOf(48, governance.QuorumOfRejection), governance.BallotsBasis, 51, 49, 9), nil, []string{missed, atRisk, lead, "decisive_ballot", "close_race"}, "",
		},
		"by what upstream states, which says nothing of the time before the end": {
			counted(quorumOf(61, ""), governance.UpstreamBasis, 51, 49, 9), []string{missed}, []string{atRisk, lead}, "60",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := check.Must(c.p.signalRows())(t)
			has := func(signal string) bool {
				return slices.ContainsFunc(rows, func(r feed.FeedSignal) bool { return string(r.SignalType) == signal })
			}
			for _, signal := range c.want {
				if !has(signal) {
					t.Errorf("got no %s", signal)
				}
			}
			for _, signal := range c.none {
				if has(signal) {
					t.Errorf("got %s, want none", signal)
				}
			}
			if hit := c.p.facts().Final.Counted.String(); c.counted != "" && hit != c.counted {
				t.Errorf("got %s counted, want %s", hit, c.counted)
			}
		})
	}
}

// What a block states that is not final is no ground for a signal but for the signals of times.
func TestProvisionalNumbersGiveNoSignal(t *testing.T) {
	t.Parallel()
	p := counted(quorumOf(61, ""), governance.BallotsBasis, 51, 49, 9)
	p.state.QualityFlags = []string{string(rules.Provisional)}
	rows := check.Must(p.signalRows())(t)
	for _, row := range rows {
		if row.SignalType != "voting_opened" && row.SignalType != "proposal_deadline_reminder" {
			t.Errorf("got %s", row.SignalType)
		}
	}
}

// A quorum is reached at the end where only upstream's totals tell, one of rejection by more than it.
func TestEventsFollowTheQuorumOfTheContract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p    proposal
		want bool
	}{
		"for and abstain make it":           {counted(quorumOf(60, ""), governance.UpstreamBasis, 51, 49, 9), true},
		"for alone misses it":               {counted(quorumOf(60, "", governance.GovernorFor), governance.UpstreamBasis, 51, 49, 9), false},
		"a quorum of rejection is equalled": {counted(quorumOf(49, governance.QuorumOfRejection), governance.UpstreamBasis, 51, 49, 9), false},
		"a quorum of rejection is exceeded": {counted(quorumOf(48, governance.QuorumOfRejection), governance.UpstreamBasis, 51, 49, 9), true},
		"ballots alone tell when":           {counted(quorumOf(60, ""), governance.BallotsBasis, 51, 49, 9), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Want(t, c.want, slices.ContainsFunc(c.p.eventRows(nil), func(e feed.FeedEvent) bool { return e.EventType == rules.QuorumReached }))
		})
	}
}

// Upstream may state a vote as over before its end, as a chain does whose end was estimated: signals
// of the result are derived at once, and shown from that end on. They do not wait for something else to
// derive them again.
func TestVoteThatIsOverBeforeItsEndHasTheSignalsOfItsResult(t *testing.T) {
	t.Parallel()
	r := snapshotProposal(func(p *record.Proposal) {
		p.State, p.StartAt, p.EndAt, p.Quorum = "closed", in(-48), in(1), new(decimal.NewFromInt(10))
	})
	p := proposal{record: r, state: stateOf(r)}
	p.state.Lifecycle, p.state.VoteReady, p.state.Votes, p.state.Power = governance.Closed, true, 3, decimal.NewFromInt(9)
	p.state.Basis, p.state.Settled, p.state.TotalVotes, p.state.TotalPower = governance.BallotsBasis, true, &p.state.Votes, p.state.Power
	rows, missed := check.Must(p.signalRows())(t), false
	for _, row := range rows {
		switch row.SignalType {
		case "quorum_missed":
			check.Want(t, *in(1), row.DetectedAt)
			missed = true
		case "voting_opened":
			check.Want(t, r.ObservedAt, *row.DeadlineAtMs, "when nobody can vote any more")
		}
	}
	check.Want(t, true, missed, "the quorum is missed in", rows)
}
