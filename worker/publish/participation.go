package publish

import (
	"sync"

	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// daoRangedFrom is the votes from which participation is kept by range: a range takes some granules of each
// proposal, or the other votes of its voters. Below, counting all ballots takes less.
const daoRangedFrom = 10 * pages.SortedCopyThreshold

type daoVoters struct {
	*rangeSums[string, counts.Participation]
	// daoOf has the DAO of each proposal of a DAO that is, or was, counted by ranges.
	daoOf sync.Map
}

// touchBallots notes what batches change, before it is counted.
func (d *daoVoters) touchBallots(changes records.ChangeSet) {
	for ref := range changes.Proposals {
		found, known := d.daoOf.Load(ref)
		id, _ := found.(string)
		switch {
		case !known:
		case changes.Voters == nil:
			d.drop(id)
		default:
			d.touch(id, changes.Voters[ref])
		}
	}
}

// move notes that a proposal comes to another DAO, is withdrawn, or becomes or ends being spam. A new one without
// votes changes no sums.
func (d *daoVoters) move(e *evaluation, from string) {
	to := e.identity.DAOID
	switch {
	case e.proposal.Withdrawn, e.proposal.Flagged:
		d.drop(from)
		d.daoOf.Delete(e.proposal.Ref)
	case from == to:
		if _, known := d.daoOf.Load(e.proposal.Ref); !known && d.isWanted(to) {
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

func (d *daoVoters) setProposals(daoID string, refs []record.RefHash) {
	for _, ref := range refs {
		d.daoOf.Store(ref, daoID)
	}
}

// forget is reset, of the proposals as well.
func (d *daoVoters) forget() {
	d.daoOf.Clear() // first: a count that notes proposals meanwhile is dropped
	d.reset()
}
