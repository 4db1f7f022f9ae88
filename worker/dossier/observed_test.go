package dossier_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker/dossier"
)

// observed adds what a node showed: a token of six decimals, a recipient without code, and a simulation.
func observed(f dossier.Facts, result, reason string) dossier.Facts {
	simulation := &governance.DossierSimulation{
		Method: new("eth_simulateV1"), Executor: governor, Block: "900", At: *at(99), Result: result, Reason: governance.OptionalText(reason),
		Calls:     []governance.DossierSimulatedCall{{Success: reason == "", Reason: governance.OptionalText(reason), GasUsed: new(governance.Decimal("51234"))}},
		Transfers: []governance.DossierMovement{},
	}
	f.Observed = &records.Observation{ObservedAt: *at(100), Observation: record.Observation{
		Proposal: f.Proposal.ProposalRef, Payload: record.PayloadOf(f.Actions), Block: 900, At: *at(99), Simulation: simulation,
		Addresses: []record.ObservedAddress{
			{Address: usdc, Block: 900, Contract: new(true), Implementation: stranger, Symbol: "USDC", Decimals: new(uint8(6))},
			{Address: governor, Block: 900, Contract: new(true), Symbol: "HRB", Decimals: new(uint8(2))},
			{Address: stranger, Block: 900, Contract: new(true), Symbol: "usdc", Decimals: new(uint8(2))},
			{Address: recipient, Block: 900, Contract: new(false)},
		},
	}}
	f.Histories = map[string]dossier.AddressHistory{}
	return f
}

func TestWhatNodesShowed(t *testing.T) {
	t.Parallel()
	const text = "We pay 25,000 USDC to " + recipient + " for the audit."
	f := observed(facts(text, pay(t, recipient, 25_000_000_000)), "success", "")
	d, _ := compose(t, f)
	if got := ruleNames(d); !slices.Contains(got, rules.RecipientUnknown) || slices.Contains(got, rules.SimulationFails) {
		t.Errorf("an address without code and history: got %v", got)
	}
	token, paid := d.Addresses[0], d.Addresses[1]
	if !*token.Proxy || *token.Implementation != stranger || *token.Block != "900" || *paid.Contract || *paid.Proxy || paid.Ballots != "0" {
		t.Errorf("got addresses %+v", d.Addresses)
	}
	if slices.ContainsFunc(d.Unknowns, func(u governance.DossierUnknown) bool {
		return u.Category == "identity" || strings.HasPrefix(u.What, "whether the calls succeed")
	}) {
		t.Errorf("got unknowns %+v of what a node showed", d.Unknowns)
	}
	own := observed(facts("Proposal 42.", pay(t, governor, 42_000_000)), "success", "")
	if own, _ := compose(t, own); slices.Contains(ruleNames(own), rules.RecipientUnstated) || !slices.Contains(ruleNames(own), rules.AmountUnstated) {
		t.Errorf("money to the executor of an amount that is a number: got %v", ruleNames(own))
	}
	f.Histories[recipient] = dossier.AddressHistory{Ballots: 2}
	if d, _ = compose(t, f); slices.Contains(ruleNames(d), rules.RecipientUnknown) || d.Addresses[1].Ballots != "2" {
		t.Errorf("a voter of the DAO: got %v", ruleNames(d))
	}
}

// Contracts have the names that the DAO gives them, else say what they are in it; their own functions decode, inside others too.
func TestContractsOfTheDAO(t *testing.T) {
	t.Parallel()
	const timelock = "0x00000000000000000000000000000000000000f5"
	f := observed(facts("text", batch(t, call(t, stranger, "endow(address,uint256)", timelock, "7"), call(t, usdc, "lend(uint256)", "7"))), "success", "")
	f.Observed.Addresses = append(f.Observed.Addresses, record.ObservedAddress{Address: timelock, Executor: true})
	f.Contracts = []record.Contract{{ID: "eip155:1:" + stranger, Name: "Vault", Functions: []string{"endow(address recipient,uint256 amount)"}}}
	d, _ := compose(t, f)
	fund, lend := d.Actions[0].Calls[0], d.Actions[0].Calls[1]
	env.Want(t, "Vault endow(address,uint256) recipient Timelock", fmt.Sprint(*fund.Target.Name, " ", *fund.Function, " ", *fund.Arguments[0].Name, " ", *fund.Arguments[0].AddressName), "a function of its own")
	if lend.Undecoded == nil || lend.Function != nil {
		t.Errorf("a function of another contract: got %+v, want it not decoded", lend)
	}
}

