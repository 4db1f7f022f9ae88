package records

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// BallotGap says that a file lacked ballots of a proposal: lines that are no ballot, or the end. LastBallot is the
// file's: the hash of voter and proposal; 0 without any. A file that has it, and all ballots of Proposal, closes the gap.
type BallotGap struct {
	Proposal   record.RefHash `ch:"proposal_ref"`
	LastBallot uint64
}

// OpenBallotGaps returns the proposals with open gaps, by the last ballot of the file.
func OpenBallotGaps(ctx context.Context, w *warehouse.Warehouse) (map[uint64]map[record.RefHash]bool, error) {
	const sql = "SELECT proposal_ref, last_ballot FROM ballot_gaps FINAL " + // most are closed
		"WHERE open AND proposal_ref GLOBAL IN (SELECT proposal_ref FROM ballot_gaps WHERE open)"
	found, err := warehouse.Find[BallotGap](ctx, w, "read gaps of ballots", sql)
	open := map[uint64]map[record.RefHash]bool{}
	for _, gap := range found {
		if open[gap.LastBallot] == nil {
			open[gap.LastBallot] = map[record.RefHash]bool{}
		}
		open[gap.LastBallot][gap.Proposal] = true
	}
	return open, err
}

// LackBallots returns which proposals have an open gap.
func LackBallots(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]bool, error) {
	const sql = "SELECT proposal_ref FROM ballot_gaps FINAL WHERE open AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)"
	found, err := warehouse.Find[record.RefHash](ctx, w, "look for gaps of ballots", sql, warehouse.RefTable(refs))
	return warehouse.Keyed(found, err, func(ref record.RefHash) (record.RefHash, bool) { return ref, true })
}

// WriteBallotGaps opens (true) and closes gaps, and commits a batch that names their proposals, so that the
// publisher updates them.
func WriteBallotGaps(ctx context.Context, w *warehouse.Warehouse, run Import, gaps map[BallotGap]bool) error {
	b := batch{id: uuid.New(), run: run, changes: NewChangeSet()}
	for gap := range gaps {
		b.changes.Proposals[gap.Proposal] = true
	}
	if err := insertBallotGaps(ctx, w, run, gaps, time.Now()); err != nil || len(gaps) == 0 {
		return err
	}
	return commitBatch(ctx, w, b)
}

func insertBallotGaps(ctx context.Context, w *warehouse.Warehouse, run Import, gaps map[BallotGap]bool, at time.Time) error {
	return warehouse.InsertRows(ctx, w, "INSERT INTO ballot_gaps (proposal_ref, last_ballot, open, import_id, version)", "write gaps of ballots",
		warehouse.Values(slices.Collect(maps.Keys(gaps)), func(gap BallotGap) []any {
			return []any{string(gap.Proposal[:]), gap.LastBallot, gaps[gap], run.ID, uint64(at.UnixMicro())}
		}))
}

// UnreadBallots are the gaps of an import that has ballots to read, by their proposals: an import that is killed
// leaves them open. It may be used concurrently.
type UnreadBallots struct {
	mu   sync.Mutex
	gaps map[record.RefHash]BallotGap
}

// NewUnreadBallots returns the gaps of an import that has written nothing.
func NewUnreadBallots() *UnreadBallots { return &UnreadBallots{gaps: map[record.RefHash]BallotGap{}} }

// Gaps returns the gaps that were opened.
func (u *UnreadBallots) Gaps() []BallotGap {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Values(u.gaps))
}

// open opens the gaps of the proposals on which ballots are about to be written.
func (u *UnreadBallots) open(ctx context.Context, w *warehouse.Warehouse, run Import, parts []part) error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	opened := map[record.RefHash]BallotGap{}
	for _, p := range parts {
		for _, r := range p.rows {
			ballot, is := p.records[r.at].(*record.Ballot)
			if !is {
				break
			}
			ref := record.RefHash([]byte(p.keys[r.at][0]))
			if _, known := u.gaps[ref]; !known {
				opened[ref] = BallotGap{Proposal: ref, LastBallot: BallotHash(ref, ballot.Voter)}
			}
		}
	}
	gaps := map[BallotGap]bool{}
	for _, gap := range opened {
		gaps[gap] = true
	}
	// The import starts before whatever closes the gaps.
	err := insertBallotGaps(ctx, w, run, gaps, run.ObservedAt)
	if err == nil {
		maps.Copy(u.gaps, opened)
	}
	return err
}

// BallotHash returns what LastBallot of a gap is of a ballot.
func BallotHash(of record.RefHash, voter string) uint64 {
	return xxhash.Sum64String(voter) ^ binary.LittleEndian.Uint64(of[:])
}
