package pages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// saysUnknown selects the powers of the zero address after the logs of a block: the token changes powers
// without a log, and what it stated in earlier blocks is not known any more. The view delegate_power has
// the same condition.
const saysUnknown = `delegate = '0x0000000000000000000000000000000000000000' AND substring(place, 9, 4) = '\xff\xff\xff\xff'`

// delegateRow is what is held of a delegate in one scope.
type delegateRow struct {
	Rank            uint64
	Scope, Delegate string
	Power           *decimal.Decimal
	Delegators      *uint64
}

// delegated returns the row as a part of answers. supplies are by token.
func (r *delegateRow) delegated(supplies map[string]decimal.Decimal) (power governance.DelegatedPower) {
	power.DelegationScope = governance.ScopeOf(r.Scope)
	if r.Power != nil {
		power.VotingPower = new(governance.DecimalOf(*r.Power))
		if supply := supplies[r.Scope]; supply.IsPositive() {
			power.ShareOfSupply = new(governance.QuorumProgress(*r.Power, supply))
		}
	}
	if r.Delegators != nil {
		power.Delegators = new(governance.CountOf(*r.Delegators))
	}
	return power
}

// ListDelegates returns the first q.Limit delegates of a DAO after q.After. A DAO without a token or
// a space of which something is held has none.
func ListDelegates(ctx context.Context, w *warehouse.Warehouse, q query.Delegates) ([]governance.Delegate, error) {
	scopes, err := records.ReadDelegationScopes(ctx, w)
	if err != nil || len(scopes.ByDAO[q.DAOID]) == 0 {
		return []governance.Delegate{}, err
	}
	// The latest votes that are over and of which ballots are held.
	votes, err := warehouse.Find[record.RefHash](ctx, w, fmt.Sprintf("read the latest votes of %q", q.DAOID), sqlText("delegate_votes"),
		clickhouse.Named("dao", q.DAOID), clickhouse.Named("limit", governance.LastVotes))
	if err != nil {
		return nil, err
	}
	rows, err := delegatePage(ctx, w, q, scopes, votes)
	if err != nil {
		return nil, err
	}
	supplies, err := tokenSupplies(ctx, w, scopes.ByDAO[q.DAOID])
	if err != nil {
		return nil, err
	}
	type activity struct {
		Cast       uint64
		LastVoteAt *governance.Timestamp
	}
	voters := warehouse.Values(rows, func(r delegateRow) string { return r.Delegate })
	byVoter, err := warehouse.FindBy[string, activity](ctx, w, "read how often delegates voted",
		sqlText("delegate_activity"),
		warehouse.RefTable(votes), clickhouse.Named("voters", voters), clickhouse.Named("dao", q.DAOID))
	return warehouse.Values(rows, func(r delegateRow) governance.Delegate {
		power, of := r.delegated(supplies), byVoter[r.Delegate]
		return governance.Delegate{
			Rank: r.Rank, VoterIdentity: r.Delegate, DelegationScope: power.DelegationScope,
			VotingPower: power.VotingPower, Delegators: power.Delegators, ShareOfSupply: power.ShareOfSupply,
			BallotsOfLast50: governance.BallotsOfLast{Cast: governance.CountOf(of.Cast), Of: governance.CountOf(uint64(len(votes)))},
			LastVoteAt:      of.LastVoteAt,
		}
	}), err
}

func delegatePage(
	ctx context.Context, w *warehouse.Warehouse, q query.Delegates, scopes records.DelegationScopes, votes []record.RefHash,
) ([]delegateRow, error) {
	const inScopes = "scope IN {scopes:Array(String)}"
	args := []any{
		warehouse.RefTable(votes), clickhouse.Named("scopes", scopes.ByDAO[q.DAOID]),
		clickhouse.Named("counted", append([]string{}, scopes.Counted...)), clickhouse.Named("limit", q.Limit),
	}
	votesCast := ""
	if q.Order == query.DelegatesByActivity {
		votesCast = " GLOBAL LEFT JOIN (SELECT voter, uniqExact(proposal_ref) AS cast FROM ballots FINAL " +
			"WHERE NOT withdrawn AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals) GROUP BY voter) AS voting ON now.delegate = voting.voter"
	}
	condition := "1"
	if at := q.After; at != nil {
		value, unknown := decimal.Zero, uint8(1)
		if at.Value != nil {
			read, err := decimal.NewFromString(string(*at.Value))
			if err != nil {
				return nil, fmt.Errorf("read a page of delegates: position: %w", err)
			}
			value, unknown = read.Neg(), 0
		}
		condition = "(isNull(descending), ifNull(descending, toDecimal256(0, 18)), delegate, scope) > " +
			"({unknown:UInt8}, toDecimal256({value:String}, 18), {delegate:String}, {where:String})"
		args = append(args, clickhouse.Named("unknown", unknown), clickhouse.Named("value", value.String()),
			clickhouse.Named("delegate", at.Delegate), clickhouse.Named("where", at.Where))
	}
	orders := map[query.DelegateOrder]string{ // what they compare; NULL where it is not known
		query.DelegatesByPower: "power", query.DelegatesByDelegators: "delegators", query.DelegatesByActivity: "cast",
	}
	sql := fmt.Sprintf(sqlText("delegate_page"), orders[q.Order],
		fmt.Sprintf(sqlText("delegate_now"), inScopes, inScopes, "1", saysUnknown, inScopes), votesCast, condition)
	return warehouse.Find[delegateRow](ctx, w, "read a page of delegates", sql, args...)
}

