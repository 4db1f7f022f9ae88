package publish

import (
	"maps"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/records"
)

// evaluation is all that is computed for one proposal. Views, states and list rows are made from it.
type evaluation struct {
	proposal  records.Proposal
	identity  governance.Identity
	key       governance.ProposalKey
	lifecycle governance.Lifecycle
	outcome   governance.Outcome
	result    voteResult
	ballots   counts.VoteTotals
	flags     []governance.QualityFlag
	// conflicts are between upstream's figures and stored ballots, and between two of upstream's statements.
	conflicts []governance.Warning
	linkNames []string
	// createdAt, updatedAt and nextChangeAt are as in counts.ProposalState.
	createdAt, updatedAt, nextChangeAt *governance.Timestamp
}

// evaluate computes a proposal at a moment of the warehouse's clock. It is a pure function.
func evaluate(p records.Proposal, daoID string, ballots ballots, now time.Time) evaluation {
	stamp := governance.TimestampOf(now)
	e := evaluation{
		proposal: p,
		identity: governance.Identity{DAOID: daoID, Provider: p.Provider, ExternalID: p.ExternalID},
		ballots:  ballots.totals,

		linkNames: p.Provider.LinkNames(p.SourceID, p.ExternalID, p.SourceURL),
	}
	e.key = e.identity.ProposalKey()
	e.lifecycle, e.nextChangeAt = lifecycleOf(p, stamp), nextTurn(p, stamp)
	e.result = countVotes(p, ballots, e.lifecycle == governance.Closed)
	e.outcome = e.outcomeOf()
	e.createdAt = governance.FirstKnown(p.CreatedAt, p.StartAt)
	e.updatedAt = updatedAt(p, stamp)
	e.conflicts = e.conflictsWithin()
	e.flags = slices.Concat(e.result.flags, e.recordFlags(), e.upstreamFlags())
	slices.Sort(e.flags)
	return e
}

// lifecycleOf goes by a final state of upstream, then by the times, then by any other state.
func lifecycleOf(p records.Proposal, now governance.Timestamp) governance.Lifecycle {
	switch {
	case governance.IsVoteOver(p.State, p.UpstreamStatus):
		return governance.Closed
	case p.EndAt != nil && *p.EndAt <= now:
		return governance.Closed
	case p.StartAt != nil && *p.StartAt > now:
		return governance.Pending
	case p.StartAt != nil || p.EndAt != nil:
		return governance.Active
	}
	switch {
	case p.State == governance.UpstreamPending:
		return governance.Pending
	case p.State != "": // open, or an unknown word
		return governance.Active
	}
	return governance.Closed
}

// turns are the times at which the clock alone changes lifecycleOf or updatedAt, in no order.
func turns(p records.Proposal) []*governance.Timestamp {
	at := []*governance.Timestamp{p.StartAt, p.EndAt}
	for _, milestone := range p.Milestones {
		if slices.Contains([]string{rules.ProposalExecuted, rules.ProposalCanceled}, rules.EventOfMilestone(milestone.Type)) {
			at = append(at, milestone.At)
		}
	}
	return at
}

func nextTurn(p records.Proposal, now governance.Timestamp) (next *governance.Timestamp) {
	for _, at := range turns(p) {
		if at != nil && *at > now && (next == nil || *at < *next) {
			next = at
		}
	}
	return next
}

// outcomeOf returns what upstream states, or what scores and quorum decide, if the rule is known and totals are
// final.
func (e *evaluation) outcomeOf() governance.Outcome {
	p := e.proposal
	if e.lifecycle != governance.Closed {
		return governance.Unknown
	}
	if outcome, known := p.Provider.StatedOutcome(p.State, p.UpstreamStatus); known {
		return outcome
	}
	if !governance.IsKnownState(p.State) {
		return governance.Unknown
	}
	outcome := e.result.decide(p)
	if outcome != governance.Unknown {
		e.result.flags = append(e.result.flags, rules.OutcomeDerived)
	}
	return outcome
}

// updatedAt is upstream's time of the last change, or else the latest of the proposal's own times that has passed.
func updatedAt(p records.Proposal, now governance.Timestamp) *governance.Timestamp {
	if p.UpdatedAt != nil {
		return p.UpdatedAt
	}
	latest := p.CreatedAt
	for _, at := range turns(p) {
		if at != nil && *at <= now {
			latest = governance.Later(latest, at)
		}
	}
	return latest
}

func (e *evaluation) recordFlags() []governance.QualityFlag {
	p := e.proposal
	timeless := p.StartAt == nil && p.EndAt == nil
	return raised(map[governance.QualityFlag]bool{
		rules.TitleMissing:     p.Title == "" || p.TitleDerived,
		rules.TitleDerived:     p.TitleDerived,
		rules.BodyMissing:      p.Body == "",
		rules.TimesMissing:     timeless,
		rules.TimesDayOnly:     p.StartDayOnly || p.EndDayOnly,
		rules.TimesReversed:    p.StartAt != nil && p.EndAt != nil && *p.EndAt < *p.StartAt,
		rules.Flagged:          p.Flagged,
		rules.LifecycleAssumed: timeless && p.State == "" && p.UpstreamStatus == "",
	})
}

