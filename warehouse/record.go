package warehouse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/google/uuid"

	"pnyx/warehouse/record"
)

// Import identifies one run of an import.
type Import struct {
	// ID identifies the run. Every record that the run writes names it.
	ID uuid.UUID
	// ObservedAt is its start: the time at which its records were read upstream.
	ObservedAt time.Time
}

// Counts counts the records of an Append by result.
type Counts struct {
	// New records had no earlier version, Changed ones replaced one, and Unchanged ones
	// equalled the latest version and were not written.
	New, Changed, Unchanged uint64
}

// Add adds the counts of another Append.
func (c *Counts) Add(other Counts) {
	c.New += other.New
	c.Changed += other.Changed
	c.Unchanged += other.Unchanged
}

// Append writes the new and changed ones of some records of one kind, as one committed
// batch. It is idempotent: after an error or a crash, call it again with the same records
// or a part of them. Of records with the same key the last one counts.
func (w *Warehouse) Append(ctx context.Context, run Import, records []record.Record) (Counts, error) {
	if len(records) == 0 {
		return Counts{}, nil
	}
	target, err := tableOf(records[0].Kind())
	if err != nil {
		return Counts{}, err
	}
	keys := make([][]string, len(records))
	for i, r := range records {
		keys[i] = r.Key()
	}
	known, err := w.storedVersions(ctx, target, keys)
	if err != nil {
		return Counts{}, fmt.Errorf("look up %s: %w", target.kind, classifyError(err))
	}
	open, err := w.openImports(ctx)
	if err != nil {
		return Counts{}, err
	}
	c, err := compare(records, keys, known, open, run)
	if err != nil || len(c.changes.Proposals) == 0 && len(c.changes.Sources) == 0 && len(c.rows) == 0 {
		return c.counts, err
	}
	batch, err := w.openBatch(ctx, run, c)
	if err != nil {
		return Counts{}, err
	}
	if err := w.insert(ctx, target, c.rows); err != nil {
		return Counts{}, fmt.Errorf("append %d %s: %w", len(c.rows), target.kind, classifyError(err))
	}
	return c.counts, w.commitBatch(ctx, batch)
}

type row struct {
	record     record.Record
	key        []string
	provenance provenance
}

// storedVersion is the latest version under a key.
type storedVersion struct {
	fingerprint  uint64
	version      uint64
	discoveredAt time.Time
	importID     uuid.UUID
	// row is the position, from 1, among the rows to be written; 0 for a stored version.
	row int
}

// recordKey is a record key as a comparable value, padded with empty strings.
type recordKey [3]string

func recordKeyOf(key []string) (w recordKey) {
	copy(w[:], key)
	return w
}

// storedVersions returns the latest stored version under each key that has one.
func (w *Warehouse) storedVersions(ctx context.Context, t table, keys [][]string) (map[recordKey]storedVersion, error) {
	known := make(map[recordKey]storedVersion, len(keys))
	keys, err := w.filterKnown(ctx, t, keys)
	if err != nil || len(keys) == 0 {
		return known, err
	}
	wanted, err := keyTable(t.keys, keys)
	if err != nil {
		return nil, err
	}
	rows, err := w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), t.storedVersionsSQL())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parts := make([]string, len(t.keys))
	for rows.Next() {
		var h storedVersion
		targets := make([]any, 0, len(parts)+4)
		for i := range parts {
			targets = append(targets, &parts[i])
		}
		if err := rows.Scan(append(targets, &h.fingerprint, &h.version, &h.discoveredAt, &h.importID)...); err != nil {
			return nil, err
		}
		known[recordKeyOf(parts)] = h
	}
	return known, rows.Err()
}

