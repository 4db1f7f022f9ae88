package records

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Import identifies one run of an import.
type Import struct {
	// ID identifies the run. Every record that the run writes names it.
	ID uuid.UUID
	// ObservedAt is its start: the time at which its records were read upstream.
	ObservedAt time.Time
	// AsOf is as of when its records are, where the import states it; nil otherwise.
	AsOf *governance.Timestamp
	// Unread has the gaps of the proposals on which ballots are left to read; nil where none are.
	Unread *UnreadBallots
}

// Counts counts the records of an Append by result.
type Counts struct {
	// New records had no earlier version, Changed ones replaced one, Unchanged ones were not written.
	New, Changed, Unchanged uint64
}

// Add adds the counts of another Append.
func (c *Counts) Add(other Counts) {
	c.New += other.New
	c.Changed += other.Changed
	c.Unchanged += other.Unchanged
}

// Append writes the new and changed ones of some records as one committed batch: a reader sees the records of all
// kinds or none. Each kind is inserted as a whole, in import order. It is idempotent: after an error or a crash,
// call it again with the same records or a part of them. Of records with the same key the last one counts. Forum
// topics that not everybody may read are withheld, whatever records say of them.
func Append(ctx context.Context, w *warehouse.Warehouse, run Import, records []record.Record) (Counts, error) {
	records, err := withhold(ctx, w, record.WithActions(records))
	if err != nil {
		return Counts{}, err
	}
	parts, err := readStored(ctx, w, records)
	if err != nil || len(parts) == 0 {
		return Counts{}, err
	}
	// The imports with open batches: running or dead.
	ids, err := warehouse.Find[uuid.UUID](ctx, w, "read open batches", sqlText("record_open_imports"))
	open, err := warehouse.Keyed(ids, err, func(id uuid.UUID) (uuid.UUID, bool) { return id, true })
	if err != nil {
		return Counts{}, err
	}
	c := comparison{changes: NewChangeSet(), firstVersion: uint64(time.Now().UnixMicro())}
	for i := range parts {
		c.compare(&parts[i], open, run)
	}
	if len(c.changes.Proposals) == 0 && len(c.changes.Sources) == 0 && !slices.ContainsFunc(parts, part.hasRows) {
		return c.counts, nil
	}
	if err := run.Unread.open(ctx, w, run, parts); err != nil {
		return Counts{}, err
	}
	batch, err := openBatch(ctx, w, run, c)
	if err != nil && ctx.Err() != nil { // it may have been written
		err = errors.Join(err, closeBatch(ctx, w, batch))
	}
	if err != nil {
		return Counts{}, err
	}
	for i := range parts {
		if err := insert(ctx, w, &parts[i], run, batch.id); err != nil {
			err = fmt.Errorf("append %d %s: %w", len(parts[i].rows), parts[i].table.kind, err)
			return Counts{}, errors.Join(err, closeBatch(ctx, w, batch))
		}
	}
	if err := commitBatch(ctx, w, batch); err != nil {
		return Counts{}, errors.Join(err, closeBatch(ctx, w, batch))
	}
	return c.counts, nil
}

// part has the records of one kind in a batch.
type part struct {
	table   table
	records []record.Record
	keys    []record.Key
	// known has the latest version under each key: the stored one, or the row that replaces it.
	known map[record.Key]storedVersion
	rows  []row
}

func (p part) hasRows() bool { return len(p.rows) > 0 }

