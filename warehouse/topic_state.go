package warehouse

import (
	"context"
	"fmt"

	"pnyx/governance"
)

// TopicState is what was worked out for a topic at its last publication: its row
// in the list, and by what it is found to have changed.
type TopicState struct {
	TopicRef
	Row governance.ForumTopic
	// Related says whether the topic is about governance.
	Related bool
	// Visible says whether the topic is shown at all.
	Visible bool
	// Replies and the others are the row's counts.
	Replies, Posts, Likes, Views uint64
	// Name is the one that links to the topic have; Links are those of the proposals
	// that it links.
	Name  string
	Links []string
	// TopicVersion and RulesVersion are the topic's and the rules' that it was worked
	// out from.
	TopicVersion uint64
	RulesVersion uint32
	Revision     uint64
}

// WriteTopicStates appends the states of one publication.
func (w *Warehouse) WriteTopicStates(ctx context.Context, states []TopicState) error {
	insert, err := w.conn.PrepareBatch(ctx, sqlText("topic_state_insert"))
	if err != nil {
		return fmt.Errorf("write %d topic states: %w", len(states), err)
	}
	defer insert.Close()
	for _, s := range states {
		row := s.Row
		if err := insert.Append(
			s.Host, s.ExternalID, string(row.TopicKey), row.Identity.DAOID, string(row.Identity.Provider),
			row.Identity.ExternalID, s.Name, nonNilTexts(s.Links),
			row.Title, textOrEmpty(row.Summary), row.URL, textOrEmpty(row.Author), textOrEmpty(row.Category), nonNilTexts(row.Tags),
			uint8(row.RelevanceScore), s.Related, //nolint:gosec // at most 100
			s.Posts, s.Replies, s.Likes, s.Views, timeOrNull(row.CreatedAt), timeOrNull(row.UpdatedAt),
			s.Visible, s.TopicVersion, s.RulesVersion, s.Revision,
		); err != nil {
			return fmt.Errorf("write the state of %s: %w", row.TopicKey, err)
		}
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("write %d topic states: %w", len(states), err)
	}
	return nil
}

// PublishedTopics returns under which identity each of the topics was last
// published; those never published are missing.
func (w *Warehouse) PublishedTopics(ctx context.Context, refs []TopicRef) (map[TopicRef]governance.Identity, error) {
	rows, err := w.queryTopics(ctx, sqlText("topic_state_identities"), refs)
	if err != nil {
		return nil, fmt.Errorf("read published topics: %w", err)
	}
	defer rows.Close()
	identities := map[TopicRef]governance.Identity{}
	for rows.Next() {
		var ref TopicRef
		var identity governance.Identity
		var provider string
		if err := rows.Scan(&ref.Host, &ref.ExternalID, &identity.DAOID, &provider, &identity.ExternalID); err != nil {
			return nil, fmt.Errorf("read published topics: %w", err)
		}
		identity.Provider = governance.Provider(provider)
		identities[ref] = identity
	}
	return identities, rows.Err()
}

// PublishedForums returns as whose forums the hosts were last published, in order;
// a host twice whose topics are not all published anew.
func (w *Warehouse) PublishedForums(ctx context.Context) ([]Forum, error) {
	rows, err := w.conn.Query(ctx, sqlText("topic_state_forums"))
	if err != nil {
		return nil, fmt.Errorf("read published forums: %w", err)
	}
	defer rows.Close()
	var forums []Forum
	for rows.Next() {
		var f Forum
		if err := rows.Scan(&f.Host, &f.DAOID, &f.IDPrefix); err != nil {
			return nil, fmt.Errorf("read published forums: %w", err)
		}
		forums = append(forums, f)
	}
	return forums, rows.Err()
}

// textOrEmpty is a text column's value.
func textOrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// textOrNull2 is the reverse of textOrEmpty.
func textOrNull2(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
