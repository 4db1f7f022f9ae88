package counts

import (
	"context"
	"fmt"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// ProposalEffects are what the actions of a proposal come to, and the findings about them.
type ProposalEffects struct {
	ProposalRef record.RefHash
	// Effects, Findings and Calls, the actions that mean something else than when they were stored, are JSON arrays; empty
	// texts for none.
	Effects, Findings, Calls string
}

// ReplaceProposalEffects writes the effects of proposals that have changed, at a revision. Of a
// proposal that has none there is a row without, if there was one with some.
func ReplaceProposalEffects(ctx context.Context, w *warehouse.Warehouse, revision uint64, of []ProposalEffects) error {
	refs := warehouse.Values(of, func(p ProposalEffects) record.RefHash { return p.ProposalRef })
	operation := fmt.Sprintf("replace the effects of %d proposals", len(of))
	stored, err := warehouse.FindBy[record.RefHash, ProposalEffects](ctx, w, operation, sqlText("proposal_effects_by_ref"),
		warehouse.RefTable(refs))
	if err != nil {
		return err
	}
	var changed []ProposalEffects
	for _, one := range of {
		// The zero value stands for what was never stored.
		if before := stored[one.ProposalRef]; before.Effects != one.Effects || before.Findings != one.Findings || before.Calls != one.Calls {
			changed = append(changed, one)
		}
	}
	return warehouse.InsertRows(ctx, w, "INSERT INTO proposal_effects (proposal_ref, effects, findings, calls, revision)",
		operation, warehouse.Values(changed, func(p ProposalEffects) []any {
			return []any{string(p.ProposalRef[:]), p.Effects, p.Findings, p.Calls, revision}
		}))
}
