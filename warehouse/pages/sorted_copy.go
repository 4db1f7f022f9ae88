package pages

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// SortedCopyKind is what a sorted copy contains.
type SortedCopyKind string

// The kinds of sorted copies.
const (
	// BallotCopy has the latest ballots of a proposal, by power and by time.
	BallotCopy SortedCopyKind = "ballots"
	// VoterCopy has the ranking of a DAO's voters.
	VoterCopy SortedCopyKind = "voters"
)

// SortedCopyThreshold is the number of ballots from which a proposal or DAO has a sorted
// copy. Pages of smaller ones are sorted on request, within 30 ms.
const SortedCopyThreshold = 20_000

// sortedCopyFormat is the number of what copies have; one of a lower number is built again.
const sortedCopyFormat = uint8(1)

// SortedCopy is the sorted copy of a subject: a proposal or a DAO.
type SortedCopy struct {
	Kind SortedCopyKind
	// Subject is the key of a proposal or the id of a DAO.
	Subject string
	// Ref is the proposal; zero for a DAO.
	Ref record.RefHash `ch:"proposal_ref"`
	// Generation is the current build; zero for a subject without a copy.
	Generation uint64
	// Revision is the publication whose numbers the copy matches, Votes its number of ballots, which
	// StaleSortedCopies alone sets.
	Revision, Votes uint64
	// Fingerprint is of the ballots that the copy was built of; zero where that is not known, or for a copy that must be
	// built again.
	Fingerprint uint64
}

// StaleSortedCopies returns the copies that are missing, older than the published
// numbers or of an earlier format, the smallest first, as these are built soonest.
func StaleSortedCopies(ctx context.Context, w *warehouse.Warehouse) ([]SortedCopy, error) {
	threshold := uint64(SortedCopyThreshold)
	return warehouse.Find[SortedCopy](ctx, w, "list stale sorted copies", sqlText("sorted_copy_stale"),
		sortedCopyFormat, threshold, threshold, sortedCopyFormat)
}

// BuildSortedCopy writes a new generation of a copy. No page reads it before SwitchSortedCopy.
func BuildSortedCopy(ctx context.Context, w *warehouse.Warehouse, c SortedCopy, generation uint64) error {
	var err error
	switch c.Kind {
	case BallotCopy:
		err = w.Conn.Exec(ctx, fmt.Sprintf(sqlText("sorted_copy_build_ballots"), shownReason),
			clickhouse.Named("generation", generation),
			clickhouse.Named("ref", hex.EncodeToString(c.Ref[:])), warehouse.BindUnknownTime())
	case VoterCopy:
		sql := fmt.Sprintf(sqlText("sorted_copy_build_voters"), sqlText("voter_ranking"))
		err = w.Conn.Exec(ctx, sql,
			clickhouse.Named("generation", generation), clickhouse.Named("dao", c.Subject))
	}
	if err != nil {
		return fmt.Errorf("build the sorted %s of %s: %w", c.Kind, c.Subject, err)
	}
	return nil
}

// MatchesPublished reports whether a built copy agrees with the published numbers: a
// ranking with the votes and powers of the DAO's proposals. Ballots always agree.
func MatchesPublished(ctx context.Context, w *warehouse.Warehouse, c SortedCopy, generation uint64) (bool, error) {
	if c.Kind != VoterCopy {
		return true, nil
	}
	return warehouse.FindValue[bool](ctx, w, "check the sorted copy of "+c.Subject, sqlText("sorted_copy_matches_published"),
		clickhouse.Named("generation", generation), clickhouse.Named("dao", c.Subject))
}

// SwitchSortedCopy makes a generation the current one.
func SwitchSortedCopy(ctx context.Context, w *warehouse.Warehouse, c SortedCopy) error {
	err := w.Conn.Exec(ctx, sqlText("sorted_copy_switch"), string(c.Kind), c.Subject, c.Generation, c.Revision, sortedCopyFormat, c.Fingerprint)
	if err != nil {
		return fmt.Errorf("switch the sorted copy of %s: %w", c.Subject, err)
	}
	return nil
}

// CurrentSortedCopies returns the current copy of every subject that has one, without Votes.
func CurrentSortedCopies(ctx context.Context, w *warehouse.Warehouse) ([]SortedCopy, error) {
	return warehouse.Find[SortedCopy](ctx, w, "list current sorted copies", sqlText("sorted_copy_current"))
}

// DropOldSortedCopies removes generations that are not current and began before a time: replaced, or broken off.
func DropOldSortedCopies(ctx context.Context, w *warehouse.Warehouse, current []SortedCopy, before time.Time) error {
	generations := warehouse.Values(current, func(c SortedCopy) uint64 { return c.Generation })
	if err := w.EachNode(ctx, func(node driver.Conn) error {
		return dropOldSortedCopies(ctx, node, generations, before)
	}); err != nil {
		return fmt.Errorf("drop old sorted copies: %w", err)
	}
	return nil
}

// dropOldSortedCopies drops partitions on one node. A distributed table has none.
func dropOldSortedCopies(ctx context.Context, conn driver.Conn, current []uint64, before time.Time) error {
	var old []struct {
		Table      string `ch:"table"`
		Generation uint64 `ch:"generation"`
	}
	if err := conn.Select(ctx, &old, sqlText("sorted_copy_old_generations"),
		clickhouse.Named("before", before.UnixMicro()), clickhouse.Named("current", current)); err != nil {
		return err
	}
	for _, o := range old {
		if err := conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s DROP PARTITION %d", warehouse.QuoteIdentifier(o.Table), o.Generation)); err != nil {
			return err
		}
	}
	return nil
}
