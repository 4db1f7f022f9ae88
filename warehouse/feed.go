package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// feedBatchSize bounds how many topics or imported records are taken at a time.
const feedBatchSize = 20_000

// FeedItem is what rows of the chronicle follow from: a proposal, by its reference, a
// topic, or an imported event or signal.
type FeedItem = record.RefHash

// FeedProgress says up to where the chronicle has caught up with an item.
type FeedProgress struct {
	Item     FeedItem
	DAOID    string
	Revision uint64
}

// ProposalSize is a proposal with the number of its ballots, by which the work on it
// is measured.
type ProposalSize struct {
	Ref   record.RefHash
	Votes uint64
}

// PendingFeedProposals returns the proposals that were published since the
// chronicle last looked at them, or that it looked at by another edition of the
// rules, those with the fewest ballots first.
func (w *Warehouse) PendingFeedProposals(ctx context.Context, rulesVersion uint64) ([]ProposalSize, error) {
	rows, err := w.conn.Query(ctx, sqlText("feed_pending_proposals"), clickhouse.Named("rules_version", rulesVersion))
	return collect(rows, err, "list proposals to chronicle", scanProposalSize)
}

// LaterVotes returns the proposals beyond those given whose usual turnout these are
// part of.
func (w *Warehouse) LaterVotes(ctx context.Context, refs []record.RefHash) ([]ProposalSize, error) {
	rows, err := w.queryRefs(ctx, sqlText("feed_votes_later"), refs)
	return collect(rows, err, "list later proposals", scanProposalSize)
}

func scanProposalSize(rows scanner) (ProposalSize, error) {
	var ref string
	var found ProposalSize
	err := rows.Scan(&ref, &found.Votes)
	found.Ref = hashOf(ref)
	return found, err
}

// hashOf reads a FixedString(16).
func hashOf(text string) (hash record.RefHash) {
	copy(hash[:], text)
	return hash
}

// collect reads all rows of a result.
func collect[T any](rows driver.Rows, err error, what string, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	var found []T
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return found, nil
}

// EarlierTurnouts returns how many ballots the votes had that ended before each of the
// proposals in the same source, up to the last 10. Proposals without a result are
// missing.
func (w *Warehouse) EarlierTurnouts(ctx context.Context, refs []record.RefHash) (map[record.RefHash][]uint64, error) {
	type turnout struct {
		ref     record.RefHash
		earlier []uint64
	}
	rows, err := w.queryRefs(ctx, sqlText("feed_votes_turnouts"), refs)
	list, err := collect(rows, err, "read turnouts", func(rows scanner) (t turnout, err error) {
		var ref string
		err = rows.Scan(&ref, &t.earlier)
		t.ref = hashOf(ref)
		return t, err
	})
	found := make(map[record.RefHash][]uint64, len(list))
	for _, t := range list {
		found[t.ref] = t.earlier
	}
	return found, err
}

// PublishedStates returns what was last published of the proposals, in order of
// their references; of the times and months only the revision.
func (w *Warehouse) PublishedStates(ctx context.Context, refs []record.RefHash) ([]ProposalState, error) {
	rows, err := w.queryRefs(ctx, sqlText("proposal_state_by_ref"), refs)
	return collect(rows, err, "read published states", func(rows scanner) (s ProposalState, err error) {
		var ref, key, provider, lifecycle, outcome string
		var keys, labels []string
		var votes []uint64
		var powers []decimal.Decimal
		err = rows.Scan(&ref, &key, &s.Identity.DAOID, &provider, &s.Identity.ExternalID, &lifecycle, &outcome,
			&s.VoteReady, &s.Votes, &s.Power, &keys, &labels, &votes, &powers, &s.QualityFlags, &s.Revision)
		s.Ref, s.Key = hashOf(ref), governance.ProposalKey(key)
		s.Identity.Provider = governance.Provider(provider)
		s.Lifecycle, s.Outcome = governance.Lifecycle(lifecycle), governance.Outcome(outcome)
		for i := range keys {
			s.Choices = append(s.Choices, governance.Choice{Key: keys[i], Label: labels[i]})
			s.Scores = append(s.Scores, governance.Score{Votes: votes[i], Power: powers[i]})
		}
		return s, err
	})
}

// Vote is a vote whose ballots are to be looked at in order of time.
type Vote struct {
	Ref   record.RefHash
	EndAt governance.Timestamp
	// Quorum is zero where there is none.
	Quorum decimal.Decimal
	// QuorumChoices are the choices that count towards it; none stands for all.
	QuorumChoices []string
}

// InterimTally is what the ballots for one choice come to.
type InterimTally struct {
	Choice string
	// Votes and Powers are of the ballots cast earlier than each span before the end.
	Votes  []uint64
	Powers []decimal.Decimal
	// Largest is the power of the largest ballot, and LargestVoter whose it is.
	Largest      decimal.Decimal
	LargestVoter string
}

