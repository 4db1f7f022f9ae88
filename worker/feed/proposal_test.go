package feed

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/check"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func in(hours int) *governance.Timestamp {
	stamp := governance.TimestampOf(now.Add(time.Duration(hours) * time.Hour))
	return &stamp
}

func snapshotProposal(change func(*record.Proposal)) records.Proposal {
	p := record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0x1"},
		SourceID:    "dao.eth", Title: "Title", Body: "Body", VoteType: governance.SingleChoice,
		Choices: []string{"For", "Against", "Abstain"}, StartAt: in(-48), EndAt: in(-24),
	}
	if change != nil {
		change(&p)
	}
	return records.Proposal{Proposal: p, Ref: p.Hash()}
}

func governorProposal(state string, change func(*record.Proposal)) records.Proposal {
	return snapshotProposal(func(p *record.Proposal) {
		p.Provider, p.State = governance.Tally, state
		if change != nil {
			change(p)
		}
	})
}

// eventsOf returns events by type, each as its confidence and its hours from now.
func eventsOf(r records.Proposal, change func(*proposal)) map[string]string {
	r.ObservedAt = governance.TimestampOf(now)
	p := proposal{record: r, state: stateOf(r)}
	if change != nil {
		change(&p)
	}
	events := map[string]string{}
	for _, row := range p.eventRows(nil) {
		hours := row.EventTimeMs.Time().Sub(now).Hours()
		events[string(row.EventType)] = fmt.Sprintf("%s %.0f", row.EventTimeConfidence, hours)
	}
	return events
}

func TestEventsAreDerivedFromTimesStatesAndMilestones(t *testing.T) {
	t.Parallel()
	milestone := func(milestoneType string, at *governance.Timestamp) record.Milestone {
		return record.Milestone{Type: milestoneType, At: at}
	}
	// usual are the events of a vote with the times of these tests, with others by type; none for "".
	usual := func(others ...string) map[string]string {
		events := map[string]string{"proposal_created": "derived -48", "voting_started": "exact -48", "voting_ended": "exact -24"}
		for i := 0; i < len(others); i += 2 {
			if events[others[i]] = others[i+1]; others[i+1] == "" {
				delete(events, others[i])
			}
		}
		return events
	}
	with := func(state string, milestones ...record.Milestone) records.Proposal {
		return governorProposal(state, func(p *record.Proposal) { p.Milestones = milestones })
	}
	for name, c := range map[string]struct {
		proposal records.Proposal
		change   func(*proposal)
		want     map[string]string
	}{
		"created at its start":     {snapshotProposal(nil), nil, usual()},
		"created at a stated time": {snapshotProposal(func(p *record.Proposal) { p.CreatedAt = in(-72) }), nil, usual("proposal_created", "exact -72")},
		"only days are known": {
			snapshotProposal(func(p *record.Proposal) { p.StartDayOnly, p.EndDayOnly = true, true }), nil,
			usual("proposal_created", "day -48", "voting_started", "day -48", "voting_ended", "day -24"),
		},
		"no time is known": {
			snapshotProposal(func(p *record.Proposal) { p.StartAt, p.EndAt = nil, nil }), nil,
			map[string]string{"proposal_created": "discovered 0"},
		},
		"executed at an unknown time": {with("executed"), nil, usual("proposal_executed", "discovered 0")},
		"first of several milestones": {
			with("executed", milestone("created", in(-70)), milestone("queued", in(-20)), milestone("queued", in(-21)),
				milestone("executed", in(-5)), milestone("defeated", in(-4)), milestone("extended", nil)), nil,
			usual("proposal_created", "exact -70", "proposal_queued", "exact -21", "proposal_executed", "exact -5"),
		},
		"estimated until it happens": {
			governorProposal("active", func(p *record.Proposal) { p.Provider, p.EndAt = governance.Governor, in(10) }), nil,
			usual("voting_ended", "derived 10"),
		},
		"vetoed": {with("canceled", milestone("vetoed", in(-5))), nil, usual("proposal_canceled", "exact -5")},
		"executed on another chain": {
			with("crosschainexecuted", milestone("crosschainexecuted", in(-5))),
			func(p *proposal) { p.state.Outcome = governance.Executed }, usual("proposal_executed", "exact -5"),
		},
		"expired, which no log states": {
			with("expired", milestone("queued", in(-20))), nil, usual("proposal_queued", "exact -20", "proposal_expired", "discovered 0"),
		},
		"canceled before it began": {
			governorProposal("canceled", func(p *record.Proposal) {
				p.StartAt, p.EndAt, p.Milestones = in(-10), in(10), []record.Milestone{milestone("canceled", in(-11))}
			}), nil,
			map[string]string{"proposal_created": "derived -10", "proposal_canceled": "exact -11"},
		},
		"canceled after its end":      {with("canceled", milestone("canceled", in(-23))), nil, usual("proposal_canceled", "exact -23")},
		"canceled at an unknown time": {with("canceled"), nil, usual("voting_ended", "", "proposal_canceled", "discovered 0")},
		"closed before its end": {
			snapshotProposal(func(p *record.Proposal) { p.State, p.EndAt = "closed", in(5) }), nil, usual("voting_ended", "discovered 0"),
		},
		"queued before its end": {
			with("executed", milestone("queued", in(-30)), milestone("executed", in(-25))), nil,
			usual("voting_ended", "derived -30", "proposal_queued", "exact -30", "proposal_executed", "exact -25"),
		},
		"quorum reached on a day": {
			snapshotProposal(nil), func(p *proposal) { p.quorumTime = &feed.QuorumTime{At: *in(-30), DayOnly: true} }, usual("quorum_reached", "day -30"),
		},
		"the end was recorded by someone": {
			snapshotProposal(nil),
			func(p *proposal) {
				p.recorded = map[feed.RecordedType]bool{
					{Ref: p.record.Ref, DAOID: "dao", Type: "voting_ended"}:       true,
					{Ref: p.record.Ref, DAOID: "another", Type: "voting_started"}: true,
				}
			},
			usual("voting_ended", ""),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.WantSame(t, "events", c.want, eventsOf(c.proposal, c.change))
		})
	}
}

