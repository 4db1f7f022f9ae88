package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker/dossier"
)

// processProposals processes proposals, and the later ones whose usual turnout they are part of.
func (b *Builder) processProposals(ctx context.Context, pending []feed.ProposalSize) error {
	var turnouts map[record.RefHash]feed.Turnout // of the last chunk: most often, there is one
	var later []feed.ProposalSize
	for chunk := range slices.Chunk(pending, proposalBatchSize) {
		refs := warehouse.Values(chunk, func(proposal feed.ProposalSize) record.RefHash { return proposal.Ref })
		of, more, err := feed.NewFeed(b.Warehouse).Turnouts(ctx, refs)
		if err != nil {
			return err
		}
		turnouts, later = of, append(later, more...)
	}
	for _, refs := range batchesOf(pending, later) {
		b.AwaitFullPublication(ctx)
		if err := b.processProposalBatch(ctx, refs, turnouts); err != nil {
			return err
		}
	}
	return nil
}

// batchesOf divides proposals, small ones first. Later votes come before pending ones, which stay pending until
// every signal that follows from them is written, also if a worker dies in between.
func batchesOf(pending, later []feed.ProposalSize) (batches [][]record.RefHash) {
	isPending := make(map[record.RefHash]bool, len(pending))
	for _, proposal := range pending {
		isPending[proposal.Ref] = true
	}
	later = slices.DeleteFunc(later, func(p feed.ProposalSize) bool { return isPending[p.Ref] })
	for _, proposals := range [][]feed.ProposalSize{later, pending} {
		sorted := slices.SortedFunc(slices.Values(proposals), func(a, b feed.ProposalSize) int {
			return cmp.Or(cmp.Compare(a.Votes, b.Votes), slices.Compare(a.Ref[:], b.Ref[:]))
		})
		votes := func(p feed.ProposalSize) uint64 { return p.Votes }
		for _, group := range warehouse.Divide(slices.Compact(sorted), proposalBatchSize, votes, maxBallots) {
			batches = append(batches, warehouse.Values(group, func(p feed.ProposalSize) record.RefHash { return p.Ref }))
		}
	}
	return batches
}

// processProposalBatch processes some proposals, and marks them so at the revision at which they were read. A
// withdrawn or flagged one has no rows, so that former ones are removed. Turnouts that are not given are read.
func (b *Builder) processProposalBatch(ctx context.Context, refs []record.RefHash, turnouts map[record.RefHash]feed.Turnout) error {
	rows, err := b.newBatch(ctx, refs)
	if err != nil {
		return err
	}
	proposals, err := b.readProposals(ctx, refs, turnouts)
	if err != nil {
		return err
	}
	var effects []counts.ProposalEffects
	for _, p := range proposals {
		p.effects.ProposalRef = p.record.Ref
		effects = append(effects, p.effects)
		rows.items = append(rows.items, feed.FeedProgress{
			Item: p.record.Ref, DAOID: p.state.Identity.DAOID, Context: p.turnout.Context, Contracts: b.daos[p.state.Identity.DAOID].Contracts,
			// What was published after the turnouts were read is pending.
			Revision: cmp.Or(min(p.state.Revision, p.turnout.Revision), p.state.Revision),
		})
		if p.isLeftOut() {
			continue
		}
		rows.events = append(rows.events, p.eventRows(rows.discovered[p.record.Ref])...)
		signals, err := p.signalRows()
		if err != nil {
			return err
		}
		rows.signals = append(rows.signals, signals...)
	}
	if err := b.write(ctx, rows); err != nil {
		return err
	}
	if err := counts.ReplaceProposalEffects(ctx, b.Warehouse, b.revision, effects); err != nil {
		return err
	}
	return feed.NewFeed(b.Warehouse).WriteProgress(ctx, b.rulesVersion, rows.items)
}

// proposal is a published proposal with everything that its events and signals are derived from.
type proposal struct {
	// record is the imported proposal, and state what was published of it.
	record records.Proposal
	state  counts.ProposalState
	// quorumTime is when the quorum was reached; nil when it was not, or when that is not known.
	quorumTime *feed.QuorumTime
	// interim are the tallies at the beginning of each of windows, by choice.
	interim []feed.InterimTally
	// turnout has the numbers of ballots of the votes before.
	turnout feed.Turnout
	// effects are what the actions come to; findings are those about the actions, while they can be stopped.
	effects  counts.ProposalEffects
	findings []governance.Finding
	// recorded are the types of events and signals that someone recorded.
	recorded map[feed.RecordedType]bool
}

func (b *Builder) readProposals(
	ctx context.Context, refs []record.RefHash, turnouts map[record.RefHash]feed.Turnout,
) ([]proposal, error) {
	records, err := records.Proposals(ctx, b.Warehouse, refs)
	if err != nil {
		return nil, err
	}
	states, err := counts.PublishedStates(ctx, b.Warehouse, refs)
	if err != nil {
		return nil, err
	}
	recorded, err := feed.NewFeed(b.Warehouse).RecordedTypes(ctx, refs)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(refs, func(ref record.RefHash) bool { _, known := turnouts[ref]; return !known }) {
		if turnouts, _, err = feed.NewFeed(b.Warehouse).Turnouts(ctx, refs); err != nil {
			return nil, err
		}
	}
	var proposals []proposal
	for _, r := range records {
		if state, published := states[r.Ref]; published {
			proposals = append(proposals, proposal{record: r, state: state, recorded: recorded, turnout: turnouts[r.Ref]})
		}
	}
	if err := b.readEffects(ctx, proposals); err != nil {
		return nil, err
	}
	return proposals, b.readBallotTimes(ctx, proposals)
}

// readBallotTimes adds what depends on when ballots were cast; many are read in the background.
func (b *Builder) readBallotTimes(ctx context.Context, proposals []proposal) error {
	var ended, reached []feed.Vote
	var ballots uint64
	for _, p := range proposals {
		ballots += p.state.Votes
		if p.isLeftOut() {
			continue
		}
		vote := feed.Vote{Ref: p.record.Ref, Choices: p.state.Choices, Bounds: p.state.Bounds}
		if p.record.EndAt != nil {
			vote.EndAt = *p.record.EndAt
			ended = append(ended, vote)
		}
		if p.timesQuorum() {
			vote.Quorum, vote.QuorumChoices = p.record.QuorumType.Least(*p.record.Quorum), p.record.CountedChoices()
			reached = append(reached, vote)
		}
	}
	if ballots >= pages.SortedCopyThreshold {
		ctx = warehouse.InBackground(ctx)
	}
	tallies, err := feed.NewFeed(b.Warehouse).InterimTallies(ctx, ended, windows())
	if err != nil {
		return err
	}
	times, err := feed.NewFeed(b.Warehouse).QuorumTimes(ctx, reached)
	if err != nil {
		return err
	}
	for i := range proposals {
		ref := proposals[i].record.Ref
		proposals[i].interim = tallies[ref]
		if at, found := times[ref]; found {
			proposals[i].quorumTime = &at
		}
	}
	return nil
}

// isLeftOut reports whether upstream has taken the proposal back or marks it as spam, or another one supersedes it.
func (p proposal) isLeftOut() bool { return p.state.Identity.DAOID == "" || p.state.Flagged }

func (p proposal) hasFlag(flag governance.QualityFlag) bool {
	return slices.Contains(p.state.QualityFlags, string(flag))
}

func (p proposal) isRecorded(eventType string) bool {
	return p.recorded[feed.RecordedType{Ref: p.record.Ref, DAOID: p.state.Identity.DAOID, Type: eventType}]
}

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
