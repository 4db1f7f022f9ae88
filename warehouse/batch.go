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

// minAbandonedAge is when an open batch is taken for one that nobody will seal, at
// the earliest.
const minAbandonedAge = 2 * time.Minute

// Changes is what a set of batches changes.
type ChangeSet struct {
	Proposals map[record.RefHash]bool
	Sources   map[record.SourceRef]bool
}

// NewChangeSet returns a Touched that holds nothing.
func NewChangeSet() ChangeSet {
	return ChangeSet{Proposals: map[record.RefHash]bool{}, Sources: map[record.SourceRef]bool{}}
}

// Empty says whether nothing is touched.
func (t ChangeSet) Empty() bool {
	return len(t.Proposals) == 0 && len(t.Sources) == 0
}

// add notes what a record with this key changes.
func (t ChangeSet) add(r record.Record, key []string) {
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
	changes ChangeSet
}

// openBatch announces what is about to be written.
func (w *Warehouse) openBatch(ctx context.Context, run Import, touched ChangeSet) (batch, error) {
	b := batch{id: uuid.New(), run: run, changes: touched}
	if err := w.journal(ctx, b, false); err != nil {
		return batch{}, fmt.Errorf("open batch: %w", classifyError(err))
	}
	return b, nil
}

// commitBatch says that everything a batch announced is written.
func (w *Warehouse) commitBatch(ctx context.Context, b batch) error {
	if err := w.journal(ctx, b, true); err != nil {
		return fmt.Errorf("seal batch: %w", classifyError(err))
	}
	return nil
}

func (w *Warehouse) journal(ctx context.Context, b batch, sealed bool) error {
	hashes := make([]string, 0, len(b.changes.Proposals))
	for hash := range b.changes.Proposals {
		hashes = append(hashes, string(hash[:]))
	}
	providers, ids := splitRefs(slices.Collect(maps.Keys(b.changes.Sources)))
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
	rows, err := w.conn.Query(ctx, sqlText("batch_open_imports"))
	if err != nil {
		return nil, fmt.Errorf("read open batches: %w", classifyError(err))
	}
	defer rows.Close()
	open := map[uuid.UUID]bool{}
	for rows.Next() {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read open batches: %w", classifyError(err))
		}
		open[id] = true
	}
	return open, classifyError(rows.Err())
}

// CommittedBatch is a batch that a publisher can take.
type CommittedBatch struct {
	ID          uuid.UUID
	CommittedAt time.Time
	Changes     ChangeSet
}

// CommittedBatches returns the batches sealed at or after since, the oldest first.
func (w *Warehouse) CommittedBatches(ctx context.Context, since time.Time) ([]CommittedBatch, error) {
	rows, err := w.conn.Query(ctx, sqlText("batch_committed"), since.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("read sealed batches: %w", err)
	}
	defer rows.Close()
	var batches []CommittedBatch
	for rows.Next() {
		b := CommittedBatch{Changes: NewChangeSet()}
		var hashes, providers, ids []string
		if err := rows.Scan(&b.ID, &b.CommittedAt, &hashes, &providers, &ids); err != nil {
			return nil, fmt.Errorf("read sealed batches: %w", err)
		}
		for _, hash := range hashes {
			b.Changes.Proposals[record.RefHash([]byte(hash))] = true
		}
		for i := range providers {
			b.Changes.Sources[record.SourceRef{Provider: governance.Provider(providers[i]), ID: ids[i]}] = true
		}
		batches = append(batches, b)
	}
	return batches, rows.Err()
}

// CommitAbandoned seals the batches of imports that died before they could, so that
// what they may have written is published.
func (w *Warehouse) CommitAbandoned(ctx context.Context) error {
	if err := w.conn.Exec(ctx, sqlText("batch_commit_abandoned"), int64(w.abandonedAfter()/time.Second)); err != nil {
		return fmt.Errorf("seal abandoned batches: %w", err)
	}
	return nil
}

// abandonedAfter is when an open batch is taken for one that nobody will seal:
// longer than any insert may take.
func (w *Warehouse) abandonedAfter() time.Duration {
	return max(minAbandonedAge, 2*w.timeout)
}
