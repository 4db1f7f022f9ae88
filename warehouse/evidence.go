package warehouse

import (
	"context"
	"fmt"

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

// Evidence returns the evidence on the proposals: analyses made upstream. Proposals
// without one are missing.
func (w *Warehouse) Evidence(
	ctx context.Context, proposals []record.ProposalRef,
) (map[record.ProposalRef]record.Evidence, error) {
	wanted, err := externalTable("wanted_identities", proposals, func(ref record.ProposalRef) []any {
		return []any{string(ref.Provider), ref.ExternalID}
	}, textColumn("provider"), textColumn("external_id"))
	rows, err := w.queryWith(ctx, wanted, err, sqlText("evidence_by_proposal"))
	list, err := selectRows[record.Evidence](rows, err, fmt.Sprintf("read the evidence on %d proposals", len(proposals)))
	return keyed(list, err, func(e record.Evidence) (record.ProposalRef, record.Evidence) { return e.Proposal, e })
}
