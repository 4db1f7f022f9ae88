package feed

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// feedBatchSize bounds the topics or recorded entries of one read of what is pending.
const feedBatchSize = 20_000

// FeedItem identifies what rows of the feed are derived from: a proposal by its
// reference, a topic, or a recorded event or signal.
type FeedItem = record.RefHash

// FeedProgress is the revision up to which the feed includes an item.
type FeedProgress struct {
	Item  FeedItem
	DAOID string
	// Revision is the item's: of the published state of a proposal, of the record of anything else.
	Revision uint64
	// Context is a hash of what else the rows follow from: the turnouts of the votes before a
	// vote, or the prefix of a topic's id; zero for nothing.
	Context uint64
	// Contracts is [records.CatalogDAO.Contracts] for a proposal, and 0 for anything else.
	Contracts uint64
}

// Feed is what events and signals are derived from, and the events and signals themselves.
type Feed struct{ w *warehouse.Warehouse }

// NewFeed returns the feed of a warehouse.
func NewFeed(w *warehouse.Warehouse) Feed { return Feed{w} }

// WriteProgress records up to which revision the feed includes items, by a rules version.
func (f Feed) WriteProgress(ctx context.Context, rulesVersion uint64, items []FeedProgress) error {
	return warehouse.InsertRows(ctx, f.w, "INSERT INTO feed_progress (item, dao_id, rules_version, revision, context, contracts)",
		fmt.Sprintf("write feed progress of %d items", len(items)), warehouse.Values(items, func(p FeedProgress) []any {
			return []any{string(p.Item[:]), p.DAOID, rulesVersion, p.Revision, p.Context, p.Contracts}
		}))
}

// PendingProposals returns the proposals that the feed does not include at their
// published revision, this rules version and the contracts that their DAOs name, those with the fewest ballots first.
func (f Feed) PendingProposals(ctx context.Context, rulesVersion uint64) ([]ProposalSize, error) {
	return warehouse.Find[ProposalSize](ctx, f.w, "list pending proposals of the feed", sqlText("feed_pending_proposals"),
		clickhouse.Named("rules_version", rulesVersion))
}

// FeedTopic is a topic with what the feed derives events from.
type FeedTopic struct {
	FeedProgress
	record.Topic
	DiscoveredAt governance.Timestamp // when the warehouse first had it
}

// PendingTopics returns some topics of forums that the feed does not include at their
// revision, DAO, identity and this rules version.
func (f Feed) PendingTopics(ctx context.Context, rulesVersion uint64, forums []records.Forum) ([]FeedTopic, error) {
	owners := warehouse.ExternalTable("forum_owners", forums,
		func(f records.Forum) []any { return []any{f.Host, f.DAOID, f.IDPrefix} }, warehouse.TextColumn("host"), warehouse.TextColumn("dao_id"), warehouse.TextColumn("id_prefix"))
	return warehouse.Find[FeedTopic](ctx, f.w, "list pending topics of the feed", sqlText("feed_pending_topics"),
		owners, clickhouse.Named("rules_version", rulesVersion), clickhouse.Named("limit", feedBatchSize))
}

// RecordedEvent is an event that upstream recorded.
type RecordedEvent struct {
	FeedProgress
	Event        record.Event
	DiscoveredAt governance.Timestamp // when the warehouse first had it
}

// PendingEvents returns some recorded events that the feed does not include at their
// revision, DAO and this rules version. What is about a withdrawn proposal has no DAO.
func (f Feed) PendingEvents(ctx context.Context, rulesVersion uint64) ([]RecordedEvent, error) {
	type row struct {
		RecordedEvent
		EventID, EventType, Provider, ExternalID string
		EventTime                                governance.Timestamp
	}
	rows, err := warehouse.Find[row](ctx, f.w, "list pending events of the feed", sqlText("feed_pending_events"),
		clickhouse.Named("rules_version", rulesVersion), clickhouse.Named("limit", feedBatchSize))
	return warehouse.Values(rows, func(r row) RecordedEvent {
		r.Event.ID, r.Event.Type, r.Event.At = r.EventID, r.EventType, r.EventTime
		r.Event.DAOID, r.Event.Proposal = r.DAOID, records.JoinProposal(r.Provider, r.ExternalID)
		return r.RecordedEvent
	}), err
}

