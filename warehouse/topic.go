package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

func topicTable() table {
	return table{
		kind: record.KindTopic,
		keys: []column{{"host", "String"}, {"external_id", "String"}},
		columns: []string{
			"title", "slug", "category_id", "tags", "author", "body_html", "posts", "likes",
			"views", "participants", "created_at", "updated_at", "last_post_at", "closed", "archived", "visible",
		},
		values: func(into []any, r record.Record) ([]any, error) {
			t, err := recordAs[*record.Topic](r)
			if err != nil {
				return nil, err
			}
			return append(into,
				t.Title, t.Slug, t.CategoryID, nonNilTexts(t.Tags), t.Author, t.BodyHTML, t.Posts, t.Likes,
				t.Views, t.Participants, timeOrNull(t.CreatedAt), timeOrNull(t.UpdatedAt), timeOrNull(t.LastPostAt),
				t.Closed, t.Archived, t.Visible,
			), nil
		},
	}
}

// TopicRef names a topic as its forum does.
type TopicRef struct{ Host, ExternalID string }

// Topic is a topic as it is held.
type Topic struct {
	record.Topic
	// Category is the name of the topic's category; empty where it is not known.
	Category string
	Version  uint64
}

// Ref returns the topic's reference.
func (t *Topic) Ref() TopicRef {
	return TopicRef{Host: t.Host, ExternalID: t.ExternalID}
}

// Topics returns the topics that refs name and the warehouse holds, in order.
func (w *Warehouse) Topics(ctx context.Context, refs []TopicRef) ([]Topic, error) {
	rows, err := w.queryTopics(ctx, sqlText("topic_by_ref"), refs)
	if err != nil {
		return nil, fmt.Errorf("read %d topics: %w", len(refs), err)
	}
	defer rows.Close()
	topics := make([]Topic, 0, len(refs))
	for rows.Next() {
		var t Topic
		var created, updated, last *time.Time
		if err := rows.Scan(&t.Host, &t.ExternalID, &t.Title, &t.Slug, &t.Category, &t.Tags, &t.Author, &t.BodyHTML,
			&t.Posts, &t.Likes, &t.Views, &t.Participants, &created, &updated, &last, &t.Visible, &t.Version); err != nil {
			return nil, fmt.Errorf("read a topic: %w", err)
		}
		t.CreatedAt, t.UpdatedAt, t.LastPostAt = timestampOf(created), timestampOf(updated), timestampOf(last)
		topics = append(topics, t)
	}
	return topics, rows.Err()
}

// AllTopics returns the reference of every topic held, in order.
func (w *Warehouse) AllTopics(ctx context.Context) ([]TopicRef, error) {
	rows, err := w.conn.Query(ctx, sqlText("topic_refs"))
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	return scanTopicRefs(rows)
}

// Forum says whose topics a host's are.
type Forum struct {
	Host  string
	DAOID string
	// IDPrefix stands before a topic's own id in its identity.
	IDPrefix string
}

// TopicIdentity returns the identity of the forum's topic with an id.
func (f Forum) TopicIdentity(externalID string) governance.Identity {
	return governance.Identity{
		DAOID: f.DAOID, Provider: governance.Discourse, ExternalID: f.IDPrefix + externalID,
	}
}

// TopicsChanged returns the topics of some forums that differ from what was
// published of them, or were published by other rules, in order.
func (w *Warehouse) TopicsChanged(ctx context.Context, forums []Forum, rulesVersion uint32) ([]TopicRef, error) {
	wanted, err := ext.NewTable("wanted_forums",
		ext.Column("host", "String"), ext.Column("dao_id", "String"), ext.Column("id_prefix", "String"))
	if err != nil {
		return nil, err
	}
	for _, forum := range forums {
		if err := wanted.Append(forum.Host, forum.DAOID, forum.IDPrefix); err != nil {
			return nil, err
		}
	}
	rows, err := w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)),
		sqlText("topic_changed"), clickhouse.Named("rules_version", rulesVersion))
	if err != nil {
		return nil, fmt.Errorf("list topics changed in %d forums: %w", len(forums), err)
	}
	return scanTopicRefs(rows)
}

// TopicsLinked returns the published topics that are, or were, linked to proposals
// whose links changed after a revision, in order.
func (w *Warehouse) TopicsLinked(ctx context.Context, since uint64) ([]TopicRef, error) {
	rows, err := w.conn.Query(ctx, sqlText("topic_linked"), clickhouse.Named("since", since))
	if err != nil {
		return nil, fmt.Errorf("list topics linked: %w", err)
	}
	return scanTopicRefs(rows)
}

func scanTopicRefs(rows driver.Rows) ([]TopicRef, error) {
	defer rows.Close()
	var refs []TopicRef
	for rows.Next() {
		var ref TopicRef
		if err := rows.Scan(&ref.Host, &ref.ExternalID); err != nil {
			return nil, fmt.Errorf("read the reference of a topic: %w", err)
		}
		refs = append(refs, ref)
	}
	return refs, rows.Err()
}

// queryTopics runs a query over the external table "wanted_topics".
func (w *Warehouse) queryTopics(ctx context.Context, sql string, refs []TopicRef) (driver.Rows, error) {
	wanted, err := ext.NewTable("wanted_topics", ext.Column("host", "String"), ext.Column("external_id", "String"))
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if err := wanted.Append(ref.Host, ref.ExternalID); err != nil {
			return nil, err
		}
	}
	return w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), sql)
}
