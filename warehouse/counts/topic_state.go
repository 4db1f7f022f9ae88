package counts

import (
	"context"
	"fmt"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// TopicState is what the last publication of a topic computed: its row in the list, and
// what shows that the topic has changed since.
type TopicState struct {
	records.TopicRef
	Row governance.ForumTopic
	// Related reports whether the topic is about governance, Visible whether the API shows it.
	Related, Visible bool
	// Replies, Posts, Likes and Views are the counts of Row.
	Replies, Posts, Likes, Views uint64
	// Name is the name that links to the topic have.
	Name string
	// Links are the names of the proposals that the topic links; empty for none.
	Links []string
	// Proposals are the keys of the proposals that it is about.
	Proposals []string
	// TopicVersion is the version of the record that Row is computed from, RulesVersion the version of the rules.
	TopicVersion uint64
	RulesVersion uint32
	Revision     uint64
}

// WriteTopicStates writes the states of one publication.
func WriteTopicStates(ctx context.Context, w *warehouse.Warehouse, states []TopicState) error {
	rows := warehouse.Values(states, func(s TopicState) []any {
		row := s.Row
		return []any{
			s.Host, s.ExternalID, string(row.TopicKey), row.Identity.DAOID, string(row.Identity.Provider),
			row.Identity.ExternalID, s.Name, warehouse.NonNilTexts(s.Links),
			row.Title, warehouse.TextOrEmpty(row.Summary), row.URL, warehouse.TextOrEmpty(row.Author), warehouse.TextOrEmpty(row.Category), warehouse.NonNilTexts(row.Tags),
			uint8(row.RelevanceScore), s.Related, //nolint:gosec // at most 100
			s.Posts, s.Replies, s.Likes, s.Views, warehouse.TimeOrNull(row.CreatedAt), warehouse.TimeOrNull(row.UpdatedAt),
			s.Visible, warehouse.NonNilTexts(s.Proposals), s.TopicVersion, s.RulesVersion, s.Revision,
		}
	})
	return warehouse.InsertRows(ctx, w, sqlText("topic_state_insert"), fmt.Sprintf("write %d topic states", len(states)), rows)
}

// PublishedTopic is what was last published of a topic: the identity that it has, and the version of the
// record and the category that it was computed from.
type PublishedTopic struct {
	Identity governance.Identity
	Version  uint64
	Category string
}

// PublishedTopics returns what was last published of topics. Topics never published are missing.
func PublishedTopics(ctx context.Context, w *warehouse.Warehouse, refs []records.TopicRef) (map[records.TopicRef]PublishedTopic, error) {
	type row struct {
		Host, ExternalID, IdentityID string
		DAOID                        string
		Provider                     governance.Provider
		Category                     string
		TopicVersion                 uint64
	}
	rows, err := warehouse.Find[row](ctx, w, "read published topics", sqlText("topic_state_identities"),
		records.TopicTable(refs))
	return warehouse.Keyed(rows, err, func(r row) (records.TopicRef, PublishedTopic) {
		return records.TopicRef{Host: r.Host, ExternalID: r.ExternalID}, PublishedTopic{
			governance.Identity{DAOID: r.DAOID, Provider: r.Provider, ExternalID: r.IdentityID}, r.TopicVersion, r.Category,
		}
	})
}

// PublishedForums returns the forums as last published, in order. A host appears twice
// while its topics move from one DAO to another.
func PublishedForums(ctx context.Context, w *warehouse.Warehouse) ([]records.Forum, error) {
	return warehouse.Find[records.Forum](ctx, w, "read published forums", sqlText("topic_state_forums"))
}
