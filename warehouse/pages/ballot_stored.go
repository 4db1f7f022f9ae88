package pages

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// cast is a ballot as it is stored: superseded, withdrawn or one that counts.
type cast struct {
	LatestBallot
	Ref       record.RefHash `ch:"proposal_ref"`
	Version   uint64
	Withdrawn bool
	Power     decimal.Decimal
}

// storedBallots returns the query for the stored ballots that satisfy a condition, up to the
// bound parameter {most} for each value of a column, with shownReason or noReason.
func storedBallots(condition, column, reason string) string {
	return fmt.Sprintf(sqlText("ballot_stored"), condition, column, reason)
}

// countingBy returns the ballots of a query of storedBallots that count, by what by returns. They are
// nil under a key with more than most stored ballots: its ballots are not complete.
func countingBy[Key comparable](
	ctx context.Context, w *warehouse.Warehouse, operation, sql string, wanted warehouse.Table, most int, by func(*cast) Key,
) (map[Key][]*cast, error) {
	rows, err := warehouse.Find[cast](ctx, w, operation, sql, wanted, clickhouse.Named("most", most+1))
	casts := map[Key][]*cast{}
	for i := range rows {
		key := by(&rows[i])
		casts[key] = append(casts[key], &rows[i])
	}
	for key, all := range casts {
		if len(all) > most {
			casts[key] = nil
			continue
		}
		casts[key] = counting(all)
	}
	return casts, err
}

func byVoter(a, b *cast) int {
	return cmp.Or(bytes.Compare(a.Ref[:], b.Ref[:]), cmp.Compare(a.VoterIdentity, b.VoterIdentity))
}

// counting returns the ballots that count among all that voters have cast on proposals, by the
// rule of latest_ballots. It changes the order of casts.
func counting(casts []*cast) []*cast { return chosen(latest(casts)) }

// chosen returns one cast of each voter, among casts of latest. It changes their order.
func chosen(casts []*cast) []*cast {
	slices.SortFunc(casts, func(a, b *cast) int {
		return cmp.Or(byVoter(a, b), b.compareTime(a), cmp.Compare(b.VoteID, a.VoteID))
	})
	return slices.CompactFunc(casts, func(a, b *cast) bool { return byVoter(a, b) == 0 })
}

// latest returns the casts that are not withdrawn, in their latest versions. It changes the order of casts.
func latest(casts []*cast) []*cast {
	slices.SortFunc(casts, func(a, b *cast) int {
		return cmp.Or(byVoter(a, b), cmp.Compare(a.VoteID, b.VoteID), cmp.Compare(b.Version, a.Version))
	})
	casts = slices.CompactFunc(casts, func(a, b *cast) bool { return byVoter(a, b) == 0 && a.VoteID == b.VoteID })
	return slices.DeleteFunc(casts, func(c *cast) bool { return c.Withdrawn })
}

func (c *cast) compareTime(other *cast) int {
	return warehouse.TimeOrUnknown(c.VotedAt).Compare(warehouse.TimeOrUnknown(other.VotedAt))
}

// countingBallots returns the statement that selects the ballots that count, under a condition that
// selects all casts of a voter on a proposal, or none. It needs BindUnknownTime.
func countingBallots(condition string) string {
	return fmt.Sprintf(sqlText("ballot_stored_counting"), condition)
}
