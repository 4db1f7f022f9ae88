package counts

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"

	"github.com/ClickHouse/clickhouse-go/v2/ext"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// repeatedVoters are the voters with more than one row on a proposal: another ballot, or another
// version of one. Only their rows have to be compared to find the ballot that counts.
type repeatedVoters struct {
	// hashes identify voter and proposal; see counted_ballots_voter_hash.sql.
	hashes []uint64
	// single counts the voters with one row.
	single map[refBucket]uint64
}

// maxPickedVoters bounds the repeated voters whose rows a query keeps in memory, at some 300 bytes a row.
const maxPickedVoters = 250_000

// tooMany reports whether the table has to be merged while it is read instead.
func (v repeatedVoters) tooMany() bool { return len(v.hashes) > maxPickedVoters }

// refBucket is a group of proposals whose voter hashes have the same last 12 bits. Nearly
// every bucket has one proposal.
type refBucket uint64

func refBucketOf(ref record.RefHash) refBucket {
	return refBucket(binary.LittleEndian.Uint64(ref[:8]) & 4095)
}

// changedDuringRead returns the proposals for which a query used a number of single rows
// other than the number of voters with one row: ballots arrived between the two queries,
// and a voter may have been counted twice. single has the rows used by proposal.
func (v repeatedVoters) changedDuringRead(single map[record.RefHash]uint64) (changed []record.RefHash) {
	sums := map[refBucket]uint64{}
	for ref, rows := range single {
		sums[refBucketOf(ref)] += rows
	}
	for ref := range single {
		if sums[refBucketOf(ref)] != v.single[refBucketOf(ref)] {
			changed = append(changed, ref)
		}
	}
	return changed
}

func readRepeatedVoters(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (repeatedVoters, error) {
	type row struct {
		Bucket   uint64
		Single   uint64
		Repeated []uint64
	}
	sql := fmt.Sprintf(sqlText("counted_ballots_repeated"), sqlText("counted_ballots_voter_hash"))
	rows, err := warehouse.Find[row](ctx, w, "find repeated voters", sql, warehouse.RefTable(refs))
	found := repeatedVoters{single: make(map[refBucket]uint64, len(rows))}
	for _, r := range rows {
		found.single[refBucket(r.Bucket)] = r.Single
		found.hashes = append(found.hashes, r.Repeated...)
	}
	return found, err
}

// countedRows runs a query over the ballots that count, one a voter, and returns values by proposal, and for each
// the number of rows of voters with a single row.
type countedRows[V any] func(
	ctx context.Context, w *warehouse.Warehouse, sql string, tables ...any,
) (values map[record.RefHash]V, single map[record.RefHash]uint64, _ error)

// counted reads values of proposals by the named query, comparing only the rows of repeated voters. The table is
// merged for all proposals if such voters are too many, or for those with ballots that arrived between its
// queries.
func counted[V any](ctx context.Context, w *warehouse.Warehouse, name string, refs []record.RefHash, read countedRows[V]) (map[record.RefHash]V, error) {
	voters, err := readRepeatedVoters(ctx, w, refs)
	if err != nil {
		return nil, err
	}
	values, changed := map[record.RefHash]V{}, refs
	if !voters.tooMany() {
		var single map[record.RefHash]uint64
		ballots := fmt.Sprintf(sqlText("counted_ballots"), sqlText("counted_ballots_voter_hash"),
			sqlText("counted_ballots_form"))
		repeated := warehouse.ExternalTable("repeated_voters", voters.hashes,
			func(hash uint64) []any { return []any{hash} }, ext.Column("hash", "UInt64"))
		values, single, err = read(ctx, w, fmt.Sprintf(sqlText(name), ballots), warehouse.RefTable(refs), repeated)
		if err != nil {
			return nil, err
		}
		changed = voters.changedDuringRead(single)
	}
	if len(changed) == 0 {
		return values, nil
	}
	for _, ref := range changed {
		delete(values, ref)
	}
	again, err := merged(ctx, w, name, changed, read)
	maps.Copy(values, again)
	return values, err
}

// merged is counted for the merged table, which is slower, and correct while ballots arrive.
func merged[V any](ctx context.Context, w *warehouse.Warehouse, name string, refs []record.RefHash, read countedRows[V]) (map[record.RefHash]V, error) {
	ballots := fmt.Sprintf(sqlText("counted_ballots_merged"), "proposal_ref", sqlText("counted_ballots_form"),
		"proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)")
	values, _, err := read(ctx, w, fmt.Sprintf(sqlText(name), ballots), warehouse.RefTable(refs))
	return values, err
}
