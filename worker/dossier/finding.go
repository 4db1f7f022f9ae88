package dossier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/records"
)

// finder applies the rules of findings to a dossier that is complete but for these.
type finder struct{ *composer }

// find applies the rules of findings.
func (c finder) find() {
	c.d.Findings = []governance.Finding{}
	c.findInActions()
	c.findInProcess()
	c.findInTimes()
	c.findInVote()
	severities := governance.Severities()
	slices.SortStableFunc(c.d.Findings, func(a, b governance.Finding) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	c.d.FindingCounts = map[governance.Severity]int{}
	for _, severity := range severities {
		c.d.FindingCounts[severity] = 0
	}
	for _, f := range c.d.Findings {
		c.d.FindingCounts[f.Severity]++
	}
	if len(c.d.Findings) > 0 && c.d.Findings[0].Severity != governance.SeverityInfo {
		c.d.HighestSeverity = &c.d.Findings[0].Severity
	}
	if c.d.Unknowns == nil {
		c.d.Unknowns = []governance.DossierUnknown{}
	}
}

func (c finder) findInActions() {
	c.findPayload()
	for i := range c.d.Actions {
		c.findInAction(&c.d.Actions[i], fmt.Sprintf("/actions/%d", i))
	}
	c.findInPayments()
	c.findInObserved()
	if changed := c.d.Process.ActionsChangedAt; changed != nil && c.Detail.StartAt != nil && *changed > *c.Detail.StartAt {
		c.found(rules.PayloadChanged, "/process/actionsChangedAt", refProposal)
	}
}

// OnActions returns what the actions of a proposal come to, the findings about them, and what they mean where that
// is stored otherwise. All rest on the proposal, its topics and actions, and what was executed before; of the
// detail only on the times.
func OnActions(f Facts, stored []records.Meaning) (effects governance.DossierEffects, findings []governance.Finding, other []records.Meaning) {
	c := composer{Facts: f, text: textOf(f), before: historyOf(f), decoded: f.decode()}
	other = c.otherMeanings(c.decoded, stored)
	c.milestones()
	c.actions()
	finder{&c}.findInActions()
	return c.d.Effects, c.d.Findings, other
}

func (c finder) found(rule, fact, ref string, args ...any) {
	of := rules.FindingRuleOf(rule)
	c.d.Findings = append(c.d.Findings, governance.Finding{
		Rule: of.Name, RuleVersion: of.Version, Severity: of.Severity, Sentence: clip(fmt.Sprintf(of.Sentence, args...), 300), Facts: []string{fact},
		Refs: []string{ref},
	})
}

func (c finder) findInObserved() {
	for _, at := range c.strangers {
		c.found(rules.RecipientUnknown, fmt.Sprintf("/addresses/%d", at), refObserved, c.d.Addresses[at].Address)
	}
	s := c.d.Simulation
	if s == nil || s.Result != governance.SimulationReverts || c.d.Process.ExecutedAt != nil {
		return
	}
	c.found(rules.SimulationFails, "/simulation", refObserved, s.Block, rules.Quoted(*s.Reason, 200))
	if before := c.d.EarlierSimulation; before != nil && before.Result == governance.SimulationSucceeds {
		last := &c.d.Findings[len(c.d.Findings)-1]
		last.Sentence += fmt.Sprintf(" As of block %s it succeeded.", before.Block)
		last.Facts = append(last.Facts, "/earlierSimulation")
	}
}

func (c finder) findPayload() {
	stated := c.Proposal.StatedActions
	switch {
	case c.d.Actions == nil && stated != nil:
		c.found(rules.PayloadUnknown, "/actions", refProposal, fmt.Sprint(*stated))
	case c.d.Actions == nil:
		c.found(rules.PayloadUnknown, "/actions", refProposal, "All")
	case stated != nil && uint64(len(c.d.Actions)) < *stated:
		c.found(rules.PayloadUnknown, "/actionsStated", refProposal, fmt.Sprint(*stated-uint64(len(c.d.Actions))))
	case len(c.d.Actions) == 0:
		c.found(rules.SignallingOnly, "/actions", refProposal)
	}
}

// findInAction applies the rules about single calls, to those inside as well.
func (c finder) findInAction(a *governance.DossierAction, pointer string) {
	found := func(rule, field string, args ...any) { c.found(rule, pointer+field, refActions, args...) }
	if a.Undecoded != nil {
		found(rules.PayloadUndecoded, "/undecoded", cmp.Or(a.Target.Address, "an unknown address"))
		if a.Value != "0" && a.Function == nil {
			found(rules.NativeUndecoded, "/value", a.Target.Address)
		}
	}
	if a.Operation != string(abi.PlainCall) && !isBatchOfSafe(a) {
		found(rules.DelegateCalled, "/operation", a.Target.Address, map[bool]string{true: "runs", false: "may run"}[a.Operation == string(abi.DelegateCall)])
	}
	c.findPower(a, pointer, found)
	for i := range a.Calls {
		c.findInAction(&a.Calls[i], fmt.Sprintf("%s/calls/%d", pointer, i))
	}
}

// isBatchOfSafe reports whether code of another contract only makes calls, which are decoded: a multisend that
// Safe publishes. Any other contract may have a function of that name.
func isBatchOfSafe(a *governance.DossierAction) bool {
	return a.Function != nil && *a.Function == "multiSend(bytes)" && a.Undecoded == nil && abi.NamesTarget(*a.Function, a.Target.Address)
}

func (c finder) findPower(a *governance.DossierAction, pointer string, found func(rule, field string, args ...any)) {
	if a.Function == nil {
		return
	}
	name, _, _ := strings.Cut(*a.Function, "(")
	plain := strings.ToLower(strings.TrimLeft(name, "_"))
	mentions := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(plain, word) })
	}
	switch kind := abi.Kind(a.Kind); {
	case !strings.HasPrefix(plain, "veto") && mentions("guardian", "veto", "pauser"):
		found(rules.GuardianRemoved, "/function", *a.Function)
	case kind == abi.Upgrade:
		found(rules.Upgraded, "/function", *a.Function, subjectOf(a), c.holderAt(pointer, ": %s", ": %s"))
	case kind == abi.Role, kind == abi.Ownership, kind == abi.ENS && mentions("owner", "setrecord", "subnoderecord", "reclaim"),
		kind == abi.Safe && !strings.HasPrefix(plain, "exec") &&
			mentions("owner", "module", "guard", "threshold", "mastercopy", "fallback", "singleton", "delegate", "allowance", "avatar", "settarget", "verifier"):
		found(rules.RoleMoved, "/function", *a.Function, subjectOf(a), c.holderAt(pointer, ": granted to %s", ": taken from %s"))
	case kind == abi.MintBurn && mentions("mint", "issue", "assign") && a.Chain != nil && c.Proposal.VotingToken == *a.Chain+":"+a.Target.Address:
		found(rules.VotingTokenMoved, "/function", "More of "+a.Target.Address, "is minted")
	case len(a.Calls) == 0 && (kind == abi.GovernanceSetting && !mentions("metadata", "uri", "hash", "callback", "cancel") ||
		kind == abi.Timelock && mentions("delay", "period", "cooldown", "submittimelock")):
		c.findSetting(a, pointer, found)
	case kind == abi.Approval:
		c.findAllowance(a, pointer, found)
	}
}