// A token may call itself anything.
func TestATokenHasNoNameOfAnotherContract(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]bool{"Timelock": false, "governor": false, "VAULT": false, "HRB": true} {
		f := observed(facts("text", call(t, stranger, "transfer(address,uint256)", recipient, "7")), "success", "")
		f.Observed.Addresses[2].Symbol = symbol
		f.Contracts = []record.Contract{{ID: "eip155:1:" + usdc, Name: "Vault"}, {ID: "eip155:1:" + stranger, Name: "hrb"}}
		if d, _ := compose(t, f); (d.Effects.Transfers[0].Symbol != nil) != want {
			t.Errorf("%s: got %+v, want a symbol: %t", symbol, d.Effects.Transfers[0], want)
		}
	}
}

// A setting is compared with what the contract states, not with what a proposal set before; a later call with what the former
// one sets.
func TestSettingsThatNodesShowed(t *testing.T) {
	t.Parallel()
	const function = "setVotingDelay(uint256)"
	before := call(t, governor, function, "384")
	before.Chain = "eip155:1"
	f := observed(facts("text", call(t, governor, function, "64"), call(t, governor, function, "12c")), "success", "")
	f.Before = []dossier.EarlierAction{{ProposalKey: "p1_earlier", Action: before}}
	settings := func() string {
		d, _ := compose(t, f)
		text := ""
		for _, s := range d.Effects.Settings {
			text += fmt.Sprintf("%s from %s ", s.New, *s.Old)
		}
		return text + fmt.Sprint(ruleNames(d))
	}
	env.Want(t, "100 from 900 300 from 100 [governance_setting_lowered governance_setting_raised]", settings(), "without a node's word")
	f.Observed.Addresses[1].Settings = map[string]string{function: "100"}
	env.Want(t, "100 from 100 300 from 100 [governance_setting_raised]", settings(), "with a node's word")
}

// What is added, frozen or removed replaces nothing, nor does the setting of one thing replace another's: neither was the value before.
func TestSettingsThatReplaceNothing(t *testing.T) {
	t.Parallel()
	for signature, words := range map[string][2][]string{
		"_supportMarket(address)":                             {{stranger}, {recipient}},
		"freezeReserve(address)":                              {{stranger}, {recipient}},
		"pauseMarket(address)":                                {{stranger}, {stranger}}, // unpaused in between
		"remove_price_pair(uint256)":                          {{"1"}, {"2"}},
		"enableFeeAmount(uint24,int24)":                       {{"64", "1"}, {"1f4", "a"}},
		"setInitBond(uint32,uint256)":                         {{"1", "7"}, {"2", "7"}},
		"setCollateralFactor(uint96,address,uint256,uint256)": {{"0", stranger, "7", "8"}, {"0", recipient, "7", "8"}},
	} {
		d, _ := compose(t, facts("text", call(t, governor, signature, words[0]...), call(t, governor, signature, words[1]...)))
		if old := d.Effects.Settings[1].Old; old != nil {
			t.Errorf("%s: got the value before %s, want none", signature, *old)
		}
	}
}

