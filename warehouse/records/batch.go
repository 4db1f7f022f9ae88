package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"pnyx/backoff"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// ChangeSet names what a set of batches changes.
type ChangeSet struct {
	// Proposals are those with a new version, a new ballot or new evidence.
	Proposals map[record.RefHash]bool
	// Sources are those with new records or a completed sync.
	Sources map[record.SourceRef]bool
	// Voters are those whose ballots may have changed, by proposal. It is nil if they are not known: then all ballots
	// of Proposals may have changed.
	Voters map[record.RefHash]map[string]bool
	// Names is true if the batches have names of voters.
	Names bool
	// named counts the pairs in Voters.
	named int
}

// NewChangeSet returns an empty ChangeSet.
func NewChangeSet() ChangeSet {
	return ChangeSet{
		Proposals: map[record.RefHash]bool{}, Sources: map[record.SourceRef]bool{},
		Voters: map[record.RefHash]map[string]bool{},
	}
}

// maxNamedVoters bounds the ballots of a batch that names their voters. The proposals of a
// larger one are counted whole.
const maxNamedVoters = 2000

// addVoter names a voter, or none from then on if there are too many.
func (c *ChangeSet) addVoter(ref record.RefHash, voter string) {
	switch {
	case c.Voters == nil || c.Voters[ref][voter]:
		return
	case c.named == maxNamedVoters:
		c.Voters = nil
		return
	case c.Voters[ref] == nil:
		c.Voters[ref] = map[string]bool{}
	}
	c.Voters[ref][voter] = true
	c.named++
}

// splitVoters returns the voters as columns; named is false for a batch that does not name them.
func (c *ChangeSet) splitVoters() (named bool, proposals, voters []string) {
	proposals, voters = []string{}, []string{}
	for ref, of := range c.Voters {
		for voter := range of {
			proposals, voters = append(proposals, string(ref[:])), append(voters, voter)
		}
	}
	return c.Voters != nil, proposals, voters
}

func (c *ChangeSet) add(of record.Record, key record.Key) {
	switch r := of.(type) {
	case *record.DAO:
		c.Sources[record.SourceRef{ID: r.ID}] = true // itself: it may have no sources
		for _, source := range r.Sources {
			c.Sources[source] = true
		}
	case *record.Source:
		c.Sources[r.SourceRef] = true
	case *record.Category, *record.Topic: // whose keys begin with the host
		c.Sources[record.SourceRef{Provider: governance.Discourse, ID: key[0]}] = true
	case *record.Evidence:
		c.Proposals[r.Proposal.Hash()] = true
	case *record.Proposal, *record.Ballot, *record.Action, *record.Observation:
		ref := record.RefHash([]byte(key[0]))
		c.Proposals[ref] = true
		if of.Kind() == record.KindBallot {
			c.addVoter(ref, key[1])
		}
	case *record.Name:
		c.Names = true
	}
}

// batch is the journal entry of one Append: open before its records are written, committed after.
type batch struct {
	id      uuid.UUID
	run     Import
	changes ChangeSet
	// firstVersion is the lowest version of the records.
	firstVersion uint64
}

// openBatch writes the journal entry of records that are about to be written.
func openBatch(ctx context.Context, w *warehouse.Warehouse, run Import, c comparison) (batch, error) {
	b := batch{id: uuid.New(), run: run, changes: c.changes, firstVersion: c.firstVersion}
	return b, writeBatch(ctx, w, "open batch", b, 0)
}

// commitBatch marks the records of a batch as written: a publisher may read them.
func commitBatch(ctx context.Context, w *warehouse.Warehouse, b batch) error {
	err := writeBatch(ctx, w, "commit batch", b, 1)
	if err == nil {
		w.TellCommit(ctx)
	}
	return err
}

func insertID(batchID uuid.UUID, kind record.Kind) string {
	return batchID.String() + "-" + string(kind)
}

// closeBatch commits a batch whose records were written in part or not at all, once no statement writes any more:
// an open batch hides what comes after it. One that cannot be closed stays open until CommitAbandoned.
func closeBatch(ctx context.Context, w *warehouse.Warehouse, b batch) error {
	const closePause = 50 * time.Millisecond // the time between two looks whether the inserts of a batch have ended
	const closeTimeout = 10 * time.Second    // bounds how long a batch that failed is closed
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	for {
		running, err := warehouse.FindValue[uint64](ctx, w, "close a batch", sqlText("batch_running"), b.id.String()+"-")
		if err != nil {
			return err
		}
		if running == 0 {
			return commitBatch(ctx, w, b)
		}
		if backoff.Wait(ctx, closePause); ctx.Err() != nil {
			return fmt.Errorf("close a batch: %w", ctx.Err())
		}
	}
}

