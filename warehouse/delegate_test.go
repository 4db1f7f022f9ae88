package warehouse_test

import (
	stdcmp "cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

const (
	tokenA   = "eip155:1:0x00000000000000000000000000000000000000aa"
	tokenB   = "eip155:1:0x00000000000000000000000000000000000000bb"
	registry = "eip155:1:0x00000000000000000000000000000000000000cc"
)

// delegating are records of delegations, with what they come to by a plain reading of them.
type delegating struct {
	records []record.Record
	// current has the latest delegation by scope and holder, power the latest power by scope and delegate.
	current map[[2]string]*record.Delegation
	power   map[[2]string]*record.DelegatePower
	// cast has the voters of each of the proposals that are over, the newest last.
	cast []map[string]bool
}

// draw draws records at the DAO "dao" with two tokens and a registry. Statements come in any order, and
// some are of blocks that were replaced.
func draw(rng *rand.Rand) *delegating {
	d := &delegating{current: map[[2]string]*record.Delegation{}, power: map[[2]string]*record.DelegatePower{}}
	d.records = []record.Record{
		&record.DAO{ID: "dao", Name: "DAO", Tokens: []string{tokenA}},
		&record.Source{SourceRef: record.SourceRef{Provider: governance.Governor, ID: "g"}, Token: tokenB},
		&record.TokenSupply{Placed: record.Placed{Scope: tokenA, Block: 1}, Supply: decimal.NewFromInt(70)},
		&record.TokenSupply{Placed: record.Placed{Scope: tokenA, Block: 2}, Supply: decimal.NewFromInt(1000)},
		&record.TokenSupply{Placed: record.Placed{Scope: tokenA, Block: 3, Withdrawn: true}, Supply: decimal.NewFromInt(5)},
	}
	// In block 20, tokenB is asked for its powers, which change without a log.
	for _, asked := range []record.Placed{{Scope: tokenB, Block: 20}, {Scope: tokenA, Block: 30, Withdrawn: true}} {
		asked.LogIndex = math.MaxUint32
		d.records = append(d.records, &record.DelegatePower{Placed: asked, Delegate: "0x" + strings.Repeat("0", 40)})
	}
	voter := func() string { return fmt.Sprintf("0x%02d", rng.IntN(12)) }
	for i := range 400 {
		placed := record.Placed{
			Scope: []string{tokenA, tokenB, registry + "/dao.eth"}[rng.IntN(3)], Block: uint64(1 + rng.IntN(40)), LogIndex: uint32(i),
			BlockHash: fmt.Sprintf("0x%064x", 1+i), Withdrawn: rng.IntN(4) == 0,
		}
		later := func(p *record.Placed) bool {
			return stdcmp.Or(stdcmp.Compare(placed.Block, p.Block), stdcmp.Compare(placed.LogIndex, p.LogIndex)) > 0
		}
		if rng.IntN(2) == 0 && !strings.HasPrefix(placed.Scope, registry) {
			r := &record.DelegatePower{Placed: placed, Delegate: voter(), Power: decimal.New(int64(rng.IntN(5)), -1)}
			key := [2]string{placed.Scope, r.Delegate}
			if before := d.power[key]; !placed.Withdrawn && (before == nil || later(&before.Placed)) {
				d.power[key] = r
			}
			d.records = append(d.records, r)
			continue
		}
		r := &record.Delegation{Placed: placed, Delegator: fmt.Sprintf("0xf%02d", rng.IntN(20))}
		for range rng.IntN(3) {
			if v := voter(); !slices.Contains(r.Delegates, v) {
				r.Delegates = append(r.Delegates, v)
			}
		}
		if len(r.Delegates) > 1 {
			r.Shares = []decimal.Decimal{decimal.RequireFromString("0.25"), decimal.RequireFromString("0.75")}
		}
		key := [2]string{placed.Scope, r.Delegator}
		if before := d.current[key]; !placed.Withdrawn && (before == nil || later(&before.Placed)) {
			d.current[key] = r
		}
		d.records = append(d.records, r)
	}
	rng.Shuffle(len(d.records), func(i, j int) { d.records[i], d.records[j] = d.records[j], d.records[i] })
	for i := range governance.LastVotes + 5 {
		d.cast = append(d.cast, map[string]bool{})
		for range rng.IntN(4) {
			v := voter()
			b := ballot(fmt.Sprintf("p%03d", i), v, "v"+v, "1", "1", at(fmt.Sprintf("2026-01-01T%02d:%02d:00Z", i/60, i%60)))
			d.records, d.cast[i][v] = append(d.records, b), true
		}
	}
	return d
}

// publish writes the records and states of the proposals.
func (d *delegating) publish(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	appendAll(t, w, d.records...)
	var states []counts.ProposalState
	for i, cast := range d.cast {
		states = append(states, counts.ProposalState{
			Ref: ref(fmt.Sprintf("p%03d", i)).Hash(), Key: governance.ProposalKey(fmt.Sprintf("p1_%03d", i)), Power: decimal.Zero, Revision: 1,
			Identity: governance.Identity{DAOID: "dao", Provider: governance.Snapshot}, SourceID: "dao.eth", Lifecycle: governance.Closed,
			Votes: uint64(len(cast)), EndAt: at(fmt.Sprintf("2026-02-01T%02d:%02d:00Z", i/60, i%60)),
		})
	}
	states = append(states, counts.ProposalState{
		Ref: ref("of the Governor").Hash(), Key: "p1_g", Power: decimal.Zero, Revision: 1,
		Identity: governance.Identity{DAOID: "dao", Provider: governance.Governor}, SourceID: "g", Lifecycle: governance.Pending,
	})
	writeStates(t, w, states...)
}

// isUnknown reports whether the power of a delegate was stated before the token was asked last.
func (d *delegating) isUnknown(key [2]string) bool {
	p := d.power[key]
	return p != nil && key[0] == tokenB && p.Block < 20 && p.Power.IsPositive()
}

// ranking is the whole ranking by a plain count.
func (d *delegating) ranking(order query.DelegateOrder) []governance.Delegate {
	rows := map[[2]string]*governance.Delegate{}
	row := func(scope, delegate string) *governance.Delegate {
		key := [2]string{scope, delegate}
		if rows[key] == nil {
			rows[key] = &governance.Delegate{VoterIdentity: delegate, DelegationScope: governance.ScopeOf(scope), Delegators: new(governance.Decimal("0"))}
		}
		return rows[key]
	}
	for key, p := range d.power {
		r := row(key[0], key[1])
		if d.isUnknown(key) {
			continue
		}
		r.VotingPower = new(governance.DecimalOf(p.Power))
		if key[0] == tokenA {
			r.ShareOfSupply = new(governance.DecimalOf(p.Power.Shift(-3)))
		}
	}
	for key, c := range d.current {
		for _, delegate := range c.Delegates {
			r := row(key[0], delegate)
			r.Delegators = new(governance.DecimalOf(decimal.RequireFromString(string(*r.Delegators)).Add(decimal.NewFromInt(1))))
		}
	}
	var all []governance.Delegate
	value := func(r governance.Delegate) decimal.Decimal {
		of := r.VotingPower
		switch order {
		case query.DelegatesByDelegators:
			of = r.Delegators
		case query.DelegatesByActivity:
			of = &r.BallotsOfLast50.Cast
		case query.DelegatesByPower:
		}
		if of == nil {
			return decimal.NewFromInt(-1)
		}
		return decimal.RequireFromString(string(*of))
	}
	var voted []int // proposals with a ballot
	for i, cast := range d.cast {
		if len(cast) > 0 {
			voted = append(voted, i)
		}
	}
	for key, r := range rows {
		if !d.isUnknown(key) && (r.VotingPower == nil || *r.VotingPower == "0") && *r.Delegators == "0" {
			continue
		}
		var cast uint64
		last := voted[max(0, len(voted)-governance.LastVotes):]
		for _, i := range voted {
			if d.cast[i][r.VoterIdentity] {
				r.LastVoteAt = at(fmt.Sprintf("2026-01-01T%02d:%02d:00Z", i/60, i%60))
				if slices.Contains(last, i) {
					cast++
				}
			}
		}
		r.BallotsOfLast50 = governance.BallotsOfLast{Cast: governance.CountOf(cast), Of: governance.CountOf(uint64(len(last)))}
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b governance.Delegate) int {
		return stdcmp.Or(value(b).Cmp(value(a)), stdcmp.Compare(a.VoterIdentity, b.VoterIdentity), stdcmp.Compare(a.DelegationScope.String(), b.DelegationScope.String()))
	})
	for i := range all {
		all[i].Rank = uint64(i + 1)
	}
	return all
}

