package dossier_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker/dossier"
)

const (
	weth      = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
	usdc      = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
	recipient = "0x00000000000000000000000000000000000000b2"
	stranger  = "0x00000000000000000000000000000000000000c3"
	governor  = "0x00000000000000000000000000000000000000d4"
	multisend = "0x38869bf66a61cf6bdb996a6ae40d5853fd43b526" // of Safe 1.4.1
	hour      = governance.Timestamp(3_600_000)
	start     = governance.Timestamp(1_700_000_000_000)
)

func at(hours int) *governance.Timestamp {
	t := start + hour*governance.Timestamp(hours)
	return &t
}

func call(t *testing.T, target, signature string, words ...string) record.Action {
	t.Helper()
	selector := abi.SelectorOf(signature)
	text := hex.EncodeToString(selector[:])
	for _, word := range words {
		digits := strings.TrimPrefix(word, "0x")
		text += strings.Repeat("0", 64-len(digits)) + digits
	}
	data := env.Must(hex.DecodeString(text))(t)
	return record.Action{Chain: "eip155:1", Target: target, Value: "0", Calldata: data}
}

func pay(t *testing.T, to string, units int) record.Action {
	t.Helper()
	return call(t, usdc, "transfer(address,uint256)", to, fmt.Sprintf("%x", units))
}

// facts are the facts of a vote of 100 hours that passed: 80 for, 20 against.
func facts(body string, actions ...record.Action) dossier.Facts {
	stated, needed := uint64(len(actions)), decimal.NewFromInt(50)
	for i := range actions {
		actions[i].Index = uint32(i)
	}
	reached, basis := true, governance.BallotsBasis
	f := dossier.Facts{
		AsOf: *at(200),
		Detail: governance.ProposalDetail{
			ProposalKey: "p1_own", Identity: governance.Identity{DAOID: "harbor", Provider: governance.Governor}, LifecycleStatus: governance.Closed,
			Outcome: governance.Passed, ProposerID: new("0xada"), StartAt: at(0), EndAt: at(100),
		},
		Actions: actions,
	}
	f.Proposal.Proposal = record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Governor, ExternalID: "eip155:1:" + governor + "/7"}, SourceID: "eip155:1:" + governor,
		Title: "Pay the auditors of the harbor", Body: body, ProposerID: "0xada", VoteType: governance.SingleChoice, StartAt: at(0), EndAt: at(100),
		CreatedAt: at(-10), Quorum: &needed, StatedActions: &stated,
	}
	f.Proposal.Ref, f.Proposal.OnchainID, f.Proposal.ObservedAt = f.Proposal.Hash(), f.Proposal.ExternalID, *at(101)
	f.Votes = governance.VoteSummary{
		Basis: &basis, Quorum: &governance.Quorum{Type: governance.QuorumOfApproval, Reached: &reached}, Result: &governance.VoteResult{}, Totals: &governance.VoteTotals{VotingPower: "100"},
		Choices: []governance.ChoiceTotal{{Key: "for", Label: "For", VotingPower: "80"}, {Key: "against", Label: "Against", VotingPower: "20"}},
	}
	for i, b := range []struct {
		voter, choice string
		power         int64
		hours         int
	}{{"0xa", "against", 20, 1}, {"0xb", "for", 29, 20}, {"0xc", "for", 26, 50}, {"0xd", "for", 25, 95}} {
		f.Ballots = append(f.Ballots, pages.CountedBallot{
			Voter: b.voter, Choices: []string{b.choice}, Power: governance.UnitsOf(decimal.NewFromInt(b.power)), VotedAt: at(b.hours),
		})
		count := governance.CountOf(uint64(i + 1))
		f.Votes.Totals.UniqueVoters = &count
	}
	f.Returning = uint64(len(f.Ballots))
	earlier := pages.KnownProposal{
		Ref: record.RefHash{1}, Key: "p1_earlier", DAOID: "harbor", Title: "Pay the auditors of the harbor", ProposerID: "0xada", Lifecycle: governance.Closed,
		Outcome: governance.Passed, VoteReady: true, Votes: 2, CreatedAt: at(-900), StartAt: at(-890), EndAt: at(-790),
	}
	f.Known = []pages.KnownProposal{earlier}
	f.Topics = []records.Topic{{Topic: record.Topic{Host: "forum.harbor.example", ExternalID: "7", Title: "Audit", CreatedAt: at(-100), Posts: 5}}}
	return f
}

func compose(t *testing.T, f dossier.Facts) (d governance.Dossier, sources []governance.DossierSource) {
	t.Helper()
	got := env.Must(dossier.Compose(f))(t)
	again, err := dossier.Compose(f)
	if err != nil || string(again.Dossier) != string(got.Dossier) || *again.ArtifactVersion != *got.ArtifactVersion {
		t.Error("the same records give another dossier")
	}
	env.MustDo(t, json.Unmarshal(got.Dossier, &d))
	env.MustDo(t, json.Unmarshal(got.SourceRefs, &sources))
	for _, f := range d.Findings {
		if strings.Contains(f.Sentence, "%!") {
			t.Errorf("finding %s says %q", f.Rule, f.Sentence)
		}
		for _, ref := range f.Refs {
			if !slices.ContainsFunc(sources, func(s governance.DossierSource) bool { return s.ID == ref }) {
				t.Errorf("finding %s rests on %q, which is no source", f.Rule, ref)
			}
		}
		for _, pointer := range f.Facts {
			if !resolves(t, got.Dossier, pointer) {
				t.Errorf("finding %s rests on %q, which is not in the dossier", f.Rule, pointer)
			}
		}
	}
	if len([]rune(d.Summary)) > 400 || d.Summary == "" {
		t.Errorf("got a summary of %d characters: %q", len([]rune(d.Summary)), d.Summary)
	}
	return d, sources
}

func resolves(t *testing.T, document json.RawMessage, pointer string) bool {
	t.Helper()
	var part any
	env.MustDo(t, json.Unmarshal(document, &part))
	for step := range strings.SplitSeq(pointer[1:], "/") {
		switch in := part.(type) {
		case map[string]any:
			next, is := in[step]
			if !is {
				return false
			}
			part = next
		case []any:
			var n int
			if _, err := fmt.Sscan(step, &n); err != nil || n >= len(in) {
				return false
			}
			part = in[n]
		default:
			return false
		}
	}
	return true
}

func ruleNames(d governance.Dossier) (names []string) {
	for _, f := range d.Findings {
		names = append(names, f.Rule)
	}
	return names
}

