package forum

import (
	"context"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// Answered reads the answers of a host as each kind of answer of a forum: topic 1, a list,
// posts, categories.
func Answered(ctx context.Context, host *fetch.Host, name string) (records []record.Record) {
	l := &pollers{Forum: &Forum{Name: name, Host: host}, journal: &follow.Journal{}}
	if answer, err := l.topic(ctx, "1"); err == nil {
		records = l.read(source.DiscourseTopic, "1", answer.text, records)
	}
	if topics, _, err := l.list(ctx, "created", 0); err == nil {
		for _, t := range topics {
			_ = t.state()
			if t.topic != nil {
				records = append(records, t.topic)
			}
		}
	}
	_, _, _, _ = l.postsAbove(ctx, 7)
	categories, _ := l.categories(ctx)
	return append(records, categories...)
}
