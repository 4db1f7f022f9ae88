package records

import (
	"context"
	"maps"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// RestrictedCategories returns the numbers of forums' categories that not everybody may read, by host.
func RestrictedCategories(ctx context.Context, w *warehouse.Warehouse, hosts ...string) (map[string]map[string]bool, error) {
	const sql = "SELECT host, category_id FROM categories FINAL WHERE host IN {hosts:Array(String)} AND restricted"
	type row struct{ Host, CategoryID string }
	rows, err := warehouse.Find[row](ctx, w, "read restricted categories", sql, clickhouse.Named("hosts", hosts))
	restricted := map[string]map[string]bool{}
	for _, host := range hosts {
		restricted[host] = map[string]bool{}
	}
	for _, r := range rows {
		restricted[r.Host][r.CategoryID] = true
	}
	return restricted, err
}

// withhold replaces the topics of restricted categories among records, and adds those that are
// held of categories that records state as restricted.
func withhold(ctx context.Context, w *warehouse.Warehouse, records []record.Record) ([]record.Record, error) {
	hosts, seen := map[string]bool{}, map[record.Key]bool{}
	for _, r := range records {
		switch r := r.(type) {
		case *record.Topic:
			hosts[r.Host], seen[r.Key()] = true, true
		case *record.Category:
			hosts[r.Host] = true
		}
	}
	if len(hosts) == 0 {
		return records, nil
	}
	restricted, err := RestrictedCategories(ctx, w, slices.Collect(maps.Keys(hosts))...)
	if err != nil {
		return nil, err
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
