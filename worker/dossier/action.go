package dossier

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse"
)

func (c *composer) actions() {
	c.d.Addresses, c.sums = []governance.DossierParty{}, map[[5]string]int{}
	c.d.Effects = governance.DossierEffects{
		Transfers: []governance.DossierSum{}, Permissions: []governance.DossierPermission{}, Settings: []governance.DossierSetting{},
	}
	stated := c.Proposal.StatedActions
	if stated != nil {
		c.d.ActionsStated = new(governance.CountOf(*stated))
	}
	if len(c.Actions) == 0 && (stated != nil && *stated > 0 || stated == nil && c.Proposal.Provider != governance.Snapshot) {
		c.unknown("undecoded_payload", "what the proposal executes", "what is executed counts, and the text is a claim",
			"the transaction that created the proposal, on a block explorer")
		return
	}
	if stated == nil && len(c.Actions) == 0 {
		c.unknown("missing_data", "whether a plugin of Snapshot executes the proposal", "the source states no plugins", "the proposal's page at Snapshot")
	}
	c.d.Actions, c.called = []governance.DossierAction{}, map[string]bool{}
	for i := range c.decoded {
		c.d.Actions = append(c.d.Actions, c.action(int(c.Actions[i].Index), &c.decoded[i], fmt.Sprintf("/actions/%d", i)))
	}
	c.observe()
	c.cuts()
	if slices.ContainsFunc(c.payments, func(p payment) bool { return p.Amount != nil && p.Decimals == nil }) {
		c.unknown("state", "the decimals of a token that moves, or whether the amount is the number of one of a collection", "its amount cannot be compared with the text", "the token's contract on a block explorer")
	}
	if slices.ContainsFunc(c.d.Effects.Settings, func(s governance.DossierSetting) bool { return s.Old == nil }) {
		c.unknown("state", "the settings before", "whether a setting is lowered depends on them", "the contract at the newest block")
	}
}

func (c *composer) cuts() {
	cut := func(is bool, what, why, where string) {
		if is {
			c.unknown("missing_data", what, why, where)
		}
	}
	s := c.d.Simulation
	cut(c.text.cut, fmt.Sprintf("what the text states where it is left out or beyond its first MiB or %s numbers", governance.GroupDigits(strconv.Itoa(maxNumbers))),
		"addresses and amounts there count as not stated", "the proposal's page at the provider")
	cut(len(c.d.Addresses) == abi.MaxParties, fmt.Sprintf("the addresses beyond the first %d", abi.MaxParties), "one of them may be a stranger", "the list of actions")
	cut(c.EarlierOmitted > 0, fmt.Sprintf("%d earlier actions beyond the last %d", c.EarlierOmitted, maxEarlier), "one of them may have paid a recipient, or set a setting",
		"the DAO's executed proposals")
	cut(s != nil && s.Omitted > 0, "whether the calls beyond those that are simulated succeed", "a call that fails executes nothing",
		"a simulation of all calls at the newest block")
	cut(s != nil && len(s.Transfers) == governance.MaxMovements, fmt.Sprintf("the transfers of the simulation beyond the first %d", governance.MaxMovements),
		"money may go where the calls do not say", "a simulation of the calls at the newest block")
}

func (c *composer) action(index int, d *abi.Decoded, pointer string) governance.DossierAction {
	a := governance.DossierAction{
		Index: index, Chain: governance.OptionalText(d.Chain), Target: c.address(d.Chain, d.Target), Operation: string(d.Operation),
		Kind: string(d.Kind), Function: governance.OptionalText(d.Function), Alternatives: append([]string{}, d.Alternatives...),
		Arguments: c.argumentsOf(d.Chain, d.Arguments), Value: governance.Decimal(d.Value), Undecoded: governance.OptionalText(d.Undecoded),
		Calls: []governance.DossierAction{}, Omitted: d.Omitted,
	}
	if d.Signature == "" && len(d.Data) >= len(abi.Selector{}) {
		a.Selector = new("0x" + hex.EncodeToString(d.Data[:len(abi.Selector{})]))
	}
	payments := slices.DeleteFunc(d.Payments(), func(of abi.Payment) bool { return of.Proceeds && c.isOwn(d.Chain, of.To) })
	if carriesMore(d) {
		a.Undecoded = new("what is inside, which may pay anybody, is not decoded")
	}
	for i, of := range payments {
		transfer := c.transferOf(d.Chain, of)
		in := c.text.states(d.Chain, d.Target, transfer)
		c.payments = append(c.payments, payment{
			DossierTransfer: transfer, chain: d.Chain, in: in, call: pointer, sum: c.addTransfer(a.Chain, transfer), first: i == 0,
		})
		if i == 0 {
			a.Transfer, a.InText = &transfer, in
		}
	}
	c.called[d.Chain+":"+d.Target] = true
	c.addPower(d, pointer)
	if d.Operation != abi.DelegateCall {
		c.callers = append(c.callers, d.Target)
		defer func() { c.callers = c.callers[:len(c.callers)-1] }()
	}
	for i := range d.Calls {
		if c.calls++; c.calls > maxCalls {
			a.Omitted += len(d.Calls) - i
			a.Undecoded = new(fmt.Sprintf("only the first %d calls inside all actions are told", maxCalls))
			break
		}
		a.Calls = append(a.Calls, c.action(i, &d.Calls[i], fmt.Sprintf("%s/calls/%d", pointer, i)))
	}
	return a
}