func (e *evaluation) detail() governance.ProposalRow {
	p := e.proposal
	return governance.ProposalRow{Bounds: e.result.bounds, ProposalDetail: governance.ProposalDetail{
		ProposalKey:     e.key,
		Identity:        e.identity,
		Title:           governance.OptionalText(p.Title),
		BodyText:        governance.OptionalText(p.Body),
		ProposerID:      governance.OptionalText(p.ProposerID),
		SourceURL:       governance.OptionalText(p.SourceURL),
		DiscussionURL:   governance.OptionalText(p.DiscussionURL),
		LifecycleStatus: e.lifecycle,
		Outcome:         e.outcome,
		Choices:         e.result.choices,
		QuorumRaw:       governance.OptionalText(p.QuorumRaw),
		Flagged:         p.Flagged,
		StartAt:         p.StartAt,
		EndAt:           p.EndAt,
		CreatedAt:       e.createdAt,
		UpdatedAt:       e.updatedAt,
		VoteType:        governance.OptionalText(string(p.VoteType)),
	}}
}

// summary returns the payload of the vote summary. It has no totals unless the result is ready.
func (e *evaluation) summary() governance.VoteSummary {
	s := governance.VoteSummary{
		Proposal: governance.SummaryProposal{
			ProposalKey: e.key, Title: governance.OptionalText(e.proposal.Title), Outcome: e.outcome,
		},
		Held: governance.HeldTotals{
			Votes: governance.CountOf(e.ballots.Votes), VotingPower: governance.DecimalOf(e.ballots.Power),
		},
		Choices:        []governance.ChoiceTotal{},
		CoverageStatus: e.result.coverage,
	}
	if !e.result.ready() {
		return s
	}
	s.Basis, s.Totals = &e.result.from, &governance.VoteTotals{VotingPower: governance.DecimalOf(e.result.power)}
	if e.result.votes != nil {
		votes := governance.CountOf(*e.result.votes)
		s.Totals.Votes, s.Totals.UniqueVoters = &votes, &votes
	}
	s.Quorum, s.Choices = e.result.quorum, e.result.choiceTotals()
	if e.lifecycle == governance.Closed && e.outcome != governance.Canceled {
		s.Result = e.result.winner()
	}
	return s
}

// state returns the row from which sums over proposals, and their events and signals, are made.
func (e *evaluation) state(revision uint64) counts.ProposalState {
	p := e.proposal
	state := counts.ProposalState{
		Ref: p.Ref, Key: e.key, Identity: e.identity, SourceID: p.SourceID,
		Lifecycle: e.lifecycle, Outcome: e.outcome, Coverage: e.result.coverage,
		VoteReady: e.result.ready(), Votes: e.ballots.Votes, Power: e.ballots.Power,
		Basis: e.result.from, TotalVotes: e.result.votes, TotalPower: e.result.power, Settled: e.result.settled,
		Choices: e.result.choices, Bounds: e.result.bounds, Scores: e.result.scores, HasChoiceVotes: e.result.hasChoiceVotes,
		CreatedAt: e.createdAt, UpdatedAt: e.updatedAt, StartAt: p.StartAt, EndAt: p.EndAt,
		LastVotedAt: e.ballots.LastVotedAt, NextChangeAt: e.nextChangeAt,
		QualityFlags: warehouse.NonNilTexts(e.flags), Flagged: p.Flagged, Revision: revision, StatedFingerprint: statedFingerprint(p),
	}
	if e.result.quorum != nil {
		state.QuorumReached = e.result.quorum.Reached
	}
	if e.ballots.Votes > 0 {
		state.BallotsObservedAt = &e.ballots.ObservedAt
	}
	state.VotedIn, state.Undated = e.votesByMonth()
	for _, verdict := range governance.Verdicts(p.VoteType, e.result.choices) {
		state.Verdicts = append(state.Verdicts, verdict.String())
	}
	if p.TitleDerived {
		state.DerivedTitle = p.Title
	}
	if p.Withdrawn {
		state.WithdrawnFrom, state.Identity.DAOID, state.NextChangeAt = e.identity.DAOID, "", nil
	}
	return state
}

// votesByMonth returns the ballots by month, and how many are in none. One without a time is in the month of its
// vote where that began and ended in one.
func (e *evaluation) votesByMonth() (months map[counts.Month]uint64, undated uint64) {
	start, end, undated := e.proposal.StartAt, e.proposal.EndAt, e.ballots.Undated
	if undated == 0 || start == nil || end == nil || *end < *start || counts.MonthOf(*start) != counts.MonthOf(*end) {
		return e.ballots.VotedIn, undated
	}
	months = maps.Clone(e.ballots.VotedIn)
	if months == nil {
		months = map[counts.Month]uint64{}
	}
	months[counts.MonthOf(*start)] += undated
	return months, 0
}

func (e *evaluation) listed(revision uint64) pages.ListedProposal {
	p := e.proposal
	row := pages.ListedProposal{
		Ref: p.Ref, Key: e.key, Identity: e.identity, SourceID: p.SourceID,
		Title: p.Title, SourceURL: p.SourceURL, DiscussionURL: p.DiscussionURL, ProposerID: p.ProposerID,
		Lifecycle: e.lifecycle, Outcome: e.outcome, Coverage: e.result.coverage, Flagged: p.Flagged,
		CreatedAt: e.createdAt, UpdatedAt: e.updatedAt, StartAt: p.StartAt, EndAt: p.EndAt,
		Revision: revision,
	}
	if p.Withdrawn {
		row.Identity.DAOID = ""
	}
	return row
}

// withhold removes the numbers of a result that does not add up, and what was concluded from them.
func (e *evaluation) withhold() {
	e.result.from, e.result.settled = "", false
	e.conflicts = e.conflictsWithin()
	e.flags = append(e.flags, rules.TotalsDisagree)
	e.flags = slices.DeleteFunc(e.flags, func(flag governance.QualityFlag) bool {
		return flag == rules.TotalsDifferUpstream
	})
	slices.Sort(e.flags)
}
