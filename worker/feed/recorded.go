package feed

import (
	"context"
	"slices"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// copyImported takes over imported events and curated signals, and works out the
// proposals that they are, or were, about: what somebody recorded wins over what
// follows.
func (c *Builder) copyImported(ctx context.Context) error {
	for ctx.Err() == nil {
		events, err := c.warehouse.PendingFeedEvents(ctx, c.edition)
		if err != nil {
			return err
		}
		signals, err := c.warehouse.PendingFeedSignals(ctx, c.edition)
		if err != nil {
			return err
		}
		if len(events) == 0 && len(signals) == 0 {
			return nil
		}
		if err := c.writeImported(ctx, events, signals); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (c *Builder) writeImported(
	ctx context.Context, events []warehouse.RecordedEvent, signals []warehouse.RecordedSignal,
) error {
	if _, err := c.nextRevision(ctx); err != nil {
		return err
	}
	var noted []warehouse.FeedProgress
	for _, event := range events {
		noted = append(noted, event.FeedProgress)
	}
	for _, signal := range signals {
		noted = append(noted, signal.FeedProgress)
	}
	items := make([]warehouse.FeedItem, len(noted))
	for i, item := range noted {
		items[i] = item.Item
	}
	rows, err := c.hold(ctx, items)
	if err != nil {
		return err
	}
	for _, event := range events {
		// What an earlier version of the importer let in is not shown.
		if slices.Contains(rules.EventTypeNames(), event.Event.Type) {
			rows.events = append(rows.events, importedEvent(event))
		}
	}
	for _, signal := range signals {
		if slices.Contains(rules.SignalTypeNames(), signal.Signal.Type) {
			rows.signals = append(rows.signals, importedSignal(signal))
		}
	}
	if err := c.write(ctx, rows); err != nil {
		return err
	}
	// Only then is the import done with: a worker that dies before does it again.
	if err := c.deriveProposals(ctx, rows.subjects()); err != nil {
		return err
	}
	return c.warehouse.WriteFeedProgress(ctx, c.edition, noted)
}

// subjects are the proposals that the rows are, or were, about.
func (r chapterRows) subjects() []warehouse.ProposalSize {
	about := map[record.RefHash]bool{}
	for _, row := range r.events {
		about[row.Ref] = true
	}
	for _, row := range r.signals {
		about[row.Ref] = true
	}
	for _, held := range slices.Concat(r.heldEvents, r.heldSignals) {
		about[held.Ref] = true
	}
	delete(about, record.RefHash{})
	var subjects []warehouse.ProposalSize
	for ref := range about {
		subjects = append(subjects, warehouse.ProposalSize{Ref: ref})
	}
	return subjects
}

func importedEvent(i warehouse.RecordedEvent) warehouse.FeedEvent {
	e := i.Event
	row := warehouse.FeedEvent{Item: i.Item, EventRow: governance.EventRow{
		Event: governance.Event{
			EventID: e.ID, EventType: e.Type, EventTimeMs: e.At, EventTimeConfidence: governance.Confidence(e.Confidence),
			DAOID: e.DAOID, ItemType: governance.ItemType(e.ItemType), Title: governance.OptionalText(e.Title), URL: governance.OptionalText(e.URL),
			ImportanceScore: int(e.Importance),
		},
		DiscoveredAt: max(i.DiscoveredAt, e.At),
	}}
	row.Ref, row.ProposalKey = subjectOf(e.DAOID, e.Proposal)
	return row
}

func importedSignal(i warehouse.RecordedSignal) warehouse.FeedSignal {
	s := i.Signal
	row := warehouse.FeedSignal{Item: i.Item, Surfaces: s.Surfaces, SignalRow: governance.SignalRow{
		Signal: governance.Signal{
			SignalID: s.ID, SignalType: s.Type, Priority: rules.PriorityOf(int(s.Score)), Actionability: s.Actionability,
			DAOID: s.DAOID, Title: s.Title, Summary: s.Summary, SourceURL: governance.OptionalText(s.SourceURL), DeadlineAtMs: s.DeadlineAt,
			Severity: s.Severity, Evidence: []byte(s.Evidence),
		},
		DetectedAt: s.DetectedAt,
	}}
	row.Ref, row.ProposalKey = subjectOf(s.DAOID, s.Proposal)
	return row
}

// subjectOf names a proposal that an imported record is about.
func subjectOf(daoID string, proposal *record.ProposalRef) (record.RefHash, *governance.ProposalKey) {
	if proposal == nil {
		return record.RefHash{}, nil
	}
	identity := governance.Identity{DAOID: daoID, Provider: proposal.Provider, ExternalID: proposal.ExternalID}
	key := identity.ProposalKey()
	return proposal.Hash(), &key
}
