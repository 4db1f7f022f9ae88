package publish

import (
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
)

// assessment is everything that is worked out for one proposal.
type assessment struct {
	proposal  warehouse.Proposal
	identity  governance.Identity
	key       governance.ProposalKey
	lifecycle governance.Lifecycle
	outcome   governance.Outcome
	count     count
	flags     []governance.QualityFlag
	// conflicts are those between upstream and what is held, and within upstream.
	conflicts []governance.Warning
	ballots   warehouse.VoteTotals
	// createdAt, updatedAt and nextChangeAt are as in warehouse.ProposalState.
	createdAt, updatedAt, nextChangeAt *governance.Timestamp
}

// assess works out a proposal as it stands at a moment.
func assess(p warehouse.Proposal, daoID string, ballots ballots, now time.Time) assessment {
	stamp := governance.TimestampOf(now)
	a := assessment{
		proposal: p,
		identity: governance.Identity{DAOID: daoID, Provider: p.Provider, ExternalID: p.ExternalID},
		count:    countBallots(p, ballots),
		ballots:  ballots.tally,
	}
	a.key = a.identity.ProposalKey()
	a.lifecycle, a.nextChangeAt = lifecycleOf(p, stamp)
	a.outcome = a.outcomeOf()
	a.createdAt = governance.FirstKnown(p.CreatedAt, p.StartAt)
	a.updatedAt = updatedAt(p, stamp)
	a.conflicts = a.conflictsWithin()
	a.flags = slices.Concat(a.count.flags, a.recordFlags(), a.upstreamFlags())
	slices.Sort(a.flags)
	return a
}

// lifecycleOf says where a proposal stands, and when time alone will move it on.
// A state that ends a proposal wins over its times; otherwise the times decide, and
// upstream's word only where they are unknown.
func lifecycleOf(p warehouse.Proposal, now governance.Timestamp) (governance.Lifecycle, *governance.Timestamp) {
	switch {
	case governance.IsVoteOver(p.State, p.UpstreamStatus):
		return governance.Closed, nil
	case p.EndAt != nil && *p.EndAt <= now:
		return governance.Closed, nil
	case p.StartAt != nil && *p.StartAt > now:
		return governance.Pending, p.StartAt
	case p.StartAt != nil || p.EndAt != nil:
		return governance.Active, p.EndAt
	}
	switch p.State {
	case governance.UpstreamActive:
		return governance.Active, nil
	case governance.UpstreamPending:
		return governance.Pending, nil
	}
	return governance.Closed, nil
}

// outcomeOf reads the outcome off what upstream states, and derives it from the
// count where it states none and the rule is known.
func (a *assessment) outcomeOf() governance.Outcome {
	if a.lifecycle != governance.Closed {
		return governance.Unknown
	}
	if outcome, known := governance.StatedOutcome(a.proposal.Provider, a.proposal.State, a.proposal.UpstreamStatus); known {
		return outcome
	}
	return a.derived()
}

// derived decides by counts and quorum, for votes on one choice, counted in full.
func (a *assessment) derived() governance.Outcome {
	if !a.count.decidable {
		return governance.Unknown
	}
	outcome := governance.Decide(a.count.choices, a.count.decisive, a.count.quorumReached)
	if outcome != governance.Unknown {
		a.count.flags = append(a.count.flags, rules.OutcomeDerived)
	}
	return outcome
}

// updatedAt is upstream's time of the last change, else the latest time in the
// proposal's life that has passed.
func updatedAt(p warehouse.Proposal, now governance.Timestamp) *governance.Timestamp {
	if p.UpdatedAt != nil {
		return p.UpdatedAt
	}
	latest := p.CreatedAt
	passed := []*governance.Timestamp{p.StartAt, p.EndAt}
	for _, milestone := range p.Milestones {
		if milestone.Type == "executed" || milestone.Type == "canceled" {
			passed = append(passed, milestone.At)
		}
	}
	for _, at := range passed {
		if at != nil && *at <= now {
			latest = governance.Later(latest, at)
		}
	}
	return latest
}

