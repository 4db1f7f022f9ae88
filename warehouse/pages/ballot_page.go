package pages

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// LatestBallot is a ballot that counts. It lacks its label, which takes the proposal's choices.
type LatestBallot struct {
	governance.Ballot
	// RawChoice is the published choice as compact JSON.
	RawChoice string
}

// shownReason is the reason of a ballot as governance.Ballot has it, and noReason none: the
// projection that histories read lacks it.
const (
	shownReason = "if(lengthUTF8(reason) > 1000, concat(substringUTF8(reason, 1, 999), '…'), reason)"
	noReason    = "''"
)

// BallotSource says where to read a proposal's ballots: in a sorted copy or in the table itself.
type BallotSource struct {
	Ref record.RefHash
	// Generation is the generation of the sorted copy; zero reads the table itself.
	Generation uint64
}

// ListBallots returns the first q.Limit ballots after q.After, in the order of q.
// Several pages of proposals with few ballots are read together if ctx is of a Set.
func ListBallots(ctx context.Context, w *warehouse.Warehouse, at BallotSource, q query.Ballots) ([]LatestBallot, error) {
	if at.Generation == 0 && warehouse.InSet(ctx) {
		page, err := warehouse.Share(ctx, w, "ballots", ballotRequest{at.Ref, q}, smallBallotPages)
		if err != nil || page != nil {
			return page, err
		}
	}
	return warehouse.Alone(ctx, func(ctx context.Context) ([]LatestBallot, error) { return listBallots(ctx, w, at, q) })
}

func listBallots(ctx context.Context, w *warehouse.Warehouse, at BallotSource, q query.Ballots) ([]LatestBallot, error) {
	order := orderOf(q)
	if q.After == nil {
		return ballotRange(ctx, w, at, order, "1", q.Limit)
	}
	after, err := positionOf(q)
	if err != nil {
		return nil, err
	}
	return ballotRange(ctx, w, at, order, order.beyond(), q.Limit, after.args()...)
}

func orderOf(q query.Ballots) ballotOrder {
	if q.Order == query.BallotsByTime {
		return ballotOrder{column: "voted_at", value: "fromUnixTimestamp64Milli({value:Int64}, 'UTC')", settings: oneThread}
	}
	return byPower()
}

// positionOf returns the position that a page begins after.
func positionOf(q query.Ballots) (keyset, error) {
	if q.Order == query.BallotsByTime {
		return keyset{strconv.FormatInt(warehouse.TimeOrUnknown(q.After.At).UnixMilli(), 10), q.After.Voter}, nil
	}
	power, err := decimal.NewFromString(string(q.After.Power))
	if err != nil {
		return keyset{}, fmt.Errorf("%s: position: %w", readBallots, err)
	}
	return keyset{power.String(), q.After.Voter}, nil
}

// ballotOrder is the value by which ballots are sorted, descending. Ballots with the same
// value are sorted by voter, descending.
type ballotOrder struct {
	// column is the column of the value in sorted_ballots and ballot_page_all, and value is the
	// expression that parses the bound parameter {value}.
	column, value string
	// settings are the settings of a statement on a sorted copy.
	settings string
}

func byPower() ballotOrder {
	return ballotOrder{
		column: "power", value: "toDecimal256({value:String}, 18)", settings: oneThread + ", " + noProjection,
	}
}

// beyond returns the condition for ballots after a position, as two ranges of the primary key: a page reads a few
// granules however many ballots have equal power. A comparison of pairs would scan all ballots.
func (o ballotOrder) beyond() string {
	return fmt.Sprintf("(%[1]s < %[2]s OR %[1]s = %[2]s AND voter < {voter:String})", o.column, o.value)
}

type keyset struct{ Text, Voter string }

func (b keyset) args() []any {
	return []any{clickhouse.Named("value", b.Text), clickhouse.Named("voter", b.Voter)}
}

// ballotRange reads the ballots that satisfy a condition. The text of the query consists of constants
// of this file, and every value is bound.
func ballotRange(
	ctx context.Context, w *warehouse.Warehouse, at BallotSource, order ballotOrder, condition string, limit int, args ...any,
) ([]LatestBallot, error) {
	sql := fmt.Sprintf(sqlText("ballot_page"), shownReason, "("+sqlText("ballot_page_all")+")", condition, order.column)
	if at.Generation != 0 {
		// The whole key of a copy or of its projection: without the generation, ClickHouse sorts
		// all rows of the projection beyond the position where a limit is above 1,000.
		sql = fmt.Sprintf(sqlText("ballot_page"), "shown_reason", "sorted_ballots",
			"generation = {generation:UInt64} AND "+condition, "generation DESC, "+order.column) + order.settings
	}
	args = append(args, clickhouse.Named("limit", limit), clickhouse.Named("generation", at.Generation),
		clickhouse.Named("ref", hex.EncodeToString(at.Ref[:])), warehouse.BindUnknownTime())
	return warehouse.Find[LatestBallot](ctx, w, readBallots, sql, args...)
}

// oneThread limits a statement that reads a few granules to one thread. A second thread
// would read more granules, and takes time to wake.
const oneThread = "SETTINGS max_threads = 1"

// noProjection keeps a statement to the table itself. Near the top of a copy, where all rows
// are beyond the position, ClickHouse prefers the projection by time, and sorts it.
const noProjection = "optimize_use_projections = 0"

// readBallots begins the errors of these statements.
const readBallots = "read a page of ballots"
