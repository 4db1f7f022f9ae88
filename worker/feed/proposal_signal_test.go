package feed

import (
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

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
	rows, err := p.signalRows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.SignalType == "quorum_missed" {
			if row.DetectedAt != *in(1) {
				t.Errorf("got it at %s, want %s", row.DetectedAt, *in(1))
			}
			return
		}
	}
	t.Errorf("got %+v, want that the quorum is missed", rows)
}