// OpenBatches counts the batches that are being written, or were cut off.
func OpenBatches(ctx context.Context, w *warehouse.Warehouse) (uint64, error) {
	return warehouse.FindValue[uint64](ctx, w, "count open batches", sqlText("batch_open"))
}

// writeBatch writes a batch to the journal; sealed is 1 for a committed batch and 0 for an open one.
func writeBatch(ctx context.Context, w *warehouse.Warehouse, operation string, b batch, sealed uint8) error {
	refs := slices.Collect(maps.Keys(b.changes.Proposals))
	hashes := warehouse.Values(refs, func(ref record.RefHash) string { return string(ref[:]) })
	providers, ids := splitRefs(slices.Collect(maps.Keys(b.changes.Sources)))
	named, voted, voters := b.changes.splitVoters()
	return warehouse.InsertRows(ctx, w, sqlText("batch_insert"), operation, [][]any{{
		b.id, b.run.ID, sealed, hashes, providers, ids, b.firstVersion, named, voted, voters, b.changes.Names,
	}})
}

// CommittedBatch is a batch whose records a publisher may read.
type CommittedBatch struct {
	ID          uuid.UUID
	CommittedAt time.Time // by the server's clock
	Changes     ChangeSet

	importID     uuid.UUID
	firstVersion uint64
}

// CommittedBatches returns the batches committed at or after since, oldest first.
func CommittedBatches(ctx context.Context, w *warehouse.Warehouse, since time.Time) ([]CommittedBatch, error) {
	type row struct {
		BatchID         uuid.UUID
		ChangedAt       time.Time
		Proposals       []string
		SourceProviders []string
		SourceIDs       []string `ch:"source_ids"`
		NamesVoters     bool
		BallotProposals []string
		BallotVoters    []string
		ImportID        uuid.UUID
		FirstVersion    uint64
		HasNames        bool
	}
	rows, err := warehouse.Find[row](ctx, w, "read committed batches", sqlText("batch_committed"), since.UnixMicro())
	return warehouse.Values(rows, func(r row) CommittedBatch {
		b := CommittedBatch{ID: r.BatchID, CommittedAt: r.ChangedAt, Changes: NewChangeSet(), importID: r.ImportID, firstVersion: r.FirstVersion}
		b.Changes.Names = r.HasNames
		for _, hash := range r.Proposals {
			b.Changes.Proposals[record.RefHash([]byte(hash))] = true
		}
		for _, source := range joinRefs(r.SourceProviders, r.SourceIDs) {
			b.Changes.Sources[source] = true
		}
		for j, hash := range r.BallotProposals {
			b.Changes.addVoter(record.RefHash([]byte(hash)), r.BallotVoters[j])
		}
		if !r.NamesVoters {
			b.Changes.Voters = nil
		}
		return b
	}), err
}

// PendingVoters returns the voters of proposals in batches that are open, or were committed
// at or after since. all reports that one of them does not name its voters.
func PendingVoters(
	ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash, since time.Time,
) (voters map[string]bool, all bool, err error) {
	type row struct {
		NamesVoters  bool
		BallotVoters []string
	}
	rows, err := warehouse.Find[row](ctx, w, "read the voters of pending batches", sqlText("batch_pending_voters"),
		warehouse.RefTable(refs), clickhouse.Named("since", since.UnixMicro()))
	voters = map[string]bool{}
	for _, r := range rows {
		all = all || !r.NamesVoters
		for _, voter := range r.BallotVoters {
			voters[voter] = true
		}
	}
	return voters, all, err
}

// Arriving reports whether records of proposals, or of proposals of sources, are being written
// or were committed after since.
func Arriving(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash, sources []record.SourceRef, since time.Time) (bool, error) {
	providers, ids := splitRefs(sources)
	return warehouse.FindOne[bool](ctx, w, "look for arriving records", sqlText("batch_arriving"),
		warehouse.RefTable(refs),
		clickhouse.Named("since", since.UnixMicro()), clickhouse.Named("providers", providers), clickhouse.Named("ids", ids))
}

// CommitAbandoned commits the batches of imports that died before they could: some of
// their records may be written and have to be published.
func CommitAbandoned(ctx context.Context, w *warehouse.Warehouse) error {
	const minAbandonedAge = 2 * time.Minute // the shortest time after which an open batch counts as abandoned
	age := int64(max(minAbandonedAge, 2*w.QueryTimeout()) / time.Second)
	if err := w.Conn.Exec(ctx, sqlText("batch_commit_abandoned"), age); err != nil {
		return fmt.Errorf("commit abandoned batches: %w", err)
	}
	return nil
}