func (c finder) findAllowance(a *governance.DossierAction, pointer string, found func(rule, field string, args ...any)) {
	spender, token, revoked, change := a.Target.Address, a.Target.Address, "", ""
	permissions := c.d.Effects.Permissions
	if at := c.permissionAt(pointer); at >= 0 {
		spender, change = *permissions[at].To, permissions[at].Change
		for _, p := range permissions[at+1:] {
			if p.Change == "taken" && p.On == permissions[at].On && p.What == permissions[at].What && p.To != nil && *p.To == spender {
				revoked = ", until a later call takes it back"
			}
		}
	}
	for _, argument := range a.Arguments {
		if argument.Name != nil && argument.Value != nil && (*argument.Name == "token" || *argument.Name == "asset") {
			token, revoked = *argument.Value, "" // the later call may be about another token
		}
	}
	switch field := withoutLimit(a.Arguments, "/arguments"); {
	case field != "":
		found(rules.ApprovedWithout, field, spender, token, revoked)
	case change == "granted" && revoked == "" && !c.text.has(spender) && a.Chain != nil && !c.isOwn(*a.Chain, spender) &&
		!c.called[*a.Chain+":"+spender]:
		found(rules.AllowanceUnstated, "/arguments", spender, token)
	}
}

func subjectOf(a *governance.DossierAction) string {
	for _, argument := range a.Arguments {
		if argument.Name != nil && argument.Value != nil && slices.Contains([]string{"proxy", "beacon", "cometProxy", "where"}, *argument.Name) {
			return *argument.Value
		}
	}
	return a.Target.Address
}