func TestEventKeepsTheTimeOfItsFirstDiscovery(t *testing.T) {
	t.Parallel()
	r := governorProposal("executed", nil)
	r.ObservedAt = *in(0)
	p := proposal{record: r, state: stateOf(r)}
	id := governance.EventID("dao", rules.ProposalExecuted, string(p.state.Key))
	for _, row := range p.eventRows(map[string]governance.Timestamp{id: *in(-7)}) {
		want := *in(0)
		if row.EventID == id {
			want = *in(-7)
		}
		check.Want(t, want, row.DiscoveredAt, row.EventType)
	}
}

func stateOf(p records.Proposal) counts.ProposalState {
	identity := governance.Identity{DAOID: "dao", Provider: p.Provider, ExternalID: p.ExternalID}
	outcome, _ := p.Provider.StatedOutcome(p.State, p.UpstreamStatus)
	return counts.ProposalState{
		Ref: p.Ref, Key: identity.ProposalKey(), Identity: identity, SourceID: p.SourceID, Outcome: outcome, Revision: 1,
	}
}

func TestLaterVotesAreProcessedBeforeThoseThatArePending(t *testing.T) {
	t.Parallel()
	a, b, c, d := record.RefHash{1}, record.RefHash{2}, record.RefHash{3}, record.RefHash{4}
	for name, test := range map[string]struct {
		pending, later []feed.ProposalSize
		want           [][]record.RefHash
	}{
		"none":       {nil, nil, nil},
		"none later": {[]feed.ProposalSize{{Ref: b, Votes: 2}, {Ref: a, Votes: 1}, {Ref: a, Votes: 1}}, nil, [][]record.RefHash{{a, b}}},
		"larger ones, of two chunks": {
			[]feed.ProposalSize{{Ref: a, Votes: 1}},
			[]feed.ProposalSize{{Ref: d, Votes: 9}, {Ref: c, Votes: 8}, {Ref: d, Votes: 9}},
			[][]record.RefHash{{c, d}, {a}},
		},
		"one that is pending itself": {
			[]feed.ProposalSize{{Ref: a, Votes: 1}, {Ref: b, Votes: 2}},
			[]feed.ProposalSize{{Ref: b, Votes: 3}},
			[][]record.RefHash{{a, b}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.WantSame(t, "batches", test.want, batchesOf(test.pending, test.later))
		})
	}
}

// counted is a Governor's vote of 60 ballots that is over, all of which were cast before the last day.
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
