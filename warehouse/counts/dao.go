package counts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
)

// DAOTotals sums the published states of a DAO's proposals.
type DAOTotals struct {
	// Counts and Outcomes are the numbers of proposals by lifecycle and by outcome.
	Counts   governance.ProposalCounts
	Outcomes governance.Outcomes
	// Votes and Power are the number and the voting power of the ballots that count.
	Votes uint64          `ch:"total_votes"`
	Power decimal.Decimal `ch:"total_power"`
	// Started counts the proposals on which votes are expected. Of these, Ready have ballots and Covered have
	// every ballot that upstream has.
	Started, Ready, Covered uint64
	// CreatedAt and VotedAt are the latest known times of a proposal's creation and of a ballot; nil for none.
	CreatedAt *governance.Timestamp `ch:"latest_created_at"`
	VotedAt   *governance.Timestamp `ch:"latest_voted_at"`
	// CreatedIn counts proposals by month of creation, VotedIn ballots by month of vote.
	CreatedIn, VotedIn map[Month]uint64 `ch:"-"`
	// Uncreated counts the proposals, and Undated the ballots, that are in no month as far as is known.
	Uncreated, Undated uint64
}

// Month is a month of a year, UTC, as the number YYYYMM.
type Month uint32

// MonthOf returns the month of a time.
func MonthOf(at governance.Timestamp) Month {
	year, month, _ := at.Time().UTC().Date()
	return Month(year*100 + int(month)) //nolint:gosec // years have four digits
}

// AllDAOTotals returns the totals of every DAO by id. DAOs without proposals are missing.
func AllDAOTotals(ctx context.Context, w *warehouse.Warehouse) (map[string]DAOTotals, error) {
	return findTotals(ctx, w, "sum DAOs", "proposal_states FINAL")
}

// DAOTotalsOf is AllDAOTotals for some DAOs. It reads the proposals of these alone.
func DAOTotalsOf(ctx context.Context, w *warehouse.Warehouse, daoIDs []string) (map[string]DAOTotals, error) {
	return findTotals(ctx, w, fmt.Sprintf("sum %d DAOs", len(daoIDs)), sqlText("dao_totals_states"), daoTable(daoIDs))
}

func findTotals(
	ctx context.Context, w *warehouse.Warehouse, operation, states string, args ...any,
) (map[string]DAOTotals, error) {
	type row struct {
		DAOID string
		DAOTotals
		CreatedMonths, VotedMonths []uint32
		CreatedCounts, VotedCounts []uint64
	}
	rows, err := warehouse.Find[row](ctx, w, operation, fmt.Sprintf(sqlText("dao_totals"), states), args...)
	return warehouse.Keyed(rows, err, func(r row) (string, DAOTotals) {
		r.CreatedIn = joinMonths(r.CreatedMonths, r.CreatedCounts)
		r.VotedIn = joinMonths(r.VotedMonths, r.VotedCounts)
		return r.DAOID, r.DAOTotals
	})
}

// Participation counts who voted on a DAO's published proposals.
type Participation struct {
	// UniqueVoters counts the voters with a ballot on any of the proposals.
	UniqueVoters uint64
	// Votes counts the pairs of voter and proposal with a ballot.
	Votes uint64
}

// ParticipationOf returns the participation of the DAOs by id. DAOs without ballots are missing.
func ParticipationOf(ctx context.Context, w *warehouse.Warehouse, daoIDs []string) (map[string]Participation, error) {
	return warehouse.FindBy[string, Participation](ctx, w, fmt.Sprintf("count the voters of %d DAOs", len(daoIDs)),
		sqlText("dao_participation"), daoTable(daoIDs))
}

// daoTable returns the external table "wanted_daos".
func daoTable(daoIDs []string) warehouse.Table {
	return warehouse.ExternalTable("wanted_daos", daoIDs,
		func(id string) []any { return []any{id} }, warehouse.TextColumn("dao_id"))
}

// splitMonths returns counts by month as parallel arrays, the form of their columns.
func splitMonths(found map[Month]uint64) (months []uint32, counts []uint64) {
	months, counts = []uint32{}, []uint64{}
	for _, month := range slices.Sorted(maps.Keys(found)) {
		months, counts = append(months, uint32(month)), append(counts, found[month])
	}
	return months, counts
}

// joinMonths is the reverse of splitMonths.
func joinMonths(months []uint32, counts []uint64) map[Month]uint64 {
	found := make(map[Month]uint64, len(months))
	for i, month := range months {
		found[Month(month)] = counts[i]
	}
	return found
}