// carriesMore reports whether a call has commands or orders that are not decoded, or approves a hash of some.
func carriesMore(d *abi.Decoded) bool {
	more := ""
	switch {
	case strings.HasPrefix(d.Function, "approveHash("):
		more = d.Argument("hash")
	case strings.HasPrefix(d.Function, "requestL2TransactionTwoBridges("):
		more = d.Argument("secondBridgeCalldata")
	case d.Kind == abi.Swap && !strings.HasPrefix(d.Function, "invalidate") && d.Argument("signed") != "false":
		more = d.Argument("commands", "unlockData", "orderUid", "staticInput", "root")
	}
	return strings.Trim(more, "0x") != ""
}

// isOwn reports whether an address is the Governor, its executor, or the contract in whose name a call inside is made.
func (c *composer) isOwn(chain, address string) bool {
	return slices.Contains(c.callers, address) || c.isExecutor(chain, address) || strings.HasPrefix(c.Proposal.OnchainID, chain+":"+address+"/")
}

// isExecutor reports whether an address is in whose name the Governor executes.
func (f *Facts) isExecutor(chain, address string) bool {
	if seen := f.observedAt(chain, address); seen != nil && seen.Executor {
		return true
	}
	return strings.HasPrefix(f.Proposal.OnchainID, chain+":") && f.Observed != nil && f.Observed.Simulation != nil && f.Observed.Simulation.Executor == address
}

const maxCalls = 2000

// maxValue bounds an argument in characters: the whole calldata is in the view proposal_actions.
const maxValue = 1024

func (c *composer) argumentsOf(chain string, arguments []abi.Argument) []governance.DossierArgument {
	list := []governance.DossierArgument{}
	for i := range arguments {
		a := &arguments[i]
		of := governance.DossierArgument{Name: governance.OptionalText(a.Name), Type: a.Type, Unlimited: a.IsUnlimited()}
		if isList := strings.HasPrefix(a.Type, "(") || strings.HasSuffix(a.Type, "]"); isList {
			of.Items = c.argumentsOf(chain, a.Items)
		} else {
			of.Value = new(clip(a.Value, maxValue))
			if a.Type == "address" {
				of.AddressName = c.nameOf(chain, a.Value)
			}
		}
		list = append(list, of)
	}
	return list
}

const nativeDecimals = 18

func (c *composer) transferOf(chain string, p abi.Payment) governance.DossierTransfer {
	t := governance.DossierTransfer{Token: governance.OptionalText(p.Token), From: governance.OptionalText(p.From), To: p.To}
	token, known := c.token(chain, p.Token)
	if p.Token == "" {
		token, known = abi.Token{Symbol: "native", Decimals: nativeDecimals}, true
	}
	amount, err := decimal.NewFromString(p.Amount)
	if known {
		t.Symbol, t.Decimals = governance.OptionalText(token.Symbol), &token.Decimals
		amount = amount.Shift(-int32(token.Decimals)) //nolint:gosec // of the table
	}
	if err == nil {
		t.Amount = decimalOf(amount)
	}
	return t
}

