package pages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// ListVoters returns the first q.Limit voters of a DAO after q.After; generation 0 ranks them now.
func ListVoters(ctx context.Context, w *warehouse.Warehouse, q query.Voters, generation uint64) ([]governance.DAOVoter, error) {
	condition := "1"
	args := []any{
		clickhouse.Named("limit", q.Limit), clickhouse.Named("generation", generation), clickhouse.Named("dao", q.DAOID),
	}
	if q.After != nil {
		power, err := decimal.NewFromString(string(q.After.Power))
		if err != nil {
			return nil, fmt.Errorf("read a page of voters: position: %w", err)
		}
		const value = "toDecimal256({value:String}, 18)"
		condition = "(descending > " + value + " OR descending = " + value + " AND voter > {voter:String})"
		args = append(args, clickhouse.Named("value", power.Neg().String()), clickhouse.Named("voter", q.After.Voter))
	}
	from, settings := "("+sqlText("voter_ranking")+")", ""
	if generation != 0 {
		from, condition, settings = "sorted_voters", "generation = {generation:UInt64} AND "+condition, oneThread
	}
	return warehouse.Find[governance.DAOVoter](ctx, w, "read a page of voters", fmt.Sprintf(sqlText("voter_page"), from, condition)+settings, args...)
}

// MaxSharedVotes is the maximum number of stored ballots of a voter that are read together
// with other voters' ballots: superseded and withdrawn ones are read with them.
const MaxSharedVotes = 5000

// VoterProfile returns the sums of a voter's ballots, by DAO in order of ids, without those on spam. DAOs is nil
// for one who has no ballot that counts, and was never a side of a delegation.
func VoterProfile(ctx context.Context, w *warehouse.Warehouse, voter string) (governance.VoterProfile, error) {
	profile := governance.VoterProfile{VoterIdentity: voter}
	votes, err := votesOf(ctx, w, voter)
	if err != nil {
		return profile, err
	}
	profile.VoterAddress = addressOf(voter)
	var total decimal.Decimal
	byDAO := map[string][]VoterBallot{}
	var counted uint64
	for _, v := range votes {
		if v.Proposal.Flagged {
			continue
		}
		counted++
		byDAO[v.DAOID] = append(byDAO[v.DAOID], v)
		total = total.Add(v.Power)
	}
	if profile.DelegatedPower, err = DelegatedPowerOf(ctx, w, voter); err != nil {
		return profile, err
	}
	profile.DelegatedPower = append([]governance.DelegatedPower{}, profile.DelegatedPower...)
	known := len(votes) > 0 || len(profile.DelegatedPower) > 0
	if !known {
		known, err = warehouse.Share(ctx, w, "known delegators", voter, areDelegating)
	}
	if known {
		profile.DAOs = make([]governance.VoterDAO, 0, len(byDAO))
	}
	for _, daoID := range slices.Sorted(maps.Keys(byDAO)) {
		profile.DAOs = append(profile.DAOs, sumOfVotes(daoID, byDAO[daoID]))
	}
	profile.DAOCount, profile.TotalVotingPower = governance.CountOf(uint64(len(byDAO))), governance.DecimalOf(total)
	profile.VoteCount = governance.CountOf(counted)
	profile.ProposalCount = profile.VoteCount
	return profile, err
}

// addressOf returns the address of a voter; nil where the voter is none.
func addressOf(voter string) *string {
	if !strings.HasPrefix(voter, "0x") {
		return nil
	}
	return &voter
}

// sumOfVotes sums the ballots of a voter in one DAO.
func sumOfVotes(daoID string, votes []VoterBallot) governance.VoterDAO {
	count := governance.CountOf(uint64(len(votes)))
	sums := governance.VoterDAO{DAOID: daoID, VoteCount: count, ProposalCount: count}
	var power decimal.Decimal
	for _, v := range votes {
		power, sums.LastVoteAt = power.Add(v.Power), governance.Later(sums.LastVoteAt, v.VotedAt)
		if at := v.VotedAt; at != nil && (sums.FirstVoteAt == nil || *at < *sums.FirstVoteAt) {
			sums.FirstVoteAt = at
		}
	}
	sums.TotalVotingPower = governance.DecimalOf(power)
	return sums
}

// VoterBallot is a vote in a voter's history. It lacks its label, which is made from the rest.
type VoterBallot struct {
	governance.VoterVote
	Ref record.RefHash `ch:"proposal_ref"`
	// DAOID is the DAO of the proposal, as it was last published.
	DAOID string `ch:"-"`
	// RawChoice is the published choice as compact JSON.
	RawChoice string
	Power     decimal.Decimal
	// Choices are the choices of the proposal, as last published; Bounds say which ballots on it are valid.
	Choices []governance.Choice     `ch:"-"`
	Bounds  governance.ChoiceBounds `ch:"-"`
}

func (c *cast) inHistory() VoterBallot {
	v := VoterBallot{Ref: c.Ref, RawChoice: c.RawChoice, Power: c.Power}
	v.ChoiceKey, v.VotedAt, v.TransactionHash = c.ChoiceKey, c.VotedAt, c.TransactionHash
	return v
}

// at is the time of the vote in the order of histories: without one it is before all others.
func (v VoterBallot) at() int64 { return orderedTime(v.VotedAt) }

func orderedTime(at *governance.Timestamp) int64 {
	if at == nil {
		return -1
	}
	return int64(*at)
}

