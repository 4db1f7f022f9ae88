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
	// Rank is the voter's position in the ranking, from 1.
	Rank uint64
	// Voter is the voter's normalized identity.
	Voter string
	// Power is the sum of the voting power of the voter's ballots in the DAO.
	Power decimal.Decimal
	// Votes is the number of the voter's ballots in the DAO, one a proposal.
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

// rankedRange reads the voters that satisfy a condition; see ballotRange.
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

// VoterDAO sums a voter's ballots in one DAO.
type VoterDAO struct {
	// DAOID is the id of the DAO.
	DAOID string
	// Votes is the number of the voter's ballots, one a proposal.
	Votes uint64
	// Power is the sum of the voting power of these ballots.
	Power decimal.Decimal
	// FirstVoteAt is the earliest known time of a ballot; nil if no time is known.
	FirstVoteAt *governance.Timestamp
	// LastVoteAt is the latest known time of a ballot; nil if no time is known.
	LastVoteAt *governance.Timestamp
}

// VoterProfile returns the sums of a voter's ballots by DAO, sorted by the DAO's id. The
// result is empty for a voter without a ballot that counts.
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
	// Key is the key of the proposal voted on.
	Key governance.ProposalKey
	// Title is the proposal's title; empty if the proposal has none.
	Title string
	// ChoiceKey is the choice of first preference or largest weight; empty if the ballot
	// has no choice.
	ChoiceKey string
	// Power is the voting power of the ballot, in the DAO's unit of voting power.
	Power decimal.Decimal
	// VotedAt is the time of the vote; nil if upstream states none.
	VotedAt *governance.Timestamp
	// TxHash is the transaction of an on-chain vote; empty for others.
	TxHash string
}

// ListVoterVotes returns the first q.Limit votes of a voter after q.After that q selects.
// A time window excludes votes without a time.
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
