package dossier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/governance/rules"
)

// find applies the rules of findings.
func (c *composer) find() {
	c.d.Findings = []governance.Finding{}
	c.findPayload()
	for i := range c.d.Actions {
		c.findInAction(&c.d.Actions[i], fmt.Sprintf("/actions/%d", i))
	}
	c.findInProcess()
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

// found adds a finding of a rule that rests on a fact and a source.
func (c *composer) found(rule, fact, ref string, args ...any) {
	of := rules.FindingRuleOf(rule)
	c.d.Findings = append(c.d.Findings, governance.Finding{
		Rule: of.Name, RuleVersion: of.Version, Severity: of.Severity, Sentence: clip(fmt.Sprintf(of.Sentence, args...), 300), Facts: []string{fact},
		Refs: []string{ref},
	})
}

func (c *composer) findPayload() {
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
func (c *composer) findInAction(a *governance.DossierAction, pointer string) {
	found := func(rule, field string, args ...any) { c.found(rule, pointer+field, refActions, args...) }
	if a.Undecoded != nil {
		found(rules.PayloadUndecoded, "/undecoded", a.Target.Address)
		if a.Value != "0" && a.Function == nil {
			found(rules.NativeUndecoded, "/value", a.Target.Address)
		}
	}
	if a.Operation == string(abi.DelegateCall) && !isBatchOfSafe(a) {
		found(rules.DelegateCalled, "/operation", a.Target.Address)
	}
	c.findPower(a, found)
	if t := a.Transfer; t != nil && a.InText != nil {
		c.findMoney(*t, *a.InText, found)
	}
	for i := range a.Calls {
		c.findInAction(&a.Calls[i], fmt.Sprintf("%s/calls/%d", pointer, i))
	}
}

// isBatchOfSafe reports whether code of another contract only makes calls, which are decoded: the
// multisend that Safes use.
func isBatchOfSafe(a *governance.DossierAction) bool {
	return a.Function != nil && *a.Function == "multiSend(bytes)" && a.Undecoded == nil
}

// findPower applies the rules about power.
func (c *composer) findPower(a *governance.DossierAction, found func(rule, field string, args ...any)) {
	if a.Function == nil {
		return
	}
	name, _, _ := strings.Cut(*a.Function, "(")
	plain := strings.ToLower(strings.TrimLeft(name, "_"))
	mentions := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(plain, word) })
	}
	switch kind := abi.Kind(a.Kind); {
	case mentions("guardian", "veto", "pauser"):
		found(rules.GuardianRemoved, "/function", *a.Function)
	case kind == abi.Upgrade:
		found(rules.Upgraded, "/function", *a.Function, a.Target.Address)
	case kind == abi.Role, kind == abi.Ownership, kind == abi.Safe && mentions("owner", "module", "guard", "threshold", "mastercopy", "fallback"):
		found(rules.RoleMoved, "/function", *a.Function, "on "+a.Target.Address)
	case (kind == abi.GovernanceSetting || kind == abi.Timelock) && len(a.Calls) == 0 && mentions("delay", "period", "quorum", "threshold", "vot"):
		found(rules.SettingLowered, "/function", *a.Function, "a setting of "+a.Target.Address)
	case kind == abi.Approval:
		for i, argument := range a.Arguments {
			if argument.Unlimited || argument.Name != nil && *argument.Name == "approved" && *argument.Value == "true" {
				found(rules.ApprovedWithout, fmt.Sprintf("/arguments/%d", i), *a.Arguments[0].Value, a.Target.Address)
			}
		}
	}
}

// findMoney applies the rules about money that moves.
func (c *composer) findMoney(t governance.DossierTransfer, in governance.DossierInText, found func(rule, field string, args ...any)) {
	if in.Recipient != nil && !*in.Recipient {
		found(rules.RecipientUnstated, "/inText/recipient", t.To)
	}
	if in.Amount == nil || *in.Amount {
		return
	}
	if stated, is := c.text.magnitude(powerOf(*t.Amount)); is {
		found(rules.AmountMagnitude, "/inText/amount", moneyInWords(t), stated.String())
		return
	}
	found(rules.AmountUnstated, "/inText/amount", moneyInWords(t))
}

// findInProcess applies the rules about how the proposal came about.
func (c *composer) findInProcess() {
	p := c.d.Process
	if len(c.d.Effects.Transfers) > 0 && c.d.Proposer != nil && len(c.d.Proposer.Here) == 0 {
		c.found(rules.FirstPayer, "/proposer/here", refProposal, c.d.Proposer.ProposerID)
	}
	kinds := map[string]bool{}
	for _, a := range c.d.Actions {
		kinds[a.Kind] = true
	}
	delete(kinds, string(abi.Other))
	if len(kinds) >= 3 && (len(c.d.Effects.Transfers) > 0 || len(c.d.Effects.Permissions) > 0) {
		c.found(rules.UnrelatedKinds, "/actions", refActions, len(kinds))
	}
	if len(p.Topics) == 0 || p.DiscussionDays != nil && powerOf(*p.DiscussionDays).LessThan(decimal.NewFromInt(1)) {
		c.found(rules.NoDiscussion, "/process/topics", refProposal)
	}
	if p.VotingHours != nil && p.MedianVotingHours != nil &&
		powerOf(*p.VotingHours).Mul(decimal.NewFromInt(2)).LessThan(powerOf(*p.MedianVotingHours)) {
		c.found(rules.ShortVote, "/process/votingHours", refProposal, *p.VotingHours, *p.MedianVotingHours)
	}
	for i, s := range p.Similar {
		recent := s.EndAt != nil && c.Detail.StartAt != nil && *c.Detail.StartAt-*s.EndAt <= 90*day
		if s.SameActions && recent && (s.Outcome == governance.Failed || s.Outcome == governance.Canceled) {
			c.found(rules.SameActionsFailed, fmt.Sprintf("/process/similar/%d", i), refProposal, s.ProposalKey)
		}
	}
	if p.ExecutedAt != nil {
		c.found(rules.ConfirmedByRecord, "/process/executedAt", refProposal)
	}
}

// findInVote applies the rules about the vote.
func (c *composer) findInVote() {
	d := c.d.Decision
	if q := d.Quorum; q != nil && q.MetBy != nil {
		late := q.MetBy.VotedAt != nil && c.Detail.EndAt != nil && *q.MetBy.VotedAt >= *c.Detail.EndAt-hour
		alone := powerOf(q.Counted).Sub(powerOf(q.MetBy.VotingPower)).LessThan(powerOf(q.Needed))
		if late || alone {
			c.found(rules.LateQuorum, "/decision/quorum/metBy", refVotes, q.MetBy.VoterIdentity)
		}
	}
	if d.DecidingVoters != nil && *d.DecidingVoters == "1" && c.d.Participation.Voters != nil && *c.d.Participation.Voters != "1" {
		for _, b := range c.d.Voters.Largest {
			if d.Leader != nil && slices.Contains(b.ChoiceKeys, d.Leader.Key) {
				c.found(rules.OneVoter, "/decision/decidingVoters", refVotes, b.VoterIdentity)
				break
			}
		}
	}
	if c.d.Course != nil && c.d.Course.LateLeaderChange {
		c.found(rules.LateSwing, "/course/lateLeaderChange", refVotes)
	}
}
