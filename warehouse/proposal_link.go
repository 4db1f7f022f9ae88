package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// ProposalLink is what topics show of a proposal, and by what the two name each
// other.
type ProposalLink struct {
	Ref   record.RefHash
	Key   governance.ProposalKey
	Title string
	// Names are those that links to the proposal have; Topic is the name of the topic
	// that it is discussed in, empty for none.
	Names []string
	Topic string
}

// ChangedLink is a link that differs from the one before.
type ChangedLink struct {
	ProposalLink
	// Previous is the one before; zero for none.
	Previous ProposalLink
}

// ProposalLinks returns the links held of the proposals; those without are missing.
func (w *Warehouse) ProposalLinks(ctx context.Context, refs []record.RefHash) (map[record.RefHash]ProposalLink, error) {
	rows, err := w.queryRefs(ctx, sqlText("proposal_link_by_ref"), refs)
	if err != nil {
		return nil, fmt.Errorf("read the links of %d proposals: %w", len(refs), err)
	}
	links, err := scanLinks(rows)
	if err != nil {
		return nil, fmt.Errorf("read the links of %d proposals: %w", len(refs), err)
	}
	found := make(map[record.RefHash]ProposalLink, len(links))
	for _, link := range links {
		found[link.Ref] = link
	}
	return found, nil
}

// LinkedProposals returns the proposals that are discussed in topics of certain
// names, or have one of the names that links have; in order of their titles and keys.
func (w *Warehouse) LinkedProposals(ctx context.Context, topics, links []string) ([]ProposalLink, error) {
	wantedTopics, err := textTable("wanted_discussions", topics)
	if err != nil {
		return nil, err
	}
	wantedLinks, err := textTable("wanted_links", links)
	if err != nil {
		return nil, err
	}
	rows, err := w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wantedTopics, wantedLinks)),
		sqlText("proposal_link_by_name"))
	if err != nil {
		return nil, fmt.Errorf("read the proposals linked to %d topics: %w", len(topics), err)
	}
	return scanLinks(rows)
}

// textTable is an external table of one column, "name".
func textTable(table string, names []string) (*ext.Table, error) {
	wanted, err := ext.NewTable(table, ext.Column("name", "String"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := wanted.Append(name); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

func scanLinks(rows driver.Rows) ([]ProposalLink, error) {
	defer rows.Close()
	var links []ProposalLink
	for rows.Next() {
		var link ProposalLink
		var ref, key string
		if err := rows.Scan(&ref, &key, &link.Title, &link.Names, &link.Topic); err != nil {
			return nil, err
		}
		link.Ref, link.Key = record.RefHash([]byte(ref)), governance.ProposalKey(key)
		links = append(links, link)
	}
	return links, rows.Err()
}

// WriteProposalLinks appends links that differ from those before.
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
