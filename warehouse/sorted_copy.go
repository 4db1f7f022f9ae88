package warehouse

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse/record"
)

// SortedCopyKind says what an ordered copy holds.
type SortedCopyKind string

// The kinds of ordered copies.
const (
	// BallotCopy holds the latest ballots of a proposal, by power and by time.
	BallotCopy SortedCopyKind = "ballots"
	// VoterCopy holds the ranking of a DAO's voters.
	VoterCopy SortedCopyKind = "voters"
)

// SortedCopyThreshold is how many ballots a proposal or DAO has that is worth a copy. Up
// to there a page is sorted when it is asked for, within 30 ms.
const SortedCopyThreshold = 20_000

// SortedCopy names the current copy of a subject.
type SortedCopy struct {
	Kind SortedCopyKind
	// Subject is a proposal's key or a DAO's id.
	Subject string
	// Ref is the proposal behind Subject; zero for a DAO.
	Ref record.RefHash
	// Generation is zero for a subject without a copy.
	Generation uint64
	// Revision is the publication whose numbers the copy agrees with, and Votes how
	// many ballots that counted.
	Revision uint64
	Votes    uint64
}

// StaleSortedCopies returns the copies that are missing or behind what is published, the
// smallest first: they are done soonest.
func (w *Warehouse) StaleSortedCopies(ctx context.Context) ([]SortedCopy, error) {
	rows, err := w.conn.Query(ctx, sqlText("sorted_copy_stale"), uint64(SortedCopyThreshold), uint64(SortedCopyThreshold))
	if err != nil {
		return nil, fmt.Errorf("list stale orders: %w", err)
	}
	defer rows.Close()
	var orders []SortedCopy
	for rows.Next() {
		var o SortedCopy
		var kind, ref string
		if err := rows.Scan(&kind, &o.Subject, &ref, &o.Generation, &o.Revision, &o.Votes); err != nil {
			return nil, fmt.Errorf("list stale orders: %w", err)
		}
		o.Kind, o.Ref = SortedCopyKind(kind), record.RefHash([]byte(ref))
		orders = append(orders, o)
	}
	return orders, rows.Err()
}

// BuildSortedCopy writes a new generation of a copy. Nobody sees it before SwitchSortedCopy.
func (w *Warehouse) BuildSortedCopy(ctx context.Context, o SortedCopy, generation uint64) error {
	var err error
	switch o.Kind {
	case BallotCopy:
		err = w.conn.Exec(ctx, sqlText("sorted_copy_build_ballots"), clickhouse.Named("generation", generation),
			clickhouse.Named("ref", hex.EncodeToString(o.Ref[:])), bindUnknownTime())
	case VoterCopy:
		err = w.conn.Exec(ctx, fmt.Sprintf(sqlText("sorted_copy_build_voters"), sqlText("voter_ranking")),
			clickhouse.Named("generation", generation), clickhouse.Named("dao", o.Subject))
	}
	if err != nil {
		return fmt.Errorf("build the order of %s %s: %w", o.Kind, o.Subject, err)
	}
	return nil
}

// MatchesPublished says whether a built copy agrees with what is published: a ranking with
// the votes and powers of the DAO's proposals.
func (w *Warehouse) MatchesPublished(ctx context.Context, o SortedCopy, generation uint64) (bool, error) {
	if o.Kind != VoterCopy {
		return true, nil
	}
	var balanced bool
	row := w.conn.QueryRow(ctx, sqlText("sorted_copy_matches_published"),
		clickhouse.Named("generation", generation), clickhouse.Named("dao", o.Subject))
	if err := row.Scan(&balanced); err != nil {
		return false, fmt.Errorf("check the order of %s: %w", o.Subject, err)
	}
	return balanced, nil
}

// SwitchSortedCopy makes a generation the current one.
func (w *Warehouse) SwitchSortedCopy(ctx context.Context, o SortedCopy) error {
	insert, err := w.conn.PrepareBatch(ctx, "INSERT INTO sorted_copies (kind, subject, generation, revision)")
	if err != nil {
		return fmt.Errorf("switch the order of %s: %w", o.Subject, err)
	}
	defer insert.Close()
	if err := insert.Append(string(o.Kind), o.Subject, o.Generation, o.Revision); err != nil {
		return fmt.Errorf("switch the order of %s: %w", o.Subject, err)
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("switch the order of %s: %w", o.Subject, err)
	}
	return nil
}

// CurrentSortedCopies returns the current copy of every subject that has one.
func (w *Warehouse) CurrentSortedCopies(ctx context.Context) ([]SortedCopy, error) {
	rows, err := w.conn.Query(ctx, sqlText("sorted_copy_current"))
	if err != nil {
		return nil, fmt.Errorf("list current orders: %w", err)
	}
	defer rows.Close()
	var orders []SortedCopy
	for rows.Next() {
		var o SortedCopy
		var kind string
		if err := rows.Scan(&kind, &o.Subject, &o.Generation, &o.Revision); err != nil {
			return nil, fmt.Errorf("list current orders: %w", err)
		}
		o.Kind = SortedCopyKind(kind)
		orders = append(orders, o)
	}
	return orders, rows.Err()
}

// DropOldSortedCopies removes the generations that are not among the current ones and
// were begun before a time: those that were replaced, and those whose build was
// cut off.
func (w *Warehouse) DropOldSortedCopies(ctx context.Context, current []SortedCopy, before time.Time) error {
	generations := make([]uint64, len(current))
	for i, order := range current {
		generations[i] = order.Generation
	}
	nodes, err := w.nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := w.dropOldSortedCopies(ctx, node, generations, before); err != nil {
			return fmt.Errorf("drop old orders: %w", err)
		}
	}
	return nil
}

// dropOldSortedCopies drops partitions on one node: a distributed table has none.
func (w *Warehouse) dropOldSortedCopies(ctx context.Context, node []string, current []uint64, before time.Time) error {
	conn, err := w.connect(ctx, node, w.options.Auth.Database)
	if err != nil {
		return err
	}
	defer conn.Close()
	var old []struct {
		Table      string `ch:"table"`
		Generation uint64 `ch:"generation"`
	}
	if err := conn.Select(ctx, &old, sqlText("sorted_copy_old_generations"),
		clickhouse.Named("before", before.UnixMicro()), clickhouse.Named("current", current)); err != nil {
		return err
	}
	for _, o := range old {
		if err := conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s DROP PARTITION %d", quoteIdentifier(o.Table), o.Generation)); err != nil {
			return err
		}
	}
	return nil
}
