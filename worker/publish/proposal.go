package publish

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/panics"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

type proposalPublication struct {
	*run
	list      *proposalList
	published int
}

func (p *proposalPublication) publish(ctx context.Context) error {
	casts, err := records.Casts(ctx, p.Warehouse, slices.DeleteFunc(slices.Clone(p.proposals), p.totals.has))
	if err != nil {
		return err
	}
	chunks := warehouse.Divide(p.proposals, proposalBatchSize, func(ref record.RefHash) uint64 { return casts[ref] }, maxCasts)
	done := 0
	return readAhead(ctx, chunks, p.readChunk, func(ctx context.Context, read *chunk) error {
		if err := p.writeChunk(ctx, read); err != nil {
			return err
		}
		if done += len(read.refs); p.Progress != nil {
			p.Progress(done, len(p.proposals))
		}
		return nil
	})
}

func (p *proposalPublication) readChunk(ctx context.Context, refs []record.RefHash) (*chunk, error) {
	c := &chunk{refs: refs}
	group, ctx := panics.WithContext(ctx)
	group.Go(func() (err error) {
		c.evaluations, err = p.evaluate(ctx, refs)
		return err
	})
	group.Go(func() (err error) {
		if c.published, err = counts.PublishedStates(ctx, p.Warehouse, refs); err != nil {
			return err
		}
		maps.DeleteFunc(c.published, func(_ record.RefHash, s counts.ProposalState) bool { return s.Identity.DAOID == "" })
		c.listed, err = pages.ListedVersions(ctx, p.Warehouse, refs)
		return err
	})
	return c, group.Wait()
}

