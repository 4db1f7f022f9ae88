package warehouse

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
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
	return share(ctx, "profile", voter, w.voterProfiles)
}

func (w *Warehouse) voterProfiles(ctx context.Context, voters []string) ([]governance.VoterProfile, error) {
	type row struct {
		governance.VoterDAO
		Voter        string
		VoterAddress *string
		Votes        uint64
		Power        decimal.Decimal
	}
	wanted, err := externalTable("wanted_voters", voters, func(voter string) []any { return []any{voter} }, textColumn("voter"))
	result, err := w.queryWith(ctx, wanted, err, fmt.Sprintf(sqlText("voter_profile"), sqlText("voter_ballots")))
	rows, err := selectRows[row](result, err, "read the profiles of voters")
	of := map[string][]row{}
	for _, r := range rows {
		of[r.Voter] = append(of[r.Voter], r)
	}
	profiles := make([]governance.VoterProfile, len(voters))
	for i, voter := range voters {
		profile := governance.VoterProfile{VoterIdentity: voter, DAOs: make([]governance.VoterDAO, len(of[voter]))}
		var votes uint64
		var power decimal.Decimal
		for d, r := range of[voter] {
			profile.VoterAddress, profile.DAOs[d] = r.VoterAddress, r.VoterDAO
			votes, power = votes+r.Votes, power.Add(r.Power)
		}
		profile.DAOCount, profile.TotalVotingPower = governance.CountOf(uint64(len(of[voter]))), governance.DecimalOf(power)
		profile.VoteCount, profile.ProposalCount = governance.CountOf(votes), governance.CountOf(votes)
		profiles[i] = profile
	}
	return profiles, err
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

// castID identifies a cast.
type castID struct {
	Ref    record.RefHash `ch:"proposal_ref"`
	Voter  string
	VoteID string
}

// ListVoterVotes returns the first q.Limit votes of a voter after q.After that q selects.
// A time window excludes votes without a time.
func (w *Warehouse) ListVoterVotes(ctx context.Context, q query.VoterVotes) ([]VoterBallot, error) {
	return share(ctx, fmt.Sprint("history ", q.Limit), q, w.voterHistories)
}

// voterHistories reads pages with the same limit.
func (w *Warehouse) voterHistories(ctx context.Context, pages []query.VoterVotes) ([][]VoterBallot, error) {
	type row struct {
		Page uint32
		VoterBallot
		castID
	}
	wanted, err := historyTable(pages)
	result, err := w.queryWith(ctx, wanted, err, fmt.Sprintf(sqlText("voter_history"), sqlText("voter_ballots")),
		clickhouse.Named("limit", pages[0].Limit))
	rows, err := selectRows[row](result, err, "read the votes of voters")
	votes := make([][]VoterBallot, len(pages))
	if err != nil || len(rows) == 0 {
		return votes, err
	}
	casts, refs := make([]castID, len(rows)), make([]record.RefHash, len(rows))
	for i, r := range rows {
		rows[i].Voter = string(pages[r.Page].Voter)
		casts[i], refs[i] = rows[i].castID, r.Ref
	}
	titles, titlesErr := w.titles(ctx, refs)
	raw, rawErr := w.rawChoices(ctx, casts)
	states, statesErr := w.PublishedStates(ctx, refs)
	choices := make(map[record.RefHash][]governance.Choice, len(states))
	for _, state := range states {
		choices[state.Ref] = state.Choices
	}
	for _, r := range rows {
		vote := r.VoterBallot
		vote.Proposal.Title = titles[r.Ref]
		vote.RawChoice, vote.Choices = raw[r.castID], choices[r.Ref]
		votes[r.Page] = append(votes[r.Page], vote)
	}
	return votes, errors.Join(titlesErr, rawErr, statesErr)
}

// historyTable returns the external table "wanted_voters" with the filters and positions of
// pages.
func historyTable(pages []query.VoterVotes) (*ext.Table, error) {
	page := uint32(0)
	return externalTable("wanted_voters", pages, func(q query.VoterVotes) []any {
		var after query.VoterVotePosition
		if q.After != nil {
			after = *q.After
		}
		afterAt := int64(-1)
		if after.At != nil {
			afterAt = int64(*after.At)
		}
		page++
		return []any{
			page - 1, string(q.Voter), q.DAOID, q.From != nil, milliseconds(q.From), q.To != nil, milliseconds(q.To),
			afterAt, string(after.Proposal),
		}
	}, ext.Column("page", "UInt32"), textColumn("voter"), textColumn("dao"),
		ext.Column("has_from", "Bool"), ext.Column("from_at", "Int64"), ext.Column("has_to", "Bool"), ext.Column("to_at", "Int64"),
		ext.Column("after_at", "Int64"), textColumn("after_key"))
}

// rawChoices returns the published choices of casts: those with their proposals and voters.
func (w *Warehouse) rawChoices(ctx context.Context, casts []castID) (map[castID]string, error) {
	type row struct {
		castID
		RawChoice string
	}
	wanted, err := externalTable("wanted_casts", casts, func(c castID) []any { return []any{string(c.Ref[:]), c.Voter} },
		ext.Column("proposal_ref", "FixedString(16)"), textColumn("voter"))
	result, err := w.queryWith(ctx, wanted, err, sqlText("voter_choices"))
	rows, err := selectRows[row](result, err, "read choices of voters")
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