func TestARankingOfDelegatesIsAPlainCount(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		rankingIsAPlainCount(t, open(t), seed)
	}
}

func rankingIsAPlainCount(t *testing.T, w *warehouse.Warehouse, seed uint64) {
	t.Helper()
	d := draw(rand.New(rand.NewPCG(seed, 43)))
	d.publish(t, w)
	for _, order := range []query.DelegateOrder{query.DelegatesByPower, query.DelegatesByDelegators, query.DelegatesByActivity} {
		q := query.Delegates{DAOID: "dao", Order: order}
		q.Limit = 7
		got := walk(t, q.Limit, func(after *governance.Delegate) ([]governance.Delegate, error) {
			if after != nil {
				q.After = new(q.PositionOf(*after))
			}
			return pages.ListDelegates(t.Context(), w, q)
		})
		env.WantSame(t, fmt.Sprintf("seed %d by %s", seed, order), d.ranking(order), got)
	}
	d.wantDelegations(t, w)
}

// said are the delegations that apply, each with its share and its block.
func (d *delegating) said(of func(delegator, delegate string) bool) (said []string) {
	for key, c := range d.current {
		for i, delegate := range c.Delegates {
			share := "1"
			if len(c.Shares) > 0 {
				share = c.Shares[i].String()
			}
			if of(c.Delegator, delegate) {
				said = append(said, fmt.Sprint(key[0], " ", c.Delegator, " ", delegate, " ", share, " ", c.Block))
			}
		}
	}
	return said
}

