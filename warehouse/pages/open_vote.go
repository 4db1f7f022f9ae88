package pages

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// maxOpenVotes bounds the open votes of DAOs that are read at once.
const maxOpenVotes = 5000

// openVote is an open vote in a DAO in which a voter may have power.
type openVote struct {
	Ref            record.RefHash
	Key            governance.ProposalKey
	DAOID          string
	Provider       governance.Provider
	SourceID       string
	StartAt, EndAt *governance.Timestamp
}

// powerPlace is a token and a time of which the power of a voter is asked.
type powerPlace struct {
	Scope string
	Start int64 // in milliseconds since 1970
}

// ListOpenVotes returns the first q.Limit open votes after q.After in which a voter has power and has
// not voted. Power counts where the token of a Governor states it as of the start of the vote. Where it
// does not, a vote is listed without power if the voter has voted with power in the DAO, or others
// delegate to the voter there.
func ListOpenVotes(ctx context.Context, w *warehouse.Warehouse, q query.OpenVotes) ([]governance.OpenVote, error) {
	voter := string(q.Voter)
	cast, err := votesOf(ctx, w, voter)
	if err != nil {
		return nil, err
	}
	scopes, err := records.ReadDelegationScopes(ctx, w)
	if err != nil {
		return nil, err
	}
	delegated, err := delegatedBy(ctx, w, voter, scopes)
	if err != nil {
		return nil, err
	}
	// Power at the start of a vote counts though it is gone by now.
	powers, err := warehouse.Find[string](ctx, w, "read the tokens that have stated power of a voter",
		"SELECT DISTINCT toString(scope) FROM delegate_power WHERE delegate = {voter:String}", clickhouse.Named("voter", voter))
	if err != nil {
		return nil, err
	}
	voted, likely, asked := map[record.RefHash]bool{}, map[string]bool{}, maps.Clone(delegated)
	for _, v := range cast {
		voted[v.Ref] = true
		if v.Power.IsPositive() {
			likely[v.DAOID], asked[v.DAOID] = true, true
		}
	}
	for _, scope := range powers {
		for _, id := range scopes.DAOs[scope] {
			asked[id] = true
		}
	}
	if q.DAOID != "" {
		asked = map[string]bool{q.DAOID: asked[q.DAOID]}
	}
	maps.DeleteFunc(asked, func(_ string, is bool) bool { return !is })
	votes := []governance.OpenVote{}
	if len(asked) == 0 {
		return votes, nil
	}
	var refs []record.RefHash
	for after, more := q.After, true; more && len(votes) < q.Limit; {
		end, key := deadlineOf(after)
		open, err := warehouse.Find[openVote](ctx, w, "read the open votes of DAOs", sqlText("open_vote_pending"),
			clickhouse.Named("daos", slices.Collect(maps.Keys(asked))), clickhouse.Named("limit", maxOpenVotes),
			clickhouse.Named("after_end", end), clickhouse.Named("after_key", key))
		if err != nil {
			return nil, err
		}
		if more = len(open) == maxOpenVotes; more {
			last := open[len(open)-1]
			after = &query.OpenVotePosition{EndAt: last.EndAt, Proposal: last.Key}
		}
		open = slices.DeleteFunc(open, func(v openVote) bool { return voted[v.Ref] })
		known, err := powersAt(ctx, w, voter, open, scopes)
		if err != nil {
			return nil, err
		}
		for _, v := range open {
			vote := governance.OpenVote{DAOID: v.DAOID, EndAt: v.EndAt, PowerBasis: governance.PowerUnknown, AsDelegate: delegated[v.DAOID]}
			vote.Proposal.ProposalKey = v.Key
			power, stated := known[placeOf(v, scopes)]
			switch {
			case len(votes) == q.Limit, stated && !power.IsPositive(), !stated && !likely[v.DAOID] && !delegated[v.DAOID]:
				continue
			case stated:
				vote.VotingPower, vote.PowerBasis = new(governance.DecimalOf(power)), governance.PowerAtStart
			}
			votes, refs = append(votes, vote), append(refs, v.Ref)
		}
	}
	titles, err := titles(ctx, w, refs)
	for i := range votes {
		votes[i].Proposal.Title = titles[refs[i]]
	}
	return votes, err
}

// deadlineOf returns a position in the order of deadlines, in which a vote without one is last.
func deadlineOf(at *query.OpenVotePosition) (end int64, key string) {
	switch {
	case at == nil:
		return math.MinInt64, ""
	case at.EndAt == nil:
		return math.MaxInt64, string(at.Proposal)
	}
	return int64(*at.EndAt), string(at.Proposal)
}

// placeOf returns the token that a vote counts and the time as of which it does; the zero place where
// either is not known. Off the chain, strategies count what no token states alone.
func placeOf(v openVote, scopes records.DelegationScopes) powerPlace {
	if v.StartAt == nil || !v.Provider.IsOnchain() {
		return powerPlace{}
	}
	if token := scopes.OfSource[record.SourceRef{Provider: v.Provider, ID: v.SourceID}]; token != "" {
		return powerPlace{token, int64(*v.StartAt)}
	}
	tokens := slices.DeleteFunc(slices.Clone(scopes.ByDAO[v.DAOID]), func(scope string) bool {
		chain := scope[:strings.LastIndexByte(scope, ':')+1]
		return strings.Contains(scope, "/") || v.Provider == governance.Governor && !strings.HasPrefix(v.SourceID, chain)
	})
	if len(tokens) != 1 {
		return powerPlace{}
	}
	return powerPlace{tokens[0], int64(*v.StartAt)}
}

// powersAt returns the power of a voter as of the starts of votes, where a token states it.
func powersAt(
	ctx context.Context, w *warehouse.Warehouse, voter string, open []openVote, scopes records.DelegationScopes,
) (map[powerPlace]decimal.Decimal, error) {
	places := map[powerPlace]bool{}
	for _, v := range open {
		places[placeOf(v, scopes)] = true
	}
	delete(places, powerPlace{})
	if len(places) == 0 {
		return map[powerPlace]decimal.Decimal{}, nil
	}
	tokens, starts := make([]string, 0, len(places)), make([]int64, 0, len(places))
	for at := range places {
		tokens, starts = append(tokens, at.Scope), append(starts, at.Start)
	}
	return warehouse.FindBy[powerPlace, decimal.Decimal](ctx, w, "read the power of a voter at the start of votes",
		fmt.Sprintf(sqlText("open_vote_power_at"), saysUnknown),
		clickhouse.Named("voter", voter), clickhouse.Named("scopes", tokens), clickhouse.Named("starts", starts))
}

// delegatedBy returns the DAOs in which others delegate to a voter now.
func delegatedBy(ctx context.Context, w *warehouse.Warehouse, voter string, scopes records.DelegationScopes) (map[string]bool, error) {
	rows, err := warehouse.Find[string](ctx, w, "read where others delegate to a voter", sqlText("open_vote_others"), clickhouse.Named("voter", voter))
	daos := map[string]bool{}
	for _, scope := range rows {
		for _, id := range scopes.DAOs[scope] {
			daos[id] = true
		}
	}
	return daos, err
}
