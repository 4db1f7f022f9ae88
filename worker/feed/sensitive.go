package feed

import (
	"context"
	"slices"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/dossier"
)

// isSensitive reports whether a finding makes a signal.
func isSensitive(f governance.Finding) bool {
	return slices.Contains([]governance.Severity{governance.SeverityCritical, governance.SeverityHigh, governance.SeverityUnknown}, f.Severity)
}

// isUndecided reports whether what the proposal executes can still be stopped: by a vote, or while it
// is queued.
func (p proposal) isUndecided() bool {
	return !p.isLeftOut() && (p.state.Lifecycle != governance.Closed || p.isQueued())
}

func (p proposal) isQueued() bool {
	return p.record.State == "queued" && p.state.Outcome == governance.Passed
}

// readFindings adds the findings about what undecided proposals execute.
func (b *Builder) readFindings(ctx context.Context, proposals []proposal) error {
	var undecided []warehouse.Proposal
	for _, p := range proposals {
		if p.isUndecided() {
			undecided = append(undecided, p.record)
		}
	}
	if len(undecided) == 0 {
		return nil
	}
	actions, err := b.Warehouse.Actions(ctx, undecided)
	if err != nil {
		return err
	}
	for i := range proposals {
		p := &proposals[i]
		if !p.isUndecided() {
			continue
		}
		f := dossier.Facts{Proposal: p.record, Actions: actions[p.record.Ref]}
		f.Detail.Identity, f.Detail.StartAt = p.state.Identity, p.state.StartAt
		p.findings = dossier.OnActions(f)
		if len(f.Actions) == 0 || !slices.ContainsFunc(p.findings, isSensitive) {
			continue
		}
		// Topics and executed proposals can only explain what is found without them.
		if f.Topics, err = b.Warehouse.TopicsOf(ctx, p.record.Ref); err != nil {
			return err
		}
		if concerned := f.Concerned(); len(concerned) > 0 {
			if f.Known, err = b.Warehouse.KnownProposals(ctx, p.state.Identity.DAOID, ""); err != nil {
				return err
			}
			if f.Before, err = b.Warehouse.EarlierActions(ctx, f.Executed(), concerned); err != nil {
				return err
			}
		}
		p.findings = dossier.OnActions(f)
	}
	return nil
}

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