// wantDelegations compares what applies to each voter with a plain reading.
func (d *delegating) wantDelegations(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	for _, voter := range []string{"0x03", "0xf04", "0xnone"} {
		want := d.said(func(delegator, delegate string) bool { return delegator == voter || delegate == voter })
		var got []string
		q := query.VoterDelegations{Voter: query.Voter(voter), DAOID: "dao"}
		q.Limit = 4
		for _, row := range walk(t, q.Limit, func(after *governance.VoterDelegation) ([]governance.VoterDelegation, error) {
			if after != nil {
				q.After = new(q.PositionOf(*after))
			}
			return pages.ListVoterDelegations(t.Context(), w, q)
		}) {
			got = append(got, fmt.Sprint(row.DelegationScope.String(), " ", row.Delegator, " ", row.Delegate, " ", row.Share, " ", row.SinceBlock))
		}
		slices.Sort(want)
		env.WantSame(t, voter, want, got)
	}
	powers := env.Must(pages.DelegatedPowerOf(t.Context(), w, "0x03"))(t)
	got := map[string]governance.DelegatedPower{}
	for _, p := range powers {
		got[p.DelegationScope.String()] = p
	}
	for _, want := range d.ranking(query.DelegatesByPower) {
		if want.VoterIdentity != "0x03" {
			continue
		}
		p := got[want.DelegationScope.String()]
		delete(got, want.DelegationScope.String())
		if p.DAOID == nil || *p.DAOID != "dao" || cmp.Diff(want.VotingPower, p.VotingPower)+cmp.Diff(want.Delegators, p.Delegators)+cmp.Diff(want.ShareOfSupply, p.ShareOfSupply) != "" {
			t.Errorf("got %+v, want %+v", p, want)
		}
	}
	if len(got) > 0 {
		t.Errorf("also got %+v", got)
	}
}

