package feed

import (
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/records"
)

// event is something that happened to an item, or will happen at a time that is set.
type event struct {
	eventType string
	// at is nil when only the time of its discovery is known.
	at *governance.Timestamp
	// confidence states how at is known.
	confidence governance.Confidence
	// observedAt is when the record that it is derived from was first observed.
	observedAt governance.Timestamp
}

// milestones returns the first known times of the events that upstream states, by type of event.
func milestones(p records.Proposal) map[string]*governance.Timestamp {
	// Upstream can state a milestone several times, as when a vote is extended twice.
	first := map[string]*governance.Timestamp{}
	for _, milestone := range p.Milestones {
		eventType := rules.EventOfMilestone(milestone.Type)
		if eventType != "" && milestone.At != nil && (first[eventType] == nil || *milestone.At < *first[eventType]) {
			first[eventType] = milestone.At
		}
	}
	return first
}

func (p proposal) events() []event {
	observedAt, stated := p.record.ObservedAt, milestones(p.record)
	events := []event{p.creation(stated)}
	add := func(eventType string, at *governance.Timestamp, dayOnly bool) {
		if at != nil {
			events = append(events, event{eventType, at, p.confidenceIn(*at, dayOnly), observedAt})
		}
	}
	discovered := func(eventType string) {
		events = append(events, event{eventType, nil, governance.DiscoveredTime, observedAt})
	}
	start, end := p.votingTimes(stated)
	// Where the start is taken from a milestone, its time is exact.
	add(rules.VotingStarted, start, p.record.StartDayOnly && start == p.record.StartAt)
	add(rules.VotingExtended, stated[rules.VotingExtended], false)
	// The end that the record states may not have happened: when the vote ended is unknown then.
	switch by := p.endedBy(stated); {
	case by != nil:
		events = append(events, event{rules.VotingEnded, by, governance.DerivedTime, observedAt})
	case p.closedEarly():
		discovered(rules.VotingEnded)
	default:
		add(rules.VotingEnded, end, p.record.EndDayOnly)
	}
	add(rules.ProposalQueued, stated[rules.ProposalQueued], false)
	add(rules.ProposalExpired, stated[rules.ProposalExpired], false)
	if stated[rules.ProposalExpired] == nil && p.record.State == "expired" { // a contract logs no expiry
		discovered(rules.ProposalExpired)
	}
	for eventType, outcome := range map[string]governance.Outcome{
		rules.ProposalExecuted: governance.Executed, rules.ProposalCanceled: governance.Canceled,
	} {
		add(eventType, stated[eventType], false)
		if stated[eventType] == nil && p.state.Outcome == outcome {
			discovered(eventType)
		}
	}
	if p.quorumTime != nil {
		confidence := governance.DerivedTime
		if p.quorumTime.DayOnly {
			confidence = governance.DayTime
		}
		events = append(events, event{rules.QuorumReached, &p.quorumTime.At, confidence, p.quorumTime.DiscoveredAt})
	}
	if p.statesQuorum() {
		at := event{rules.QuorumReached, p.record.EndAt, governance.DerivedTime, observedAt}
		if p.record.EndDayOnly {
			at.confidence = governance.DayTime
		}
		events = append(events, at)
	}
	return events
}

// confidenceIn returns the confidence in a time that upstream states.
func (p proposal) confidenceIn(at governance.Timestamp, dayOnly bool) governance.Confidence {
	switch {
	case dayOnly:
		return governance.DayTime
	case at > p.record.ObservedAt && p.record.Provider.EstimatesTimes():
		return governance.DerivedTime
	}
	return governance.ExactTime
}

// creation is at the time that upstream states, or else at the start of voting.
func (p proposal) creation(stated map[string]*governance.Timestamp) event {
	created := event{
		rules.ProposalCreated, governance.FirstKnown(p.record.CreatedAt, stated[rules.ProposalCreated]),
		governance.ExactTime, p.record.ObservedAt,
	}
	switch {
	case created.at != nil:
	case p.record.StartAt == nil:
		created.confidence = governance.DiscoveredTime
	default:
		created.at, created.confidence = p.record.StartAt, governance.DerivedTime
		if p.record.StartDayOnly {
			created.confidence = governance.DayTime
		}
	}
	return created
}

// votingTimes returns the start and the end of voting. Times that a cancellation prevented are nil.
func (p proposal) votingTimes(stated map[string]*governance.Timestamp) (start, end *governance.Timestamp) {
	start, end = governance.FirstKnown(p.record.StartAt, stated[rules.VotingStarted]), p.record.EndAt
	if p.state.Outcome != governance.Canceled {
		return start, end
	}
	canceled := governance.FirstKnown(stated[rules.ProposalCanceled], &p.record.ObservedAt)
	if start != nil && *start >= *canceled {
		start = nil
	}
	if stated[rules.ProposalCanceled] == nil || end != nil && *end > *canceled {
		end = nil
	}
	return start, end
}

// endedBy returns when the proposal was queued or executed, if that was before the stated end of its vote.
func (p proposal) endedBy(stated map[string]*governance.Timestamp) (by *governance.Timestamp) {
	for _, followed := range []string{rules.ProposalQueued, rules.ProposalExecuted} {
		if at := stated[followed]; at != nil && (by == nil || *at < *by) {
			by = at
		}
	}
	if by == nil || p.state.Outcome == governance.Canceled || p.record.EndAt == nil || p.record.EndDayOnly || *by >= *p.record.EndAt {
		return nil
	}
	return by
}

// closedEarly reports whether upstream stated the vote as over before its end.
func (p proposal) closedEarly() bool {
	r := p.record
	return p.state.Outcome != governance.Canceled && governance.IsVoteOver(r.State, r.UpstreamStatus) &&
		r.EndAt != nil && *r.EndAt > r.ObservedAt
}

// eventRows returns the rows of events that nobody recorded. discovered is when stored ones were, which stays.
func (p proposal) eventRows(discovered map[string]governance.Timestamp) []feed.FeedEvent {
	var rows []feed.FeedEvent
	facts := p.facts()
	for _, e := range p.events() {
		if p.isRecorded(e.eventType) {
			continue
		}
		row := eventRow(e, p.state.Identity.DAOID, string(p.state.Key), discovered)
		row.ImportanceScore = facts.Importance(e.eventType, e.confidence, p.state.Votes)
		row.Item, row.Ref, row.ItemType = p.record.Ref, p.record.Ref, governance.ProposalItem
		row.ProposalKey = &p.state.Key
		row.Title, row.URL = governance.OptionalText(p.record.Title), governance.OptionalText(p.record.SourceURL)
		rows = append(rows, row)
	}
	return rows
}

// eventRow returns the row of an event, without its importance: at its discovery, unless it has a time. None is
// discovered before it happened.
func eventRow(e event, daoID, itemKey string, discovered map[string]governance.Timestamp) feed.FeedEvent {
	id := governance.EventID(daoID, e.eventType, itemKey)
	discoveredAt, stored := discovered[id]
	if !stored {
		discoveredAt = e.observedAt
	}
	at := discoveredAt
	if e.at != nil {
		at = *e.at
	}
	return feed.FeedEvent{EventRow: governance.EventRow{
		Event: governance.Event{
			EventID: id, EventType: governance.EventType(e.eventType), EventTimeMs: at, EventTimeConfidence: e.confidence, DAOID: daoID,
		},
		DiscoveredAt: max(discoveredAt, at),
	}}
}