// A simulation that succeeded and fails later is told as both; one that a node cannot make is not known.
func TestSimulations(t *testing.T) {
	t.Parallel()
	failing := observed(facts("text", pay(t, recipient, 1)), "revert", "call 0: not enough")
	failing.Observed.Earlier = observed(failing, "success", "").Observed.Simulation
	failing.Observed.Earlier.Block = "800"
	d, _ := compose(t, failing)
	at := slices.IndexFunc(d.Findings, func(f governance.Finding) bool { return f.Rule == rules.SimulationFails })
	if at < 0 || d.Findings[at].Sentence != "As of block 900 the calls fail: “call 0: not enough”. As of block 800 it succeeded." || len(d.Findings[at].Facts) != 2 {
		t.Errorf("got findings %+v", d.Findings)
	}
	_, stored, _ := dossier.OnActions(failing, nil)
	if !slices.ContainsFunc(stored, func(f governance.Finding) bool { return f.Rule == rules.SimulationFails }) {
		t.Errorf("stored are %+v", stored)
	}
	d, _ = compose(t, observed(facts("text", pay(t, recipient, 1)), "unavailable", "the method eth_call does not exist"))
	unknown := func(u governance.DossierUnknown) bool {
		return u.What == "whether the calls succeed: the method eth_call does not exist"
	}
	if slices.Contains(ruleNames(d), rules.SimulationFails) || !slices.ContainsFunc(d.Unknowns, unknown) {
		t.Errorf("got %v and unknowns %+v", ruleNames(d), d.Unknowns)
	}
}

// A token states its decimals; one that calls itself as a well-known token does has no symbol.
func TestTokensOfNodes(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{governor: "HRB", stranger: ""} {
		of := call(t, token, "transfer(address,uint256)", recipient, "7b")
		d, _ := compose(t, observed(facts("text", of), "success", ""))
		got := d.Effects.Transfers[0]
		symbol := ""
		if got.Symbol != nil {
			symbol = *got.Symbol
		}
		if *got.Amount != "1.23" || symbol != want {
			t.Errorf("%s: got %s %q, want 1.23 %q", token, *got.Amount, symbol, want)
		}
	}
}

type voted struct {
	dao, proposer string
	flagged       bool
	start, end    int
	voters        []string
}

func store(t *testing.T, w *warehouse.Warehouse, all []record.Record) {
	t.Helper()
	env.Must(records.Append(t.Context(), w, records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}, all))(t)
}