func (c finder) permissionAt(pointer string) int {
	return slices.IndexFunc(c.d.Effects.Permissions, func(p governance.DossierPermission) bool { return p.Action == pointer && p.To != nil })
}

// holderAt returns, formatted, the address that a call grants power to or takes it from; empty for none.
func (c finder) holderAt(pointer, granted, taken string) string {
	at := c.permissionAt(pointer)
	if at < 0 || !abi.IsValidAddress(*c.d.Effects.Permissions[at].To) { // zero is nobody
		return ""
	}
	format := granted
	if c.d.Effects.Permissions[at].Change == "taken" {
		format = taken
	}
	return fmt.Sprintf(format, *c.d.Effects.Permissions[at].To)
}

// vastDigits is the length of an amount that is without limit in effect. Tokens whose amounts have 96 bits, as UNI
// and COMP, never lower vast96.
const (
	vastDigits = 39
	vast96     = "79228162514264337593543950335"
)

// withoutLimit returns the JSON pointer of the argument that allows any amount; empty for none.
func withoutLimit(arguments []governance.DossierArgument, pointer string) string {
	for i, a := range arguments {
		at, name := fmt.Sprintf("%s/%d", pointer, i), ""
		if a.Name != nil {
			name = *a.Name
		}
		isVast := a.Value != nil && a.Type[0] == 'u' && (len(*a.Value) >= vastDigits || *a.Value == vast96)
		if isVast && (name == "" || name == "amount") || (name == "approved" || name == "allowed") && a.Value != nil && *a.Value == "true" {
			return at
		}
		if inside := withoutLimit(a.Items, at+"/items"); inside != "" {
			return inside
		}
	}
	return ""
}

func (c finder) findSetting(a *governance.DossierAction, pointer string, found func(rule, field string, args ...any)) {
	name := "a setting of " + a.Target.Address
	at := slices.IndexFunc(c.d.Effects.Settings, func(s governance.DossierSetting) bool { return s.Action == pointer })
	if at < 0 {
		found(rules.SettingChanged, "/function", *a.Function, name, "is not known")
		return
	}
	set := c.d.Effects.Settings[at]
	to := name + " to " + settingInWords(set.New)
	if set.Old == nil {
		found(rules.SettingChanged, "/function", *a.Function, to, "is not known")
		return
	}
	before, err := decimal.NewFromString(*set.Old)
	after, err2 := decimal.NewFromString(set.New)
	switch {
	case set.New == *set.Old:
	case err != nil || err2 != nil: // no numbers
		found(rules.SettingChanged, "/function", *a.Function, to, "was "+settingInWords(*set.Old))
	case after.LessThan(before):
		found(rules.SettingLowered, "/function", *a.Function, name, before, after)
	case after.GreaterThan(before):
		found(rules.SettingRaised, "/function", *a.Function, name, before, after)
	}
}

func settingInWords(setting string) string {
	if strings.Trim(setting, "0123456789abcdefx.,-[] ") == "" {
		return setting
	}
	return rules.Quoted(setting, 60)
}

type payment struct {
	governance.DossierTransfer
	chain string
	in    *governance.DossierInText
	// call and sum are JSON pointers: of the call, for findings about its first payment, and of the sum in effects.
	call, sum string
	first     bool
}