// tokenSupplies returns the latest supplies of some tokens, without the tokens of which none is held.
func tokenSupplies(ctx context.Context, w *warehouse.Warehouse, tokens []string) (map[string]decimal.Decimal, error) {
	const sql = "SELECT toString(scope) AS scope, argMax(supply, place) AS supply FROM token_supply FINAL " +
		"WHERE scope IN {tokens:Array(String)} AND NOT withdrawn GROUP BY scope"
	return warehouse.FindBy[string, decimal.Decimal](ctx, w, "read the supplies of tokens", sql,
		clickhouse.Named("tokens", tokens))
}

// DelegatedPowerOf returns what a voter may vote with for others now, by DAO, token and registry.
func DelegatedPowerOf(ctx context.Context, w *warehouse.Warehouse, voter string) ([]governance.DelegatedPower, error) {
	return warehouse.Share(ctx, w, "delegated power", voter, delegatedPowers)
}

// delegatedPowers returns what voters hold now in each token and space.
func delegatedPowers(ctx context.Context, w *warehouse.Warehouse, voters []string) ([][]governance.DelegatedPower, error) {
	const ofVoters = "delegate IN {voters:Array(String)}"
	sql := fmt.Sprintf(sqlText("delegate_now"), ofVoters,
		"(scope, delegator) GLOBAL IN (SELECT scope, delegator FROM delegations WHERE hasAny(delegates, {voters:Array(String)}))", ofVoters, saysUnknown, "1")
	rows, err := warehouse.Find[delegateRow](ctx, w, "read the delegated power of voters",
		"SELECT scope, delegate, power, toNullable(delegators) AS delegators FROM ("+sql+")",
		clickhouse.Named("voters", voters))
	powers := make([][]governance.DelegatedPower, len(voters))
	if err != nil || len(rows) == 0 {
		return powers, err
	}
	scopes, err := records.ReadDelegationScopes(ctx, w)
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, r := range rows {
		held[r.Scope] = true
	}
	supplies, err := tokenSupplies(ctx, w, slices.Collect(maps.Keys(held)))
	if err != nil {
		return nil, err
	}
	byVoter := map[string][]governance.DelegatedPower{}
	for _, r := range rows {
		if !slices.Contains(scopes.Counted, r.Scope) {
			r.Delegators = nil
		}
		power := r.delegated(supplies)
		for _, id := range scopes.DAOs[r.Scope] {
			power.DAOID = &id
			byVoter[r.Delegate] = append(byVoter[r.Delegate], power)
		}
		if len(scopes.DAOs[r.Scope]) == 0 {
			byVoter[r.Delegate] = append(byVoter[r.Delegate], power)
		}
	}
	for i, voter := range voters {
		powers[i] = byVoter[voter]
		slices.SortFunc(powers[i], func(a, b governance.DelegatedPower) int {
			return cmp.Or(cmp.Compare(warehouse.TextOrEmpty(a.DAOID), warehouse.TextOrEmpty(b.DAOID)), cmp.Compare(a.DelegationScope.String(), b.DelegationScope.String()))
		})
	}
	return powers, nil
}

// areDelegating reports of voters whether they are or were a side of a delegation.
func areDelegating(ctx context.Context, w *warehouse.Warehouse, voters []string) ([]bool, error) {
	known, err := warehouse.Find[string](ctx, w, "read who delegates", sqlText("delegate_known"), clickhouse.Named("voters", voters))
	return warehouse.Values(voters, func(voter string) bool { return slices.Contains(known, voter) }), err
}

// ListVoterDelegations returns the first q.Limit delegations of a voter after q.After that q selects.
func ListVoterDelegations(ctx context.Context, w *warehouse.Warehouse, q query.VoterDelegations) ([]governance.VoterDelegation, error) {
	scopes, err := records.ReadDelegationScopes(ctx, w)
	if err != nil {
		return nil, err
	}
	args := []any{
		clickhouse.Named("voter", string(q.Voter)), clickhouse.Named("limit", q.Limit),
		clickhouse.Named("all", q.DAOID == ""), clickhouse.Named("scopes", append([]string{}, scopes.ByDAO[q.DAOID]...)),
		clickhouse.Named("given", q.Direction != query.DelegationsReceived),
		clickhouse.Named("received", q.Direction != query.DelegationsGiven),
	}
	condition := "1"
	if at := q.After; at != nil {
		condition = "(-ifNull(toUnixTimestamp64Milli(since), -1), scope, delegator, delegate) > " +
			"({since:Int64}, {where:String}, {delegator:String}, {delegate:String})"
		args = append(args, clickhouse.Named("since", -orderedTime(at.Since)), clickhouse.Named("where", at.Where),
			clickhouse.Named("delegator", at.Delegator), clickhouse.Named("delegate", at.Delegate))
	}
	type row struct {
		Scope, Delegator, Delegate string
		Share                      decimal.Decimal
		Since                      *governance.Timestamp
		SinceBlock                 uint64
	}
	rows, err := warehouse.Find[row](ctx, w, "read a page of delegations", fmt.Sprintf(sqlText("delegate_delegations"), condition), args...)
	return warehouse.Values(rows, func(r row) governance.VoterDelegation {
		return governance.VoterDelegation{
			DAOIDs: append([]string{}, scopes.DAOs[r.Scope]...), DelegationScope: governance.ScopeOf(r.Scope),
			Delegator: r.Delegator, Delegate: r.Delegate, Share: governance.DecimalOf(r.Share),
			Since: r.Since, SinceBlock: governance.CountOf(r.SinceBlock),
		}
	}), err
}