// RecordedSignal is a signal that upstream recorded.
type RecordedSignal struct {
	FeedProgress
	Signal record.Signal
}

// PendingSignals is PendingEvents for signals.
func (f Feed) PendingSignals(ctx context.Context, rulesVersion uint64) ([]RecordedSignal, error) {
	type row struct {
		RecordedSignal
		SignalID, SignalType, Provider, ExternalID string
	}
	rows, err := warehouse.Find[row](ctx, f.w, "list pending signals of the feed", sqlText("feed_pending_signals"),
		clickhouse.Named("rules_version", rulesVersion), clickhouse.Named("limit", feedBatchSize))
	return warehouse.Values(rows, func(r row) RecordedSignal {
		r.Signal.ID, r.Signal.Type = r.SignalID, r.SignalType
		r.Signal.DAOID, r.Signal.Proposal = r.DAOID, records.JoinProposal(r.Provider, r.ExternalID)
		return r.RecordedSignal
	}), err
}

// RecordedType is a type that upstream recorded about a proposal. The feed does not derive it again.
type RecordedType struct {
	Ref record.RefHash `ch:"proposal_ref"`
	// DAOID is the DAO that the record names, and Type the type of event or signal.
	DAOID, Type string
}

// RecordedTypes returns the types recorded about the proposals.
func (f Feed) RecordedTypes(ctx context.Context, refs []record.RefHash) (map[RecordedType]bool, error) {
	types, err := warehouse.Find[RecordedType](ctx, f.w, "read the types recorded about proposals",
		sqlText("feed_recorded_types"), warehouse.RefTable(refs))
	return warehouse.Keyed(types, err, func(recorded RecordedType) (RecordedType, bool) { return recorded, true })
}

// DAOChanges names the lists of a DAO that show new rows.
type DAOChanges struct {
	// EventIDs and SignalIDs identify the rows that are new, different or gone.
	EventIDs  []string `ch:"event_ids"`
	SignalIDs []string `ch:"signal_ids"`
	// BothLists says that both lists may differ in other rows, too.
	BothLists bool `ch:"-"`
}

// BecameVisible returns the changes by DAO from rows of the feed whose time is later than
// after and not later than until: lists do not show rows of the future.
func (f Feed) BecameVisible(ctx context.Context, after, until governance.Timestamp) (map[string]DAOChanges, error) {
	return warehouse.FindBy[string, DAOChanges](ctx, f.w, "list rows of the feed that became visible", sqlText("feed_became_visible"),
		clickhouse.Named("after", int64(after)), clickhouse.Named("until", int64(until)))
}

// ChangedSince returns the changes of rows written after a revision, of one DAO or, without an id, of all.
func (f Feed) ChangedSince(ctx context.Context, daoID string, revision uint64) (map[string]DAOChanges, error) {
	return warehouse.FindBy[string, DAOChanges](ctx, f.w, "list rows of the feed that were written since a revision", sqlText("feed_changed_since"),
		clickhouse.Named("dao", daoID), clickhouse.Named("revision", revision))
}

// NextVisible returns when the next row of the feed becomes visible after a time; zero for none.
func (f Feed) NextVisible(ctx context.Context, after governance.Timestamp) (governance.Timestamp, error) {
	next, err := warehouse.FindValue[int64](ctx, f.w, "read when the next row of the feed becomes visible",
		sqlText("feed_next_visible"), clickhouse.Named("after", int64(after)))
	return governance.Timestamp(next), err
}
