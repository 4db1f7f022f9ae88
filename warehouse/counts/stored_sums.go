package counts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cespare/xxhash/v2"
	"github.com/shopspring/decimal"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// stored is what was counted of ballots with a fingerprint.
type stored[V any] struct {
	Fingerprint uint64
	Value       V
}

// storedSums returns sums over ballots, by key: the stored ones whose ballots are unchanged. It counts
// and stores all others.
func storedSums[K comparable, V any](
	ctx context.Context, w *warehouse.Warehouse, keys []K,
	fingerprints func(context.Context, *warehouse.Warehouse, []K) (map[K]uint64, error),
	read func(context.Context, *warehouse.Warehouse, []K) (map[K]stored[V], error),
	count func(context.Context, *warehouse.Warehouse, []K) (map[K]V, error),
	write func(ctx context.Context, w *warehouse.Warehouse, counted map[K]V, fingerprints map[K]uint64) error,
) (map[K]V, error) {
	if len(keys) == 0 {
		return map[K]V{}, nil
	}
	// Read before the ballots are counted: a sum with ballots that land meanwhile does not match the next time.
	now, err := fingerprints(ctx, w, keys)
	if err != nil {
		return nil, err
	}
	before, err := read(ctx, w, keys)
	if err != nil {
		return nil, err
	}
	sums := make(map[K]V, len(now))
	var changed []K
	for key, fingerprint := range now {
		if found, exists := before[key]; exists && found.Fingerprint == fingerprint {
			sums[key] = found.Value
		} else {
			changed = append(changed, key)
		}
	}
	if len(changed) == 0 {
		return sums, nil
	}
	counted, err := count(ctx, w, changed)
	if err != nil {
		return nil, err
	}
	maps.Copy(sums, counted)
	return sums, write(ctx, w, counted, now)
}

func fingerprintOf(statements ...string) driver.NamedValue {
	hash := xxhash.New()
	for _, name := range statements {
		_, _ = hash.WriteString(sqlText(name)) // never fails
	}
	return clickhouse.Named("statement", hash.Sum64())
}

// StoredVoteTotals is VoteTotalsOf for a publication of everything: it counts the proposals alone
// whose ballots have changed since it last counted them.
func StoredVoteTotals(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]VoteTotals, error) {
	return storedSums(ctx, w, refs, BallotFingerprints, storedTotals, VoteTotalsOf, storeTotals)
}

// BallotFingerprints returns the fingerprint of the stored ballots of each proposal that has some.
func BallotFingerprints(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]uint64, error) {
	return warehouse.FindBy[record.RefHash, uint64](ctx, w, fmt.Sprintf("compare the ballots of %d proposals", len(refs)),
		sqlText("stored_sums_ballots"), warehouse.RefTable(refs),
		fingerprintOf("vote_totals", "counted_ballots",
			"counted_ballots_merged", "counted_ballots_repeated", "counted_ballots_voter_hash", "counted_ballots_form"))
}

func storedTotals(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]stored[VoteTotals], error) {
	rows, err := warehouse.FindBy[record.RefHash, stored[voteTotalsRow]](ctx, w, "read stored vote totals",
		sqlText("stored_sums_totals"), warehouse.RefTable(refs))
	found := make(map[record.RefHash]stored[VoteTotals], len(rows))
	for ref, r := range rows {
		found[ref] = stored[VoteTotals]{r.Fingerprint, r.Value.totals()}
	}
	return found, err
}

func storeTotals(
	ctx context.Context, w *warehouse.Warehouse, counted map[record.RefHash]VoteTotals, fingerprints map[record.RefHash]uint64,
) error {
	operation := fmt.Sprintf("store the vote totals of %d proposals", len(counted))
	rows := warehouse.Values(slices.Collect(maps.Keys(counted)), func(ref record.RefHash) []any {
		t := counted[ref]
		choices, roots := slices.Sorted(maps.Keys(t.Choices)), slices.Sorted(maps.Keys(t.RootSums))
		choices = slices.AppendSeq(choices, maps.Keys(t.Forms))
		votes, powers := make([]uint64, len(choices)), make([]decimal.Decimal, len(choices))
		for i, key := range choices {
			votes[i], powers[i] = t.Choices[key].Votes+t.Forms[key], t.Choices[key].Power
		}
		rootSums := warehouse.Values(roots, func(key string) decimal.Decimal { return t.RootSums[key] })
		months, counts := splitMonths(t.VotedIn)
		return []any{
			string(ref[:]), fingerprints[ref], t.Votes, t.Power, t.SupportingPower,
			warehouse.NonNilTexts(choices), votes, powers, warehouse.NonNilTexts(roots), rootSums,
			warehouse.TimeOrNull(t.LastVotedAt), t.Undated, t.DayOnly, t.Rounded, months, counts, t.ObservedAt.Time(), t.Recast,
		}
	})
	return warehouse.InsertRows(ctx, w, sqlText("stored_sums_totals_insert"), operation, rows)
}

// StoredParticipation is ParticipationOf, but counts only DAOs whose ballots have changed since they were counted.
func StoredParticipation(ctx context.Context, w *warehouse.Warehouse, daoIDs []string) (map[string]Participation, error) {
	return storedSums(ctx, w, daoIDs, DAOFingerprints, storedParticipation, ParticipationOf, storeParticipation)
}

// DAOFingerprints returns the fingerprint of the stored ballots of each DAO that are on none of its spam.
func DAOFingerprints(ctx context.Context, w *warehouse.Warehouse, daoIDs []string) (map[string]uint64, error) {
	return warehouse.FindBy[string, uint64](ctx, w, fmt.Sprintf("compare the ballots of %d DAOs", len(daoIDs)),
		sqlText("stored_sums_ballots_of_daos"), daoTable(daoIDs), fingerprintOf("dao_participation"))
}

func storedParticipation(ctx context.Context, w *warehouse.Warehouse, daoIDs []string) (map[string]stored[Participation], error) {
	return warehouse.FindBy[string, stored[Participation]](ctx, w, "read stored participation",
		sqlText("stored_sums_participation"), daoTable(daoIDs))
}

func storeParticipation(
	ctx context.Context, w *warehouse.Warehouse, counted map[string]Participation, fingerprints map[string]uint64,
) error {
	operation := fmt.Sprintf("store the participation in %d DAOs", len(counted))
	rows := warehouse.Values(slices.Collect(maps.Keys(counted)), func(id string) []any {
		return []any{id, fingerprints[id], counted[id].UniqueVoters, counted[id].Votes}
	})
	return warehouse.InsertRows(ctx, w, sqlText("stored_sums_participation_insert"), operation, rows)
}
