package publish

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// publishEvidence writes the evidence on proposals.
func (p *publication) publishEvidence(ctx context.Context, assessments []*assessment) error {
	refs := make([]record.ProposalRef, len(assessments))
	for i, a := range assessments {
		refs[i] = a.proposal.ProposalRef
	}
	analyses, err := p.worker.warehouse.Evidence(ctx, refs)
	if err != nil {
		return err
	}
	counterparts, err := p.assessCounterparts(ctx, assessments)
	if err != nil {
		return err
	}
	for _, a := range assessments {
		evidence := a.evidence(counterparts[a.proposal.Ref])
		if analysis, exists := analyses[a.proposal.ProposalRef]; exists {
			evidence.Intelligence = intelligence(analysis)
		}
		head := p.head()
		head.FreshUntil = a.nextChangeAt
		view, err := cache.NewView(head, evidence)
		if err != nil {
			return err
		}
		if err := p.writer.SetView(ctx, cache.EvidenceKey(a.key), view); err != nil {
			return err
		}
	}
	return nil
}

// loadCounterparts reads which proposals are the same at two providers: every pair,
// or those of the proposals given, to which it adds the other of each pair.
func (p *publication) loadCounterparts(ctx context.Context, touched map[record.RefHash]bool) (err error) {
	if touched == nil {
		p.counterparts, err = p.worker.warehouse.Counterparts(ctx, nil)
		return err
	}
	for known := 0; len(touched) > known; {
		known = len(touched)
		p.counterparts, err = p.worker.warehouse.Counterparts(ctx, slices.Collect(maps.Keys(touched)))
		if err != nil {
			return err
		}
		for ref := range p.counterparts {
			touched[ref] = true
		}
	}
	return nil
}

// assessCounterparts returns the same proposals at other providers, worked out.
func (p *publication) assessCounterparts(
	ctx context.Context, assessments []*assessment,
) (map[record.RefHash][]*assessment, error) {
	assessed := map[record.RefHash]*assessment{}
	for _, a := range assessments {
		assessed[a.proposal.Ref] = a
	}
	if err := p.assessOthers(ctx, assessments, assessed); err != nil {
		return nil, err
	}
	found := map[record.RefHash][]*assessment{}
	for _, a := range assessments {
		for _, other := range p.counterparts[a.proposal.Ref] {
			if counterpart, exists := assessed[other]; exists {
				found[a.proposal.Ref] = append(found[a.proposal.Ref], counterpart)
			}
		}
	}
	return found, nil
}