// readStored groups records by kind, in import order, and reads their stored versions.
func readStored(ctx context.Context, w *warehouse.Warehouse, records []record.Record) (parts []part, err error) {
	byKind := map[record.Kind][]record.Record{}
	for _, r := range records {
		byKind[r.Kind()] = append(byKind[r.Kind()], r)
	}
	for _, kind := range record.Kinds() {
		if len(byKind[kind]) == 0 {
			continue
		}
		p := part{records: byKind[kind], keys: warehouse.Values(byKind[kind], record.Record.Key)}
		if p.table, err = tableOf(kind); err != nil {
			return nil, err
		}
		if p.known, err = storedVersions(ctx, w, p.table, p.keys); err != nil {
			return nil, fmt.Errorf("look up %s: %w", kind, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// row is a record to be written: its position in the part, and what differs in its provenance from the other rows.
type row struct {
	at                   int
	fingerprint, version uint64
	discoveredAt         time.Time
}

// storedVersion is the latest version under a key.
type storedVersion struct {
	fingerprint, version uint64
	discoveredAt         time.Time
	importID             uuid.UUID
	// row is the position, from 1, among the rows to be written; 0 for a stored version.
	row int
}

// storedVersions returns the latest stored version under each key that has one.
func storedVersions(
	ctx context.Context, w *warehouse.Warehouse, t table, keys []record.Key,
) (map[record.Key]storedVersion, error) {
	known := make(map[record.Key]storedVersion, len(keys))
	keys, err := filterKnown(ctx, w, t, keys)
	if err != nil || len(keys) == 0 {
		return known, err
	}
	names := strings.Join(t.keyNames(), ", ")
	rows, err := w.Conn.Query(ctx, fmt.Sprintf(sqlText("record_table_versions"), names, t.kind, names, names, names),
		keyTable(t.keys, keys))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key record.Key
		var h storedVersion
		targets := appendKey(make([]any, 0, len(key)+4), t.keys, &key)
		if err := rows.Scan(append(targets, &h.fingerprint, &h.version, &h.discoveredAt, &h.importID)...); err != nil {
			return nil, err
		}
		known[key] = h
	}
	return known, rows.Err()
}

// filterKnown removes the keys whose first value no stored key has. This query is cheap, and
// most new ballots are on new proposals.
func filterKnown(ctx context.Context, w *warehouse.Warehouse, t table, keys []record.Key) ([]record.Key, error) {
	if len(t.keys) == 1 {
		return keys, nil
	}
	firsts := map[string]bool{}
	for i := range keys {
		firsts[keys[i][0]] = true
	}
	stored, err := storedFirsts(ctx, w, t, slices.Collect(maps.Keys(firsts)))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key record.Key) bool { return !stored[key[0]] }), nil
}

// storedFirsts returns which first values of keys a stored key has.
func storedFirsts(ctx context.Context, w *warehouse.Warehouse, t table, firsts []string) (map[string]bool, error) {
	wanted := keyTable(t.keys[:1], warehouse.Values(firsts, func(first string) record.Key { return record.Key{first} }))
	first := t.keys[0].name
	sql := fmt.Sprintf(sqlText("record_table_known_keys"), first, t.kind, first, first)
	stored, err := warehouse.Find[string](ctx, w, "look for known keys", sql, wanted)
	return warehouse.Keyed(stored, err, func(first string) (string, bool) { return first, true })
}

// keyTable returns the external table "batch_keys" with some columns of keys.
func keyTable(of []column, keys []record.Key) warehouse.Table {
	columns := warehouse.Values(of, func(key column) func(*ext.Table) error { return ext.Column(key.name, key.kind) })
	return warehouse.ExternalTable("batch_keys", keys, func(key record.Key) []any { return appendKey(nil, of, &key) }, columns...)
}

// appendKey appends pointers to the values of a key: a pointer avoids a heap allocation.
func appendKey(into []any, of []column, key *record.Key) []any {
	for i := range of {
		into = append(into, &key[i])
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

// compare selects the new and changed records of a part and gives each a version later than its stored one. An
// unchanged record of an import with an open batch is a change too: that import may have died before its commit.
func (c *comparison) compare(p *part, open map[uuid.UUID]bool, run Import) {
	for i, r := range p.records {
		fingerprint, key := record.Fingerprint(r), p.keys[i]
		stored, exists := p.known[key]
		if exists && stored.fingerprint == fingerprint {
			c.counts.Unchanged++
			if open[stored.importID] {
				c.changes.add(r, key)
			}
			continue
		}
		if exists {
			c.counts.Changed++
		} else {
			c.counts.New++
			stored.discoveredAt = run.ObservedAt
		}
		c.changes.add(r, key)
		stored.fingerprint, stored.version, stored.importID = fingerprint, max(c.firstVersion, stored.version+1), run.ID
		if stored.row == 0 {
			p.rows = append(p.rows, row{})
			stored.row = len(p.rows)
		}
		p.rows[stored.row-1] = row{
			at: i, fingerprint: fingerprint, version: stored.version, discoveredAt: stored.discoveredAt,
		}
		p.known[key] = stored
	}
}

// MaxBlockRows bounds the rows that are sent at once: the driver keeps the memory of one block.
const MaxBlockRows = 8192

// insert writes the rows of a part. The server collects their blocks and writes them as a
// whole or not at all. optimize_on_insert is off because no key appears twice.
func insert(ctx context.Context, w *warehouse.Warehouse, p *part, run Import, batchID uuid.UUID) error {
	if len(p.rows) == 0 {
		return nil
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithQueryID(insertID(batchID, p.table.kind)), clickhouse.WithSettings(clickhouse.Settings{
		"optimize_on_insert": 0, "min_insert_block_size_rows": len(p.rows), "min_insert_block_size_bytes": 0,
	}))
	columns := strings.Join(append(p.table.keyNames(), p.table.columns...), ", ")
	batch, err := w.Conn.PrepareBatch(ctx, fmt.Sprintf("INSERT INTO %s (%s, %s)", p.table.kind, columns, provenanceColumns))
	if err != nil {
		return err
	}
	defer batch.Close()
	if err := p.appendRows(batch, run); err != nil {
		// Close would end the statement, and the server write the blocks that it has.
		return errors.Join(err, batch.Abort())
	}
	return batch.Send()
}

// appendRows appends the rows to a batch, and sends all but the last block.
func (p *part) appendRows(batch driver.Batch, run Import) (err error) {
	var cells []any
	for i := range p.rows {
		if i > 0 && i%MaxBlockRows == 0 {
			if err := batch.Flush(); err != nil {
				return err
			}
		}
		r := &p.rows[i]
		cells, err = p.table.values(appendKey(cells[:0], p.table.keys, &p.keys[r.at]), p.records[r.at])
		if err != nil {
			return err
		}
		// In the order of provenanceColumns.
		cells = append(cells, &r.fingerprint, &r.version, &r.discoveredAt, &run.ObservedAt, &run.ID)
		if err := batch.Append(cells...); err != nil {
			return err
		}
	}
	return nil
}
