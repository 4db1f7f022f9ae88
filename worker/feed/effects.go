package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker/dossier"
)

// isUndecided reports whether execution can still be stopped: by a vote, or while it is queued.
func (p proposal) isUndecided() bool {
	return !p.isLeftOut() && (p.state.Lifecycle != governance.Closed || p.isQueued())
}

func (p proposal) isQueued() bool {
	return p.record.State == "queued" && p.state.Outcome == governance.Passed
}

// readEffects adds what the actions of proposals come to, and the findings about them.
func (b *Builder) readEffects(ctx context.Context, proposals []proposal) error {
	all := warehouse.Values(proposals, func(p proposal) records.Proposal { return p.record })
	actions, err := records.Actions(ctx, b.Warehouse, all)
	if err != nil {
		return err
	}
	facts := make([]dossier.Facts, len(proposals))
	var acting []*dossier.Facts
	for i, p := range proposals {
		f := &facts[i]
		f.Proposal, f.Actions, f.AsOf = p.record, actions[p.record.Ref], math.MaxInt64
		f.Detail.StartAt, f.Detail.EndAt, f.Detail.Identity, f.Detail.ProposerID = p.state.StartAt, p.state.EndAt, p.state.Identity, governance.OptionalText(p.record.ProposerID)
		if p.state.Identity.DAOID != "" && len(f.Actions) > 0 {
			acting = append(acting, f)
		}
	}
	if err := dossier.ReadActions(ctx, b.Warehouse, acting); err != nil {
		return err
	}
	stored, err := records.Meanings(ctx, b.Warehouse, warehouse.Values(acting, func(f *dossier.Facts) record.RefHash { return f.Proposal.Ref }))
	if err != nil {
		return err
	}
	for i := range proposals {
		p, f := &proposals[i], facts[i]
		if p.state.Identity.DAOID == "" || len(f.Actions) == 0 && !p.isUndecided() {
			continue
		}
		effects, findings, meanings := dossier.OnActions(f, stored[f.Proposal.Ref])
		if p.isUndecided() {
			p.findings = findings
		}
		if p.effects, err = storedEffects(effects, findings, meanings); err != nil || len(f.Actions) == 0 {
			p.effects = counts.ProposalEffects{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func storedEffects(
	effects governance.DossierEffects, findings []governance.Finding, calls []records.Meaning,
) (stored counts.ProposalEffects, err error) {
	list := slices.Concat(anys(effects.Transfers), anys(effects.Permissions), anys(effects.Settings))
	encode := func(list any, n int) (text []byte) {
		if n > 0 && err == nil {
			text, err = json.Marshal(list)
		}
		return text
	}
	stored.Effects, stored.Findings = string(encode(list, len(list))), string(encode(findings, len(findings)))
	stored.Calls = string(encode(calls, len(calls)))
	if err != nil {
		return stored, fmt.Errorf("encode effects: %w", err)
	}
	return stored, nil
}

func anys[T any](of []T) []any { return warehouse.Values(of, func(one T) any { return one }) }

// addFindings adds to the facts what a signal about the findings needs.
func (p proposal) addFindings(f *rules.VoteFacts) {
	if len(p.findings) == 0 {
		return
	}
	f.Findings, f.ActUntil, f.ActionsAt = p.findings, p.record.EndAt, p.record.ObservedAt
	if stated := governance.FirstKnown(p.record.CreatedAt, p.record.StartAt); stated != nil {
		f.ActionsAt = *stated
	}
	if p.isQueued() {
		f.ActUntil = nil
	}
	for _, m := range p.record.Milestones {
		switch {
		case m.At == nil:
		case m.Type == record.ActionsChangedMilestone:
			f.ActionsAt = max(f.ActionsAt, *m.At)
		case m.Type == record.ExecutableMilestone && p.isQueued():
			f.ActUntil = m.At
		}
	}
}
