package feed

import (
	"context"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
)

// deriveTopics works out the topics that changed, a bounded number at a time.
func (c *Builder) deriveTopics(ctx context.Context, catalog warehouse.Catalog) error {
	owners := map[string]string{}
	for source, daoID := range catalog.Owner {
		if source.Provider == governance.Discourse {
			owners[source.ID] = daoID
		}
	}
	for ctx.Err() == nil {
		topics, err := c.warehouse.PendingFeedTopics(ctx, c.edition, owners)
		if err != nil || len(topics) == 0 {
			return err
		}
		if err := c.writeTopics(ctx, catalog, topics); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (c *Builder) writeTopics(ctx context.Context, catalog warehouse.Catalog, topics []warehouse.FeedTopic) error {
	now, err := c.nextRevision(ctx)
	if err != nil {
		return err
	}
	items := make([]warehouse.FeedItem, len(topics))
	noted := make([]warehouse.FeedProgress, len(topics))
	for i, topic := range topics {
		items[i], noted[i] = topic.Item, topic.FeedProgress
	}
	rows, err := c.hold(ctx, items)
	if err != nil {
		return err
	}
	seen := rows.discoveries(now)
	for _, topic := range topics {
		if !topic.Visible {
			continue
		}
		key := topicKey(topic, catalog)
		rows.events = append(rows.events, topicEvent(topic, key, seen))
		signals, err := topicSignals(topic, key)
		if err != nil {
			return err
		}
		rows.signals = append(rows.signals, signals...)
	}
	if err := c.write(ctx, rows); err != nil {
		return err
	}
	return c.warehouse.WriteFeedProgress(ctx, c.edition, noted)
}

func topicKey(t warehouse.FeedTopic, catalog warehouse.Catalog) string {
	return string(catalog.Forum(t.Host).TopicIdentity(t.ExternalID).TopicKey())
}

func topicEvent(t warehouse.FeedTopic, key string, seen map[string]governance.Timestamp) warehouse.FeedEvent {
	h := happening{rules.ForumTopicCreated, t.CreatedAt, governance.ExactTime, t.DiscoveredAt}
	if h.at == nil {
		h.confidence = governance.DiscoveredTime
	}
	row := eventRow(h, t.DAOID, key, t.Posts, seen)
	row.Item, row.ItemType = t.Item, governance.TopicItem
	row.Title, row.URL = governance.OptionalText(t.Title), governance.OptionalText(t.URL())
	return row
}

func topicSignals(t warehouse.FeedTopic, key string) ([]warehouse.FeedSignal, error) {
	facts := rules.ThreadFacts{Title: t.Title, Posts: t.Posts, CreatedAt: t.CreatedAt, LastPostAt: t.UpdatedAt}
	var rows []warehouse.FeedSignal
	for _, rule := range rules.SignalRules() {
		finding, found := rule.OnTopic(facts)
		if !found {
			continue
		}
		row, err := signalRow(rule, finding, t.DAOID, key)
		if err != nil {
			return nil, err
		}
		row.Item, row.SourceURL = t.Item, governance.OptionalText(t.URL())
		rows = append(rows, row)
	}
	return rows, nil
}
