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
	// Written remembers the records of the run; nil looks up every record.
	Written *WrittenKeys
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

// Append writes the new and changed ones of some records as one committed batch: a reader
// sees the records of all kinds or none. Each kind is inserted as a whole, in import order.
// It is idempotent: after an error or a crash, call it again with the same records or a
// part of them. Of records with the same key the last one counts.
func (w *Warehouse) Append(ctx context.Context, run Import, records []record.Record) (Counts, error) {
	parts, err := w.readStored(ctx, run, records)
	if err != nil || len(parts) == 0 {
		return Counts{}, err
	}
	open, err := w.openImports(ctx)
	if err != nil {
		return Counts{}, err
	}
	c := comparison{changes: NewChangeSet(), firstVersion: uint64(time.Now().UnixMicro())}
	for i := range parts {
		if err := c.compare(&parts[i], open, run); err != nil {
			return Counts{}, err
		}
	}
	if len(c.changes.Proposals) == 0 && len(c.changes.Sources) == 0 && !slices.ContainsFunc(parts, part.hasRows) {
		return c.counts, nil
	}
	batch, err := w.openBatch(ctx, run, c)
	if err != nil {
		return Counts{}, err
	}
	for _, p := range parts {
		if err := w.insert(ctx, p.table, p.rows); err != nil {
			return Counts{}, fmt.Errorf("append %d %s: %w", len(p.rows), p.table.kind, err)
		}
	}
	return c.counts, w.commitBatch(ctx, batch)
}

// part has the records of one kind in a batch.
type part struct {
	table   table
	records []record.Record
	keys    [][]string
	// known has the latest stored version under each key.
	known map[recordKey]storedVersion
	// rows are those to be written.
	rows []row
}

func (p part) hasRows() bool { return len(p.rows) > 0 }

// readStored groups records by kind, in import order, and reads their stored versions.
func (w *Warehouse) readStored(ctx context.Context, run Import, records []record.Record) (parts []part, err error) {
	byKind := map[record.Kind][]record.Record{}
	for _, r := range records {
		byKind[r.Kind()] = append(byKind[r.Kind()], r)
	}
	for _, kind := range record.Kinds() {
		if len(byKind[kind]) == 0 {
			continue
		}
		p := part{records: byKind[kind], keys: make([][]string, len(byKind[kind]))}
		for i, r := range p.records {
			p.keys[i] = r.Key()
		}
		if p.table, err = tableOf(kind); err != nil {
			return nil, err
		}
		if p.known, err = w.storedVersions(ctx, p.table, p.keys, run.Written); err != nil {
			return nil, fmt.Errorf("look up %s: %w", kind, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
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
func (w *Warehouse) storedVersions(
	ctx context.Context, t table, keys [][]string, written *WrittenKeys,
) (map[recordKey]storedVersion, error) {
	known := make(map[recordKey]storedVersion, len(keys))
	keys, err := w.filterKnown(ctx, t, keys, written)
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

// filterKnown removes the keys whose first value no stored key has, and those that written
// knows to be new. This query is cheap, and most new ballots are on new proposals.
func (w *Warehouse) filterKnown(ctx context.Context, t table, keys [][]string, written *WrittenKeys) ([][]string, error) {
	if len(t.keys) == 1 {
		return keys, nil
	}
	firsts := map[string][]string{}
	for _, key := range keys {
		if _, listed := firsts[key[0]]; !listed && !written.knows(t.kind, key[0]) {
			firsts[key[0]] = key[:1]
		}
	}
	stored, err := w.storedFirsts(ctx, t, slices.Collect(maps.Values(firsts)))
	if err != nil {
		return nil, err
	}
	for first, exists := range stored {
		if !exists {
			written.begin(t.kind, first)
		}
	}
	return written.write(t.kind, keys, stored), nil
}

// storedFirsts reports of each of some first values of keys whether a stored key has it.
func (w *Warehouse) storedFirsts(ctx context.Context, t table, firsts [][]string) (map[string]bool, error) {
	stored := map[string]bool{}
	if len(firsts) == 0 {
		return stored, nil
	}
	for _, first := range firsts {
		stored[first[0]] = false
	}
	wanted, err := keyTable(t.keys[:1], firsts)
	if err != nil {
		return nil, err
	}
	rows, err := w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), t.knownKeysSQL())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var first string
		if err := rows.Scan(&first); err != nil {
			return nil, err
		}
		stored[first] = true
	}
	return stored, rows.Err()
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
		cells = cells[:0]
		for i := range key {
			cells = append(cells, &key[i]) // a pointer avoids a heap allocation
		}
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
	changes ChangeSet
	counts  Counts
	// firstVersion is the version of new records; changed ones may have a later one.
	firstVersion uint64
}

// compare selects the new and changed records of a part and gives each a version later than
// the one that it replaces. An unchanged record of an import with an open batch is part of
// the changes too: that import may have died before its commit.
func (c *comparison) compare(p *part, open map[uuid.UUID]bool, run Import) error {
	for i, r := range p.records {
		fingerprint, err := record.Fingerprint(r)
		if err != nil {
			return err
		}
		key := recordKeyOf(p.keys[i])
		stored, exists := p.known[key]
		if exists && stored.fingerprint == fingerprint {
			c.counts.Unchanged++
			if open[stored.importID] {
				c.changes.add(r, p.keys[i])
			}
			continue
		}
		if exists {
			c.counts.Changed++
		} else {
			c.counts.New++
			stored.discoveredAt = run.ObservedAt
		}
		c.changes.add(r, p.keys[i])
		from := provenance{
			fingerprint: fingerprint, version: max(c.firstVersion, stored.version+1),
			discoveredAt: stored.discoveredAt, observedAt: run.ObservedAt, importID: run.ID,
		}
		if p.rows == nil {
			p.rows = make([]row, 0, len(p.records)-i)
		}
		p.put(row{r, p.keys[i], from}, &stored)
		stored.fingerprint, stored.version, stored.importID = fingerprint, from.version, run.ID
		p.known[key] = stored
	}
	return nil
}

// put adds a row, or replaces the earlier row with the same key.
func (p *part) put(r row, stored *storedVersion) {
	if stored.row > 0 {
		p.rows[stored.row-1] = r
		return
	}
	p.rows = append(p.rows, r)
	stored.row = len(p.rows)
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