// findInPayments applies the rules about money. Of many payments in one call, a finding of a rule names the first.
func (c finder) findInPayments() {
	more := map[[2]string]int{}
	at := map[[2]string]int{}
	sums := c.sumsOf()
	for _, p := range c.payments {
		p.find(c.composer, sums, func(rule, field string, args ...any) {
			key, fact := [2]string{rule, p.call}, p.sum
			if p.first {
				fact = p.call + field
			}
			if _, is := at[key]; is {
				more[key]++
				return
			}
			at[key] = len(c.d.Findings)
			c.found(rule, fact, refActions, args...)
		})
	}
	for key, n := range more {
		c.d.Findings[at[key]].Sentence += fmt.Sprintf(" Likewise %d more in the same call.", n)
	}
}

// sum is what payments come to; isUneven says that they are not all of one amount.
type sum struct {
	amount, each decimal.Decimal
	isUneven     bool
}

// keys name the sums that a payment is part of: of its token, and of its token to its recipient.
func (p payment) keys() [2][3]string {
	token := warehouse.TextOrEmpty(p.Token)
	return [2][3]string{{p.chain, token}, {p.chain, token, p.To}}
}

func (c finder) sumsOf() map[[3]string]sum {
	sums := map[[3]string]sum{}
	for _, p := range c.payments {
		for _, key := range p.keys() {
			of, is := sums[key]
			if amount := powerOf(governance.Decimal(warehouse.TextOrEmpty(p.Amount))); !is {
				of = sum{amount, amount, false}
			} else {
				of.amount, of.isUneven = of.amount.Add(amount), of.isUneven || !of.each.Equal(amount)
			}
			sums[key] = of
		}
	}
	return sums
}

// isStated reports whether the text states the sum of a token's equal payments, or of those to the recipient.
func (p payment) isStated(c *composer, sums map[[3]string]sum) bool {
	keys := p.keys()
	states := func(key [3]string) bool {
		return c.text.hasNumber(sums[key].amount, moneyIn(p.chain, p.DossierTransfer), *p.Decimals)
	}
	return !sums[keys[0]].isUneven && states(keys[0]) || states(keys[1])
}

func (p payment) find(c *composer, sums map[[3]string]sum, found func(rule, field string, args ...any)) {
	t, in := p.DossierTransfer, p.in
	if t.Amount != nil && t.Decimals != nil && powerOf(*t.Amount).IsZero() {
		return // nothing moves
	}
	if t.Token != nil && c.Proposal.VotingToken == p.chain+":"+*t.Token {
		found(rules.VotingTokenMoved, "/transfer", moneyInWords(t), "moves")
	}
	if by, is := c.before.paid[[2]string{p.chain, t.To}]; is {
		found(rules.RecipientKnown, "/transfer/to", t.To, by)
	}
	if in.Recipient != nil && !*in.Recipient && !c.isExecutor(p.chain, t.To) {
		found(rules.RecipientUnstated, "/inText/recipient", t.To)
	}
	if in.Amount == nil || *in.Amount || p.isStated(c, sums) {
		return
	}
	if stated, is := c.text.magnitude(powerOf(*t.Amount), moneyIn(p.chain, t)); is {
		found(rules.AmountMagnitude, "/inText/amount", moneyInWords(t), stated.String())
		return
	}
	found(rules.AmountUnstated, "/inText/amount", moneyInWords(t))
}

func (c finder) findInProcess() {
	p := c.d.Process
	if len(c.d.Effects.Transfers) > 0 && c.d.Proposer != nil && len(c.d.Proposer.Here) == 0 {
		c.found(rules.FirstPayer, "/proposer/here", refProposal, c.d.Proposer.ProposerID)
	}
	kinds := map[string]bool{}
	addKinds(kinds, c.d.Actions)
	delete(kinds, string(abi.Other))
	if len(kinds) >= 3 && (len(c.d.Effects.Transfers) > 0 || len(c.d.Effects.Permissions) > 0) {
		c.found(rules.UnrelatedKinds, "/actions", refActions, len(kinds))
	}
	c.findDiscussion()
	if p.VotingHours != nil && p.MedianVotingHours != nil &&
		powerOf(*p.VotingHours).Mul(decimal.NewFromInt(2)).LessThan(powerOf(*p.MedianVotingHours)) {
		c.found(rules.ShortVote, "/process/votingHours", refProposal, *p.VotingHours, *p.MedianVotingHours)
	}
	for i, s := range p.Similar {
		if !s.SameActions || s.EndAt == nil || c.Detail.StartAt == nil || *c.Detail.StartAt-*s.EndAt > 90*day {
			continue
		}
		at := slices.IndexFunc(c.Known, func(k pages.KnownProposal) bool { return k.Key == s.ProposalKey })
		how := map[governance.Outcome]string{governance.Failed: "failed", governance.Canceled: "was canceled"}[c.outcomeAt(c.Known[at], *c.Detail.StartAt)]
		if how != "" {
			c.found(rules.SameActionsFailed, fmt.Sprintf("/process/similar/%d", i), refProposal, how, s.ProposalKey)
		}
	}
}

