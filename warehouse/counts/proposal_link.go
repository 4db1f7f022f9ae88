package counts

import (
	"context"
	"fmt"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// ProposalLink is what topics show of a proposal, and the names by which a proposal and a
// topic link each other.
type ProposalLink struct {
	Ref   record.RefHash         `ch:"proposal_ref"`
	Key   governance.ProposalKey `ch:"proposal_key"`
	Title string                 // empty if it has none
	// Names are the names that links to the proposal have.
	Names []string
	// Topic is the name of the topic that discusses the proposal; empty for none.
	Topic string
	// Flagged is true for spam, which topics do not show.
	Flagged bool
}

// ChangedLink is a link that differs from the published one.
type ChangedLink struct {
	ProposalLink
	// Previous is the published link; zero for none.
	Previous ProposalLink
}

// ProposalLinks returns the published links of the proposals. Proposals without one are missing.
func ProposalLinks(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]ProposalLink, error) {
	links, err := warehouse.Find[ProposalLink](ctx, w, fmt.Sprintf("read the links of %d proposals", len(refs)),
		sqlText("proposal_link_by_ref"), warehouse.RefTable(refs))
	return warehouse.Keyed(links, err, func(link ProposalLink) (record.RefHash, ProposalLink) { return link.Ref, link })
}

// LinkedProposals returns the proposals that a topic with one of the names discusses, or
// that have one of the names of links, in order of their titles and keys.
func LinkedProposals(ctx context.Context, w *warehouse.Warehouse, topics, links []string) ([]ProposalLink, error) {
	value := func(name string) []any { return []any{name} }
	return warehouse.Find[ProposalLink](ctx, w, fmt.Sprintf("read the proposals linked to %d topics", len(topics)),
		sqlText("proposal_link_by_name"),
		warehouse.ExternalTable("wanted_discussions", topics, value, warehouse.TextColumn("name")),
		warehouse.ExternalTable("wanted_links", links, value, warehouse.TextColumn("name")))
}

// WriteProposalLinks writes links that differ from the published ones.
func WriteProposalLinks(ctx context.Context, w *warehouse.Warehouse, links []ChangedLink, revision uint64) error {
	rows := warehouse.Values(links, func(link ChangedLink) []any {
		topics := slices.DeleteFunc([]string{link.Topic, link.Previous.Topic}, func(name string) bool { return name == "" })
		names := append(warehouse.NonNilTexts(link.Names), link.Previous.Names...)
		return []any{
			string(link.Ref[:]), string(link.Key), link.Title, warehouse.NonNilTexts(link.Names), link.Topic, names, topics, link.Flagged, revision,
		}
	})
	return warehouse.InsertRows(ctx, w, sqlText("proposal_link_insert"), fmt.Sprintf("write %d links", len(links)), rows)
}