// Each rule about actions finds its fault, and a budget that matches its text has none of them.
func TestFindingsOfActions(t *testing.T) {
	t.Parallel()
	stated := "We pay 25,000 USDC to " + recipient + " for the audit."
	zero := "0"
	foreign := batch(t, pay(t, recipient, 25_000_000_000))
	foreign.Target, foreign.Delegate = stranger, true
	var others []record.Action // more than addresses are listed
	for i := range abi.MaxParties {
		others = append(others, call(t, fmt.Sprintf("0x%08x%032x", 0xa0000000+i, i), "setConstitutionHash(bytes32)", "1"))
	}
	many := []record.Action{pay(t, recipient, 1_000_000_000)}
	swap := func(to string) []record.Action {
		return []record.Action{call(t, usdc, "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", "64", "1", "a0", to, "1", "2", usdc, stranger)}
	}
	claim := func(to string) []record.Action {
		return []record.Action{call(t, stranger, "claimRewards(address[],uint256,address)", "60", strings.Repeat("f", 64), to, "1", usdc)}
	}
	tokens := func(units int64) string { return fmt.Sprintf("%x", decimal.New(units, 18).BigInt()) }
	ensOf := func(units int64) record.Action {
		return call(t, "0xc18360217d8f7ab5e7c516566761ea12ce7f9d72", "transfer(address,uint256)", recipient, tokens(units))
	}
	native := func(a record.Action) record.Action { a.Value = "1500000000000000000"; return a }
	// Who proposes states which Safe executes.
	ofSafe := call(t, stranger, "withdraw(address,uint256,address)", usdc, fmt.Sprintf("%x", 25_000_000_000), stranger)
	ofSafe.Executor = stranger
	bridges := call(t, recipient, "requestL2TransactionTwoBridges((uint256,uint256,uint256,uint256,uint256,address,address,uint256,bytes))",
		"20", "144", "1", "0", "1", "1", stranger, stranger, "0", "120", "1", "ff"+strings.Repeat("0", 62))
	type test struct {
		body    string
		actions []record.Action
		want    []string
	}
	tests := map[string]test{
		"a swap that a stranger gets":            {stated, swap(stranger), []string{rules.RecipientUnstated}},
		"a swap that the executor gets":          {stated, swap(governor), nil},
		"a swap that the exchange keeps":         {stated, swap("2"), nil},
		"rewards that a stranger gets":           {stated, claim(stranger), []string{rules.RecipientUnstated}},
		"rewards that the executor gets":         {stated, claim(governor), nil},
		"a Safe's swap for itself":               {stated, []record.Action{bytesCall(t, recipient, "execTransactionFromModule(address,uint256,bytes,uint8)", swap(recipient)[0].Calldata, usdc, "0", "", "0")}, nil},
		"a budget that matches its text":         {stated, []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"a budget in thousands":                  {"We pay 25k USDC to " + recipient, []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"a budget without a space":               {"We pay 25,000USDC to " + recipient, []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"a hundred times of what is stated":      {stated, []record.Action{pay(t, recipient, 2_500_000_000_000)}, []string{rules.AmountMagnitude}},
		"an amount that nobody stated":           {stated, []record.Action{pay(t, recipient, 777_000_000)}, []string{rules.AmountUnstated}},
		"a recipient that nobody stated":         {stated, []record.Action{pay(t, stranger, 25_000_000_000)}, []string{rules.RecipientUnstated}},
		"an administrator":                       {stated, []record.Action{call(t, governor, "grantRole(bytes32,address)", zero, stranger)}, []string{rules.RoleMoved}},
		"a minter":                               {stated, []record.Action{call(t, usdc, "setMinter(address,bool)", stranger, "1")}, []string{rules.RoleMoved}},
		"an owner":                               {stated, []record.Action{call(t, governor, "transferOwnership(address)", stranger)}, []string{rules.RoleMoved}},
		"a controller of names":                  {stated, []record.Action{call(t, governor, "addController(address)", stranger)}, []string{rules.RoleMoved}},
		"another executor":                       {stated, []record.Action{call(t, governor, "updateTimelock(address)", stranger)}, []string{rules.RoleMoved}},
		"a spender of a Safe's money":            {stated, []record.Action{call(t, governor, "setAllowance(address,address,uint96,uint16,uint32)", stranger, usdc, "7", zero, zero)}, []string{rules.RoleMoved}},
		"a verifier of a Safe's signatures":      {stated, []record.Action{call(t, governor, "setDomainVerifier(bytes32,address)", "1", stranger)}, []string{rules.RoleMoved}},
		"an owner of a name":                     {stated, []record.Action{call(t, governor, "setSubnodeOwner(bytes32,address)", "1", stranger)}, []string{rules.RoleMoved}},
		"less support":                           {stated, []record.Action{call(t, governor, "changeSupportRequiredPct(uint64)", "1")}, []string{rules.SettingChanged}},
		"less time in a module of delay":         {stated, []record.Action{call(t, governor, "setTxCooldown(uint256)", "1")}, []string{rules.SettingChanged}},
		"another description":                    {stated, []record.Action{call(t, governor, "setConstitutionHash(bytes32)", "1")}, nil},
		"another administrator of a proxy":       {stated, []record.Action{call(t, governor, "changeProxyAdmin(address,address)", usdc, stranger)}, []string{rules.RoleMoved}},
		"commands that are not decoded":          {stated, []record.Action{call(t, stranger, "execute(bytes,bytes[])", "40", "80", "1", "04"+strings.Repeat("0", 62), "0")}, []string{rules.PayloadUndecoded}},
		"an order that is signed":                {stated, []record.Action{bytesCall(t, stranger, "setPreSignature(bytes,bool)", []byte{1}, "", "1")}, []string{rules.PayloadUndecoded}},
		"an order that is taken back":            {stated, []record.Action{bytesCall(t, stranger, "setPreSignature(bytes,bool)", []byte{1}, "", "0")}, nil},
		"an order of conditions":                 {stated, []record.Action{call(t, stranger, "create((address,bytes32,bytes),bool)", "40", "1", stranger, "7", "60", "20", recipient)}, []string{rules.PayloadUndecoded}},
		"orders behind a root":                   {stated, []record.Action{call(t, stranger, "setRoot(bytes32,(uint256,bytes))", "7", "40", "0", "40", "0")}, []string{rules.PayloadUndecoded}},
		"what a second bridge sends":             {stated, []record.Action{bridges}, []string{rules.PayloadUndecoded}},
		"a transaction of a Safe by its hash":    {stated, []record.Action{call(t, stranger, "approveHash(bytes32)", "7")}, []string{rules.PayloadUndecoded}},
		"a cancellation":                         {stated, []record.Action{call(t, governor, "cancel(bytes32)", "1")}, nil},
		"an upgrade":                             {stated, []record.Action{call(t, governor, "upgradeTo(address)", stranger)}, []string{rules.Upgraded}},
		"a shorter delay":                        {stated, []record.Action{call(t, governor, "updateDelay(uint256)", zero)}, []string{rules.SettingChanged}},
		"no guardian":                            {stated, []record.Action{call(t, governor, "_burnVetoPower()")}, []string{rules.GuardianRemoved}},
		"any amount":                             {stated, []record.Action{call(t, usdc, "approve(address,uint256)", stranger, strings.Repeat("f", 64))}, []string{rules.ApprovedWithout}},
		"any amount of a token of the treasury":  {stated, []record.Action{call(t, governor, "approve(address,address,uint256)", usdc, stranger, strings.Repeat("f", 64))}, []string{rules.ApprovedWithout}},
		"an allowance that anybody may use late": {stated, []record.Action{call(t, usdc, "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", governor, stranger, "7", strings.Repeat("f", 64), zero, zero, zero)}, []string{rules.AllowanceUnstated}},
		"an allowance that is never lowered":     {stated, []record.Action{call(t, usdc, "approve(address,uint256)", stranger, strings.Repeat("f", 24))}, []string{rules.ApprovedWithout}},
		"an allowance for a stranger":            {stated, []record.Action{call(t, usdc, "approve(address,uint256)", stranger, "7")}, []string{rules.AllowanceUnstated}},
		"an allowance that a call uses":          {stated, []record.Action{call(t, usdc, "approve(address,uint256)", stranger, "7"), call(t, stranger, "setConstitutionHash(bytes32)", "1")}, nil},
		"an allowance and another chain's call":  {stated, []record.Action{call(t, usdc, "approve(address,uint256)", stranger, "7"), {Chain: "eip155:10", Target: stranger, Value: "0"}}, []string{rules.AllowanceUnstated}},
		"an allowance that the last call uses":   {stated, append(others, call(t, usdc, "approve(address,uint256)", stranger, "7"), call(t, stranger, "setConstitutionHash(bytes32)", "1")), nil},
		"code of a stranger":                     {stated, []record.Action{{Chain: "eip155:1", Target: stranger, Value: "0", Delegate: true}}, []string{rules.DelegateCalled}},
		"a call that nobody can decode":          {stated, []record.Action{{Chain: "eip155:1", Target: stranger, Value: "0", Calldata: []byte{1, 2, 3, 4}}}, []string{rules.PayloadUndecoded}},
		"money with a call nobody can decode":    {"We pay 5 to " + stranger, []record.Action{{Chain: "eip155:1", Target: stranger, Value: "5000000000000000000", Calldata: []byte{1, 2, 3, 4}}}, []string{rules.PayloadUndecoded, rules.NativeUndecoded}},
		"a payment inside a batch of a Safe":     {stated, []record.Action{batch(t, pay(t, recipient, 2_500_000_000_000), call(t, governor, "grantRole(bytes32,address)", zero, stranger))}, []string{rules.RoleMoved, rules.AmountMagnitude}},
		"nothing":                                {stated, nil, []string{rules.SignallingOnly}},
		"native money as the text says":          {"We send 1.5 ETH to " + recipient, []record.Action{{Chain: "eip155:1", Target: recipient, Value: "1500000000000000000"}}, nil},
		"ether that is wrapped":                  {"We wrap 1.5 ETH into WETH.", []record.Action{native(call(t, weth, "deposit()"))}, nil},
		"ether to a token that nobody stated":    {"We send 1.5 ETH.", []record.Action{native(call(t, weth, "deposit()"))}, []string{rules.RecipientUnstated}},
		"money for a Safe that a text calls one": {stated, []record.Action{ofSafe}, []string{rules.RecipientUnstated}},
		"shares of a vault for the Governor":     {stated, []record.Action{call(t, stranger, "deposit(uint256,address)", "7", governor)}, nil},
		"shares of a vault for a stranger":       {stated, []record.Action{call(t, recipient, "deposit(uint256,address)", "7", stranger)}, []string{rules.RecipientUnstated}},
		"a grant by a Comptroller":               {"10,000 COMP to " + recipient, []record.Action{call(t, "0x3d9819210a31b4961b30ef54be2aed79b9c9cd3b", "_grantComp(address,uint256)", recipient, tokens(100_000))}, []string{rules.AmountMagnitude}},
		"a debt of Nouns":                        {stated, []record.Action{call(t, "0xd97bcd9f47cee35c0a9ec1dc40c1269afc9e8e1d", "sendOrRegisterDebt(address,uint256)", recipient, fmt.Sprintf("%x", 250_000_000_000))}, []string{rules.AmountMagnitude}},
		"a fraction without its point":           {"We pay .25M USDC to " + recipient, []record.Action{pay(t, recipient, 25_000_000_000_000)}, []string{rules.AmountMagnitude}},
		"half of what is stated twice over":      {"We pay half a million USDC to " + recipient, []record.Action{pay(t, recipient, 1_000_000_000_000)}, []string{rules.AmountUnstated}},
		"an amount of a token without decimals":  {stated, []record.Action{call(t, stranger, "transfer(address,uint256)", recipient, "7")}, nil},
		"a budget with points":                   {"Wir zahlen 25.000,00 USDC an " + recipient, []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"a budget with a narrow space":           {"Nous payons 25\u202f000,50 USDC à " + recipient, []record.Action{pay(t, recipient, 25_000_500_000)}, nil},
		"a budget behind its unit":               {"We pay USDC25,000 to " + recipient, []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"a fraction behind a comma":              {"Pagamos 2,5 millones USDC a " + recipient, []record.Action{pay(t, recipient, 5_000_000_000_000)}, []string{rules.AmountUnstated}},
		"the digits of a percentage":             {"We pay 25.5 % to " + recipient, []record.Action{pay(t, recipient, 25_500_000)}, []string{rules.AmountUnstated}},
		"the digits of a date":                   {"We pay until March 31, 2025 to " + recipient, []record.Action{pay(t, recipient, 2025_000_000)}, []string{rules.AmountUnstated}},
		"a recipient that no page shows":         {"We pay 25k <!-- to " + stranger + " -->", []record.Action{pay(t, stranger, 25_000_000_000)}, []string{rules.RecipientUnstated}},
		"an address that begins a hash":          {"We pay 25k as of " + stranger + "00", []record.Action{pay(t, stranger, 25_000_000_000)}, []string{rules.RecipientUnstated}},
		"nearly any amount":                      {stated, []record.Action{call(t, usdc, "approve(address,uint256)", stranger, strings.Repeat("f", 63)+"e")}, []string{rules.ApprovedWithout}},
		"more of the token of votes":             {stated, []record.Action{call(t, governor, "mint(address,uint256)", stranger, "7")}, []string{rules.VotingTokenMoved}},
		"a batch by code of a stranger":          {stated, []record.Action{foreign}, []string{rules.DelegateCalled}},
		"more calls than are told":               {"We pay 1000 USDC to " + recipient, []record.Action{batch(t, slices.Repeat(many, 1500)...), batch(t, slices.Repeat(many, 501)...)}, []string{rules.PayloadUndecoded}},
		"an amount that may be a thousandth":     {"We pay 2.500 USDC to " + recipient, []record.Action{pay(t, recipient, 2_500_000_000)}, nil},
		"the smallest units":                     {"We pay 25000000000 to " + recipient, []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"a very long list of dates":              {stated + " " + strings.Repeat("1.1.11,1.1.1,", 5_000), []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"more numbers than are read":             {strings.Repeat("7 and ", 10_000) + stated, []record.Action{pay(t, recipient, 25_000_000_000)}, []string{rules.AmountUnstated}},
		"a very long number":                     {stated + strings.Repeat("1", 300_000), []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"the amount, of another token":           {stated, []record.Action{ensOf(25_000)}, []string{rules.AmountUnstated}},
		"dollars in another token":               {"$250,000 in ENS to " + recipient, []record.Action{ensOf(250_000)}, []string{rules.AmountUnstated}},
		"another token and power of ten":         {"250,000 USDC to " + recipient, []record.Action{ensOf(25)}, []string{rules.AmountUnstated}},
		"two tokens with one amount":             {stated + " And 25,000 ENS.", []record.Action{ensOf(25_000)}, nil},
		"dollars in a token of dollars":          {"$25,000 to " + recipient, []record.Action{pay(t, recipient, 25_000_000_000)}, nil},
		"a sum in two payments":                  {stated, slices.Repeat([]record.Action{pay(t, recipient, 12_500_000_000)}, 2), nil},
		"a sum in unequal payments to one":       {stated, []record.Action{pay(t, recipient, 20_000_000_000), pay(t, recipient, 5_000_000_000)}, nil},
		"a sum in equal parts":                   {stated + stranger, []record.Action{pay(t, recipient, 12_500_000_000), pay(t, stranger, 12_500_000_000)}, nil},
		"a sum in parts that nobody stated":      {stated + stranger, []record.Action{pay(t, recipient, 1_000_000_000), pay(t, stranger, 24_000_000_000)}, []string{rules.AmountUnstated, rules.AmountUnstated}},
		"less than one behind a comma":           {"0,125 ETH an " + recipient, []record.Action{{Chain: "eip155:1", Target: recipient, Value: "125000000000000000"}}, nil},
		"a start that replaces no code":          {stated, []record.Action{call(t, governor, "initializeV2()")}, nil},
	}
	for text, units := range map[string]int{
		"31 March 2025": 31, "until 31 March 2025": 2025, "in 2025": 2025, "Q3 2025": 2025, "Q3 2025 ARB": 2025, "March 31st": 31, "31.03.2025": 31, "EIP-1559": 1559, "ENS v3": 3,
		"Proposal 42": 42, "proposals 41 and 42": 42, "block 19,000,000": 19_000_000, "chain 42161": 42161, "24 months": 24, "a 30-day vote": 30, "5 of 9 multisig": 9, "3/5 signers": 5,
		"Safe v1.4.1": 4, "12:30 UTC": 12, "10,000 votes": 10_000, "1. First": 1, "<img width=\"690\">": 690, "№ 17": 17, "2025年3月31日": 31, "am 31. Januar 2025": 31, "FY2025": 2025,
	} {
		tests["no amount: "+text] = test{text + "\n" + recipient, []record.Action{pay(t, recipient, units*1_000_000)}, []string{rules.AmountUnstated}}
	}
	for text, units := range map[string]int{
		"2025 USDC": 2025, "2,025 USDC": 2025, "$2025": 2025, "1.5M USDC": 1_500_000, "250k": 250_000, "25.000 USD": 25_000, "USDC250k": 250_000, "2.5만 USDC": 25_000, "1'000'000 DAI": 1_000_000, "1.000.000 DAI": 1_000_000,
		"**25,000** USDC": 25_000, "２５，０００ USDC": 25_000, "٢٥٠٠٠ USDC": 25_000, "2.5万 USDC": 25_000, "2,50,000 USDC": 250_000, "2,5 millones": 2_500_000, "twenty-five thousand USDC": 25_000,
		"one hundred and five tokens": 105, "Tranche 1: 5,000 USDC": 5_000, "ENS 5,000 USDC 5,000": 5_000, "2\u200b5,000 USDC": 25_000, "24 months at 500 USDC": 500, "&#36;2025": 2025, "from 10,000 to 20,000 USDC": 10_000,
		".5M USDC": 500_000, "$500-600k": 500_000, "1.5–2 million USDC": 1_500_000, "half a million USDC": 500_000, "half-million dollars": 500_000, "$1.25mn": 1_250_000,
		"1.5e6 USDC": 1_500_000, "transfer(ada, 25_000e6)": 25_000, "3x40,000 USDC": 40_000, "Milestone 1 - 40,000": 40_000,
	} {
		tests["an amount: "+text] = test{text + "\n" + recipient, []record.Action{pay(t, recipient, units*1_000_000)}, nil}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := facts(test.body, test.actions...)
			f.Proposal.VotingToken = "eip155:1:" + governor
			d, _ := compose(t, f)
			got := slices.DeleteFunc(ruleNames(d), func(rule string) bool { return rule == rules.FirstPayer })
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if slices.Equal(got, []string{rules.ApprovedWithout}) && d.Findings[0].Sentence != stranger+" may spend any amount of "+usdc+"." {
				t.Error(d.Findings[0].Sentence)
			}
		})
	}
}

func TestPowerIsTaken(t *testing.T) {
	t.Parallel()
	approve := func(amount string) record.Action { return call(t, usdc, "approve(address,uint256)", stranger, amount) }
	want := stranger + " may spend any amount of " + usdc + ", until a later call takes it back."
	if d, _ := compose(t, facts("text", approve(strings.Repeat("f", 64)), approve("0"))); d.Findings[0].Sentence != want {
		t.Errorf("got %+v, want %q", d.Findings, want)
	}
	if d, _ := compose(t, facts("text", call(t, governor, "setPendingAdmin(address)", "0"))); strings.Contains(d.Findings[0].Sentence, "from") {
		t.Errorf("got %q, want nobody from whom power is taken", d.Findings[0].Sentence)
	}
	for _, signature := range []string{"commitGovernor(address)", "setTimelock(address)", "addCouncilMember(address)", "setManagement(address)", "setKeeper(address)"} {
		if d, _ := compose(t, facts("text", call(t, governor, signature, stranger))); !strings.HasSuffix(d.Findings[0].Sentence, ": granted to "+stranger+".") {
			t.Errorf("got %q, want who gets power", d.Findings[0].Sentence)
		}
	}
	for _, a := range []record.Action{
		call(t, governor, "setGuard(address)", "0"), call(t, governor, "setMinter(address,bool)", stranger, "0"), call(t, governor, "cancelDefaultAdminTransfer()"),
	} {
		if d, _ := compose(t, facts("text", a)); d.Effects.Permissions[0].Change != "taken" {
			t.Errorf("got %+v", d.Effects.Permissions)
		}
	}
}

func batch(t *testing.T, calls ...record.Action) record.Action {
	t.Helper()
	packed := ""
	for _, c := range calls {
		packed += "00" + c.Target[2:] + strings.Repeat("0", 64) + fmt.Sprintf("%064x", len(c.Calldata)) + hex.EncodeToString(c.Calldata)
	}
	a := call(t, multisend, "multiSend(bytes)", "20", fmt.Sprintf("%x", len(packed)/2))
	content := env.Must(hex.DecodeString(packed + strings.Repeat("0", (64-len(packed)%64)%64)))(t)
	a.Calldata = append(a.Calldata, content...)
	return a
}

// Kinds are of the calls that do something, in batches or not, and where nothing moves no text has to say so.
func TestKindsAndPaymentsOfNothing(t *testing.T) {
	t.Parallel()
	grant := call(t, governor, "grantRole(bytes32,address)", "0", stranger)
	upgrade := call(t, stranger, "upgradeTo(address)", recipient)
	for name, test := range map[string]struct {
		actions []record.Action
		want    []string
	}{
		"in one batch":     {[]record.Action{batch(t, pay(t, recipient, 25_000_000_000), grant, upgrade)}, []string{rules.RoleMoved, rules.Upgraded, rules.UnrelatedKinds}},
		"a batch beside":   {[]record.Action{batch(t, pay(t, recipient, 25_000_000_000)), pay(t, recipient, 25_000_000_000), grant}, []string{rules.RoleMoved}},
		"a tenth":          {[]record.Action{{Chain: "eip155:1", Target: recipient, Value: "1500000000000000000"}}, []string{rules.AmountMagnitude}},
		"nothing is moved": {[]record.Action{pay(t, stranger, 0)}, nil},
	} {
		d, _ := compose(t, facts("We pay 25,000 USDC and 15 ETH to "+recipient+" and grant the role.", test.actions...))
		var got []string
		for _, f := range d.Findings {
			if f.Severity != governance.SeverityInfo {
				got = append(got, f.Rule)
			}
		}
		env.WantSame(t, name, test.want, got)
	}
}

// The owner and the resolver of a name are what a call sets, and not where.
func TestSettingsOfNames(t *testing.T) {
	t.Parallel()
	d, _ := compose(t, facts("text", call(t, stranger, "setSubnodeRecord(bytes32,bytes32,address,address,uint64)", "1", "2", recipient, governor, "7")))
	if want := "[" + recipient + ", " + governor + ", 7]"; d.Effects.Settings[0].New != want {
		t.Errorf("got %s, want %s", d.Effects.Settings[0].New, want)
	}
}

func TestPayloadThatIsNotKnown(t *testing.T) {
	t.Parallel()
	f := facts("text")
	three := uint64(3)
	f.Proposal.StatedActions = &three
	if d, _ := compose(t, f); !slices.Contains(ruleNames(d), rules.PayloadUnknown) || d.Actions != nil || *d.HighestSeverity != governance.SeverityUnknown {
		t.Errorf("three calls of which none is known: got %v", ruleNames(d))
	}
	f.Actions = []record.Action{pay(t, recipient, 1)}
	f.Actions[0].Index = 2
	if d, _ := compose(t, f); !slices.Contains(ruleNames(d), rules.PayloadUnknown) || d.Actions[0].Index != 2 || d.Findings[0].Facts[0] != "/actions/0/inText/recipient" {
		t.Errorf("the last of three calls is known: got %v of call %d", d.Findings, d.Actions[0].Index)
	}
	f.Proposal.StatedActions, f.Actions = nil, nil
	if d, _ := compose(t, f); !slices.Contains(ruleNames(d), rules.PayloadUnknown) {
		t.Errorf("a Governor that states nothing of its calls: got %v", ruleNames(d))
	}
	f.Proposal.Provider = governance.Snapshot
	if d, _ := compose(t, f); !slices.Contains(ruleNames(d), rules.SignallingOnly) || d.HighestSeverity != nil {
		t.Errorf("a vote at Snapshot without plugins: got %v", ruleNames(d))
	}
}

// The numbers of a small vote, counted by hand.
func TestNumbersOfAVote(t *testing.T) {
	t.Parallel()
	f := facts("text", pay(t, recipient, 1))
	f.Recasts, f.SideChanges, f.Returning = 2, 1, 1
	f.Strongest = []pages.StrongVoter{{Voter: "0xz", Power: decimal.NewFromInt(900)}, {Voter: "0xa", Power: decimal.NewFromInt(80)}}
	d, _ := compose(t, f)
	text := func(parts ...any) string {
		encoded := env.Must(json.Marshal(parts))(t)
		return string(encoded)
	}
	for name, c := range map[string]struct{ got, want string }{
		"margin":            {text(d.Decision.Leader.Key, d.Decision.RunnerUp.Key, d.Decision.MarginPower, d.Decision.MarginPercent), `["for","against","60","60"]`},
		"decided at":        {text(d.Decision.DecidedAt), text(at(20))},
		"deciding voters":   {text(d.Decision.DecidingVoters), `["2"]`},
		"quorum":            {text(d.Decision.Quorum.Counted, d.Decision.Quorum.MetBy.VoterIdentity), `["80","0xc"]`},
		"rank":              {text(d.Participation.Compared, d.Participation.MedianVoters, d.Participation.Rank, d.Participation.NewVoters), `[1,"2",1,"3"]`},
		"concentration":     {text(*d.Concentration), `[{"largestPercent":"29","top5Percent":"100","top10Percent":"100","nakamoto":"2","gini":"0.07"}]`},
		"last tenth":        {text(d.Course.LastTenPercent, d.Course.Tenths[0], d.Course.LastHour.Ballots), `[{"ballots":"1","votingPower":"25"},{"ballots":"1","votingPower":"20"},"0"]`},
		"leader changes":    {text(d.Course.LeaderChanges, d.Course.LateSwingPower, d.Course.LateLeaderChange, d.Course.Recasts, d.Course.SideChanges), `[1,"25",false,"2","1"]`},
		"strongest":         {text(d.Voters.Strongest[0].Ballot == nil, d.Voters.Strongest[1].Ballot.SharePercent), `[true,"20"]`},
		"largest":           {text(d.Voters.Largest[0].VoterIdentity, len(d.Voters.Largest)), `["0xb",4]`},
		"proposer":          {text(d.Proposer.Here, d.Proposer.OpenHere, d.Proposer.FirstSeenAt), text(map[string]int{"passed": 1}, 0, at(-900))},
		"process":           {text(d.Process.DiscussionDays, d.Process.VotingHours, d.Process.MedianVotingHours), `["4","100","100"]`},
		"similar proposals": {text(d.Process.Similar[0].ProposalKey, d.Process.Similar[0].SimilarTitle), `["p1_earlier",true]`},
		"transfers":         {text(d.Effects.Transfers[0].Amount, d.Effects.Transfers[0].Symbol, d.Effects.Transfers[0].To), `["0.000001","USDC","` + recipient + `"]`},
	} {
		env.Want(t, c.want, c.got, name)
	}
}

// Who has no ballot may have voted while ballots are missing, and nobody has decided what is not final.
func TestWhatIsNotKnownIsNotSaidOfVoters(t *testing.T) {
	t.Parallel()
	f := delegated(facts("text"))
	names := func() (silent bool, unknown []string) {
		d, _ := compose(t, f)
		for _, u := range d.Unknowns {
			unknown = append(unknown, u.What)
		}
		return d.Participation.Delegated != nil, unknown
	}
	const voters, decided = "whether voters without a ballot here have voted", "when the vote was decided"
	if silent, unknown := names(); !silent || slices.Contains(unknown, voters) || slices.Contains(unknown, decided) {
		t.Errorf("got silent delegates %t and unknowns %q of all ballots", silent, unknown)
	}
	for _, flag := range []governance.QualityFlag{rules.BallotsPartial, rules.BallotsMissing} {
		f.Quality = []governance.QualityFlag{flag}
		if silent, unknown := names(); silent || !slices.Contains(unknown, voters) {
			t.Errorf("%s: got silent delegates %t and unknowns %q", flag, silent, unknown)
		}
	}
	f.Quality, f.Votes.Result = nil, nil
	f.Ballots[1].Power = governance.UnitsOf(decimal.NewFromInt(900))
	if d, _ := compose(t, f); d.Decision.DecidedAt != nil || slices.Contains(ruleNames(d), rules.OneVoter) {
		t.Errorf("got a decision at %v and %v of a vote without a result", d.Decision.DecidedAt, ruleNames(d))
	}
	if _, unknown := names(); !slices.Contains(unknown, decided) {
		t.Errorf("got unknowns %q of a vote without a result", unknown)
	}
}

// Who has no ballot on earlier proposals may have voted on them while ballots there are missing.
func TestEarlierBallotsThatAreMissing(t *testing.T) {
	t.Parallel()
	f := facts("text")
	if d, _ := compose(t, f); d.Participation.NewVoters == nil {
		t.Error("the new voters of a DAO with all ballots are null")
	}
	f.Known = slices.Clone(f.Known)
	for i := range f.Known {
		f.Known[i].Quality = []governance.QualityFlag{rules.BallotsPartial}
	}
	d, _ := compose(t, f)
	for _, what := range []string{"how many voters are new", "who the strongest voters of the year are"} {
		if d.Participation.NewVoters != nil || !slices.ContainsFunc(d.Unknowns, func(u governance.DossierUnknown) bool { return u.What == what }) {
			t.Errorf("got %v new voters, and no unknown %q in %v", d.Participation.NewVoters, what, d.Unknowns)
		}
	}
}

// A ballot that upstream leaves out of its total has no share of it, and the others have other ones.
func TestPowerIsNotDistributedOverBallotsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	for basis, want := range map[governance.Basis]bool{governance.UpstreamBasis: false, governance.BallotsBasis: true} {
		f := facts("text")
		f.Votes.Basis, f.Ballots[1].Invalid = &basis, true
		if d, _ := compose(t, f); (d.Concentration != nil) != want {
			t.Errorf("%s: got %+v, want a distribution: %t", basis, d.Concentration, want)
		}
	}
}

// What ballots cannot tell is null, and named.
func TestWhatIsNotKnownIsNamed(t *testing.T) {
	t.Parallel()
	f := facts("text")
	f.Ballots[1].VotedAt = nil
	d, _ := compose(t, f)
	if d.Course != nil || d.Decision.DecidedAt != nil || d.Decision.Quorum.MetBy != nil {
		t.Errorf("got a course of ballots without a time: %+v", d.Course)
	}
	f.Ballots = nil
	if d, _ = compose(t, f); d.Concentration != nil || d.Decision.DecidingVoters != nil {
		t.Errorf("got numbers without ballots: %+v", d.Concentration)
	}
	categories := map[string]bool{}
	for _, u := range d.Unknowns {
		categories[u.Category] = true
	}
	if !categories["missing_data"] || !categories["state"] {
		t.Errorf("got unknowns %+v", d.Unknowns)
	}
}

func TestAnInvalidBallotHasNoChoices(t *testing.T) {
	t.Parallel()
	f := facts("text")
	f.Ballots[1].Invalid, f.Votes.Basis = true, new(governance.UpstreamBasis)
	d, _ := compose(t, f)
	if share := d.Voters.Largest[0].SharePercent; share != nil {
		t.Errorf("got a share of %s of a total that may leave it out", *share)
	}
	f.Ballots[1].Invalid, f.Ballots[1].Choices = false, nil
	if d, _ := compose(t, f); d.Voters.Largest[0].SharePercent != nil {
		t.Error("got a share of a ballot that names what is no choice")
	}
	env.Want(t, "0xb []", fmt.Sprint(d.Voters.Largest[0].VoterIdentity, " ", d.Voters.Largest[0].ChoiceKeys), "the largest ballot")
}

// Some of the ballots of a ranked vote have no leader.
func TestOnlySumsHaveACourse(t *testing.T) {
	t.Parallel()
	f := facts("text")
	f.Proposal.VoteType = governance.RankedChoice
	if d, _ := compose(t, f); d.Course == nil || d.Course.LeaderChanges != nil || d.Course.LateSwingPower != nil || d.Decision.DecidedAt != nil {
		t.Errorf("a ranked vote: got %+v, %+v", d.Course, d.Decision)
	}
}

// An analysis that was imported is kept, with every digit.
func TestAnalysesAreKept(t *testing.T) {
	t.Parallel()
	f := facts("text")
	f.Analysis = &record.Evidence{ArtifactVersion: "3", Dossier: `{"score":1234567890.123456789012345678}`, SourceRefs: "[]", Warnings: "[]"}
	got, err := dossier.Compose(f)
	if err != nil || !strings.Contains(string(got.Dossier), `"analyses":[{"artifactVersion":"3"`) ||
		!strings.Contains(string(got.Dossier), `"dossier":{"score":1234567890.123456789012345678}`) {
		t.Errorf("got %s, %v", got.Dossier, err)
	}
}

func TestFindingsOfAVote(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*dossier.Facts)
		want   string
	}{
		"a swing in the last tenth": {func(f *dossier.Facts) {
			f.Ballots[1].VotedAt, f.Ballots[2].VotedAt, f.Ballots[3].VotedAt = at(95), at(96), at(97)
		}, rules.LateSwing},
		"a quorum in the last hour": {func(f *dossier.Facts) {
			f.Ballots[3].VotedAt = at(100)
			needed := decimal.NewFromInt(60)
			f.Proposal.Quorum = &needed
		}, rules.LateQuorum},
		"one voter with more than half of the margin": {func(f *dossier.Facts) {
			f.Ballots[1].Power, f.Ballots[2].Power = governance.UnitsOf(decimal.NewFromInt(35)), governance.UnitsOf(decimal.NewFromInt(20))
		}, rules.OneVoter},
		"a vote of a third of the usual time": {func(f *dossier.Facts) { f.Known[0].StartAt = at(-1190) }, rules.ShortVote},
		"no discussion":                       {func(f *dossier.Facts) { f.Topics = nil }, rules.NoDiscussion},
		"the same actions, which failed": {func(f *dossier.Facts) {
			f.Known[0].Payload, f.Known[0].Outcome = 7, governance.Failed
			f.Known = append(f.Known, pages.KnownProposal{Ref: f.Proposal.Ref, DAOID: "harbor", Payload: 7})
		}, rules.SameActionsFailed},
		"an execution soon impossible": {func(f *dossier.Facts) {
			f.Proposal.Milestones = []record.Milestone{{Type: "queued", At: at(101)}, {Type: record.ExpiresMilestone, At: at(210)}}
		}, rules.ExpiresSoon},
		"two days in a timelock": {func(f *dossier.Facts) {
			f.Proposal.Milestones = []record.Milestone{{Type: "queued", At: at(101)}, {Type: record.ExecutableMilestone, At: at(149)}}
		}, rules.TimelockTime},
		"calls replaced while people voted": {func(f *dossier.Facts) {
			f.Proposal.Milestones = []record.Milestone{{Type: record.ActionsChangedMilestone, At: at(1)}}
		}, rules.PayloadChanged},
		"a discussion of four days where twelve and more are usual": {func(f *dossier.Facts) {
			f.OpenedAt = map[record.RefHash]governance.Timestamp{f.Known[0].Ref: *at(-890 - 13*24)}
		}, rules.NoDiscussion},
		"an execution": {func(f *dossier.Facts) {
			f.Proposal.Milestones = []record.Milestone{{Type: "callexecuted", At: at(150), TxHash: "0x9"}}
		}, rules.ConfirmedByRecord},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := facts("text")
			if d, _ := compose(t, f); slices.Contains(ruleNames(d), test.want) {
				t.Errorf("without the change: got %v", ruleNames(d))
			}
			if test.change(&f); !slices.Contains(ruleNames(first(compose(t, f))), test.want) {
				t.Errorf("got %v, want %s", ruleNames(first(compose(t, f))), test.want)
			}
		})
	}
}

// A vote with the same actions that is still open when this one begins has not failed before; it may have been canceled.
func TestSameActionsThatFailLater(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[governance.Outcome]bool{governance.Failed: false, governance.Canceled: true} {
		f := facts("text")
		f.Known[0].Payload, f.Known[0].Outcome, f.Known[0].EndAt = 7, outcome, at(50)
		f.Known = append(f.Known, pages.KnownProposal{Ref: f.Proposal.Ref, DAOID: "harbor", Payload: 7})
		if d, _ := compose(t, f); slices.Contains(ruleNames(d), rules.SameActionsFailed) != want {
			t.Errorf("%s: got %v", outcome, ruleNames(d))
		}
	}
}

// An abstention leads nobody else's choice.
func TestAbstentionsDoNotSwing(t *testing.T) {
	t.Parallel()
	f := facts("text")
	f.Votes.Choices = append(f.Votes.Choices, governance.ChoiceTotal{Key: "abstain", Label: "Abstain", VotingPower: "60"})
	f.Ballots = append(f.Ballots, pages.CountedBallot{Voter: "0xe", Choices: []string{"abstain"}, Power: governance.UnitsOf(decimal.NewFromInt(60)), VotedAt: at(0)})
	f.Votes.Totals.VotingPower = "160"
	if d, _ := compose(t, f); slices.Contains(ruleNames(d), rules.LateSwing) {
		t.Errorf("got %v where “For” led “Against” all the time", ruleNames(d))
	}
}

func first(d governance.Dossier, _ []governance.DossierSource) governance.Dossier { return d }

// What the DAO's executed proposals did before tells whether a setting is lowered and a recipient known.
func TestFindingsOfTheHistory(t *testing.T) {
	t.Parallel()
	before := func(actions ...record.Action) (earlier []dossier.EarlierAction) {
		for _, a := range actions {
			earlier = append(earlier, dossier.EarlierAction{ProposalKey: "p1_earlier", Action: a})
		}
		return earlier
	}
	period := func(hours string) record.Action { return call(t, governor, "setVotingPeriod(uint256)", hours) }
	for name, test := range map[string]struct {
		action record.Action
		before []dossier.EarlierAction
		want   string
	}{
		"lowered":            {period("a"), before(period("b"), period("1")), "setVotingPeriod(uint256) sets a setting of " + governor + ", which was 11, to 10."},
		"raised":             {period("c"), before(period("b")), "setVotingPeriod(uint256) sets a setting of " + governor + ", which was 11, to 12."},
		"unknown before":     {period("c"), before(call(t, stranger, "setVotingPeriod(uint256)", "b")), "setVotingPeriod(uint256) sets a setting of " + governor + " to 12; the value before is not known."},
		"no number":          {call(t, governor, "setGovernanceStrategy(address)", "2"), before(call(t, governor, "setGovernanceStrategy(address)", "1")), "setGovernanceStrategy(address) sets a setting of " + governor + " to 0x0000000000000000000000000000000000000002; the value before was 0x0000000000000000000000000000000000000001."},
		"several values":     {call(t, governor, "_setDynamicQuorumParams(uint16,uint16,uint32)", "1", "2", "3"), before(call(t, governor, "_setDynamicQuorumParams(uint16,uint16,uint32)", "4", "2", "3")), "_setDynamicQuorumParams(uint16,uint16,uint32) sets a setting of " + governor + " to [1, 2, 3]; the value before was [4, 2, 3]."},
		"paid before":        {pay(t, recipient, 1), before(pay(t, recipient, 9)), recipient + " was paid before, by p1_earlier."},
		"the token of votes": {call(t, governor, "transfer(address,uint256)", recipient, "7"), nil, "7 smallest units of " + governor + " moves, which is the token that votes."},
		"many strangers": {
			call(t, stranger, "disperseTokenSimple(address,address[],uint256[])", usdc, "60", "e0", "3", stranger, governor, usdc, "3", "1", "2", "3"), nil,
			"Money moves to " + stranger + ", which the text does not state. Likewise 2 more in the same call.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := facts("We pay "+recipient, test.action)
			f.Before, f.Proposal.VotingToken = test.before, "eip155:1:"+governor
			d, _ := compose(t, f)
			if !slices.ContainsFunc(d.Findings, func(f governance.Finding) bool { return f.Sentence == test.want }) {
				t.Errorf("got %+v, want %q", d.Findings, test.want)
			}
			if len(f.Concerned()) == 0 {
				t.Error("the actions concern no address")
			}
		})
	}
}

