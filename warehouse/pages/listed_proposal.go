package pages

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cespare/xxhash/v2"
	"github.com/vmihailenco/msgpack/v5"

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
func (p ListedProposal) Fingerprint() (uint64, error) {
	p.Revision = 0
	content, err := msgpack.Marshal(&p)
	if err != nil {
		return 0, fmt.Errorf("fingerprint of %s: %w", p.Key, err)
	}
	return xxhash.Sum64(content), nil
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
	return warehouse.FindBy[record.RefHash, ListedVersion](ctx, w, "read listed versions", sqlText("listed_proposal_versions"), warehouse.RefTable(refs))
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
	// Entries are written before the rows that they refer to: an entry without a row is ignored.
	for _, table := range []struct {
		insert string
		add    func(driver.Batch, ListedProposal) error
	}{
		{"listed_proposal_insert_names", addNames},
		{"listed_proposal_insert_titles", addTitle},
		{"listed_proposal_insert", addListed},
	} {
		operation := fmt.Sprintf("list %d proposals", len(proposals))
		if err := warehouse.InsertRows(ctx, w, sqlText(table.insert), operation, proposals, table.add); err != nil {
			return err
		}
	}
	return nil
}

func addListed(batch driver.Batch, p ListedProposal) error {
	fingerprint, err := p.Fingerprint()
	if err != nil {
		return err
	}
	return batch.Append(
		string(p.Ref[:]), string(p.Key), p.Identity.DAOID, string(p.Identity.Provider), p.SourceID, p.Identity.ExternalID,
		p.Title, p.SourceURL, p.DiscussionURL, p.ProposerID,
		string(p.Lifecycle), string(p.Outcome), string(p.Coverage), p.Flagged,
		warehouse.TimeOrUnknown(p.CreatedAt), warehouse.TimeOrUnknown(p.UpdatedAt), warehouse.TimeOrUnknown(p.StartAt), warehouse.TimeOrUnknown(p.EndAt),
		fingerprint, p.Revision)
}

func addNames(batch driver.Batch, p ListedProposal) error {
	for _, name := range p.Names() {
		err := batch.Append(name.hash(), descendingTime(p.CreatedAt), string(p.Key),
			string(p.Ref[:]), p.Identity.DAOID, string(p.Identity.Provider))
		if err != nil {
			return err
		}
	}
	return nil
}

func addTitle(batch driver.Batch, p ListedProposal) error {
	title := governance.NormalizeTitle(p.Title)
	if title == "" {
		return nil
	}
	return batch.Append(runeCount(title), descendingTime(p.CreatedAt), string(p.Key),
		string(p.Ref[:]), p.Identity.DAOID, string(p.Identity.Provider), title)
}
