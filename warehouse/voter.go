package warehouse

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/record"
)

// ListVoters returns the first q.Limit voters of a DAO after q.After. A generation of
// zero computes the ranking now.
func (w *Warehouse) ListVoters(ctx context.Context, q query.Voters, generation uint64) ([]governance.DAOVoter, error) {
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
) ([]governance.DAOVoter, error) {
	from, settings := "("+sqlText("voter_ranking")+")", ""
	if generation != 0 {
		from, condition, settings = "sorted_voters", "generation = {generation:UInt64} AND "+condition, oneThread
	}
	args = append(args, clickhouse.Named("limit", q.Limit), clickhouse.Named("generation", generation),
		clickhouse.Named("dao", q.DAOID))
	rows, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("voter_page"), from, condition)+settings, args...)
	return selectRows[governance.DAOVoter](rows, err, "read a page of voters")
}

// VoterProfile returns the sums of a voter's ballots, those by DAO sorted by the DAO's id.
// A voter without a ballot that counts has no DAOs.
func (w *Warehouse) VoterProfile(ctx context.Context, voter string) (governance.VoterProfile, error) {
	type row struct {
		governance.VoterDAO
		VoterAddress *string
		Votes        uint64
		Power        decimal.Decimal
	}
	result, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("voter_profile"), sqlText("voter_ballots")), clickhouse.Named("voter", voter))
	rows, err := selectRows[row](result, err, "read the profile of "+voter)
	profile := governance.VoterProfile{VoterIdentity: voter, DAOs: make([]governance.VoterDAO, len(rows))}
	var votes uint64
	var power decimal.Decimal
	for i, r := range rows {
		profile.VoterAddress, profile.DAOs[i] = r.VoterAddress, r.VoterDAO
		votes, power = votes+r.Votes, power.Add(r.Power)
	}
	profile.DAOCount, profile.TotalVotingPower = governance.CountOf(uint64(len(rows))), governance.DecimalOf(power)
	profile.VoteCount, profile.ProposalCount = governance.CountOf(votes), governance.CountOf(votes)
	return profile, err
}

// VoterBallot is a vote in a voter's history. It lacks its label, which is made from the
// rest.
type VoterBallot struct {
	governance.VoterVote
	// RawChoice is the published choice as compact JSON.
	RawChoice string `ch:"-"`
	// Choices are those of the proposal, as they were last published.
	Choices []governance.Choice `ch:"-"`
}

// castID identifies a cast of a voter.
type castID struct {
	Ref    record.RefHash `ch:"proposal_ref"`
	VoteID string
}

// ListVoterVotes returns the first q.Limit votes of a voter after q.After that q selects.
// A time window excludes votes without a time.
func (w *Warehouse) ListVoterVotes(ctx context.Context, q query.VoterVotes) ([]VoterBallot, error) {
	type row struct {
		VoterBallot
		castID
	}
	var after query.VoterVotePosition
	if q.After != nil {
		after = *q.After
	}
	afterAt := int64(-1)
	if after.At != nil {
		afterAt = int64(*after.At)
	}
	result, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("voter_history"), sqlText("voter_ballots")),
		clickhouse.Named("voter", string(q.Voter)), clickhouse.Named("dao", q.DAOID),
		clickhouse.Named("has_from", boolNumber(q.From != nil)), clickhouse.Named("from", milliseconds(q.From)),
		clickhouse.Named("has_to", boolNumber(q.To != nil)), clickhouse.Named("to", milliseconds(q.To)),
		clickhouse.Named("after_key", string(after.Proposal)), clickhouse.Named("after_at", afterAt),
		clickhouse.Named("limit", q.Limit))
	rows, err := selectRows[row](result, err, "read the votes of "+string(q.Voter))
	if err != nil {
		return nil, err
	}
	refs := make([]record.RefHash, len(rows))
	for i, r := range rows {
		refs[i] = r.Ref
	}
	titles, titlesErr := w.titles(ctx, refs)
	raw, rawErr := w.rawChoices(ctx, string(q.Voter), refs)
	states, statesErr := w.PublishedStates(ctx, refs)
	choices := make(map[record.RefHash][]governance.Choice, len(states))
	for _, state := range states {
		choices[state.Ref] = state.Choices
	}
	votes := make([]VoterBallot, len(rows))
	for i, r := range rows {
		votes[i] = r.VoterBallot
		votes[i].Proposal.Title = titles[r.Ref]
		votes[i].RawChoice, votes[i].Choices = raw[r.castID], choices[r.Ref]
	}
	return votes, errors.Join(titlesErr, rawErr, statesErr)
}

// rawChoices returns the published choices of a voter's casts on the proposals.
func (w *Warehouse) rawChoices(ctx context.Context, voter string, refs []record.RefHash) (map[castID]string, error) {
	type row struct {
		castID
		RawChoice string
	}
	result, err := w.queryRefs(ctx, sqlText("voter_choices"), refs, clickhouse.Named("voter", voter))
	rows, err := selectRows[row](result, err, "read choices of "+voter)
	raw := make(map[castID]string, len(rows))
	for _, r := range rows {
		raw[r.castID] = r.RawChoice
	}
	return raw, err
}

func boolNumber(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// titles returns the titles of the proposals; nil for one without a title.
func (w *Warehouse) titles(ctx context.Context, refs []record.RefHash) (map[record.RefHash]*string, error) {
	type row struct {
		Ref   record.RefHash `ch:"proposal_ref"`
		Title *string
	}
	result, err := w.queryRefs(ctx, sqlText("proposal_title_by_ref"), refs)
	rows, err := selectRows[row](result, err, "read titles")
	titles := make(map[record.RefHash]*string, len(rows))
	for _, r := range rows {
		titles[r.Ref] = r.Title
	}
	return titles, err
}
