package records

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func topicTable() table {
	return table{
		kind: record.KindTopic,
		keys: []column{{"host", "String"}, {"external_id", "String"}},
		columns: []string{
			"title", "slug", "category_id", "tags", "author", "body_html", "posts", "likes",
			"views", "participants", "created_at", "updated_at", "last_post_at", "closed", "archived", "visible",
			"withdrawn",
		},
		values: valuesOf(func(into []any, t *record.Topic) ([]any, error) {
			return append(into,
				t.Title, t.Slug, t.CategoryID, warehouse.NonNilTexts(t.Tags), t.Author, t.BodyHTML, t.Posts, t.Likes,
				t.Views, t.Participants, warehouse.TimeOrNull(t.CreatedAt), warehouse.TimeOrNull(t.UpdatedAt), warehouse.TimeOrNull(t.LastPostAt),
				t.Closed, t.Archived, t.Visible && !t.Withdrawn, t.Withdrawn,
			), nil
		}),
	}
}

// TopicRef identifies a topic by its forum's host and its number there.
type TopicRef struct {
	Host, ExternalID string
}

// Topic is the latest version of a topic.
type Topic struct {
	record.Topic
	Category string // the name; empty where unknown
	Version  uint64
}

// Ref returns the topic's reference.
func (t *Topic) Ref() TopicRef { return TopicRef{Host: t.Host, ExternalID: t.ExternalID} }

// Topics returns topics in order of their references. Unknown ones are left out.
func Topics(ctx context.Context, w *warehouse.Warehouse, refs []TopicRef) ([]Topic, error) {
	return warehouse.Find[Topic](ctx, w, fmt.Sprintf("read %d topics", len(refs)), sqlText("topic_by_ref"),
		TopicTable(refs))
}

// AllTopics returns the reference of every topic, in order.
func AllTopics(ctx context.Context, w *warehouse.Warehouse) ([]TopicRef, error) {
	return warehouse.Find[TopicRef](ctx, w, "list topics", sqlText("topic_refs"))
}

// Forum assigns the topics of one host to a DAO.
type Forum struct {
	Host, DAOID string
	// IDPrefix precedes a topic's number in its identity.
	IDPrefix string
}

// TopicIdentity returns the identity of the topic with this number in the forum.
func (f Forum) TopicIdentity(externalID string) governance.Identity {
	return governance.Identity{
		DAOID: f.DAOID, Provider: governance.Discourse, ExternalID: f.IDPrefix + externalID,
	}
}

// TopicsChanged returns the topics of the forums that differ from what was published of
// them, were published under another rules version, or by a publication after since: it was
// cut off before its changes were noted. They are in order.
func TopicsChanged(ctx context.Context, w *warehouse.Warehouse, forums []Forum, rulesVersion uint32, since uint64) ([]TopicRef, error) {
	wanted := warehouse.ExternalTable("wanted_forums", forums, func(f Forum) []any {
		return []any{f.Host, f.DAOID, f.IDPrefix}
	}, warehouse.TextColumn("host"), warehouse.TextColumn("dao_id"), warehouse.TextColumn("id_prefix"))
	return warehouse.Find[TopicRef](ctx, w, fmt.Sprintf("list changed topics of %d forums", len(forums)),
		sqlText("topic_changed"), wanted, clickhouse.Named("rules_version", rulesVersion), clickhouse.Named("since", since))
}

// TopicsLinked returns the published topics with a link to or from a proposal whose links
// changed after a revision, before or after the change, in order.
func TopicsLinked(ctx context.Context, w *warehouse.Warehouse, since uint64) ([]TopicRef, error) {
	return warehouse.Find[TopicRef](ctx, w, "list linked topics", sqlText("topic_linked"), clickhouse.Named("since", since))
}

// TopicTable returns the external table "wanted_topics".
func TopicTable(refs []TopicRef) warehouse.Table {
	return warehouse.ExternalTable("wanted_topics", refs, func(ref TopicRef) []any {
		return []any{ref.Host, ref.ExternalID}
	}, warehouse.TextColumn("host"), warehouse.TextColumn("external_id"))
}
