package dossier_test

import (
	"slices"
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker/dossier"
)

// observed adds what a node showed of the actions: a token of six decimals, a recipient without code, and a
// simulation with a result.
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
	f.Histories[recipient] = dossier.AddressHistory{Ballots: 2}
	if d, _ = compose(t, f); slices.Contains(ruleNames(d), rules.RecipientUnknown) || d.Addresses[1].Ballots != "2" {
		t.Errorf("a voter of the DAO: got %v", ruleNames(d))
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
	if at < 0 || d.Findings[at].Sentence != "As of block 900 the calls fail: call 0: not enough. As of block 800 it succeeded." || len(d.Findings[at].Facts) != 2 {
		t.Errorf("got findings %+v", d.Findings)
	}
	_, stored := dossier.OnActions(failing)
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