// InterimTallies returns how votes stood some spans before their ends, by choice. A
// ballot without a time counts as the earliest.
func (w *Warehouse) InterimTallies(
	ctx context.Context, votes []Vote, spans []time.Duration,
) (map[record.RefHash][]InterimTally, error) {
	type standing struct {
		ref record.RefHash
		InterimTally
	}
	milliseconds := make([]int64, len(spans))
	for i, span := range spans {
		milliseconds[i] = span.Milliseconds()
	}
	rows, err := w.queryVotes(ctx, sqlText("feed_votes_interim"), votes, clickhouse.Named("spans", milliseconds))
	list, err := collect(rows, err, "read standings", func(rows scanner) (s standing, err error) {
		var ref string
		err = rows.Scan(&ref, &s.Choice, &s.Votes, &s.Powers, &s.Largest, &s.LargestVoter)
		s.ref = hashOf(ref)
		return s, err
	})
	found := map[record.RefHash][]InterimTally{}
	for _, s := range list {
		found[s.ref] = append(found[s.ref], s.InterimTally)
	}
	return found, err
}

// QuorumTime is when a vote reached its quorum.
type QuorumTime struct {
	At      governance.Timestamp
	DayOnly bool
	// DiscoveredAt is when the ballot that did it was first seen here.
	DiscoveredAt governance.Timestamp
}

// QuorumTimes returns when each of the votes reached its quorum, by the ballots
// that count, in order of their times. Votes that did not are missing.
func (w *Warehouse) QuorumTimes(ctx context.Context, votes []Vote) (map[record.RefHash]QuorumTime, error) {
	type reached struct {
		ref record.RefHash
		QuorumTime
	}
	if len(votes) == 0 {
		return map[record.RefHash]QuorumTime{}, nil
	}
	rows, err := w.queryVotes(ctx, sqlText("feed_votes_quorum"), votes)
	list, err := collect(rows, err, "find when quorums were reached", func(rows scanner) (r reached, err error) {
		var ref string
		var at, discovered time.Time
		err = rows.Scan(&ref, &at, &r.DayOnly, &discovered)
		r.ref, r.At, r.DiscoveredAt = hashOf(ref), governance.TimestampOf(at), governance.TimestampOf(discovered)
		return r, err
	})
	found := make(map[record.RefHash]QuorumTime, len(list))
	for _, r := range list {
		found[r.ref] = r.QuorumTime
	}
	return found, err
}

// queryVotes runs a query over the external table "wanted_votes".
func (w *Warehouse) queryVotes(ctx context.Context, sql string, votes []Vote, args ...any) (driver.Rows, error) {
	wanted, err := ext.NewTable("wanted_votes", ext.Column("proposal_ref", "FixedString(16)"),
		ext.Column("end_ms", "Int64"), ext.Column("quorum", "String"), ext.Column("quorum_choices", "Array(String)"))
	if err != nil {
		return nil, err
	}
	for _, vote := range votes {
		if err := wanted.Append(string(vote.Ref[:]), int64(vote.EndAt), vote.Quorum.String(), vote.QuorumChoices); err != nil {
			return nil, err
		}
	}
	return w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), sql, args...)
}

// FeedTopic is a topic as the chronicle needs it, with the DAO it belongs to.
type FeedTopic struct {
	FeedProgress
	record.Topic
	DiscoveredAt governance.Timestamp
}

// PendingFeedTopics returns topics that were imported, or moved to another DAO,
// since the chronicle last looked at them. Forums of no DAO are passed over.
func (w *Warehouse) PendingFeedTopics(ctx context.Context, rulesVersion uint64, owners map[string]string) ([]FeedTopic, error) {
	forums, err := ext.NewTable("forum_owners", ext.Column("host", "String"), ext.Column("dao_id", "String"))
	if err != nil {
		return nil, err
	}
	for host, daoID := range owners {
		if err := forums.Append(host, daoID); err != nil {
			return nil, err
		}
	}
	rows, err := w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(forums)),
		sqlText("feed_pending_topics"), clickhouse.Named("rules_version", rulesVersion), clickhouse.Named("limit", feedBatchSize))
	return collect(rows, err, "list topics to chronicle", func(rows scanner) (t FeedTopic, err error) {
		var item string
		var created, updated *time.Time
		var discovered time.Time
		err = rows.Scan(&item, &t.Host, &t.ExternalID, &t.Title, &t.Slug, &t.Posts, &created, &updated,
			&t.Visible, &discovered, &t.Revision, &t.DAOID)
		t.Item, t.CreatedAt, t.UpdatedAt = hashOf(item), timestampOf(created), timestampOf(updated)
		t.DiscoveredAt = governance.TimestampOf(discovered)
		return t, err
	})
}

