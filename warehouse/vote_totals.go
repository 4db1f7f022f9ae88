package warehouse

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// VoteTotals sums the ballots of one proposal that count: one a voter, the latest.
type VoteTotals struct {
	Votes uint64
	Power decimal.Decimal
	// SupportingPower is the power of the ballots that support some choice.
	SupportingPower decimal.Decimal
	// Choices holds what each choice received, by key: the number of ballots that
	// support it, and the sum of the powers (or, of weighted ballots, the shares)
	// they give it.
	Choices map[string]governance.Score
	// RootSums are the sums of the square roots of the parts of weighted ballots.
	RootSums map[string]decimal.Decimal
	// LastVotedAt is the latest known time of a ballot.
	LastVotedAt *governance.Timestamp
	// Undated ballots have no time; DayOnly ones only a day; Rounded ones had more
	// decimal places upstream.
	Undated, DayOnly, Rounded uint64
	// VotedIn counts the ballots with a known time by the month of it.
	VotedIn map[Month]uint64
	// ObservedAt is when the newest of the ballots was seen.
	ObservedAt governance.Timestamp
	// Recast says that some voter voted more than once.
	Recast bool
}

// VoteTotals counts the ballots of the proposals that refs name. A proposal without
// ballots is missing from the result.
func (w *Warehouse) VoteTotals(ctx context.Context, refs []record.RefHash) (map[record.RefHash]VoteTotals, error) {
	tallies, moving, err := w.pickedTotals(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("count the ballots of %d proposals: %w", len(refs), err)
	}
	if len(moving) == 0 {
		return tallies, nil
	}
	merged, err := w.mergedTotals(ctx, moving)
	if err != nil {
		return nil, fmt.Errorf("count the ballots of %d moving proposals: %w", len(moving), err)
	}
	maps.Copy(tallies, merged)
	return tallies, nil
}

// pickedTotals counts by picking from what is there more than once. moving are the proposals
// that have to be counted in another way: ballots landed meanwhile, or there is too much
// to pick from.
func (w *Warehouse) pickedTotals(
	ctx context.Context, refs []record.RefHash,
) (tallies map[record.RefHash]VoteTotals, moving []record.RefHash, err error) {
	voters, err := w.repeatedVoters(ctx, refs)
	if err != nil {
		return nil, nil, err
	}
	if voters.tooMany() {
		return map[record.RefHash]VoteTotals{}, refs, nil
	}
	rows, err := w.queryCounted(ctx, "vote_totals", refs, voters)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	tallies, taken := map[record.RefHash]VoteTotals{}, map[record.RefHash]uint64{}
	for rows.Next() {
		ref, tally, single, err := scanVoteTotals(rows)
		if err != nil {
			return nil, nil, fmt.Errorf("read a tally: %w", err)
		}
		tallies[ref], taken[ref] = tally, single
	}
	moving = voters.changedDuringRead(taken)
	for _, ref := range moving {
		delete(tallies, ref)
	}
	return tallies, moving, rows.Err()
}