// On another chain, somebody else may have the address of a contract that was paid.
func TestAPaymentOnAnotherChainMakesNoRecipientKnown(t *testing.T) {
	t.Parallel()
	before := pay(t, recipient, 9)
	before.Chain = "eip155:10"
	f := facts("We pay "+recipient, pay(t, recipient, 1))
	f.Before = []dossier.EarlierAction{{ProposalKey: "p1_earlier", Action: before}}
	if d, _ := compose(t, f); slices.Contains(ruleNames(d), rules.RecipientKnown) || d.Addresses[1].PaidBy != nil {
		t.Errorf("got %v and %+v, want a recipient that is not known", ruleNames(d), d.Addresses[1])
	}
}

// An abstention decides nothing, and where more than a lead decides nobody decides alone.
func TestWhatDecides(t *testing.T) {
	t.Parallel()
	abstain := func(f *dossier.Facts) {
		f.Votes.Choices = append(f.Votes.Choices, governance.ChoiceTotal{Key: "abstain", Label: "Abstain", VotingPower: "900"})
		for i, hours := range []int{0, 99} {
			f.Ballots = append(f.Ballots, pages.CountedBallot{
				Voter: fmt.Sprint("0xe", i), Choices: []string{"abstain"}, Power: governance.UnitsOf(decimal.NewFromInt(450)), VotedAt: at(hours),
			})
		}
		f.Votes.Totals.VotingPower = "1000"
	}
	power := func(f *dossier.Facts, powers ...int64) {
		for i, p := range powers {
			f.Ballots[i].Power = governance.UnitsOf(decimal.NewFromInt(p))
		}
		f.Votes.Choices[0].VotingPower = governance.DecimalOf(decimal.NewFromInt(powers[1] + powers[2] + powers[3]))
		f.Votes.Choices[1].VotingPower = governance.DecimalOf(decimal.NewFromInt(powers[0]))
	}
	for name, test := range map[string]struct {
		change func(*dossier.Facts)
		want   string
	}{
		"for and against":                {func(*dossier.Facts) {}, `"for against 60 60 2 1 false 20h" ""`},
		"most power abstains":            {abstain, `"abstain for 820 82 2 0 false 0h" ""`},
		"nobody but abstentions":         {func(f *dossier.Facts) { abstain(f); power(f, 0, 0, 0, 0) }, `"abstain for 900 90 - 0 false 0h" ""`},
		"one voter makes them level":     {func(f *dossier.Facts) { power(f, 20, 30, 25, 25) }, `"for against 60 60 1 1 false 20h" "0xb"`},
		"against, and one makes level":   {func(f *dossier.Facts) { power(f, 60, 20, 20, 0); f.Detail.Outcome = governance.Failed }, `"against for 20 20 1 0 false 1h" "0xa"`},
		"one who is needed for a quorum": {func(f *dossier.Facts) { power(f, 0, 20, 20, 15) }, `"for against 55 55 1 0 false 20h" "0xb"`},
		"a quorum that is missed": {func(f *dossier.Facts) {
			f.Votes.Quorum.Reached, f.Detail.Outcome = new(false), governance.Failed
		}, `"for against 60 60 - 1 false 20h" ""`},
		"two thirds are needed": {func(f *dossier.Facts) { power(f, 45, 50, 5, 0); f.Detail.Outcome = governance.Failed }, `"for against 10 10 - 1 false 20h" ""`},
		"a quorum of rejection": {func(f *dossier.Facts) { f.Proposal.QuorumType = governance.QuorumOfRejection }, `"for against 60 60 - 1 false 20h" ""`},
		"while voting is open": {func(f *dossier.Facts) {
			power(f, 20, 30, 25, 25)
			f.Detail.LifecycleStatus, f.Detail.Outcome = governance.Active, governance.Unknown
		}, `"for against 60 60 1 1 false 20h" ""`},
		"a tie":      {func(f *dossier.Facts) { power(f, 80, 30, 25, 25) }, `"- - 0 0 - 0 false -" ""`},
		"one choice": {func(f *dossier.Facts) { f.Votes.Choices = f.Votes.Choices[:1] }, `"- - - - - 0 false -" ""`},
		"a ranking, in which an abstention is a candidate": {func(f *dossier.Facts) {
			abstain(f)
			f.Proposal.VoteType = governance.RankedChoice
		}, `"abstain for 820 82 - - - -" ""`},
		"scores above all power": {func(f *dossier.Facts) {
			f.Proposal.VoteType, f.Votes.Choices[0].VotingPower, f.Votes.Choices[1].VotingPower = governance.Copeland, "400", "100"
		}, `"for against 300 75 - - - -" ""`},
		"scores that upstream states otherwise": {func(f *dossier.Facts) {
			upstream := governance.UpstreamBasis
			f.Votes.Basis, f.Votes.Choices[1].VotingPower = &upstream, "90"
		}, `"against for 10 10 - - - -" ""`},
	} {
		f := facts("text")
		test.change(&f)
		d, _ := compose(t, f)
		decisive := ""
		for _, finding := range d.Findings {
			if finding.Rule == rules.OneVoter {
				decisive = strings.TrimSuffix(strings.TrimPrefix(finding.Sentence, "One voter decided: "), ".")
			}
		}
		w, of := []string{}, d.Decision
		add := func(is bool, value func() any) {
			if w = append(w, "-"); is {
				w[len(w)-1] = fmt.Sprint(value())
			}
		}
		add(of.Leader != nil, func() any { return of.Leader.Key })
		add(of.RunnerUp != nil, func() any { return of.RunnerUp.Key })
		add(of.MarginPower != nil, func() any { return *of.MarginPower })
		add(of.MarginPercent != nil, func() any { return *of.MarginPercent })
		add(of.DecidingVoters != nil, func() any { return *of.DecidingVoters })
		add(d.Course.LeaderChanges != nil, func() any { return *d.Course.LeaderChanges })
		add(d.Course.LateLeaderChange != nil, func() any { return *d.Course.LateLeaderChange })
		add(of.DecidedAt != nil, func() any { return fmt.Sprintf("%dh", (*of.DecidedAt-start)/hour) })
		if got := fmt.Sprintf("%q %q", strings.Join(w, " "), decisive); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// Summaries are sentences, whatever the numbers are.
func TestSummaries(t *testing.T) {
	t.Parallel()
	grant := call(t, governor, "grantRole(bytes32,address)", "0", stranger)
	text := "We pay 25,000 USDC to " + recipient
	for name, test := range map[string]struct {
		facts dossier.Facts
		alter func(*dossier.Facts)
		want  string
	}{
		"a payment": {
			facts(text, pay(t, recipient, 25_000_000_000)), nil,
			"It moves 25000 USDC to " + recipient + ". It passed. “For” led by 60 % of all power. The quorum is reached.",
		},
		"a token of which there is one": {
			facts(text, call(t, governor, "safeTransferFrom(address,address,uint256)", stranger, recipient, "7")), nil,
			"It moves an unstated amount of " + governor + " to " + recipient + ". It passed. “For” led by 60 % of all power. The quorum is reached.",
		},
		"several effects": {
			facts(text, pay(t, recipient, 25_000_000_000), pay(t, stranger, 25_000_000_000), grant, call(t, governor, "updateDelay(uint256)", "0")), nil,
			"It moves 25000 USDC to " + recipient + ", makes 1 more payment, changes 1 permission and changes 1 setting. It passed. " +
				"“For” led by 60 % of all power. The quorum is reached. Findings: 3 high, 1 medium.",
		},
		"permissions while voting is open": {facts(text, grant, grant), func(f *dossier.Facts) {
			f.Detail.LifecycleStatus, f.Detail.Outcome = governance.Active, governance.Unknown
		}, "It changes 2 permissions. Voting is open. “For” leads by 60 % of all power. The quorum is reached. Findings: 2 high."},
		"ballots of which some are missing": {facts(text), func(f *dossier.Facts) {
			f.Quality, f.Votes.Quorum, f.Votes.Result = []governance.QualityFlag{rules.BallotsPartial}, nil, nil
		}, "It executes nothing by itself. It passed. “For” led by 60 % of the power stored, others may be missing."},
		"a call of no kind": {facts(text, call(t, stranger, "deposit()")), func(f *dossier.Facts) {
			f.Detail.Outcome, f.Votes.Quorum = governance.Executed, nil
		}, "It executes 1 call. It was executed. “For” led by 60 % of all power."},
		"a tie without calls": {facts(text), func(f *dossier.Facts) {
			f.Votes.Choices[1].VotingPower, f.Detail.Outcome = "80", governance.Unknown
			*f.Votes.Quorum.Reached = false
		}, "It executes nothing by itself. Voting is over; the outcome is not known. The leading choices are level. The quorum is not reached."},
		"before the vote": {facts(text), func(f *dossier.Facts) {
			f.Proposal.StatedActions, f.Votes, f.Ballots = nil, governance.VoteSummary{}, nil
			f.Detail.LifecycleStatus = governance.Pending
		}, "What it executes is not known. Voting has not begun. Findings: 1 unknown."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.alter != nil {
				test.alter(&test.facts)
			}
			if d, _ := compose(t, test.facts); d.Summary != test.want {
				t.Errorf("got  %s\nwant %s", d.Summary, test.want)
			}
		})
	}
}

// delegated adds a token of which 400 are delegated, 300 to delegates who did not vote.
func delegated(f dossier.Facts) dossier.Facts {
	f.Proposal.VotingToken = "eip155:1:" + stranger
	f.Delegated = &pages.DelegatedPower{
		Power: decimal.NewFromInt(400), Silent: 2, SilentPower: decimal.NewFromInt(300), Gained: decimal.NewFromInt(7), Lost: decimal.NewFromInt(5),
		Supply: new(decimal.NewFromInt(1000)),
	}
	return f
}

// What the token states is told only where ballots have the power that it states.
func TestDelegatedPower(t *testing.T) {
	t.Parallel()
	f := delegated(facts("Shall the harbor have a flag?"))
	d, sources := compose(t, f)
	want := governance.DossierDelegated{
		Token: f.Proposal.VotingToken, Supply: new(governance.Decimal("1000")), VotingPower: "400", SilentDelegates: "2", SilentPower: "300",
		SilentPercent: new(governance.Decimal("75")), GainedPower: "7", LostPower: "5",
	}
	if diff := cmp.Diff(&want, d.Participation.Delegated); diff != "" || *d.Participation.SupplyPercent != "10" {
		t.Errorf("share %s; (-want +got):\n%s", *d.Participation.SupplyPercent, diff)
	}
	if !slices.ContainsFunc(sources, func(s governance.DossierSource) bool {
		return s.Kind == "contract" && s.Address == f.Proposal.VotingToken
	}) {
		t.Errorf("got sources %+v, want the token", sources)
	}
	f.Delegated.Differing = 1
	d, _ = compose(t, f)
	isNamed := func(u governance.DossierUnknown) bool { return u.What == "the delegated power at the snapshot" }
	if d.Participation.Delegated != nil || !slices.ContainsFunc(d.Unknowns, isNamed) {
		t.Errorf("got %+v, want an unknown where a ballot differs", d.Participation.Delegated)
	}
}
