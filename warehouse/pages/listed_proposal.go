package pages

import (
	"context"
	"fmt"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// ListedProposal is a row of the list of proposals, which lists and searches read.
type ListedProposal struct {
	Ref record.RefHash         `ch:"proposal_ref"`
	Key governance.ProposalKey `ch:"proposal_key"`
	// Identity of a withdrawn proposal has no DAO: its row replaces the one that was listed.
	Identity governance.Identity
	SourceID string // of the space or Governor that it belongs to
	// Title, SourceURL, DiscussionURL and ProposerID, a normalized identity, are empty if upstream states none.
	Title, SourceURL, DiscussionURL, ProposerID string
	// Lifecycle, Outcome and Coverage, which is of the ballots, are as the API shows them.
	Lifecycle governance.Lifecycle
	Outcome   governance.Outcome
	Coverage  governance.Coverage
	// Flagged is true for spam, which lists leave out unless they are asked for it.
	Flagged bool
	// CreatedAt, UpdatedAt, StartAt and EndAt are the proposal's times; nil where unknown.
	CreatedAt, UpdatedAt, StartAt, EndAt *governance.Timestamp
	// Revision is the publication that last changed the proposal.
	Revision uint64
}

// Fingerprint returns a hash of all fields except Revision.
func (p ListedProposal) Fingerprint() uint64 {
	p.Revision = 0
	return record.Fingerprint(&p)
}

// ListedVersion identifies the listed version of a proposal.
type ListedVersion struct {
	DAOID       string
	Fingerprint uint64 // as ListedProposal.Fingerprint returns it
	Revision    uint64 // of the publication that last changed it
}

// ListedVersions returns the listed version of each proposal. Unlisted ones are missing.
func ListedVersions(
	ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash,
) (map[record.RefHash]ListedVersion, error) {
	return warehouse.FindBy[record.RefHash, ListedVersion](ctx, w, "read listed versions",
		sqlText("listed_proposal_versions"), warehouse.RefTable(refs))
}

// listed returns the current rows of the proposals. Unlisted and withdrawn ones are missing.
func listed(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]ListedProposal, error) {
	if len(refs) == 0 {
		return map[record.RefHash]ListedProposal{}, nil
	}
	sql := fmt.Sprintf(sqlText("listed_proposal_rows"), "proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)",
		"proposal_ref, revision DESC", "1 BY proposal_ref")
	rows, err := warehouse.Find[ListedProposal](ctx, w, "read listed proposals", sql, warehouse.RefTable(refs))
	proposals := make(map[record.RefHash]ListedProposal, len(rows))
	for _, p := range rows {
		if p.Identity.DAOID != "" {
			proposals[p.Ref] = p
		}
	}
	return proposals, err
}

// WriteListed writes changed proposals with the names by which searches find them.
func WriteListed(ctx context.Context, w *warehouse.Warehouse, proposals []ListedProposal) error {
	var names, titles, rows [][]any
	for _, p := range proposals {
		at := []any{descendingTime(p.CreatedAt), string(p.Key), string(p.Ref[:]), p.Identity.DAOID, string(p.Identity.Provider)}
		for _, name := range p.Names() {
			names = append(names, append([]any{name.hash()}, at...))
		}
		if title := governance.NormalizeTitle(p.Title); title != "" {
			titles = append(titles, slices.Concat([]any{runeCount(title)}, at, []any{title}))
		}
		rows = append(rows, p.values())
	}
	// Entries are written before the rows that they refer to: an entry without a row is ignored.
	operation := fmt.Sprintf("list %d proposals", len(proposals))
	for _, table := range []struct {
		insert string
		rows   [][]any
	}{
		{"listed_proposal_insert_names", names},
		{"listed_proposal_insert_titles", titles},
		{"listed_proposal_insert", rows},
	} {
		if err := warehouse.InsertRows(ctx, w, sqlText(table.insert), operation, table.rows); err != nil {
			return err
		}
	}
	return nil
}

func (p ListedProposal) values() []any {
	return []any{
		string(p.Ref[:]), string(p.Key), p.Identity.DAOID, string(p.Identity.Provider), p.SourceID, p.Identity.ExternalID,
		p.Title, p.SourceURL, p.DiscussionURL, p.ProposerID,
		string(p.Lifecycle), string(p.Outcome), string(p.Coverage), p.Flagged,
		warehouse.TimeOrUnknown(p.CreatedAt), warehouse.TimeOrUnknown(p.UpdatedAt), warehouse.TimeOrUnknown(p.StartAt), warehouse.TimeOrUnknown(p.EndAt),
		p.Fingerprint(), p.Revision,
	}
}
