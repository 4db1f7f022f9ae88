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
		r.writer.RaiseVersion(ctx, query.Ballots{Proposal: s.Key}.Scope())
		daos[s.DAOID] = true
	}
	for id := range daos {
		r.writer.RaiseVersion(ctx, query.Voters{DAOID: id}.Scope())
		r.writer.RaiseVersion(ctx, query.Signals{DAOID: id}.Scope())
	}
	if len(daos) > 0 {
		r.writer.RaiseVersion(ctx, query.Signals{}.Scope())
	}
	return r.writer.Flush(ctx)
}
