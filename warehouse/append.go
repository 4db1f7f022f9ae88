package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/google/uuid"

	"pnyx/warehouse/record"
)

// Import identifies one run of an import.
type Import struct {
	ID uuid.UUID
	// ObservedAt is when it began: the time at which its records were seen.
	ObservedAt time.Time
}

// Counts says what became of the records of an Append.
type Counts struct {
	// New had no earlier version; Changed replaced one; Unchanged said the same as
	// the latest version and were not written.
	New, Changed, Unchanged uint64
}

// Add adds the counts of another Append.
func (c *Counts) Add(other Counts) {
	c.New += other.New
	c.Changed += other.Changed
	c.Unchanged += other.Unchanged
}

// Append writes records of one kind that the warehouse does not hold yet, as one
// sealed batch. It may be called again with the same records, in part or in whole,
// after an error or a crash, and ends in the same state. Of records with the same
// key the last one counts.
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
	known, err := w.known(ctx, target, keys)
	if err != nil {
		return Counts{}, fmt.Errorf("look up %s: %w", target.kind, fault(err))
	}
	open, err := w.openImports(ctx)
	if err != nil {
		return Counts{}, err
	}
	c, err := compare(records, keys, known, open, run)
	if err != nil || c.touched.Empty() && len(c.rows) == 0 {
		return c.counts, err
	}
	batch, err := w.openBatch(ctx, run, c.touched)
	if err != nil {
		return Counts{}, err
	}
	if err := w.insert(ctx, target, c.rows); err != nil {
		return Counts{}, fmt.Errorf("append %d %s: %w", len(c.rows), target.kind, fault(err))
	}
	return c.counts, w.sealBatch(ctx, batch)
}

// row is a record that is to be written.
type row struct {
	record     record.Record
	provenance provenance
}

// holding is what the warehouse knows under a key.
type holding struct {
	fingerprint  uint64
	version      uint64
	discoveredAt time.Time
	importID     uuid.UUID
}

// known looks up what is held under keys.
func (w *Warehouse) known(ctx context.Context, t table, keys [][]string) (map[string]holding, error) {
	wanted, err := keyTable(t, keys)
	if err != nil {
		return nil, err
	}
	rows, err := w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), t.knownSQL())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]holding{}
	parts := make([]string, len(t.keys))
	for rows.Next() {
		var h holding
		targets := make([]any, 0, len(parts)+4)
		for i := range parts {
			targets = append(targets, &parts[i])
		}
		if err := rows.Scan(append(targets, &h.fingerprint, &h.version, &h.discoveredAt, &h.importID)...); err != nil {
			return nil, err
		}
		known[joinKey(parts)] = h
	}
	return known, rows.Err()
}

func keyTable(t table, keys [][]string) (*ext.Table, error) {
	columns := make([]func(*ext.Table) error, len(t.keys))
	for i, key := range t.keys {
		columns[i] = ext.Column(key.name, key.kind)
	}
	wanted, err := ext.NewTable("batch_keys", columns...)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(t.keys))
	for _, parts := range keys {
		for i, part := range parts {
			values[i] = part
		}
		if err := wanted.Append(values...); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

func joinKey(parts []string) string {
	return strings.Join(parts, "\x00")
}

// comparison is what records say beyond what is held.
type comparison struct {
	rows    []row
	touched Touched
	counts  Counts
}

// compare sorts out which records say something new, and gives each of those the
// version after the one it replaces. A record that is unchanged but was written by
// an import that has not sealed all it wrote is touched too: that import may be
// dead.
func compare(
	records []record.Record, keys [][]string, known map[string]holding, open map[uuid.UUID]bool, run Import,
) (comparison, error) {
	c := comparison{touched: NewTouched()}
	position := map[string]int{}
	now := uint64(time.Now().UnixMicro())
	for i, r := range records {
		fingerprint, err := record.Fingerprint(r)
		if err != nil {
			return comparison{}, err
		}
		key := joinKey(keys[i])
		held, exists := known[key]
		if exists && held.fingerprint == fingerprint {
			c.counts.Unchanged++
			if open[held.importID] {
				c.touched.add(r)
			}
			continue
		}
		if exists {
			c.counts.Changed++
		} else {
			c.counts.New++
			held.discoveredAt = run.ObservedAt
		}
		c.touched.add(r)
		p := provenance{
			fingerprint: fingerprint, version: max(now, held.version+1),
			discoveredAt: held.discoveredAt, observedAt: run.ObservedAt, importID: run.ID,
		}
		known[key] = holding{fingerprint: fingerprint, version: p.version, discoveredAt: p.discoveredAt, importID: run.ID}
		if at, repeated := position[key]; repeated {
			c.rows[at] = row{r, p}
			continue
		}
		position[key] = len(c.rows)
		c.rows = append(c.rows, row{r, p})
	}
	return c, nil
}

// insert sends the rows as one block, which the server takes whole or not at all.
func (w *Warehouse) insert(ctx context.Context, t table, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	batch, err := w.conn.PrepareBatch(ctx, t.insertSQL())
	if err != nil {
		return err
	}
	defer batch.Close()
	for _, r := range rows {
		values, err := t.values(r.record)
		if err != nil {
			return err
		}
		if err := batch.Append(append(values, r.provenance.values()...)...); err != nil {
			return err
		}
	}
	return batch.Send()
}