// recordFlags says what is missing from the record itself.
func (a *assessment) recordFlags() []governance.QualityFlag {
	p := a.proposal
	timeless := p.StartAt == nil && p.EndAt == nil
	return raised(map[governance.QualityFlag]bool{
		rules.TitleMissing:     p.Title == "",
		rules.BodyMissing:      p.Body == "",
		rules.TimesMissing:     timeless,
		rules.TimesDayOnly:     p.StartDayOnly || p.EndDayOnly,
		rules.LifecycleAssumed: timeless && p.State == "" && p.UpstreamStatus == "",
	})
}

// detail is the payload of the proposal's detail. The API adds the related paths.
func (a *assessment) detail() governance.ProposalDetail {
	p := a.proposal
	return governance.ProposalDetail{
		ProposalKey:     a.key,
		Identity:        a.identity,
		Title:           governance.OptionalText(p.Title),
		BodyText:        governance.OptionalText(p.Body),
		ProposerID:      governance.OptionalText(p.ProposerID),
		SourceURL:       governance.OptionalText(p.SourceURL),
		DiscussionURL:   governance.OptionalText(p.DiscussionURL),
		LifecycleStatus: a.lifecycle,
		Outcome:         a.outcome,
		Choices:         a.count.choices,
		QuorumRaw:       governance.OptionalText(p.QuorumRaw),
		StartAt:         p.StartAt,
		EndAt:           p.EndAt,
	}
}

// summary is the payload of the proposal's vote summary.
func (a *assessment) summary() governance.VoteSummary {
	s := governance.VoteSummary{
		Proposal: governance.SummaryProposal{
			ProposalKey: a.key, Title: governance.OptionalText(a.proposal.Title), Outcome: a.outcome,
		},
		Choices:        []governance.ChoiceTotal{},
		CoverageStatus: a.count.coverage,
	}
	if !a.count.ready {
		return s
	}
	votes := governance.CountOf(a.count.votes)
	s.Totals = &governance.VoteTotals{
		Votes: votes, UniqueVoters: votes, VotingPower: governance.DecimalOf(a.count.power),
	}
	s.Quorum = a.count.quorum
	s.Choices = a.count.totals
	return s
}

// state is what the warehouse keeps of the assessment.
func (a *assessment) state(revision uint64) warehouse.ProposalState {
	p := a.proposal
	flags := make([]string, len(a.flags))
	for i, flag := range a.flags {
		flags[i] = string(flag)
	}
	return warehouse.ProposalState{
		Ref: p.Ref, Key: a.key, Identity: a.identity, SourceID: p.SourceID,
		Lifecycle: a.lifecycle, Outcome: a.outcome, Coverage: a.count.coverage,
		VoteReady: a.count.ready, Votes: a.count.votes, Power: a.count.power,
		Choices: a.count.choices, Scores: a.count.scores, VotedIn: a.count.votedIn,
		CreatedAt: a.createdAt, UpdatedAt: a.updatedAt, StartAt: p.StartAt, EndAt: p.EndAt,
		LastVotedAt: a.count.lastVotedAt, NextChangeAt: a.nextChangeAt,
		QualityFlags: flags, Revision: revision,
	}
}

// listed is the row by which lists show the proposal.
func (a *assessment) listed(revision uint64) warehouse.ListedProposal {
	p := a.proposal
	return warehouse.ListedProposal{
		Ref: p.Ref, Key: a.key, Identity: a.identity, SourceID: p.SourceID,
		Title: p.Title, SourceURL: p.SourceURL, DiscussionURL: p.DiscussionURL, ProposerID: p.ProposerID,
		Lifecycle: a.lifecycle, Outcome: a.outcome, Coverage: a.count.coverage,
		CreatedAt: a.createdAt, UpdatedAt: a.updatedAt, StartAt: p.StartAt, EndAt: p.EndAt,
		Revision: revision,
	}
}