func TestADAOWithoutTokensHasNoDelegates(t *testing.T) {
	t.Parallel()
	w := open(t)
	appendAll(t, w, &record.Delegation{Placed: record.Placed{Scope: tokenA, Block: 1}, Delegator: "0x1", Delegates: []string{"0x2"}})
	q := query.Delegates{DAOID: "dao", Order: query.DelegatesByPower}
	q.Limit = 1
	if got, err := pages.ListDelegates(t.Context(), w, q); err != nil || len(got) != 0 {
		t.Errorf("got %v and %v, want none", got, err)
	}
	powers, err := pages.DelegatedPowerOf(t.Context(), w, "0x2")
	if err != nil || len(powers) != 1 || powers[0].DAOID != nil || powers[0].VotingPower != nil || *powers[0].Delegators != "1" {
		t.Errorf("got %+v and %v, want one delegator in no DAO", powers, err)
	}
}

// The first of two DAOs in order of ids has a source that both state.
func TestADAOHasDelegatesBeforeItHasProposals(t *testing.T) {
	t.Parallel()
	w, conn := openViews(t)
	governor, space := record.SourceRef{Provider: governance.Governor, ID: "g"}, record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"}
	appendAll(t, w, &record.DAO{ID: "other", Sources: []record.SourceRef{space}}, &record.DAO{ID: "dao", Sources: []record.SourceRef{governor, space}},
		&record.Source{SourceRef: governor, Token: tokenB},
		&record.Delegation{Placed: record.Placed{Scope: tokenB, Block: 1}, Delegator: "0x1", Delegates: []string{"0x2"}},
		&record.Delegation{Placed: record.Placed{Scope: registry + "/dao.eth", Block: 1}, Delegator: "0x1", Delegates: []string{"0x3"}})
	q := query.Delegates{DAOID: "dao", Order: query.DelegatesByPower}
	q.Limit = 9
	var got []string
	for _, row := range env.Must(pages.ListDelegates(t.Context(), w, q))(t) {
		got = append(got, row.DelegationScope.String()+" "+row.VoterIdentity)
	}
	env.WantSame(t, "delegates", []string{tokenB + " 0x2", registry + "/dao.eth 0x3"}, got)
	env.WantSame(t, "scopes", []string{"dao " + tokenB, "dao " + registry + "/dao.eth"},
		env.Column(t, conn, "SELECT concat(dao_id, ' ', scope) FROM dao_scopes ORDER BY scope"))
}

// What counts is the power at the start of a vote, whatever it is now.
func TestOpenVotesAreOfThePowerAtTheirStart(t *testing.T) {
	t.Parallel()
	w := open(t)
	start := at("2026-01-05T00:00:00Z")
	power := func(voter string, block uint64, at *governance.Timestamp, power int64) {
		appendAll(t, w, &record.DelegatePower{Placed: record.Placed{Scope: tokenB, Block: block, At: at}, Delegate: voter, Power: decimal.NewFromInt(power)})
	}
	appendAll(t, w, &record.DAO{ID: "dao"}, &record.Source{SourceRef: record.SourceRef{Provider: governance.Governor, ID: "g"}, Token: tokenB},
		&record.Delegation{Placed: record.Placed{Scope: tokenB, Block: 1}, Delegator: "0xf", Delegates: []string{"0xunknown"}})
	for voter, after := range map[string]int64{"0xlost": 0, "0xgained": 8, "0xlater": 3} {
		if voter != "0xlater" {
			power(voter, 1, at("2026-01-01T00:00:00Z"), 7)
		}
		power(voter, 9, at("2026-01-09T00:00:00Z"), after)
	}
	power("0xthen", 1, at("2026-01-01T00:00:00Z"), 7)
	power("0xthen", 5, start, 0)
	power("0xunknown", 1, at("2026-01-01T00:00:00Z"), 7)
	power("0xunknown", 2, nil, 0)
	power("0xknown", 1, nil, 7)
	power("0xknown", 2, at("2026-01-01T00:00:00Z"), 6)
	// A token is counted on its own chain.
	appendAll(t, w, &record.DAO{ID: "near", Tokens: []string{tokenA}}, &record.DAO{ID: "far", Tokens: []string{tokenA}},
		&record.DelegatePower{Placed: record.Placed{Scope: tokenA, Block: 1, At: at("2026-01-01T00:00:00Z")}, Delegate: "0xa", Power: decimal.NewFromInt(1)})
	state := func(daoID, sourceID string) counts.ProposalState {
		return counts.ProposalState{
			Ref: ref(daoID).Hash(), Key: governance.ProposalKey("p1_" + daoID), Power: decimal.Zero, Revision: 1, Lifecycle: governance.Active, StartAt: start,
			Identity: governance.Identity{DAOID: daoID, Provider: governance.Governor}, SourceID: sourceID,
		}
	}
	writeStates(t, w, state("dao", "g"), state("near", "eip155:1:0xee"), state("far", "eip155:10:0xee"))
	for voter, want := range map[string]string{
		"0xlost": "7 start", "0xgained": "7 start", "0xlater": "", "0xthen": "", "0xunknown": "unknown", "0xknown": "6 start",
		"0xa": "1 start",
	} {
		q := query.OpenVotes{Voter: query.Voter(voter)}
		q.Limit = 9
		got := ""
		for _, v := range env.Must(pages.ListOpenVotes(t.Context(), w, q))(t) {
			if got += string(v.PowerBasis); v.VotingPower != nil {
				got = string(*v.VotingPower) + " " + got
			}
		}
		env.WantSame(t, voter, want, got)
	}
}