func addKinds(kinds map[string]bool, calls []governance.DossierAction) {
	for i := range calls {
		if addKinds(kinds, calls[i].Calls); len(calls[i].Calls) == 0 {
			kinds[calls[i].Kind] = true
		}
	}
}

func (c finder) findDiscussion() {
	p := c.d.Process
	if len(p.Topics) == 0 && c.Proposal.DiscussionURL != "" {
		c.unknown("missing_data", "the discussion that the proposal links to", "its length and its objections tell how well the proposal was reviewed",
			c.Proposal.DiscussionURL)
		return
	}
	least := decimal.NewFromInt(3) // thirds of a day
	if p.MedianDiscussionDays != nil {
		least = powerOf(governance.Decimal(*p.MedianDiscussionDays))
	}
	if len(p.Topics) == 0 || p.DiscussionDays != nil && powerOf(governance.Decimal(*p.DiscussionDays)).Mul(decimal.NewFromInt(3)).LessThan(least) {
		c.found(rules.NoDiscussion, "/process/topics", refProposal)
	}
}

func (c finder) findInTimes() {
	p := c.d.Process
	switch {
	case p.ExecutedAt != nil:
		c.found(rules.ConfirmedByRecord, "/process/executedAt", refProposal)
	case p.ExpiresAt != nil && *p.ExpiresAt > c.AsOf && *p.ExpiresAt-c.AsOf <= 2*day && c.Detail.Outcome == governance.Passed:
		c.found(rules.ExpiresSoon, "/process/expiresAt", refProposal, *p.ExpiresAt)
	}
	if c.Detail.Outcome == governance.Passed && p.ExecutedAt == nil && p.QueuedAt != nil && p.ExecutableAt != nil && *p.ExecutableAt-*p.QueuedAt >= day {
		c.found(rules.TimelockTime, "/process/executableAt", refProposal, fmt.Sprint(int64((*p.ExecutableAt-*p.QueuedAt)/hour)))
	}
}

func (c finder) findInVote() {
	d := c.d.Decision
	if q := d.Quorum; q != nil && q.MetBy != nil && c.Proposal.QuorumType != governance.QuorumOfRejection {
		late := q.MetBy.VotedAt != nil && c.Detail.EndAt != nil && *q.MetBy.VotedAt >= *c.Detail.EndAt-hour
		if late || c.metAlone {
			c.found(rules.LateQuorum, "/decision/quorum/metBy", refVotes, q.MetBy.VoterIdentity)
		}
	}
	isClosed := c.Detail.LifecycleStatus == governance.Closed
	if isClosed && d.DecidingVoters != nil && *d.DecidingVoters == "1" && c.d.Participation.Voters != nil && *c.d.Participation.Voters != "1" {
		c.found(rules.OneVoter, "/decision/decidingVoters", refVotes, c.largestForLeader)
	}
	if c.d.Course != nil && c.race != nil && c.lateSwing() {
		c.found(rules.LateSwing, "/course", refVotes)
	}
}

func (c finder) lateSwing() bool {
	choices, _ := c.contenders()
	keys := warehouse.Values(choices, func(choice governance.ChoiceTotal) string { return choice.Key })
	leads := func(powers []governance.Units) string {
		return first(keys, warehouse.Values(keys, func(key string) governance.Units { return powers[slices.Index(c.race.keys, key)] }))
	}
	before, after := leads(c.race.early), leads(c.race.powers)
	return before != "" && after != "" && before != after
}
