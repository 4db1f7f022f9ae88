package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

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
	rows, err := w.queryRefs(ctx, sqlText("proposal_link_by_ref"), refs)
	links, err := selectRows[ProposalLink](rows, err, fmt.Sprintf("read the links of %d proposals", len(refs)))
	found := make(map[record.RefHash]ProposalLink, len(links))
	for _, link := range links {
		found[link.Ref] = link
	}
	return found, err
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
	rows, err := w.conn.Query(ctx, sqlText("proposal_link_by_name"))
	return selectRows[ProposalLink](rows, err, fmt.Sprintf("read the proposals linked to %d topics", len(topics)))
}

// WriteProposalLinks writes links that differ from the published ones.
func (w *Warehouse) WriteProposalLinks(ctx context.Context, links []ChangedLink, revision uint64) error {
	insert, err := w.conn.PrepareBatch(ctx, sqlText("proposal_link_insert"))
	if err != nil {
		return fmt.Errorf("write %d links: %w", len(links), err)
	}
	defer insert.Close()
	for _, link := range links {
		topics := []string{}
		for _, name := range []string{link.Topic, link.Previous.Topic} {
			if name != "" {
				topics = append(topics, name)
			}
		}
		names := append(append([]string{}, link.Names...), link.Previous.Names...)
		if err := insert.Append(
			string(link.Ref[:]), string(link.Key), link.Title, nonNilTexts(link.Names), link.Topic, names, topics, revision,
		); err != nil {
			return fmt.Errorf("write the links of %s: %w", link.Key, err)
		}
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("write %d links: %w", len(links), err)
	}
	return nil
}