// evaluate evaluates proposals. Groups of ballots that name at most maxPreferences choices are in memory.
func (p *proposalPublication) evaluate(ctx context.Context, refs []record.RefHash) ([]evaluation, error) {
	var proposals []records.Proposal
	var totals map[record.RefHash]counts.VoteTotals
	var lacking map[record.RefHash]bool
	group, groupCtx := panics.WithContext(ctx)
	group.Go(func() (err error) {
		proposals, err = records.Proposals(groupCtx, p.Warehouse, refs)
		return err
	})
	group.Go(func() (err error) {
		lacking, err = records.LackBallots(groupCtx, p.Warehouse, refs)
		return err
	})
	group.Go(func() (err error) {
		if p.everything {
			totals, err = counts.StoredVoteTotals(groupCtx, p.Warehouse, refs)
		} else {
			totals, err = p.voteTotals(groupCtx, refs)
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	evaluations := make([]evaluation, 0, len(proposals))
	preferencesOf := func(proposal records.Proposal) uint64 {
		return preferences(proposal, totals[proposal.Ref])
	}
	for _, group := range warehouse.Divide(proposals, proposalBatchSize, preferencesOf, maxPreferences) {
		var grouped []record.RefHash
		for _, proposal := range group {
			if count := preferencesOf(proposal); count > 0 && count <= maxPreferences {
				grouped = append(grouped, proposal.Ref)
			}
		}
		groups, err := counts.Rankings(ctx, p.Warehouse, grouped)
		if err != nil {
			return nil, err
		}
		for _, proposal := range group {
			source := record.SourceRef{Provider: proposal.Provider, ID: proposal.SourceID}
			daoID := p.catalog.OwnerOf(source)
			proposal.Flagged = proposal.Flagged || p.catalog.Sources[source].Flagged
			counted := ballots{totals: totals[proposal.Ref], groups: groups[proposal.Ref]}
			_, superseded := p.mirrors.original[proposal.Ref]
			proposal.Withdrawn, proposal.LacksBallots = proposal.Withdrawn || superseded, lacking[proposal.Ref]
			e := evaluate(proposal, daoID, counted, p.At)
			if p.corrections.isFlagged(proposal.Ref) {
				e.flags = append(e.flags, rules.TotalsRecounted)
			}
			e.linkNames = append(e.linkNames, p.mirrors.namesOf(proposal, p.catalog.DAOs[daoID])...)
			evaluations = append(evaluations, e)
		}
	}
	return evaluations, nil
}

func (p *proposalPublication) writeChunk(ctx context.Context, c *chunk) error {
	for i := range c.evaluations {
		if err := p.writeProposal(ctx, c, &c.evaluations[i]); err != nil {
			return err
		}
	}
	if err := p.recordCorrections(ctx, c.published, c.counted); err != nil {
		return err
	}
	if err := p.writeEvidence(ctx, c.shown); err != nil {
		return err
	}
	// Results show before DAOs are summed up.
	if err := p.writeChanges(ctx); err != nil {
		return err
	}
	p.Invalidate(ctx, p.writer)
	p.published += len(c.counted)
	// Redis before states: what is cut off in between counts as not published, and is done again.
	return p.writeStates(ctx, c.refs, c.counted)
}

func (p *proposalPublication) writeProposal(ctx context.Context, c *chunk, e *evaluation) error {
	previous, wasPublished := c.published[e.proposal.Ref]
	former := previous.Identity
	p.voters.move(e, former.DAOID)
	if e.proposal.Withdrawn {
		return p.withdraw(ctx, c, e)
	}
	if !governance.IsKnownState(e.proposal.State) {
		p.metrics.unknownStates.Inc()
	}
	keep := e.result.unbalanced != nil && wasPublished
	if e.result.unbalanced != nil {
		if err := p.keepPrevious(ctx, e, wasPublished); err != nil {
			return err
		}
	}
	if keep {
		exists, err := p.hasView(ctx, cache.VoteSummaryKey(former.ProposalKey()))
		if err != nil {
			return err
		}
		if exists && former == e.identity {
			p.noteProposal(e.proposal.Ref, e.key, e.identity.DAOID)
			c.shown = append(c.shown, e)
		}
		if exists {
			p.daos[former.DAOID] = true // its sums lack the same ballots, which it has to state
			return nil
		}
	}
	if wasPublished && former != e.identity {
		p.retract(ctx, e.proposal.Ref, former)
	}
	p.writeViews(ctx, e)
	if err := p.list.add(ctx, e.identity.DAOID, e.listed(p.Revision), c.listed); err != nil {
		return err
	}
	p.daos[e.identity.DAOID] = true
	p.noteProposal(e.proposal.Ref, e.key, e.identity.DAOID)
	c.shown = append(c.shown, e)
	// The totals of a large proposal are kept by range, unless its vote is ranked: the last round follows from all ballots.
	isRanged := e.ballots.Votes >= p.rangedFrom && e.proposal.VoteType != governance.RankedChoice && !e.proposal.Withdrawn
	if isRanged && (!p.everything || e.lifecycle == governance.Active) {
		p.totals.want(e.proposal.Ref, !p.everything)
	}
	if !keep {
		c.counted = append(c.counted, e)
	}
	return nil
}

// withdraw removes what upstream has taken back, always: a failover of Redis may have brought the views back.
func (p *proposalPublication) withdraw(ctx context.Context, c *chunk, e *evaluation) error {
	if former, wasPublished := c.published[e.proposal.Ref]; wasPublished && former.Identity != e.identity {
		p.retract(ctx, e.proposal.Ref, former.Identity)
	}
	p.retract(ctx, e.proposal.Ref, e.identity)
	c.counted = append(c.counted, e)
	if _, isListed := c.listed[e.proposal.Ref]; !isListed {
		return nil
	}
	return p.list.add(ctx, e.identity.DAOID, e.listed(p.Revision), c.listed)
}

// keepPrevious reports and withholds numbers that do not match, and flags the previous ones, which stay.
func (p *proposalPublication) keepPrevious(ctx context.Context, e *evaluation, wasPublished bool) error {
	p.reportUnbalanced(ctx, e.result.unbalanced, slog.String("proposal_key", string(e.key)), p.At,
		[]record.RefHash{e.proposal.Ref}, nil)
	e.withhold()
	if !wasPublished {
		return nil
	}
	return counts.AddQualityFlag(ctx, p.Warehouse, e.proposal.Ref, rules.TotalsDisagree, p.Revision)
}

// writeViews writes the detail and the vote summary, and changes the version of the pages of ballots.
func (p *proposalPublication) writeViews(ctx context.Context, e *evaluation) {
	head := p.head()
	head.FreshUntil = e.nextChangeAt
	p.writer.SetPayload(ctx, cache.ProposalDetailKey(e.key), head, e.detail())
	if !e.result.ready() {
		head.Readiness = governance.ReadinessUnavailable
	}
	p.writer.SetPayload(ctx, cache.VoteSummaryKey(e.key), head, e.summary())
	if e.ballots.Votes >= pages.SortedCopyThreshold {
		// Pages stay at their version until the copy that they are read from is built again.
		p.writer.InitVersion(ctx, query.Ballots{Proposal: e.key}.Scope())
		return
	}
	p.writer.SetVersion(ctx, query.Ballots{Proposal: e.key}.Scope(), 0)
}

// retract removes the views of a proposal that was withdrawn, or moved to another DAO and so to another key.
func (p *proposalPublication) retract(ctx context.Context, ref record.RefHash, former governance.Identity) {
	p.daos[former.DAOID] = true
	key := former.ProposalKey()
	p.noteProposal(ref, key, former.DAOID)
	for _, view := range []cache.Key{cache.ProposalDetailKey(key), cache.VoteSummaryKey(key), cache.EvidenceKey(key)} {
		p.writer.RemoveView(ctx, view)
	}
	p.writer.RemoveVersion(ctx, query.Ballots{Proposal: key}.Scope())
}

// writeStates writes what the sums of DAOs and the links of topics are made from.
func (p *proposalPublication) writeStates(ctx context.Context, refs []record.RefHash, counted []*evaluation) error {
	if len(counted) == 0 {
		return nil
	}
	states := make([]counts.ProposalState, len(counted))
	links := make([]counts.ProposalLink, len(counted))
	for i, e := range counted {
		states[i], links[i] = p.stateOf(e), e.link()
	}
	if err := counts.WriteProposalStates(ctx, p.Warehouse, states); err != nil {
		return err
	}
	return p.writeLinks(ctx, refs, links)
}

// writeLinks writes by which names proposals and topics refer to each other, where that has changed.
func (p *proposalPublication) writeLinks(ctx context.Context, refs []record.RefHash, links []counts.ProposalLink) error {
	published, err := counts.ProposalLinks(ctx, p.Warehouse, refs)
	if err != nil {
		return err
	}
	var changed []counts.ChangedLink
	for _, link := range links {
		if previous, known := published[link.Ref]; !known || !sameLink(previous, link) {
			changed = append(changed, counts.ChangedLink{ProposalLink: link, Previous: previous})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	p.topics.relinked = true
	return counts.WriteProposalLinks(ctx, p.Warehouse, changed, p.Revision)
}

func (e *evaluation) link() counts.ProposalLink {
	p := e.proposal
	if p.Withdrawn {
		return counts.ProposalLink{Ref: p.Ref}
	}
	slices.Sort(e.linkNames)
	return counts.ProposalLink{
		Ref: p.Ref, Key: e.key, Title: p.Title,
		Names: slices.Compact(e.linkNames),
		Topic: governance.LinkedTopic(p.DiscussionURL), Flagged: p.Flagged,
	}
}

func sameLink(a, b counts.ProposalLink) bool {
	return a.Key == b.Key && a.Title == b.Title && a.Topic == b.Topic && a.Flagged == b.Flagged && slices.Equal(a.Names, b.Names)
}
