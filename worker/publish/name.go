package publish

import (
	"context"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
)

// publishNames makes the pages stale that show names which batches have changed: ballots, and rankings of
// DAOs. Pages of voters and delegates are stale after each publication.
func (r *run) publishNames(ctx context.Context, batches []warehouse.CommittedBatch) error {
	subjects, err := warehouse.NamedSubjects(ctx, r.Warehouse, batches)
	if err != nil {
		return err
	}
	daos := map[string]bool{}
	for _, s := range subjects {
		if err := r.writer.RaiseVersion(ctx, query.Ballots{Proposal: s.Key}.Scope()); err != nil {
			return err
		}
		r.noteChange(governance.ProposalChange, string(s.Key), s.DAOID)
		if daos[s.DAOID] {
			continue
		}
		daos[s.DAOID] = true
		if err := r.writer.RaiseVersion(ctx, query.Voters{DAOID: s.DAOID}.Scope()); err != nil {
			return err
		}
		r.noteChange(governance.DAOChange, s.DAOID, s.DAOID)
	}
	return r.writer.Flush(ctx)
}
