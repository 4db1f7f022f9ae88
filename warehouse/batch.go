package warehouse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// leastAbandoned is when an open batch is taken for one that nobody will seal, at
// the earliest.
const leastAbandoned = 2 * time.Minute

// Touched is what a set of batches changes.
type Touched struct {
	Proposals map[record.RefHash]bool
	Sources   map[record.SourceRef]bool
}

// NewTouched returns a Touched that holds nothing.
func NewTouched() Touched {
	return Touched{Proposals: map[record.RefHash]bool{}, Sources: map[record.SourceRef]bool{}}
}

// Empty says whether nothing is touched.
func (t Touched) Empty() bool {
	return len(t.Proposals) == 0 && len(t.Sources) == 0
}

// add notes what a record with this key changes.
func (t Touched) add(r record.Record, key []string) {
	switch r := r.(type) {
	case *record.DAO:
		for _, source := range r.Sources {
			t.Sources[source] = true
		}
	case *record.Source:
		t.Sources[r.SourceRef] = true
	case *record.Category:
		t.Sources[record.SourceRef{Provider: governance.Discourse, ID: r.Host}] = true
	case *record.Topic:
		t.Sources[record.SourceRef{Provider: governance.Discourse, ID: r.Host}] = true
	case *record.Proposal:
		t.Proposals[r.Hash()] = true
	case *record.Ballot:
		t.Proposals[record.RefHash([]byte(key[0]))] = true
	case *record.Evidence:
		t.Proposals[r.Proposal.Hash()] = true
	}
}

// batch is the journal entry of one Append.
type batch struct {
	id      uuid.UUID
	run     Import
	touched Touched
}

// openBatch announces what is about to be written.
func (w *Warehouse) openBatch(ctx context.Context, run Import, touched Touched) (batch, error) {
	b := batch{id: uuid.New(), run: run, touched: touched}
	if err := w.journal(ctx, b, false); err != nil {
		return batch{}, fmt.Errorf("open batch: %w", fault(err))
	}
	return b, nil
}

// sealBatch says that everything a batch announced is written.
func (w *Warehouse) sealBatch(ctx context.Context, b batch) error {
	if err := w.journal(ctx, b, true); err != nil {
		return fmt.Errorf("seal batch: %w", fault(err))
	}
	return nil
}

func (w *Warehouse) journal(ctx context.Context, b batch, sealed bool) error {
	hashes := make([]string, 0, len(b.touched.Proposals))
	for hash := range b.touched.Proposals {
		hashes = append(hashes, string(hash[:]))
	}
	providers, ids := splitRefs(slices.Collect(maps.Keys(b.touched.Sources)))
	var state uint8
	if sealed {
		state = 1
	}
	insert, err := w.conn.PrepareBatch(ctx,
		"INSERT INTO batches (batch_id, import_id, sealed, proposals, source_providers, source_ids)")
	if err != nil {
		return err
	}
	defer insert.Close()
	if err := insert.Append(b.id, b.run.ID, state, hashes, providers, ids); err != nil {
		return err
	}
	return insert.Send()
}

// openImports returns the imports that have batches open: they are under way, or
// dead.
func (w *Warehouse) openImports(ctx context.Context) (map[uuid.UUID]bool, error) {
	rows, err := w.conn.Query(ctx, query("batch_open_imports"))
	if err != nil {
		return nil, fmt.Errorf("read open batches: %w", fault(err))
	}
	defer rows.Close()
	open := map[uuid.UUID]bool{}
	for rows.Next() {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read open batches: %w", fault(err))
		}
		open[id] = true
	}
	return open, fault(rows.Err())
}

// SealedBatch is a batch that a publisher can take.
type SealedBatch struct {
	ID       uuid.UUID
	SealedAt time.Time
	Touched  Touched
}

// Sealed returns the batches sealed at or after since, the oldest first.
func (w *Warehouse) Sealed(ctx context.Context, since time.Time) ([]SealedBatch, error) {
	rows, err := w.conn.Query(ctx, query("batch_committed"), since.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("read sealed batches: %w", err)
	}
	defer rows.Close()
	var batches []SealedBatch
	for rows.Next() {
		b := SealedBatch{Touched: NewTouched()}
		var hashes, providers, ids []string
		if err := rows.Scan(&b.ID, &b.SealedAt, &hashes, &providers, &ids); err != nil {
			return nil, fmt.Errorf("read sealed batches: %w", err)
		}
		for _, hash := range hashes {
			b.Touched.Proposals[record.RefHash([]byte(hash))] = true
		}
		for i := range providers {
			b.Touched.Sources[record.SourceRef{Provider: governance.Provider(providers[i]), ID: ids[i]}] = true
		}
		batches = append(batches, b)
	}
	return batches, rows.Err()
}

// SealAbandoned seals the batches of imports that died before they could, so that
// what they may have written is published.
func (w *Warehouse) SealAbandoned(ctx context.Context) error {
	if err := w.conn.Exec(ctx, query("batch_commit_abandoned"), int64(w.abandonedAfter()/time.Second)); err != nil {
		return fmt.Errorf("seal abandoned batches: %w", err)
	}
	return nil
}

// abandonedAfter is when an open batch is taken for one that nobody will seal:
// longer than any insert may take.
func (w *Warehouse) abandonedAfter() time.Duration {
	return max(leastAbandoned, 2*w.timeout)
}