// ListVoterVotes returns the first q.Limit votes of a voter after q.After that q selects.
// A time window excludes votes without a time.
func ListVoterVotes(ctx context.Context, w *warehouse.Warehouse, q query.VoterVotes) ([]VoterBallot, error) {
	all, err := votesOf(ctx, w, string(q.Voter))
	var votes []VoterBallot
	for _, v := range all {
		if selectsVote(q, v) {
			votes = append(votes, v)
		}
	}
	slices.SortFunc(votes, func(a, b VoterBallot) int {
		return cmp.Or(cmp.Compare(b.at(), a.at()), cmp.Compare(b.Proposal.ProposalKey, a.Proposal.ProposalKey))
	})
	votes = votes[:min(q.Limit, len(votes))]
	if err != nil || len(votes) == 0 {
		return nil, err
	}
	refs := warehouse.Values(votes, func(v VoterBallot) record.RefHash { return v.Ref })
	titles, err := warehouse.Share(ctx, w, "titles", refs, warehouse.Together(titles))
	for i, v := range votes {
		votes[i].Proposal.Title, votes[i].VotingPower = titles[v.Ref], governance.DecimalOf(v.Power)
	}
	return votes, err
}

// selectsVote reports whether a query selects a vote, its position included.
func selectsVote(q query.VoterVotes, v VoterBallot) bool {
	at := v.at()
	switch {
	case q.DAOID != "" && v.DAOID != q.DAOID,
		q.From != nil && (at < int64(*q.From) || at < 0),
		q.To != nil && (at >= int64(*q.To) || at < 0):
		return false
	case q.After == nil:
		return true
	}
	after := orderedTime(q.After.At)
	return at < after || at == after && v.Proposal.ProposalKey < q.After.Proposal
}

// votesOf returns the ballots of a voter that count, on proposals that are published.
func votesOf(ctx context.Context, w *warehouse.Warehouse, voter string) ([]VoterBallot, error) {
	ballots, err := warehouse.Share(ctx, w, "votes", voter, ballotsOfSome)
	if err == nil && ballots == nil {
		ballots, err = warehouse.Alone(ctx, func(ctx context.Context) ([]VoterBallot, error) { return BallotsOf(ctx, w, voter) })
	}
	if err != nil || len(ballots) == 0 {
		return nil, err
	}
	refs := warehouse.Values(ballots, func(b VoterBallot) record.RefHash { return b.Ref })
	proposals, err := warehouse.Share(ctx, w, "voted proposals", refs, warehouse.Together(votedProposals))
	votes := make([]VoterBallot, 0, len(ballots))
	for _, b := range ballots {
		if p, published := proposals[b.Ref]; published {
			b.DAOID, b.Proposal.ProposalKey, b.Proposal.Flagged = p.DAOID, p.Key, p.Flagged
			b.Choices, b.Bounds = p.Stated()
			votes = append(votes, b)
		}
	}
	return votes, err
}

// ballotsOfSome returns the ballots that count of several voters; nil for a voter who has cast too many.
func ballotsOfSome(ctx context.Context, w *warehouse.Warehouse, voters []string) ([][]VoterBallot, error) {
	wanted := warehouse.ExternalTable("wanted_voters", voters, func(voter string) []any { return []any{voter} }, warehouse.TextColumn("voter"))
	sql := storedBallots("voter IN (SELECT voter FROM wanted_voters)", "voter", noReason)
	counted, err := countingBy(ctx, w, "read the votes of several voters", sql, wanted, MaxSharedVotes,
		func(c *cast) string { return c.VoterIdentity })
	ballots := make([][]VoterBallot, len(voters))
	for i, voter := range voters {
		of, some := counted[voter]
		if some && of == nil {
			continue
		}
		ballots[i] = warehouse.Values(of, (*cast).inHistory)
	}
	return ballots, err
}

// BallotsOf returns all ballots of a voter that count.
func BallotsOf(ctx context.Context, w *warehouse.Warehouse, voter string) ([]VoterBallot, error) {
	sql := fmt.Sprintf(sqlText("voter_votes"), countingBallots("voter = {voter:String}"))
	return warehouse.Find[VoterBallot](ctx, w, "read the votes of a voter", sql, clickhouse.Named("voter", voter), warehouse.BindUnknownTime())
}

type votedProposal struct {
	Key     governance.ProposalKey `ch:"proposal_key"`
	DAOID   string
	Flagged bool
	counts.ChoiceColumns
}

// votedProposals returns published proposals. Unpublished and withdrawn ones are missing.
func votedProposals(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]votedProposal, error) {
	return warehouse.FindBy[record.RefHash, votedProposal](ctx, w, "read the proposals of votes",
		sqlText("voter_proposals"), warehouse.RefTable(refs))
}

// titles returns the titles of the proposals; nil for one without a title. The row of a proposal
// follows its results: until then, its title comes from its record.
func titles(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]*string, error) {
	titles, err := warehouse.FindBy[record.RefHash, *string](ctx, w, "read titles", sqlText("proposal_title_by_ref"),
		warehouse.RefTable(refs))
	missing := slices.DeleteFunc(slices.Clone(refs), func(ref record.RefHash) bool { _, listed := titles[ref]; return listed })
	if err != nil || len(missing) == 0 {
		return titles, err
	}
	proposals, err := records.Proposals(ctx, w, missing)
	for _, p := range proposals {
		titles[p.Ref] = governance.OptionalText(p.Title)
	}
	return titles, err
}