// mergedTotals counts in one look at the table.
func (w *Warehouse) mergedTotals(ctx context.Context, refs []record.RefHash) (map[record.RefHash]VoteTotals, error) {
	rows, err := w.queryRefs(ctx, fmt.Sprintf(sqlText("vote_totals"), sqlText("counted_ballots_merged")), refs)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tallies := map[record.RefHash]VoteTotals{}
	for rows.Next() {
		ref, tally, _, err := scanVoteTotals(rows)
		if err != nil {
			return nil, fmt.Errorf("read a tally: %w", err)
		}
		tallies[ref] = tally
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return tallies, w.markRecasts(ctx, tallies)
}

func scanVoteTotals(rows scanner) (ref record.RefHash, t VoteTotals, single uint64, err error) {
	t = VoteTotals{Choices: map[string]governance.Score{}, RootSums: map[string]decimal.Decimal{}}
	var hash string
	var voteKeys, powerKeys, rootKeys []string
	var months []uint32
	var votes, counts []uint64
	var powers, roots []decimal.Decimal
	var last *time.Time
	var observed time.Time
	err = rows.Scan(&hash, &t.Votes, &t.Power, &t.SupportingPower,
		&voteKeys, &votes, &powerKeys, &powers, &rootKeys, &roots, &last, &t.Undated, &t.DayOnly, &t.Rounded,
		&months, &counts, &observed, &single, &t.Recast)
	if err != nil {
		return record.RefHash{}, VoteTotals{}, 0, err
	}
	t.VotedIn = byMonth(months, counts)
	for i, key := range voteKeys {
		t.Choices[key] = governance.Score{Votes: votes[i]}
	}
	for i, key := range powerKeys {
		t.Choices[key] = governance.Score{Votes: t.Choices[key].Votes, Power: powers[i]}
	}
	for i, key := range rootKeys {
		t.RootSums[key] = roots[i]
	}
	t.LastVotedAt, t.ObservedAt = timestampOf(last), governance.TimestampOf(observed)
	return record.RefHash([]byte(hash)), t, single, nil
}

// Rankings returns the ranked ballots of the proposals that refs name, grouped
// by equal order of preference.
func (w *Warehouse) Rankings(
	ctx context.Context, refs []record.RefHash,
) (map[record.RefHash][]governance.Ranking, error) {
	if len(refs) == 0 {
		return map[record.RefHash][]governance.Ranking{}, nil
	}
	rankings, err := w.rankings(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("read the ranked ballots of %d proposals: %w", len(refs), err)
	}
	return rankings, nil
}

func (w *Warehouse) rankings(
	ctx context.Context, refs []record.RefHash,
) (map[record.RefHash][]governance.Ranking, error) {
	voters, err := w.repeatedVoters(ctx, refs)
	if err != nil {
		return nil, err
	}
	if voters.tooMany() {
		return w.mergedRankings(ctx, refs)
	}
	rows, err := w.queryCounted(ctx, "ranking", refs, voters)
	if err != nil {
		return nil, err
	}
	rankings, single, err := scanRankings(rows)
	if err != nil {
		return nil, err
	}
	moving := voters.changedDuringRead(single)
	if len(moving) == 0 {
		return rankings, nil
	}
	merged, err := w.mergedRankings(ctx, moving)
	if err != nil {
		return nil, err
	}
	maps.Copy(rankings, merged)
	return rankings, nil
}

// mergedRankings reads the ranked ballots in one look at the table.
func (w *Warehouse) mergedRankings(
	ctx context.Context, refs []record.RefHash,
) (map[record.RefHash][]governance.Ranking, error) {
	rows, err := w.queryRefs(ctx, fmt.Sprintf(sqlText("ranking"), sqlText("counted_ballots_merged")), refs)
	if err != nil {
		return nil, err
	}
	rankings, _, err := scanRankings(rows)
	return rankings, err
}

// scanRankings reads all rows, with the number of ballots that were taken as they are.
func scanRankings(rows driver.Rows) (
	rankings map[record.RefHash][]governance.Ranking, single map[record.RefHash]uint64, err error,
) {
	defer rows.Close()
	rankings, single = map[record.RefHash][]governance.Ranking{}, map[record.RefHash]uint64{}
	for rows.Next() {
		var ref string
		var r governance.Ranking
		var taken uint64
		if err := rows.Scan(&ref, &r.Choices, &r.Votes, &r.Power, &taken); err != nil {
			return nil, nil, fmt.Errorf("read a ranking: %w", err)
		}
		hash := record.RefHash([]byte(ref))
		rankings[hash] = append(rankings[hash], r)
		single[hash] += taken
	}
	return rankings, single, rows.Err()
}

// repeatedVoters are those who have more than one row on a proposal, be it another
// cast or another version of one.
type repeatedVoters struct {
	hashes []uint64
	// single counts the voters who have one row.
	single map[refBucket]uint64
}

// maxPickedVoters is of how many voters all rows are held in memory at once, some 300 bytes
// a row.
const maxPickedVoters = 250_000

// tooMany says that rows have to be merged as they are read, instead of picked from.
func (v repeatedVoters) tooMany() bool { return len(v.hashes) > maxPickedVoters }

// refBucket are the proposals whose hashes of voters end alike: nearly always one.
type refBucket uint64

func refBucketOf(ref record.RefHash) refBucket {
	return refBucket(binary.LittleEndian.Uint64(ref[:8]) & 4095)
}

// changedDuringRead are the proposals of which a count has taken another number of rows as they
// are than there are voters who have one: ballots landed in between, and some voters may
// have been counted twice.
func (v repeatedVoters) changedDuringRead(taken map[record.RefHash]uint64) (moving []record.RefHash) {
	sums := map[refBucket]uint64{}
	for ref, rows := range taken {
		sums[refBucketOf(ref)] += rows
	}
	for ref := range taken {
		if sums[refBucketOf(ref)] != v.single[refBucketOf(ref)] {
			moving = append(moving, ref)
		}
	}
	return moving
}

func (w *Warehouse) repeatedVoters(ctx context.Context, refs []record.RefHash) (repeatedVoters, error) {
	rows, err := w.queryRefs(ctx, fmt.Sprintf(sqlText("counted_ballots_repeated"), sqlText("counted_ballots_voter_hash")), refs)
	if err != nil {
		return repeatedVoters{}, err
	}
	defer rows.Close()
	found := repeatedVoters{single: map[refBucket]uint64{}}
	for rows.Next() {
		var of, single uint64
		var hashes []uint64
		if err := rows.Scan(&of, &single, &hashes); err != nil {
			return repeatedVoters{}, err
		}
		found.single[refBucket(of)] = single
		found.hashes = append(found.hashes, hashes...)
	}
	return found, rows.Err()
}

// queryCounted runs a query over the ballots that count.
func (w *Warehouse) queryCounted(
	ctx context.Context, name string, refs []record.RefHash, voters repeatedVoters,
) (driver.Rows, error) {
	wanted, err := refTable(refs)
	if err != nil {
		return nil, err
	}
	repeated, err := ext.NewTable("repeated_voters", ext.Column("hash", "UInt64"))
	if err != nil {
		return nil, err
	}
	for _, hash := range voters.hashes {
		if err := repeated.Append(hash); err != nil {
			return nil, err
		}
	}
	sql := fmt.Sprintf(sqlText(name), fmt.Sprintf(sqlText("counted_ballots"), sqlText("counted_ballots_voter_hash")))
	return w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted, repeated)), sql)
}
