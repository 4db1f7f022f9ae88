package warehouse

import (
	"context"
	"fmt"

	"pnyx/warehouse/record"
)

// HeldBallots yields the ballots of a proposal that are not withdrawn, superseded ones
// included, in order of voter and id. It holds none of them in memory. An error of yield
// ends the reading and is returned.
func (w *Warehouse) HeldBallots(
	ctx context.Context, proposal record.ProposalRef, yield func(record.Ballot) error,
) error {
	rows, err := w.queryRefs(ctx, sqlText("held_ballot"), []record.RefHash{proposal.Hash()})
	return eachRow(rows, err, "read the ballots held of a proposal", func(b record.Ballot) error {
		b.Proposal = proposal
		return yield(b)
	})
}

// HeldVoters counts the voters with a ballot that is not withdrawn on each proposal;
// proposals without any are missing.
func (w *Warehouse) HeldVoters(ctx context.Context, refs []record.RefHash) (map[record.RefHash]uint64, error) {
	type row struct {
		Ref    record.RefHash `ch:"proposal_ref"`
		Voters uint64
	}
	rows, err := findRefs[row](ctx, w, fmt.Sprintf("count the voters held of %d proposals", len(refs)), sqlText("held_ballot_voters"), refs)
	return keyed(rows, err, func(r row) (record.RefHash, uint64) { return r.Ref, r.Voters })
}