// RecordedEvent is an event that upstream recorded.
type RecordedEvent struct {
	FeedProgress
	Event        record.Event
	DiscoveredAt governance.Timestamp
}

// PendingFeedEvents returns imported events that the chronicle does not hold yet.
func (w *Warehouse) PendingFeedEvents(ctx context.Context, rulesVersion uint64) ([]RecordedEvent, error) {
	rows, err := w.conn.Query(ctx, sqlText("feed_pending_events"),
		clickhouse.Named("rules_version", rulesVersion), clickhouse.Named("limit", feedBatchSize))
	return collect(rows, err, "list events to chronicle", func(rows scanner) (i RecordedEvent, err error) {
		var item, provider, externalID string
		var at, discovered time.Time
		e := &i.Event
		err = rows.Scan(&item, &e.ID, &e.Type, &at, &e.DAOID, &e.Title, &e.URL, &e.ItemType, &provider, &externalID,
			&e.Confidence, &e.Importance, &discovered, &i.Revision)
		i.Item, e.At, i.DiscoveredAt = hashOf(item), governance.TimestampOf(at), governance.TimestampOf(discovered)
		i.DAOID, e.Proposal = e.DAOID, joinProposal(provider, externalID)
		return i, err
	})
}

// RecordedSignal is a curated signal.
type RecordedSignal struct {
	FeedProgress
	Signal record.Signal
}

// PendingFeedSignals returns curated signals that the chronicle does not hold yet.
func (w *Warehouse) PendingFeedSignals(ctx context.Context, rulesVersion uint64) ([]RecordedSignal, error) {
	rows, err := w.conn.Query(ctx, sqlText("feed_pending_signals"),
		clickhouse.Named("rules_version", rulesVersion), clickhouse.Named("limit", feedBatchSize))
	return collect(rows, err, "list signals to chronicle", func(rows scanner) (i RecordedSignal, err error) {
		var item, provider, externalID string
		var detected time.Time
		var deadline *time.Time
		s := &i.Signal
		err = rows.Scan(&item, &s.ID, &s.Type, &s.DAOID, &provider, &externalID, &s.Title, &s.Summary, &s.SourceURL,
			&s.Actionability, &s.Severity, &s.Score, &s.Surfaces, &detected, &deadline, &s.Evidence, &i.Revision)
		i.Item, s.DetectedAt, s.DeadlineAt = hashOf(item), governance.TimestampOf(detected), timestampOf(deadline)
		i.DAOID, s.Proposal = s.DAOID, joinProposal(provider, externalID)
		return i, err
	})
}

// joinProposal is the reverse of splitProposal.
func joinProposal(provider, externalID string) *record.ProposalRef {
	if provider == "" {
		return nil
	}
	return &record.ProposalRef{Provider: governance.Provider(provider), ExternalID: externalID}
}

// RecordedType is a type of event or signal that somebody recorded about a proposal.
type RecordedType struct {
	Ref         record.RefHash
	DAOID, Type string
}

// RecordedTypes returns what imported events and signals there are about the proposals.
func (w *Warehouse) RecordedTypes(ctx context.Context, refs []record.RefHash) (map[RecordedType]bool, error) {
	rows, err := w.queryRefs(ctx, sqlText("feed_claims"), refs)
	list, err := collect(rows, err, "read what is recorded of proposals", func(rows scanner) (c RecordedType, err error) {
		var ref string
		err = rows.Scan(&ref, &c.DAOID, &c.Type)
		c.Ref = hashOf(ref)
		return c, err
	})
	found := make(map[RecordedType]bool, len(list))
	for _, claim := range list {
		found[claim] = true
	}
	return found, err
}

// DAOChanges says in which lists of a DAO rows have come due.
type DAOChanges struct {
	Events, Signals bool
}

// BecameVisible returns the DAOs of the rows whose time has come after one moment and up
// to another.
func (w *Warehouse) BecameVisible(ctx context.Context, after, until governance.Timestamp) (map[string]DAOChanges, error) {
	rows, err := w.conn.Query(ctx, sqlText("feed_became_visible"),
		clickhouse.Named("after", int64(after)), clickhouse.Named("until", int64(until)))
	type due struct {
		daoID           string
		events, signals uint8
	}
	list, err := collect(rows, err, "list what came due", func(rows scanner) (d due, err error) {
		err = rows.Scan(&d.daoID, &d.events, &d.signals)
		return d, err
	})
	found := make(map[string]DAOChanges, len(list))
	for _, d := range list {
		found[d.daoID] = DAOChanges{Events: d.events > 0, Signals: d.signals > 0}
	}
	return found, err
}
