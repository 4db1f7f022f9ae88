package publish

import (
	"encoding/json"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// evidence is the payload of the proposal's evidence, but for an analysis.
func (e *evaluation) evidence(counterparts []*evaluation) governance.Evidence {
	return governance.Evidence{
		Proposal: governance.EvidenceProposal{
			ProposalKey: e.key, Title: governance.OptionalText(e.proposal.Title), SourceURL: governance.OptionalText(e.proposal.SourceURL),
		},
		Provenance:   e.provenance(),
		Intelligence: governance.NoIntelligence(),
		QualityFlags: append([]governance.QualityFlag{}, e.flags...),
		Warnings:     append(append([]governance.Warning{}, e.conflicts...), e.conflictsWith(counterparts)...),
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
func (e *evaluation) provenance() []governance.Provenance {
	p := e.proposal
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
		{"lifecycleStatus", true, e.lifecycleOrigin()},
		{"outcome", e.outcome != governance.Unknown, e.outcomeOrigin()},
		{"choices", len(e.result.choices) > 0, e.choicesOrigin()},
		{"quorumRaw", p.QuorumRaw != "", own},
		{"startAt", p.StartAt != nil, own},
		{"endAt", p.EndAt != nil, own},
		{"ballots", e.ballots.Votes > 0, own.votes(e.ballots)},
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
func (e *evaluation) lifecycleOrigin() origin {
	p, own := e.proposal, recordOf(e.proposal)
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
func (e *evaluation) outcomeOrigin() origin {
	p, own := e.proposal, recordOf(e.proposal)
	_, stated := governance.StatedOutcome(p.Provider, p.State, p.UpstreamStatus)
	switch {
	case stated && p.Provider == governance.Tally:
		return own.statement(tallyStatus)
	case stated:
		return own.statement(daoStatus)
	case e.result.decidedByScores:
		return own.statement(snapshotScores)
	case e.ballots.Votes == 0:
		return own
	}
	counted := own.votes(e.ballots)
	counted.observedAt = max(counted.observedAt, own.observedAt)
	return counted
}

// choicesOrigin is the ballots where upstream states no choices.
func (e *evaluation) choicesOrigin() origin {
	own := recordOf(e.proposal)
	if len(e.proposal.Choices) == 0 {
		return own.votes(e.ballots)
	}
	return own
}
