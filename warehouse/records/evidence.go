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
	wanted, err := warehouse.ExternalTable("wanted_identities", proposals, func(ref record.ProposalRef) []any {
		return []any{string(ref.Provider), ref.ExternalID}
	}, warehouse.TextColumn("provider"), warehouse.TextColumn("external_id"))
	rows, err := w.QueryWith(ctx, wanted, err, sqlText("evidence_by_proposal"))
	list, err := warehouse.SelectRows[record.Evidence](rows, err, fmt.Sprintf("read the evidence on %d proposals", len(proposals)))
	return warehouse.Keyed(list, err, func(e record.Evidence) (record.ProposalRef, record.Evidence) { return e.Proposal, e })
}
