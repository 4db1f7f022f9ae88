package publish

import (
	"context"

	"pnyx/governance/query"
	"pnyx/warehouse/records"
)

// publishNames makes the pages stale that show names which batches have changed: ballots, and rankings and
// signals of DAOs. Pages of voters and delegates are stale after each publication. The log of changes tells no names:
// one of an active voter is in the ballots of thousands of proposals, whose own answers stay as they are.
func (r *run) publishNames(ctx context.Context, batches []records.CommittedBatch) error {
	subjects, err := records.NamedSubjects(ctx, r.Warehouse, batches)
	if err != nil {
		return err
	}
	daos := map[string]bool{}
	for _, s := range subjects {
		if err := r.writer.RaiseVersion(ctx, query.Ballots{Proposal: s.Key}.Scope()); err != nil {
			return err
		}
		daos[s.DAOID] = true
	}
	for id := range daos {
		for _, scope := range []query.Scope{query.Voters{DAOID: id}.Scope(), query.Signals{DAOID: id}.Scope()} {
			if err := r.writer.RaiseVersion(ctx, scope); err != nil {
				return err
			}
		}
	}
	if len(daos) > 0 {
		if err := r.writer.RaiseVersion(ctx, query.Signals{}.Scope()); err != nil {
			return err
		}
	}
	return r.writer.Flush(ctx)
}