// Whoever a list of delegations tells of, or told of, is a voter.
func TestBothSidesOfADelegationAreVoters(t *testing.T) {
	t.Parallel()
	w := open(t)
	delegation := func(block uint64, withdrawn bool, delegator string, delegates ...string) {
		appendAll(t, w, &record.Delegation{Placed: record.Placed{Scope: tokenA, Block: block, Withdrawn: withdrawn}, Delegator: delegator, Delegates: delegates})
	}
	delegation(1, false, "0xgives", "0xreceives")
	delegation(1, false, "0xgave", "0xreceived")
	delegation(2, false, "0xgave")
	delegation(3, true, "0xreplaced", "0xnever")
	appendAll(t, w, &record.DelegatePower{Placed: record.Placed{Scope: tokenA, Block: 1}, Delegate: "0xheld", Power: decimal.NewFromInt(1)},
		&record.DelegatePower{Placed: record.Placed{Scope: tokenA, Block: 2}, Delegate: "0xheld"},
		&record.DelegatePower{Placed: record.Placed{Scope: tokenA, Block: 2, LogIndex: math.MaxUint32}, Delegate: "0x" + strings.Repeat("0", 40)})
	for voter, want := range map[string]bool{
		"0xgives": true, "0xreceives": true, "0xgave": true, "0xreceived": true, "0xheld": true, "0xreplaced": false, "0xnever": false,
		"0x" + strings.Repeat("0", 40): false,
	} {
		profile, err := pages.VoterProfile(t.Context(), w, voter)
		if got := profile.DAOs != nil; err != nil || got != want || profile.VoteCount != "0" {
			t.Errorf("%s: got %+v and %v, want a voter: %t", voter, profile, err, want)
		}
	}
}

func TestDelegationsOfEarlierVersionsToTheZeroAddressAreToNobody(t *testing.T) {
	t.Parallel()
	o := warehouse.Options{URL: env.DatabaseURL(t)}
	w := openAt(t, o)
	nobody, quarter := "0x"+strings.Repeat("0", 40), decimal.RequireFromString("0.25")
	placed := record.Placed{Scope: tokenA, Block: 1}
	appendAll(t, w, &record.Delegation{Placed: placed, Delegator: "0x1", Delegates: []string{nobody}},
		&record.Delegation{Placed: placed, Delegator: "0x2", Delegates: []string{nobody, "0x3"}, Shares: []decimal.Decimal{quarter, quarter}})
	env.MustDo(t, warehouse.MigrateWith(t.Context(), o, warehouse.MigrationFiles, math.MaxInt))
	for voter, want := range map[string]string{"0x1": "[]", "0x2": "[0x3 0.25]", "0x3": "[0x3 0.25]", governance.VoterIdentity(nobody): "[]"} {
		q := query.VoterDelegations{Voter: query.Voter(voter)}
		q.Limit = 9
		list, err := pages.ListVoterDelegations(t.Context(), w, q)
		got := []string{}
		for _, d := range list {
			got = append(got, d.Delegate+" "+string(d.Share))
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: got %v and %v, want %s", voter, got, err, want)
		}
	}
}

