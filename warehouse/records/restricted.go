package records

import (
	"context"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// RestrictedCategories returns the numbers of a forum's categories that not everybody may read.
func RestrictedCategories(ctx context.Context, w *warehouse.Warehouse, host string) (map[string]bool, error) {
	const sql = "SELECT category_id FROM categories FINAL WHERE host = {host:String} AND restricted"
	ids, err := warehouse.Find[string](ctx, w, "read the restricted categories of "+host, sql, clickhouse.Named("host", host))
	return warehouse.Keyed(ids, err, func(id string) (string, bool) { return id, true })
}

// withhold replaces the topics of restricted categories among records, and adds those that are
// held of categories that records state as restricted.
func withhold(ctx context.Context, w *warehouse.Warehouse, records []record.Record) ([]record.Record, error) {
	restricted := map[string]map[string]bool{} // by host
	seen := map[record.Key]bool{}
	var err error
	for _, r := range records {
		var host string
		switch r := r.(type) {
		case *record.Topic:
			host, seen[r.Key()] = r.Host, true
		case *record.Category:
			host = r.Host
		default:
			continue
		}
		if restricted[host] == nil {
			if restricted[host], err = RestrictedCategories(ctx, w, host); err != nil {
				return nil, err
			}
		}
	}
	if len(restricted) == 0 {
		return records, nil
	}
	records = slices.Clone(records)
	for _, r := range slices.Clone(records) {
		c, is := r.(*record.Category)
		if !is {
			continue
		}
		if restricted[c.Host][c.ID] = c.Restricted; !c.Restricted {
			continue
		}
		const sql = "SELECT external_id FROM topics FINAL WHERE host = {host:String} AND category_id = {category:String} AND NOT withdrawn"
		ids, err := warehouse.Find[string](ctx, w, "read the topics of a restricted category", sql, clickhouse.Named("host", c.Host),
			clickhouse.Named("category", c.ID))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if t := (&record.Topic{Host: c.Host, ExternalID: id}); !seen[t.Key()] {
				records = append(records, t.Withheld())
			}
		}
	}
	for i, r := range records {
		if t, is := r.(*record.Topic); is && restricted[t.Host][t.CategoryID] {
			records[i] = t.Withheld()
		}
	}
	return records, nil
}
