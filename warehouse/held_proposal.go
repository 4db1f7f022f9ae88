package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// HeldProposal is what a follower compares with an upstream's list of proposals.
type HeldProposal struct {
	record.ProposalRef
	// SourceID is the id of the space or organization.
	SourceID string
	// UpdatedAt, StartAt and EndAt are as stated; nil where unknown.
	UpdatedAt, StartAt, EndAt *governance.Timestamp
	// StatedVotes is the number of ballots that upstream states; nil for none.
	StatedVotes *uint64
	// StatedTotal is the sum of all scores that upstream states; nil for none.
	StatedTotal *decimal.Decimal
	// Flagged is true for spam, and Withdrawn for what upstream has deleted.
	Flagged, Withdrawn bool
	// Origin names what states the proposal.
	Origin string
}

// HeldProposals returns the latest version of the proposals of some sources of a provider,
// oldest first: those that end after a time, or all for the zero time. Withdrawn ones are
// among them.
func (w *Warehouse) HeldProposals(
	ctx context.Context, provider governance.Provider, sourceIDs []string, endsAfter time.Time,
) ([]HeldProposal, error) {
	return find[HeldProposal](ctx, w, "read the proposals held of followed sources", sqlText("held_proposal"),
		string(provider), sourceIDs, max(endsAfter.Unix(), 0))
}

// HeldSources returns the source of each proposal that is held, withdrawn ones included.
func (w *Warehouse) HeldSources(ctx context.Context, refs []record.RefHash) (map[record.RefHash]record.SourceRef, error) {
	type row struct {
		Ref      record.RefHash `ch:"proposal_ref"`
		Provider governance.Provider
		SourceID string
	}
	found := make(map[record.RefHash]record.SourceRef, len(refs))
	if len(refs) == 0 {
		return found, nil
	}
	rows, err := findRefs[row](ctx, w, fmt.Sprintf("read the sources of %d proposals", len(refs)), sqlText("held_proposal_source"), refs)
	for _, r := range rows {
		found[r.Ref] = record.SourceRef{Provider: r.Provider, ID: r.SourceID}
	}
	return found, err
}