func TestAnalystsReadDelegations(t *testing.T) {
	t.Parallel()
	w, conn := openViews(t)
	d := draw(rand.New(rand.NewPCG(9, 43)))
	d.publish(t, w)
	want := d.said(func(string, string) bool { return true })
	for i := range want {
		want[i] = "dao " + want[i]
	}
	for key, p := range d.power {
		if !d.isUnknown(key) {
			want = append(want, fmt.Sprint("dao ", key[0], " ", key[1], " has ", p.Power))
		}
	}
	want = append(want, "dao "+tokenA+" of 1000")
	got := env.Column(t, conn, `SELECT concat(dao_id, ' ', scope, ' ', said) FROM dao_scopes INNER JOIN (
		SELECT scope, concat(delegator_identity, ' ', assumeNotNull(delegate_identity), ' ', toString(assumeNotNull(share)), ' ', toString(block_number)) AS said
		FROM delegations WHERE is_current AND delegate_identity IS NOT NULL
		UNION ALL SELECT scope, concat(delegate_identity, ' has ', toString(voting_power)) FROM delegate_power WHERE is_current
		UNION ALL SELECT scope, concat('of ', toString(supply)) FROM token_supply WHERE is_current) AS held USING (scope)`)
	slices.Sort(want)
	slices.Sort(got)
	env.WantSame(t, "views", want, got)
}

// The delegated power at a snapshot equals a plain count, on random statements and ballots.
func TestDelegatedAt(t *testing.T) {
	t.Parallel()
	const created, snapshot = 20_000, 30_000
	w := open(t)
	for seed := range uint64(2) {
		rng, token, proposal := rand.New(rand.NewPCG(seed, 48)), fmt.Sprintf("eip155:1:0x%040x", seed), fmt.Sprint("p", seed)
		latest, before := map[string]*record.DelegatePower{}, map[string]*record.DelegatePower{}
		records := []record.Record{&record.TokenSupply{Placed: record.Placed{Scope: token, Block: 3, At: new(governance.Timestamp(3000))}, Supply: decimal.NewFromInt(900)}}
		for i := range 200 {
			block := 1 + rng.IntN(40)
			r := &record.DelegatePower{
				Placed: record.Placed{
					Scope: []string{token, tokenB}[rng.IntN(2)], Block: uint64(block), LogIndex: uint32(i), At: new(governance.Timestamp(block * 1000)),
					BlockHash: fmt.Sprintf("0x%064x", i), Withdrawn: rng.IntN(5) == 0,
				},
				Delegate: fmt.Sprintf("0x%02d", rng.IntN(20)), Power: decimal.New(int64(rng.IntN(50)), -1),
			}
			records = append(records, r)
			for limit, into := range map[governance.Timestamp]map[string]*record.DelegatePower{created: before, snapshot: latest} {
				if of := into[r.Delegate]; r.Scope == token && !r.Withdrawn && *r.At <= limit && (of == nil || r.Block >= of.Block) {
					into[r.Delegate] = r
				}
			}
		}
		want := pages.DelegatedPower{Supply: new(decimal.NewFromInt(900))}
		for delegate, r := range latest {
			earlier := decimal.Zero
			if of := before[delegate]; of != nil {
				earlier = of.Power
			}
			want.Power = want.Power.Add(r.Power)
			want.Gained = want.Gained.Add(decimal.Max(r.Power.Sub(earlier), decimal.Zero))
			want.Lost = want.Lost.Add(decimal.Max(earlier.Sub(r.Power), decimal.Zero))
			cast := rng.IntN(3)
			if cast == 0 {
				want.SilentPower = want.SilentPower.Add(r.Power)
				want.Silent += uint64(r.Power.Sign())
				continue
			}
			want.Differing += uint64(cast - 1)
			records = append(records, ballot(proposal, delegate, delegate, "1", r.Power.Add(decimal.NewFromInt(int64(cast-1))).String(), new(governance.Timestamp(31_000))))
		}
		appendAll(t, w, records...)
		got, err := pages.DelegatedAt(t.Context(), w, token, ref(proposal).Hash(), created, snapshot)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("seed %d: %v (-want +got):\n%s", seed, err, diff)
		}
	}
}