// Dossiers that are read together rest on what each rests on alone: on votes of the same DAO, that ended before, without spam.
func TestDossiersAreReadTogetherAsAlone(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	const a, b, c = recipient, stranger, "0x00000000000000000000000000000000000000cc"
	votes := []voted{
		{"dao", a, false, 0, 10, []string{a, b}},
		{"dao", a, false, 5, 20, []string{a}},
		{"dao", a, true, 5, 20, []string{a, c}},
		{"other", a, false, 0, 10, []string{a, b, c}},
		{"dao", b, false, 30, 400, []string{a, b, c}},
		{"dao", c, false, 15, 9000, []string{c, a}},
		{"other", "", false, 12, 40, []string{c, "0xd"}},
	}
	var list []record.Record
	var states []counts.ProposalState
	var all []dossier.Facts
	for i, v := range votes {
		identity := governance.Identity{DAOID: v.dao, Provider: governance.Snapshot, ExternalID: fmt.Sprint("p", i)}
		ref := record.ProposalRef{Provider: identity.Provider, ExternalID: identity.ExternalID}
		p := &record.Proposal{ProposalRef: ref, SourceID: "s", Title: fmt.Sprint("T", i), ProposerID: v.proposer, CreatedAt: at(v.start), StartAt: at(v.start), EndAt: at(v.end)}
		action := pay(t, a, i+1)
		action.Proposal = ref
		p.SetActions(1, []*record.Action{&action})
		list = append(list, p, &action)
		for n, voter := range v.voters {
			cast := func(id, choice string, power int64, hour int) {
				list = append(list, &record.Ballot{
					Proposal: ref, VoteID: id, Voter: voter, Power: decimal.NewFromInt(power), Choices: []string{choice}, ChoiceKey: choice, RawChoice: choice, VotedAt: at(hour),
				})
			}
			if cast(fmt.Sprint("v", n), "1", int64(n+i+1), v.start+1); n == 0 {
				cast("again", "2", int64(i+7), v.start+2)
			}
		}
		outcome := governance.Executed
		states = append(states, counts.ProposalState{
			Ref: ref.Hash(), Key: governance.ProposalKey(fmt.Sprint("p1_", i)), Power: decimal.Zero, Revision: 1, Flagged: v.flagged, Identity: identity,
			SourceID: "s", Lifecycle: governance.Closed, Outcome: outcome, CreatedAt: at(v.start), StartAt: at(v.start), EndAt: at(v.end),
		})
		f := dossier.Facts{AsOf: *at(10_000)}
		f.Detail.Identity, f.Detail.StartAt, f.Detail.EndAt = identity, at(v.start), at(v.end)
		f.Detail.ProposerID = governance.OptionalText(v.proposer)
		all = append(all, f)
	}
	store(t, w, list)
	env.MustDo(t, counts.WriteProposalStates(t.Context(), w, states))
	topics := []record.Record{}
	var links []counts.ChangedLink
	var topicStates []counts.TopicState
	for i, s := range states {
		link := counts.ChangedLink{ProposalLink: counts.ProposalLink{Ref: s.Ref, Key: s.Key, Names: []string{fmt.Sprint("n", i%4)}}}
		if i == 1 {
			link.Topic = "forum/0"
		}
		links = append(links, link)
	}
	for i := range 3 {
		id := records.TopicRef{Host: "forum.example", ExternalID: fmt.Sprint(i)}
		topics = append(topics, &record.Topic{Host: id.Host, ExternalID: id.ExternalID, Title: "T", CreatedAt: at(i)})
		state := counts.TopicState{TopicRef: id, Visible: i < 2, Name: fmt.Sprint("forum/", i), Links: []string{"n0", fmt.Sprint("n", i)}, Revision: 1}
		state.Row.CreatedAt = at(i)
		topicStates = append(topicStates, state)
	}
	store(t, w, topics)
	env.MustDo(t, errors.Join(counts.WriteProposalLinks(t.Context(), w, links, 1), counts.WriteTopicStates(t.Context(), w, topicStates)))
	gone := dossier.Facts{}
	gone.Detail.Identity = governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: "gone"}
	together := append(slices.Clone(all), gone, all[4])
	pointers := make([]*dossier.Facts, len(together))
	for i := range together {
		pointers[i] = &together[i]
	}
	env.MustDo(t, dossier.Read(t.Context(), w, pointers))
	for i := range all {
		alone := all[i]
		env.MustDo(t, dossier.Read(t.Context(), w, []*dossier.Facts{&alone}))
		env.WantSame(t, fmt.Sprintf("%d", i), alone, together[i], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(dossier.Facts{}, "OpenedAt"))
	}
	if together[7].Proposal.Ref != (record.RefHash{}) || together[8].Proposal.Ref != together[4].Proposal.Ref {
		t.Errorf("got %v of what is gone, %v of what is asked twice", together[7].Proposal, together[8].Proposal)
	}
	f := together[4]
	env.Want(t, (dossier.AddressHistory{Ballots: 2, Proposals: 2}), f.Histories[a], "history", "of the recipient")
	if f.Returning != 2 || f.Recasts != 1 || f.SideChanges != 1 || len(f.Ballots) != 3 || len(f.Known) != 4 {
		t.Errorf("got %d returning voters, %d recasts, %d ballots, %d known", f.Returning, f.Recasts, len(f.Ballots), len(f.Known))
	}
	var before []governance.ProposalKey
	for _, earlier := range f.Before {
		before = append(before, earlier.ProposalKey)
	}
	if want := []governance.ProposalKey{"p1_1", "p1_0"}; !slices.Equal(before, want) {
		t.Errorf("got earlier actions of %v, want %v", before, want)
	}
	if len(f.Topics) != 2 || len(together[1].Topics) != 2 || len(together[2].Topics) != 0 || f.OpenedAt[states[0].Ref] != *at(0) || f.OpenedAt[states[1].Ref] != *at(0) {
		t.Errorf("got topics %v, %v and %v, opened %v", f.Topics, together[1].Topics, together[2].Topics, f.OpenedAt)
	}
	if got := f.Strongest[0]; got.Voter != a || len(f.Strongest) != 3 {
		t.Errorf("got strongest %+v", f.Strongest)
	}
}

