package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/record"
)

// RankedVoter is one row of a DAO's ranking.
type RankedVoter struct {
	Rank  uint64
	Voter string
	Power decimal.Decimal
	Votes uint64
}

// ListVoters returns the first q.Limit voters of a DAO after q.After. A generation of
// zero computes the ranking now.
func (w *Warehouse) ListVoters(ctx context.Context, q query.Voters, generation uint64) ([]RankedVoter, error) {
	if q.After == nil {
		return w.rankedRange(ctx, q, generation, "1")
	}
	power, err := decimal.NewFromString(string(q.After.Power))
	if err != nil {
		return nil, fmt.Errorf("read a page of voters: position: %w", err)
	}
	const value = "toDecimal256({value:String}, 18)"
	return w.rankedRange(ctx, q, generation,
		"(descending > "+value+" OR descending = "+value+" AND voter > {voter:String})",
		clickhouse.Named("value", power.Neg().String()), clickhouse.Named("voter", q.After.Voter))
}

// rankedRange reads the voters that a condition lets through; see ballotRange.
func (w *Warehouse) rankedRange(
	ctx context.Context, q query.Voters, generation uint64, condition string, args ...any,
) ([]RankedVoter, error) {
	from, settings := "("+sqlText("voter_ranking")+")", ""
	if generation != 0 {
		from, condition, settings = "sorted_voters", "generation = {generation:UInt64} AND "+condition, oneThread
	}
	args = append(args, clickhouse.Named("limit", q.Limit), clickhouse.Named("generation", generation),
		clickhouse.Named("dao", q.DAOID))
	rows, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("voter_page"), from, condition)+settings, args...)
	if err != nil {
		return nil, fmt.Errorf("read a page of voters: %w", err)
	}
	defer rows.Close()
	var page []RankedVoter
	for rows.Next() {
		var v RankedVoter
		var descending decimal.Decimal
		if err := rows.Scan(&v.Rank, &v.Voter, &descending, &v.Votes); err != nil {
			return nil, fmt.Errorf("read a voter: %w", err)
		}
		v.Power = descending.Neg()
		page = append(page, v)
	}
	return page, rows.Err()
}

// VoterDAO is what a voter did in one DAO.
type VoterDAO struct {
	DAOID       string
	Votes       uint64
	Power       decimal.Decimal
	FirstVoteAt *governance.Timestamp
	LastVoteAt  *governance.Timestamp
}

// VoterProfile returns what a voter did in each DAO, in order of their ids; none
// for a voter without a ballot that counts.
func (w *Warehouse) VoterProfile(ctx context.Context, voter string) ([]VoterDAO, error) {
	rows, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("voter_profile"), sqlText("voter_ballots")), clickhouse.Named("voter", voter))
	if err != nil {
		return nil, fmt.Errorf("read the profile of %s: %w", voter, err)
	}
	defer rows.Close()
	var daos []VoterDAO
	for rows.Next() {
		var d VoterDAO
		var first, last *time.Time
		if err := rows.Scan(&d.DAOID, &d.Votes, &d.Power, &first, &last); err != nil {
			return nil, fmt.Errorf("read the profile of %s: %w", voter, err)
		}
		d.FirstVoteAt, d.LastVoteAt = timestampOf(first), timestampOf(last)
		daos = append(daos, d)
	}
	return daos, rows.Err()
}

// VoterVote is one row of a voter's history.
type VoterVote struct {
	Key       governance.ProposalKey
	Title     string
	ChoiceKey string
	Power     decimal.Decimal
	VotedAt   *governance.Timestamp
	TxHash    string
}

// ListVoterVotes returns the first q.Limit votes of a voter after q.After that q selects. A
// window leaves out votes without a time.
func (w *Warehouse) ListVoterVotes(ctx context.Context, q query.VoterVotes) ([]VoterVote, error) {
	var after query.VoterVotePosition
	if q.After != nil {
		after = *q.After
	}
	afterAt := int64(-1)
	if after.At != nil {
		afterAt = int64(*after.At)
	}
	rows, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("voter_history"), sqlText("voter_ballots")),
		clickhouse.Named("voter", string(q.Voter)), clickhouse.Named("dao", q.DAOID),
		clickhouse.Named("has_from", boolNumber(q.From != nil)), clickhouse.Named("from", milliseconds(q.From)),
		clickhouse.Named("has_to", boolNumber(q.To != nil)), clickhouse.Named("to", milliseconds(q.To)),
		clickhouse.Named("after_key", string(after.Proposal)), clickhouse.Named("after_at", afterAt),
		clickhouse.Named("limit", q.Limit))
	if err != nil {
		return nil, fmt.Errorf("read the votes of %s: %w", q.Voter, err)
	}
	defer rows.Close()
	var votes []VoterVote
	var refs []record.RefHash
	for rows.Next() {
		var v VoterVote
		var ref, key string
		var votedAt *time.Time
		if err := rows.Scan(&ref, &key, &v.ChoiceKey, &v.Power, &votedAt, &v.TxHash); err != nil {
			return nil, fmt.Errorf("read the votes of %s: %w", q.Voter, err)
		}
		v.Key, v.VotedAt = governance.ProposalKey(key), timestampOf(votedAt)
		refs = append(refs, record.RefHash([]byte(ref)))
		votes = append(votes, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the votes of %s: %w", q.Voter, err)
	}
	return votes, w.addTitles(ctx, votes, refs)
}

func boolNumber(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// addTitles fills in the titles of the proposals voted on.
func (w *Warehouse) addTitles(ctx context.Context, votes []VoterVote, refs []record.RefHash) error {
	rows, err := w.queryRefs(ctx, sqlText("proposal_title_by_ref"), refs)
	if err != nil {
		return fmt.Errorf("read titles: %w", err)
	}
	defer rows.Close()
	titles := map[record.RefHash]string{}
	for rows.Next() {
		var ref, title string
		if err := rows.Scan(&ref, &title); err != nil {
			return fmt.Errorf("read titles: %w", err)
		}
		titles[record.RefHash([]byte(ref))] = title
	}
	for i, ref := range refs {
		votes[i].Title = titles[ref]
	}
	return rows.Err()
}
