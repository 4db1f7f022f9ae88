package feed

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// in returns the moment some hours from now.
func in(hours int) *governance.Timestamp {
	stamp := governance.TimestampOf(now.Add(time.Duration(hours) * time.Hour))
	return &stamp
}

func snapshotProposal(change func(*record.Proposal)) warehouse.Proposal {
	p := record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0x1"},
		SourceID:    "dao.eth", Title: "Title", Body: "Body", VoteType: governance.SingleChoice,
		Choices: []string{"For", "Against", "Abstain"}, StartAt: in(-48), EndAt: in(-24),
	}
	if change != nil {
		change(&p)
	}
	return warehouse.Proposal{Proposal: p, Ref: p.Hash()}
}

func governorProposal(state string, change func(*record.Proposal)) warehouse.Proposal {
	return snapshotProposal(func(p *record.Proposal) {
		p.Provider, p.State = governance.Tally, state
		if change != nil {
			change(p)
		}
	})
}

// told are the events of a proposal by type, each as its confidence and its hours
// from now.
func told(p warehouse.Proposal, change func(*story)) map[string]string {
	p.ObservedAt = governance.TimestampOf(now)
	s := story{proposal: p, state: stateOf(p), now: p.ObservedAt}
	if change != nil {
		change(&s)
	}
	events := map[string]string{}
	for _, row := range s.events(nil) {
		hours := row.EventTimeMs.Time().Sub(now).Hours()
		events[row.EventType] = fmt.Sprintf("%s %.0f", row.EventTimeConfidence, hours)
	}
	return events
}

func TestEventsFollowFromTimesStatesAndMilestones(t *testing.T) {
	t.Parallel()
	milestone := func(kind string, at *governance.Timestamp) record.Milestone {
		return record.Milestone{Type: kind, At: at}
	}
	for name, c := range map[string]struct {
		proposal warehouse.Proposal
		change   func(*story)
		want     map[string]string
	}{
		"created by its start": {
			snapshotProposal(nil), nil,
			map[string]string{"proposal_created": "derived -48", "voting_started": "exact -48", "voting_ended": "exact -24"},
		},
		"created when upstream says": {
			snapshotProposal(func(p *record.Proposal) { p.CreatedAt = in(-72) }), nil,
			map[string]string{"proposal_created": "exact -72", "voting_started": "exact -48", "voting_ended": "exact -24"},
		},
		"only the days known": {
			snapshotProposal(func(p *record.Proposal) { p.StartDayOnly, p.EndDayOnly = true, true }), nil,
			map[string]string{"proposal_created": "day -48", "voting_started": "day -48", "voting_ended": "day -24"},
		},
		"nothing known": {
			snapshotProposal(func(p *record.Proposal) { p.StartAt, p.EndAt = nil, nil }), nil,
			map[string]string{"proposal_created": "discovered 0"},
		},
		"executed, nobody knows when": {
			governorProposal("executed", nil), nil,
			map[string]string{
				"proposal_created": "derived -48", "voting_started": "exact -48", "voting_ended": "exact -24",
				"proposal_executed": "discovered 0",
			},
		},
		"milestones, the first of each": {
			governorProposal("executed", func(p *record.Proposal) {
				p.Milestones = []record.Milestone{
					milestone("created", in(-70)), milestone("queued", in(-20)), milestone("queued", in(-21)),
					milestone("executed", in(-5)), milestone("defeated", in(-4)), milestone("extended", nil),
				}
			}), nil,
			map[string]string{
				"proposal_created": "exact -70", "voting_started": "exact -48", "voting_ended": "exact -24",
				"proposal_queued": "exact -21", "proposal_executed": "exact -5",
			},
		},
		"canceled before it began": {
			governorProposal("canceled", func(p *record.Proposal) {
				p.StartAt, p.EndAt, p.Milestones = in(-10), in(10), []record.Milestone{milestone("canceled", in(-11))}
			}), nil,
			map[string]string{"proposal_created": "derived -10", "proposal_canceled": "exact -11"},
		},
		"canceled after its end": {
			governorProposal("canceled", func(p *record.Proposal) { p.Milestones = []record.Milestone{milestone("canceled", in(-23))} }), nil,
			map[string]string{
				"proposal_created": "derived -48", "voting_started": "exact -48", "voting_ended": "exact -24", "proposal_canceled": "exact -23",
			},
		},
		"canceled, nobody knows when": {
			governorProposal("canceled", nil), nil,
			map[string]string{"proposal_created": "derived -48", "voting_started": "exact -48", "proposal_canceled": "discovered 0"},
		},
		"closed before its end": {
			snapshotProposal(func(p *record.Proposal) { p.State, p.EndAt = "closed", in(5) }), nil,
			map[string]string{"proposal_created": "derived -48", "voting_started": "exact -48", "voting_ended": "discovered 0"},
		},
		"quorum by a ballot of a day": {
			snapshotProposal(nil),
			func(s *story) { s.quorum = &warehouse.QuorumTime{At: *in(-30), DayOnly: true} },
			map[string]string{
				"proposal_created": "derived -48", "voting_started": "exact -48", "voting_ended": "exact -24", "quorum_reached": "day -30",
			},
		},
		"somebody recorded the end": {
			snapshotProposal(nil),
			func(s *story) {
				s.claims = map[warehouse.RecordedType]bool{
					{Ref: s.proposal.Ref, DAOID: "dao", Type: "voting_ended"}:       true,
					{Ref: s.proposal.Ref, DAOID: "another", Type: "voting_started"}: true,
				}
			},
			map[string]string{"proposal_created": "derived -48", "voting_started": "exact -48"},
		},
	} {
		if diff := cmp.Diff(c.want, told(c.proposal, c.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnEventStaysDiscoveredWhenItFirstWas(t *testing.T) {
	t.Parallel()
	p := governorProposal("executed", nil)
	p.ObservedAt = *in(0)
	s := story{proposal: p, now: *in(0)}
	s.state = stateOf(p)
	id := governance.EventID("dao", rules.ProposalExecuted, string(s.state.Key))
	for _, row := range s.events(map[string]governance.Timestamp{id: *in(-7)}) {
		want := *in(0)
		if row.EventID == id {
			want = *in(-7)
		}
		if row.DiscoveredAt != want {
			t.Errorf("%s: got %s, want %s", row.EventType, row.DiscoveredAt, want)
		}
	}
}

// stateOf returns the published state of a proposal without ballots.
func stateOf(p warehouse.Proposal) warehouse.ProposalState {
	identity := governance.Identity{DAOID: "dao", Provider: p.Provider, ExternalID: p.ExternalID}
	outcome, _ := governance.StatedOutcome(p.Provider, p.State, p.UpstreamStatus)
	return warehouse.ProposalState{
		Ref: p.Ref, Key: identity.ProposalKey(), Identity: identity, SourceID: p.SourceID, Outcome: outcome, Revision: 1,
	}
}
