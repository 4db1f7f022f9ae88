package feed

import (
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
)

// happening is something that befell a proposal.
type happening struct {
	kind string
	// at is nil where only the time of its discovery is known.
	at         *governance.Timestamp
	confidence governance.Confidence
	// seenAt is when what it follows from was first seen here.
	seenAt governance.Timestamp
}

// milestones are the first known times of the events that upstream recorded, by
// the type of event.
func milestones(p warehouse.Proposal) map[string]*governance.Timestamp {
	types := map[string]string{
		"created": rules.ProposalCreated, "activated": rules.VotingStarted, "extended": rules.VotingExtended,
		"queued": rules.ProposalQueued, "executed": rules.ProposalExecuted,
		"canceled": rules.ProposalCanceled, "cancelled": rules.ProposalCanceled,
		"expired": rules.ProposalExpired,
	}
	first := map[string]*governance.Timestamp{}
	for _, milestone := range p.Milestones {
		kind, known := types[milestone.Type]
		if known && milestone.At != nil && (first[kind] == nil || *milestone.At < *first[kind]) {
			first[kind] = milestone.At
		}
	}
	return first
}

// happenings lists what befell the proposal, or will by its times.
func (s story) happenings() []happening {
	p, recorded := s.proposal, milestones(s.proposal)
	found := []happening{s.creation(recorded)}
	add := func(kind string, at *governance.Timestamp, dayOnly bool) {
		if at != nil {
			found = append(found, happening{kind, at, confidenceOf(dayOnly), p.ObservedAt})
		}
	}
	start, end := s.votingTimes(recorded)
	add(rules.VotingStarted, start, p.StartDayOnly && start == p.StartAt)
	add(rules.VotingExtended, recorded[rules.VotingExtended], false)
	if s.closedEarly() {
		found = append(found, happening{rules.VotingEnded, nil, governance.DiscoveredTime, p.ObservedAt})
	} else {
		add(rules.VotingEnded, end, p.EndDayOnly)
	}
	add(rules.ProposalQueued, recorded[rules.ProposalQueued], false)
	add(rules.ProposalExpired, recorded[rules.ProposalExpired], false)
	for kind, outcome := range map[string]governance.Outcome{
		rules.ProposalExecuted: governance.Executed, rules.ProposalCanceled: governance.Canceled,
	} {
		add(kind, recorded[kind], false)
		if recorded[kind] == nil && s.state.Outcome == outcome {
			found = append(found, happening{kind, nil, governance.DiscoveredTime, p.ObservedAt})
		}
	}
	if s.quorum != nil {
		confidence := governance.DerivedTime
		if s.quorum.DayOnly {
			confidence = governance.DayTime
		}
		found = append(found, happening{rules.QuorumReached, &s.quorum.At, confidence, s.quorum.DiscoveredAt})
	}
	return found
}

func confidenceOf(dayOnly bool) governance.Confidence {
	if dayOnly {
		return governance.DayTime
	}
	return governance.ExactTime
}

// creation is when upstream says, else taken to be the start of the voting.
func (s story) creation(recorded map[string]*governance.Timestamp) happening {
	p := s.proposal
	created := happening{rules.ProposalCreated, governance.FirstKnown(p.CreatedAt, recorded[rules.ProposalCreated]), governance.ExactTime, p.ObservedAt}
	switch {
	case created.at != nil:
	case p.StartAt == nil:
		created.confidence = governance.DiscoveredTime
	default:
		created.at, created.confidence = p.StartAt, governance.DerivedTime
		if p.StartDayOnly {
			created.confidence = governance.DayTime
		}
	}
	return created
}

// votingTimes are the start and the end of the voting, without those that a
// cancellation forestalled.
func (s story) votingTimes(recorded map[string]*governance.Timestamp) (start, end *governance.Timestamp) {
	p := s.proposal
	start, end = governance.FirstKnown(p.StartAt, recorded[rules.VotingStarted]), p.EndAt
	if s.state.Outcome != governance.Canceled {
		return start, end
	}
	stopped := governance.FirstKnown(recorded[rules.ProposalCanceled], &p.ObservedAt)
	if start != nil && *start >= *stopped {
		start = nil
	}
	if recorded[rules.ProposalCanceled] == nil || end != nil && *end > *stopped {
		end = nil
	}
	return start, end
}

// closedEarly says whether upstream called the vote over before its end.
func (s story) closedEarly() bool {
	p := s.proposal
	return s.state.Outcome != governance.Canceled && governance.IsVoteOver(p.State, p.UpstreamStatus) && p.EndAt != nil && *p.EndAt > p.ObservedAt
}

// events turns what happened into rows; seen says when those held already were
// discovered, which stays.
func (s story) events(seen map[string]governance.Timestamp) []warehouse.FeedEvent {
	var rows []warehouse.FeedEvent
	for _, h := range s.happenings() {
		if s.claimed(h.kind) {
			continue
		}
		row := eventRow(h, s.state.Identity.DAOID, string(s.state.Key), s.state.Votes, seen)
		row.Item, row.Ref, row.ItemType = s.proposal.Ref, s.proposal.Ref, governance.ProposalItem
		row.ProposalKey = &s.state.Key
		row.Title, row.URL = governance.OptionalText(s.proposal.Title), governance.OptionalText(s.proposal.SourceURL)
		rows = append(rows, row)
	}
	return rows
}

// eventRow is a happening as an event. Nothing is discovered before it happened.
func eventRow(
	h happening, daoID, itemKey string, attention uint64, seen map[string]governance.Timestamp,
) warehouse.FeedEvent {
	id := governance.EventID(daoID, h.kind, itemKey)
	discovered, held := seen[id]
	if !held {
		discovered = h.seenAt
	}
	at := discovered
	if h.at != nil {
		at = *h.at
	}
	return warehouse.FeedEvent{EventRow: governance.EventRow{
		Event: governance.Event{
			EventID: id, EventType: h.kind, EventTimeMs: at, EventTimeConfidence: h.confidence, DAOID: daoID,
			ImportanceScore: rules.ImportanceOf(h.kind, h.confidence, attention),
		},
		DiscoveredAt: max(discovered, at),
	}}
}
