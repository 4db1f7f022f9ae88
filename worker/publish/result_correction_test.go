package publish

import (
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
)

func TestACorrectionStatesWhatChangedTheResult(t *testing.T) {
	t.Parallel()
	final := func(change func(*record.Proposal), powers map[string]string) *evaluation {
		e := evaluate(snapshotProposal(func(p *record.Proposal) {
			p.State = "closed"
			change(p)
		}), "dao", counted(powers), now)
		return &e
	}
	unchanged := func(*record.Proposal) {}
	p := &proposalPublication{run: &run{revision: 2, at: now}}
	for name, c := range map[string]struct {
		was  func(*counts.ProposalState)
		is   *evaluation
		want map[string]governance.CorrectionReason
	}{
		"nothing": {nil, final(unchanged, map[string]string{"1": "2"}), nil},
		"a ballot": {nil, final(unchanged, map[string]string{"1": "2", "2": "1"}), map[string]governance.CorrectionReason{
			"totals.votes": governance.LateBallots, "totals.votingPower": governance.LateBallots, "choices.2.votingPower": governance.LateBallots,
		}},
		"a rule": {
			func(s *counts.ProposalState) { s.TotalPower = decimal.NewFromInt(3) }, final(unchanged, map[string]string{"1": "2"}),
			map[string]governance.CorrectionReason{"totals.votingPower": governance.NewRule},
		},
		"a rule since a version without fingerprints": {
			func(s *counts.ProposalState) { s.TotalPower, s.StatedFingerprint = decimal.NewFromInt(3), 0 },
			final(unchanged, map[string]string{"1": "2"}),
			map[string]governance.CorrectionReason{"totals.votingPower": governance.NewRule},
		},
		"a result that was not final": {
			func(s *counts.ProposalState) { s.TotalPower, s.Settled = decimal.NewFromInt(3), false },
			final(unchanged, map[string]string{"1": "2"}), nil,
		},
		"execution": {
			func(s *counts.ProposalState) { s.Outcome = governance.Passed },
			final(func(p *record.Proposal) { p.UpstreamStatus = "executed" }, map[string]string{"1": "2"}), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := final(unchanged, map[string]string{"1": "2"}).state(1)
			if c.was != nil {
				c.was(&was)
			}
			got := map[string]governance.CorrectionReason{}
			for _, found := range p.correctedBy(was, c.is).corrections {
				got[found.Field] = found.Reason
			}
			if len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for field, reason := range c.want {
				if got[field] != reason {
					t.Errorf("got %q for %s, want %q", got[field], field, reason)
				}
			}
		})
	}
}
