package publish

import (
	"context"
	"sync"

	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// daoRangedFrom is the number of votes from which the participation in a DAO is kept by range:
// a range takes some granules of each of its proposals, or the other votes of its voters. Below,
// counting all ballots takes less.
const daoRangedFrom = 10 * pages.SortedCopyThreshold

// daoVoters keeps the participation in large DAOs by range of voters.
type daoVoters struct {
	*rangeSums[string, counts.Participation]

	mu sync.Mutex
	// daoOf has the DAO of each proposal of a DAO that is, or was, counted by ranges.
	daoOf map[record.RefHash]string
}

func newDAOVoters() *daoVoters {
	equal := func(a, b counts.Participation) bool { return a == b }
	return &daoVoters{
		rangeSums: newRangeSums[string](counts.SumParticipation, equal), daoOf: map[record.RefHash]string{},
	}
}

// touchBallots notes what batches change, before it is counted.
func (d *daoVoters) touchBallots(changes records.ChangeSet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref := range changes.Proposals {
		id, known := d.daoOf[ref]
		switch {
		case !known:
		case changes.Voters == nil:
			d.drop(id)
		default:
			d.touch(id, changes.Voters[ref])
		}
	}
}

// move notes that a proposal comes to its DAO from another one, or from none, or is withdrawn
// from it, or becomes spam or is spam no more. A new one without votes changes no sums.
func (d *daoVoters) move(e *evaluation, from string) {
	to := e.identity.DAOID
	switch {
	case e.proposal.Withdrawn, e.proposal.Flagged:
		d.drop(from)
		d.forgetProposal(e.proposal.Ref)
	case from == to:
		if d.isWanted(to) && !d.counts(e.proposal.Ref) {
			d.drop(to)
		}
	case from == "" && e.ballots.Votes == 0:
		if d.isWanted(to) {
			d.setProposals(to, []record.RefHash{e.proposal.Ref})
		}
	default:
		d.drop(from)
		d.drop(to)
	}
}

// setProposals notes the proposals of a DAO, before its voters are counted.
func (d *daoVoters) setProposals(daoID string, refs []record.RefHash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, ref := range refs {
		d.daoOf[ref] = daoID
	}
}

func (d *daoVoters) counts(ref record.RefHash) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.daoOf[ref]
	return known
}

func (d *daoVoters) forgetProposal(ref record.RefHash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.daoOf, ref)
}

// forget is reset, of the proposals as well.
func (d *daoVoters) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reset()
	clear(d.daoOf)
}

// participation returns the participation in DAOs. ranged are those counted by ranges.
func (p *Publisher) participation(
	ctx context.Context, daoIDs []string,
) (found map[string]counts.Participation, ranged map[string]bool, err error) {
	return sumsOf(ctx, p.Warehouse, p.voters.rangeSums, daoIDs, counts.RangeParticipation, counts.ParticipationOf)
}

// wantParticipation makes the participation in a large DAO be kept by range.
func (p *Publisher) wantParticipation(daoID string, counted counts.Participation, urgent bool) {
	if counted.Votes >= p.daoRangedFrom {
		p.voters.want(daoID, urgent)
	}
}