// assessOthers works out the counterparts that are not among what is published.
func (p *publication) assessOthers(
	ctx context.Context, assessments []*assessment, assessed map[record.RefHash]*assessment,
) error {
	var missing []record.RefHash
	for _, a := range assessments {
		for _, other := range p.counterparts[a.proposal.Ref] {
			if assessed[other] == nil {
				missing = append(missing, other)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	others, err := p.assess(ctx, missing)
	if err != nil {
		return err
	}
	for i := range others {
		assessed[others[i].proposal.Ref] = &others[i]
	}
	return nil
}

// evidence is the payload of the proposal's evidence, but for an analysis.
func (a *assessment) evidence(counterparts []*assessment) governance.Evidence {
	return governance.Evidence{
		Proposal: governance.EvidenceProposal{
			ProposalKey: a.key, Title: governance.OptionalText(a.proposal.Title), SourceURL: governance.OptionalText(a.proposal.SourceURL),
		},
		Provenance:   a.provenance(),
		Intelligence: governance.NoIntelligence(),
		QualityFlags: append([]governance.QualityFlag{}, a.flags...),
		Warnings:     append(append([]governance.Warning{}, a.conflicts...), a.conflictsWith(counterparts)...),
	}
}

func intelligence(analysis record.Evidence) governance.Intelligence {
	return governance.Intelligence{
		Status:          governance.IntelligenceAvailable,
		ArtifactVersion: governance.OptionalText(analysis.ArtifactVersion),
		GeneratedAt:     &analysis.GeneratedAt,
		Dossier:         json.RawMessage(analysis.Dossier),
		SourceRefs:      json.RawMessage(analysis.SourceRefs),
		Warnings:        json.RawMessage(analysis.Warnings),
	}
}

// provenance says where each field that is there came from, in the order of the
// proposal's detail.
func (a *assessment) provenance() []governance.Provenance {
	p := a.proposal
	own := recordOf(p)
	fields := []struct {
		name   string
		there  bool
		source origin
	}{
		{"title", p.Title != "", own},
		{"bodyText", p.Body != "", own},
		{"proposerId", p.ProposerID != "", own},
		{"sourceUrl", p.SourceURL != "", own},
		{"discussionUrl", p.DiscussionURL != "", own},
		{"lifecycleStatus", true, a.lifecycleOrigin()},
		{"outcome", a.outcome != governance.Unknown, a.outcomeOrigin()},
		{"choices", len(a.count.choices) > 0, a.choicesOrigin()},
		{"quorumRaw", p.QuorumRaw != "", own},
		{"startAt", p.StartAt != nil, own},
		{"endAt", p.EndAt != nil, own},
		{"ballots", a.ballots.Votes > 0, own.votes(a.ballots)},
	}
	provenance := []governance.Provenance{}
	for _, field := range fields {
		if field.there {
			provenance = append(provenance, governance.Provenance{
				Field: field.name, Source: field.source.name, Provider: p.Provider, ObservedAt: field.source.observedAt,
			})
		}
	}
	return provenance
}

// origin is an upstream record, and when it was seen.
type origin struct {
	name       string
	observedAt governance.Timestamp
}

// recordOf is the record of the proposal itself.
func recordOf(p warehouse.Proposal) origin {
	return origin{name: p.SourceID + "/proposals/" + p.ExternalID, observedAt: p.ObservedAt}
}

// votes is the ballots on the proposal.
func (o origin) votes(ballots warehouse.VoteTotals) origin {
	return origin{name: o.name + "/votes", observedAt: ballots.ObservedAt}
}

// statement is one of several things that the record states.
func (o origin) statement(name string) origin {
	o.name += "#" + name
	return o
}

// Statements of an upstream record, by their names there.
const (
	tallyStatus      = "status"
	snapshotState    = "state"
	snapshotScores   = "scores"
	daoStatus        = "source_status"
	startAndEndTimes = "start,end"
)

// lifecycleOrigin names what lifecycleOf went by.
func (a *assessment) lifecycleOrigin() origin {
	p, own := a.proposal, recordOf(a.proposal)
	switch {
	case governance.IsVoteOver(p.State, p.UpstreamStatus) && p.Provider == governance.Tally:
		return own.statement(tallyStatus)
	case governance.IsVoteOver(p.State, p.UpstreamStatus) && p.State != governance.UpstreamActive && p.State != governance.UpstreamPending && p.State != "":
		return own.statement(snapshotState)
	case governance.IsVoteOver(p.State, p.UpstreamStatus):
		return own.statement(daoStatus)
	case p.StartAt != nil || p.EndAt != nil:
		return own.statement(startAndEndTimes)
	case p.State == "":
		return own
	case p.Provider == governance.Tally:
		return own.statement(tallyStatus)
	}
	return own.statement(snapshotState)
}

// outcomeOrigin names what outcomeOf went by. What was counted is as new as the
// ballots and the rules of the proposal are.
func (a *assessment) outcomeOrigin() origin {
	p, own := a.proposal, recordOf(a.proposal)
	_, stated := governance.StatedOutcome(p.Provider, p.State, p.UpstreamStatus)
	switch {
	case stated && p.Provider == governance.Tally:
		return own.statement(tallyStatus)
	case stated:
		return own.statement(daoStatus)
	case a.count.decidedByScores:
		return own.statement(snapshotScores)
	case a.ballots.Votes == 0:
		return own
	}
	counted := own.votes(a.ballots)
	counted.observedAt = max(counted.observedAt, own.observedAt)
	return counted
}

// choicesOrigin is the ballots where upstream states no choices.
func (a *assessment) choicesOrigin() origin {
	own := recordOf(a.proposal)
	if len(a.proposal.Choices) == 0 {
		return own.votes(a.ballots)
	}
	return own
}
