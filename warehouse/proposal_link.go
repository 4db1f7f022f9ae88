package warehouse

import (
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// ProposalLink is what topics show of a proposal, and the names by which a proposal and a
// topic link each other.
type ProposalLink struct {
	// Ref identifies the proposal among all providers.
	Ref record.RefHash `ch:"proposal_ref"`
	// Key is the proposal's key in the API.
	Key governance.ProposalKey `ch:"proposal_key"`
	// Title is the proposal's title; empty if it has none.
	Title string
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

// ProposalLinks returns the published links of the proposals. Proposals without one are
// missing.
func (w *Warehouse) ProposalLinks(ctx context.Context, refs []record.RefHash) (map[record.RefHash]ProposalLink, error) {
	links, err := findRefs[ProposalLink](ctx, w, fmt.Sprintf("read the links of %d proposals", len(refs)),
		sqlText("proposal_link_by_ref"), refs)
	return keyed(links, err, func(link ProposalLink) (record.RefHash, ProposalLink) { return link.Ref, link })
}

// LinkedProposals returns the proposals that a topic with one of the names discusses, or
// that have one of the names of links, in order of their titles and keys.
func (w *Warehouse) LinkedProposals(ctx context.Context, topics, links []string) ([]ProposalLink, error) {
	value := func(name string) []any { return []any{name} }
	wantedTopics, err := externalTable("wanted_discussions", topics, value, textColumn("name"))
	if err != nil {
		return nil, err
	}
	wantedLinks, err := externalTable("wanted_links", links, value, textColumn("name"))
	if err != nil {
		return nil, err
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithExternalTable(wantedTopics, wantedLinks))
	return find[ProposalLink](ctx, w, fmt.Sprintf("read the proposals linked to %d topics", len(topics)), sqlText("proposal_link_by_name"))
}

// WriteProposalLinks writes links that differ from the published ones.
func (w *Warehouse) WriteProposalLinks(ctx context.Context, links []ChangedLink, revision uint64) error {
	operation := fmt.Sprintf("write %d links", len(links))
	return insertRows(ctx, w, sqlText("proposal_link_insert"), operation, links, func(insert driver.Batch, link ChangedLink) error {
		topics := slices.DeleteFunc([]string{link.Topic, link.Previous.Topic}, func(name string) bool { return name == "" })
		names := append(nonNilTexts(link.Names), link.Previous.Names...)
		return insert.Append(
			string(link.Ref[:]), string(link.Key), link.Title, nonNilTexts(link.Names), link.Topic, names, topics, link.Flagged, revision)
	})
}
