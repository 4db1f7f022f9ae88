package feed

import (
	"context"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/records"
)

func (b *Builder) processTopics(ctx context.Context, catalog records.Catalog) error {
	// A forum that changes hands, or its place among its DAO's forums, makes its topics pending.
	var forums []records.Forum
	for source := range catalog.Owner {
		if source.Provider.IsForum() {
			forums = append(forums, catalog.Forum(source.ID))
		}
	}
	for ctx.Err() == nil {
		b.AwaitFullPublication(ctx)
		topics, err := feed.NewFeed(b.Warehouse).PendingTopics(ctx, b.rulesVersion, forums)
		if err != nil || len(topics) == 0 {
			return err
		}
		if err := b.processTopicBatch(ctx, catalog, topics); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// processTopicBatch processes some topics. A hidden one has no rows, so that its former ones are removed.
func (b *Builder) processTopicBatch(ctx context.Context, catalog records.Catalog, topics []feed.FeedTopic) error {
	items := warehouse.Values(topics, func(topic feed.FeedTopic) feed.FeedItem { return topic.Item })
	progress := warehouse.Values(topics, func(topic feed.FeedTopic) feed.FeedProgress { return topic.FeedProgress })
	rows, err := b.newBatch(ctx, items)
	if err != nil {
		return err
	}
	for _, topic := range topics {
		if !topic.Visible {
			continue
		}
		key := string(catalog.Forum(topic.Host).TopicIdentity(topic.ExternalID).TopicKey())
		rows.events = append(rows.events, topicEvent(topic, key, rows.discovered[topic.Item]))
		signals, err := topicSignals(topic, key)
		if err != nil {
			return err
		}
		rows.signals = append(rows.signals, signals...)
	}
	if err := b.write(ctx, rows); err != nil {
		return err
	}
	return feed.NewFeed(b.Warehouse).WriteProgress(ctx, b.rulesVersion, progress)
}

func topicEvent(t feed.FeedTopic, key string, discovered map[string]governance.Timestamp) feed.FeedEvent {
	e := event{rules.ForumTopicCreated, t.CreatedAt, governance.ExactTime, t.DiscoveredAt}
	if e.at == nil {
		e.confidence = governance.DiscoveredTime
	}
	row := eventRow(e, t.DAOID, key, discovered)
	row.ImportanceScore = rules.ImportanceOf(e.eventType, e.confidence, t.Posts)
	row.Item, row.ItemType = t.Item, governance.TopicItem
	row.Title, row.URL = governance.OptionalText(t.Title), governance.OptionalText(t.URL())
	return row
}

func topicSignals(t feed.FeedTopic, key string) ([]feed.FeedSignal, error) {
	facts := rules.TopicActivity{Title: t.Title, Posts: t.Posts, CreatedAt: t.CreatedAt, LastPostAt: t.LastPostAt}
	var rows []feed.FeedSignal
	for _, rule := range rules.SignalRules() {
		hit, found := rule.OnTopic(facts)
		if !found {
			continue
		}
		row, err := signalRow(rule, hit, t.DAOID, key)
		if err != nil {
			return nil, err
		}
		row.Item, row.SourceURL = t.Item, governance.OptionalText(t.URL())
		rows = append(rows, row)
	}
	return rows, nil
}