// The strongest voters are the same whether all are summed or those who can be among them.
func TestStrongestVotersAreFoundByABound(t *testing.T) {
	t.Parallel()
	w, random := env.Warehouse(t), rand.New(rand.NewPCG(1, 1))
	var list []record.Record
	lists := make([][]record.RefHash, 4)
	for p := range 12 {
		ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: fmt.Sprint("p", p)}
		lists[0], lists[1+p%2] = append(lists[0], ref.Hash()), append(lists[1+p%2], ref.Hash())
		for v := range 300 {
			power := decimal.New(random.Int64N(1_000)*random.Int64N(1_000), -3)
			list = append(list, &record.Ballot{Proposal: ref, VoteID: fmt.Sprint(v), Voter: fmt.Sprint("v", random.IntN(60)), Power: power, VotedAt: at(v)})
		}
	}
	store(t, w, list)
	lists[3] = lists[0][:1] // whose largest ballots were superseded
	all, err := pages.StrongestVoters(t.Context(), w, lists, 0)
	found, errBound := pages.StrongestVoters(t.Context(), w, lists, math.MaxUint64)
	if diff := cmp.Diff(all, found); diff != "" || err != nil || errBound != nil || len(all[1]) != 10 {
		t.Errorf("%v %v (-all +found):\n%s", err, errBound, diff)
	}
}

// A voter returns while one of the ballots before is not withdrawn.
func TestWhoHasWithdrawnAllBallotsDoesNotReturn(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	cast := func(proposal, voter, id string, withdrawn bool) *record.Ballot {
		ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: proposal}
		return &record.Ballot{Proposal: ref, VoteID: id, Voter: voter, Power: decimal.NewFromInt(1), VotedAt: at(1), Withdrawn: withdrawn}
	}
	list := []record.Record{cast("before", "b", "2", false)}
	for _, voter := range []string{"a", "b", "c", "d"} {
		list = append(list, cast("now", voter, "1", false))
		if voter != "d" {
			list = append(list, cast("before", voter, "1", false))
		}
	}
	store(t, w, list)
	store(t, w, []record.Record{cast("before", "b", "1", true), cast("before", "c", "1", true)})
	before, now := cast("before", "", "", false).Proposal.Hash(), cast("now", "", "", false).Proposal.Hash()
	for _, votes := range []uint64{0, 9} { // of both sides the one with fewer is read first
		moments := []pages.Moment{{Ref: before, DAOID: "dao", At: *at(2), Votes: votes}, {Ref: now, DAOID: "dao", At: *at(3), Begins: true, Votes: 4}}
		env.Want(t, 2, env.Must(pages.ReturningVoters(t.Context(), w, moments))(t)[now], "voters", "who return")
	}
}

// What an action means to analysts is what it means now: a function that the table or the DAO has come to have, for calls inside as well.
func TestActionsMeanToAnalystsWhatTheyMeanNow(t *testing.T) {
	t.Parallel()
	f := facts("We pay.", pay(t, recipient, 1), batch(t, call(t, stranger, "endow(uint256)", "1")))
	var stored []records.Meaning
	for i, d := range records.DecodeActions(f.Actions, nil) {
		stored = append(stored, records.MeaningOf(uint32(i), &d))
	}
	if _, _, other := dossier.OnActions(f, stored); len(other) > 0 || stored[1].Undecoded == "" {
		t.Errorf("got other meanings %+v than %+v", other, stored)
	}
	f.Contracts = []record.Contract{{ID: "eip155:1:" + stranger, Functions: []string{"endow(uint256)"}}}
	stored[0].Function, stored[0].Kind, stored[0].Undecoded = "", abi.Other, "no known function"
	_, _, other := dossier.OnActions(f, stored)
	if len(other) != 2 || other[0].Kind != abi.Transfer || len(other[0].Arguments) != 2 || other[1].Undecoded != "" || other[1].InnerCalls != 1 {
		t.Errorf("got other meanings %+v, want a transfer and a batch", other)
	}
}
