package records

import (
	"context"
	"fmt"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func evidenceTable() table {
	return table{
		kind:    record.KindEvidence,
		keys:    []column{{"provider", "String"}, {"external_id", "String"}},
		columns: []string{"artifact_version", "generated_at", "dossier", "source_refs", "warnings"},
		values: valuesOf(func(into []any, e *record.Evidence) ([]any, error) {
			return append(into, e.ArtifactVersion, e.GeneratedAt.Time(), e.Dossier, e.SourceRefs, e.Warnings), nil
		}),
	}
}

// Evidence returns analyses of proposals made upstream. Proposals without one are missing.
func Evidence(
	ctx context.Context, w *warehouse.Warehouse, proposals []record.ProposalRef,
) (map[record.ProposalRef]record.Evidence, error) {
	wanted := warehouse.ExternalTable("wanted_identities", proposals, func(ref record.ProposalRef) []any {
		return []any{string(ref.Provider), ref.ExternalID}
	}, warehouse.TextColumn("provider"), warehouse.TextColumn("external_id"))
	list, err := warehouse.Find[record.Evidence](ctx, w, fmt.Sprintf("read the evidence on %d proposals", len(proposals)),
		sqlText("evidence_by_proposal"), wanted)
	return warehouse.Keyed(list, err, func(e record.Evidence) (record.ProposalRef, record.Evidence) { return e.Proposal, e })
}
