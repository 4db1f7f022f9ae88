package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
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
			"withdrawn",
		},
		values: valuesOf(func(into []any, t *record.Topic) ([]any, error) {
			return append(into,
				t.Title, t.Slug, t.CategoryID, nonNilTexts(t.Tags), t.Author, t.BodyHTML, t.Posts, t.Likes,
				t.Views, t.Participants, timeOrNull(t.CreatedAt), timeOrNull(t.UpdatedAt), timeOrNull(t.LastPostAt),
				t.Closed, t.Archived, t.Visible && !t.Withdrawn, t.Withdrawn,
			), nil
		}),
	}
}

// TopicRef identifies a topic by its forum's host and its number there.
type TopicRef struct {
	// Host is the forum's host name, and ExternalID the topic's number as text.
	Host, ExternalID string
}

// Topic is the latest version of a topic.
type Topic struct {
	record.Topic
	// Category is the name of the topic's category; empty where unknown.
	Category string
	// Version is the record's version.
	Version uint64
}

// Ref returns the topic's reference.
func (t *Topic) Ref() TopicRef {
	return TopicRef{Host: t.Host, ExternalID: t.ExternalID}
}

// Topics returns the topics with these references, in order of the references. Unknown
// references are left out.
func (w *Warehouse) Topics(ctx context.Context, refs []TopicRef) ([]Topic, error) {
	rows, err := w.queryTopics(ctx, sqlText("topic_by_ref"), refs)
	return selectRows[Topic](rows, err, fmt.Sprintf("read %d topics", len(refs)))
}

// AllTopics returns the reference of every topic, in order.
func (w *Warehouse) AllTopics(ctx context.Context) ([]TopicRef, error) {
	return find[TopicRef](ctx, w, "list topics", sqlText("topic_refs"))
}

// Forum assigns the topics of one host to a DAO.
type Forum struct {
	// Host is the forum's host name.
	Host string
	// DAOID is the DAO that the forum belongs to.
	DAOID string
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
func (w *Warehouse) TopicsChanged(ctx context.Context, forums []Forum, rulesVersion uint32, since uint64) ([]TopicRef, error) {
	wanted, err := externalTable("wanted_forums", forums, func(f Forum) []any {
		return []any{f.Host, f.DAOID, f.IDPrefix}
	}, textColumn("host"), textColumn("dao_id"), textColumn("id_prefix"))
	rows, err := w.queryWith(ctx, wanted, err, sqlText("topic_changed"),
		clickhouse.Named("rules_version", rulesVersion), clickhouse.Named("since", since))
	return selectRows[TopicRef](rows, err, fmt.Sprintf("list changed topics of %d forums", len(forums)))
}

// TopicsLinked returns the published topics with a link to or from a proposal whose links
// changed after a revision, before or after the change, in order.
func (w *Warehouse) TopicsLinked(ctx context.Context, since uint64) ([]TopicRef, error) {
	return find[TopicRef](ctx, w, "list linked topics", sqlText("topic_linked"), clickhouse.Named("since", since))
}

// queryTopics runs a query over the external table "wanted_topics".
func (w *Warehouse) queryTopics(ctx context.Context, sql string, refs []TopicRef, args ...any) (driver.Rows, error) {
	wanted, err := externalTable("wanted_topics", refs, func(ref TopicRef) []any {
		return []any{ref.Host, ref.ExternalID}
	}, textColumn("host"), textColumn("external_id"))
	return w.queryWith(ctx, wanted, err, sql, args...)
}
