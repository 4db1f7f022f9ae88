package feed

import (
	"context"
	"slices"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

// processRecorded copies imported events and signals, and processes the proposals that they are, or were, about.
func (b *Builder) processRecorded(ctx context.Context) error {
	for ctx.Err() == nil {
		events, err := feed.NewFeed(b.Warehouse).PendingEvents(ctx, b.rulesVersion)
		if err != nil {
			return err
		}
		signals, err := feed.NewFeed(b.Warehouse).PendingSignals(ctx, b.rulesVersion)
		if err != nil {
			return err
		}
		if len(events) == 0 && len(signals) == 0 {
			return nil
		}
		if err := b.processRecordedBatch(ctx, events, signals); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *Builder) processRecordedBatch(ctx context.Context, events []feed.RecordedEvent, signals []feed.RecordedSignal) error {
	progress := slices.Concat(
		warehouse.Values(events, func(event feed.RecordedEvent) feed.FeedProgress { return event.FeedProgress }),
		warehouse.Values(signals, func(signal feed.RecordedSignal) feed.FeedProgress { return signal.FeedProgress }))
	items := warehouse.Values(progress, func(p feed.FeedProgress) feed.FeedItem { return p.Item })
	rows, err := b.newBatch(ctx, items)
	if err != nil {
		return err
	}
	// Unknown types are not shown, nor is what is about a withdrawn proposal: it has no DAO.
	for _, event := range events {
		if event.DAOID != "" && slices.Contains(rules.EventTypeNames(), event.Event.Type) {
			rows.events = append(rows.events, recordedEvent(event))
		}
	}
	for _, signal := range signals {
		if signal.DAOID != "" && slices.Contains(rules.SignalTypeNames(), signal.Signal.Type) {
			rows.signals = append(rows.signals, recordedSignal(signal))
		}
	}
	if err := b.write(ctx, rows); err != nil {
		return err
	}
	// The records stay pending until the proposals are processed: a worker may die in between.
	if err := b.processProposals(ctx, rows.subjects()); err != nil {
		return err
	}
	return feed.NewFeed(b.Warehouse).WriteProgress(ctx, b.rulesVersion, progress)
}

// recordedEvent returns the row of a recorded event. It is not discovered before it happened.
func recordedEvent(recorded feed.RecordedEvent) feed.FeedEvent {
	e := recorded.Event
	row := feed.FeedEvent{Item: recorded.Item, EventRow: governance.EventRow{
		Event: governance.Event{
			EventID: e.ID, EventType: governance.EventType(e.Type),
			EventTimeMs: e.At, EventTimeConfidence: governance.Confidence(e.Confidence),
			DAOID: e.DAOID, ItemType: governance.ItemType(e.ItemType),
			Title: governance.OptionalText(e.Title), URL: governance.OptionalText(e.URL),
			ImportanceScore: int(e.Importance),
		},
		DiscoveredAt: max(recorded.DiscoveredAt, e.At),
	}}
	// By the subject, this row suppresses the derived one of the same type.
	row.Ref, row.ProposalKey = subjectOf(e.DAOID, e.Proposal)
	return row
}

func recordedSignal(recorded feed.RecordedSignal) feed.FeedSignal {
	s := recorded.Signal
	row := feed.FeedSignal{Item: recorded.Item, Surfaces: s.Surfaces, SignalRow: governance.SignalRow{
		Signal: governance.Signal{
			SignalID: s.ID, SignalType: governance.SignalType(s.Type),
			Priority: rules.PriorityOf(int(s.Score)), Actionability: s.Actionability,
			DAOID: s.DAOID, Title: s.Title, Summary: s.Summary,
			SourceURL: governance.OptionalText(s.SourceURL), DeadlineAtMs: s.DeadlineAt,
			Severity: s.Severity, Evidence: []byte(s.Evidence),
		},
		DetectedAt: s.DetectedAt,
	}}
	row.Ref, row.ProposalKey = subjectOf(s.DAOID, s.Proposal)
	return row
}

func subjectOf(daoID string, proposal *record.ProposalRef) (record.RefHash, *governance.ProposalKey) {
	if proposal == nil {
		return record.RefHash{}, nil
	}
	identity := governance.Identity{DAOID: daoID, Provider: proposal.Provider, ExternalID: proposal.ExternalID}
	key := identity.ProposalKey()
	return proposal.Hash(), &key
}