// addTransfer adds money to what leaves to its recipient, and returns the JSON pointer of the sum.
func (c *composer) addTransfer(chain *string, t governance.DossierTransfer) string {
	text := warehouse.TextOrEmpty[string]
	key := [5]string{text(chain), text(t.Token), t.To, text(t.From), fmt.Sprint(t.Amount == nil)}
	at, is := c.sums[key]
	if !is {
		at = len(c.d.Effects.Transfers)
		c.sums[key] = at
		c.d.Effects.Transfers = append(c.d.Effects.Transfers, governance.DossierSum{Chain: chain, DossierTransfer: t})
	} else if t.Amount != nil {
		sum := powerOf(*c.d.Effects.Transfers[at].Amount).Add(powerOf(*t.Amount))
		c.d.Effects.Transfers[at].Amount = decimalOf(sum)
	}
	return fmt.Sprintf("/effects/transfers/%d", at)
}

func (c *composer) addPower(d *abi.Decoded, pointer string) {
	name, _, _ := strings.Cut(d.Function, "(")
	set, isSetting := settingOf(d)
	switch d.Kind {
	case abi.Role, abi.Ownership, abi.Approval, abi.Upgrade, abi.Safe:
		if d.Kind == abi.Safe && (isSetting || strings.HasPrefix(name, "exec") || strings.HasPrefix(name, "create")) || name == "" {
			break
		}
		change, to := "granted", d.Receiver()
		if takes(name) || to != "" && strings.Trim(to, "0x") == "" || d.Argument("approved", "enabled", "allowed") == "false" || d.Kind == abi.Approval && d.Argument("amount") == "0" {
			change = "taken"
		}
		what := d.Function
		if role := d.Argument("role", "roleKey", "permission"); role != "" {
			what += " " + role
		}
		c.d.Effects.Permissions = append(c.d.Effects.Permissions, governance.DossierPermission{
			Action: pointer, Change: change, Kind: string(d.Kind), On: d.Target, What: what, To: governance.OptionalText(to),
		})
	default:
	}
	if isSetting {
		of := governance.DossierSetting{Action: pointer, On: d.Target, Function: d.Function, New: set.value}
		if old, known := c.before.settings[set.key]; known && set.key != "" {
			of.Old = &old
		}
		c.before.settings[set.key] = set.value // for a later call
		c.d.Effects.Settings = append(c.d.Effects.Settings, of)
	}
}

func valueOf(a abi.Argument) string {
	if a.Items == nil {
		return a.Value
	}
	return clip("["+strings.Join(warehouse.Values(a.Items, valueOf), ", ")+"]", 200)
}

func takes(name string) bool {
	takers := []string{"revoke", "renounce", "remove", "unregister", "unSet", "deny", "disable", "nope", "diss", "unauthorize", "burnVeto", "decrease", "lockdown", "delete", "cancel", "blacklist"}
	return slices.ContainsFunc(takers, func(prefix string) bool { return strings.HasPrefix(strings.TrimLeft(name, "_"), prefix) })
}

func (c *composer) effectsInWords() string {
	e := c.d.Effects
	var parts []string
	if n := len(e.Transfers); n > 0 {
		first := e.Transfers[0]
		parts = append(parts, fmt.Sprintf("moves %s to %s", moneyInWords(first.DossierTransfer), first.To))
		if n > 1 {
			parts = append(parts, "makes "+counted(n-1, "more payment"))
		}
	}
	if n := len(e.Permissions); n > 0 {
		parts = append(parts, "changes "+counted(n, "permission"))
	}
	if n := len(e.Settings); n > 0 {
		parts = append(parts, "changes "+counted(n, "setting"))
	}
	if len(parts) == 0 {
		parts = append(parts, "executes "+counted(len(c.d.Actions), "call"))
	}
	last := len(parts) - 1
	if last > 0 {
		parts = []string{strings.Join(parts[:last], ", "), parts[last]}
	}
	return "It " + strings.Join(parts, " and ") + "."
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func moneyInWords(t governance.DossierTransfer) string {
	amount, unit := "an unstated amount of", "native money"
	if t.Amount != nil {
		amount = string(*t.Amount)
	}
	switch {
	case t.Token == nil && t.Amount != nil:
		unit = "in native money"
	case t.Token == nil:
	case t.Symbol != nil:
		unit = *t.Symbol
	case *t.Token == abi.Unstated && t.Amount == nil:
		unit = "a token that the call does not name"
	case *t.Token == abi.Unstated:
		unit = "smallest units of a token that the call does not name"
	case t.Amount == nil:
		unit = *t.Token
	case t.Decimals != nil:
		unit = "of the token " + *t.Token
	default:
		unit = "smallest units of " + *t.Token
	}
	return amount + " " + unit
}