// filterKnown removes the keys whose first value no stored key has. This query is cheap,
// and most new ballots are on new proposals.
func (w *Warehouse) filterKnown(ctx context.Context, t table, keys [][]string) ([][]string, error) {
	if len(t.keys) == 1 {
		return keys, nil
	}
	firsts := map[string][]string{}
	for _, key := range keys {
		firsts[key[0]] = key[:1]
	}
	wanted, err := keyTable(t.keys[:1], slices.Collect(maps.Values(firsts)))
	if err != nil {
		return nil, err
	}
	rows, err := w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), t.knownKeysSQL())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]bool{}
	for rows.Next() {
		var first string
		if err := rows.Scan(&first); err != nil {
			return nil, err
		}
		known[first] = true
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(key []string) bool { return !known[key[0]] })
	return keys, rows.Err()
}

// keyTable returns the external table "batch_keys" with keys or prefixes of keys.
func keyTable(of []column, keys [][]string) (*ext.Table, error) {
	columns := make([]func(*ext.Table) error, len(of))
	for i, key := range of {
		columns[i] = ext.Column(key.name, key.kind)
	}
	wanted, err := ext.NewTable("batch_keys", columns...)
	if err != nil {
		return nil, err
	}
	var cells []any
	for _, key := range keys {
		cells = appendKey(cells[:0], key)
		if err := wanted.Append(cells...); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// appendKey appends the values of a key's columns.
func appendKey(into []any, key []string) []any {
	for _, part := range key {
		into = append(into, part)
	}
	return into
}

// comparison is the difference between records and their stored versions.
type comparison struct {
	rows    []row
	changes ChangeSet
	counts  Counts
	// firstVersion is the version of new records; changed ones may have a later one.
	firstVersion uint64
}

// compare selects the new and changed records and gives each a version later than the one
// that it replaces. An unchanged record of an import with an open batch is part of the
// changes too: that import may have died before its commit.
func compare(
	records []record.Record, keys [][]string, known map[recordKey]storedVersion, open map[uuid.UUID]bool, run Import,
) (comparison, error) {
	now := uint64(time.Now().UnixMicro())
	c := comparison{changes: NewChangeSet(), firstVersion: now}
	for i, r := range records {
		fingerprint, err := record.Fingerprint(r)
		if err != nil {
			return comparison{}, err
		}
		key := recordKeyOf(keys[i])
		stored, exists := known[key]
		if exists && stored.fingerprint == fingerprint {
			c.counts.Unchanged++
			if open[stored.importID] {
				c.changes.add(r, keys[i])
			}
			continue
		}
		if exists {
			c.counts.Changed++
		} else {
			c.counts.New++
			stored.discoveredAt = run.ObservedAt
		}
		c.changes.add(r, keys[i])
		p := provenance{
			fingerprint: fingerprint, version: max(now, stored.version+1),
			discoveredAt: stored.discoveredAt, observedAt: run.ObservedAt, importID: run.ID,
		}
		if c.rows == nil {
			c.rows = make([]row, 0, len(records)-i)
		}
		c.put(row{r, keys[i], p}, &stored)
		stored.fingerprint, stored.version, stored.importID = fingerprint, p.version, run.ID
		known[key] = stored
	}
	return c, nil
}

// put adds a row, or replaces the earlier row with the same key.
func (c *comparison) put(r row, stored *storedVersion) {
	if stored.row > 0 {
		c.rows[stored.row-1] = r
		return
	}
	c.rows = append(c.rows, r)
	stored.row = len(c.rows)
}

// insert sends the rows as one block, which the server writes as a whole or not at all.
// optimize_on_insert is off because no key appears twice.
func (w *Warehouse) insert(ctx context.Context, t table, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"optimize_on_insert": 0}))
	batch, err := w.conn.PrepareBatch(ctx, t.insertSQL())
	if err != nil {
		return err
	}
	defer batch.Close()
	var cells []any
	for i := range rows {
		r := &rows[i]
		cells, err = t.values(appendKey(cells[:0], r.key), r.record)
		if err != nil {
			return err
		}
		cells = r.provenance.values(cells)
		if err := batch.Append(cells...); err != nil {
			return err
		}
	}
	return batch.Send()
}
