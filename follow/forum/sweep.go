package forum

import (
	"context"
	"errors"
	"time"

	"pnyx/clock"
	"pnyx/follow"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// sweepAfter is the time between two sweeps, youngAfter between two readings of the first posts of young topics.
	sweepAfter, youngAfter = 24 * time.Hour, time.Hour
	// youngFor is how long a topic is young.
	youngFor = 30 * 24 * time.Hour
	// queueSize is how many topics a run fetches.
	queueSize = 100
	// arrivalTime is how long the other pollers have to find a new topic before it counts as a gap.
	arrivalTime = 10 * time.Minute
)

// sweepPosition says when the last whole sweep and the last reading of young topics began.
type sweepPosition struct {
	Swept time.Time `json:"swept"`
	Young time.Time `json:"young"`
}

// sweep compares a page of all topics with what is held, once a day, from the oldest on, after an error where it
// stopped. After the last page it fetches what is held and was on no page, in between young topics again.
func (l *pollers) sweep(ctx context.Context) (bool, error) {
	var at sweepPosition
	cursor := l.cursor(pollerSweep, &at)
	now := l.Clock.Now()
	switch {
	case !l.isBackfilled():
		return false, nil
	case l.queued != nil:
		return l.fetchQueued(ctx, cursor, at)
	case l.page == 0 && clock.Elapsed(now, at.Young) >= youngAfter:
		at.Young = now
		return true, l.queueVisible(ctx, now.Add(-youngFor), nil, at)
	case l.page == 0 && clock.Elapsed(now, at.Swept) < sweepAfter && !l.leftSince(at.Swept):
		return false, nil
	case l.page == 0:
		l.swept, l.sweepBegan = nil, now
	}
	topics, more, err := l.list(ctx, "created&ascending=true", l.page)
	if err != nil {
		if errors.Is(err, follow.ErrEndless) {
			l.page = 0
		}
		return false, err
	}
	gaps, err := l.compare(ctx, topics)
	if err != nil {
		return false, err
	}
	l.swept = append(l.swept, idsOf(topics)...)
	if gaps > 0 {
		l.missed.Add(gaps)
		cursor.Gaps += gaps
		err = l.move(ctx, nil, cursor, at)
	}
	if more || err != nil {
		l.page++
		return true, err
	}
	at.Swept = l.sweepBegan
	if len(l.swept) == 0 {
		return true, l.move(ctx, nil, cursor, at) // which says nothing about what is held
	}
	if err := l.queueVisible(ctx, time.UnixMilli(0), l.swept, at); err != nil {
		return false, err
	}
	l.page = 0
	return true, nil
}

// queued are topics that the poller fetches before all else, and the position after them.
type queued struct {
	topics []string
	then   sweepPosition
}

// queueVisible queues the topics that are held as visible and were created since a time, except for some.
func (l *pollers) queueVisible(ctx context.Context, since time.Time, except []string, then sweepPosition) error {
	topics, err := records.VisibleTopics(ctx, l.journal.Warehouse, l.Name, since, except)
	if err == nil {
		l.queued = &queued{topics, then}
	}
	return err
}

func (l *pollers) fetchQueued(ctx context.Context, cursor records.FollowCursor, at sweepPosition) (bool, error) {
	some := l.queued.topics[:min(queueSize, len(l.queued.topics))]
	if _, err := l.fetchAll(ctx, some, l.pause()); err != nil {
		return false, err
	}
	if l.queued.topics = l.queued.topics[len(some):]; len(l.queued.topics) == 0 {
		at, l.queued = l.queued.then, nil
	}
	return true, l.move(ctx, nil, cursor, at)
}

// compare fetches the listed topics that differ from what is held, and writes changed likes and views without asking
// again. gaps counts those that no other poller has found in time.
func (l *pollers) compare(ctx context.Context, topics []listed) (gaps uint64, err error) {
	held, err := l.held(ctx, topics)
	if err != nil {
		return 0, err
	}
	now := l.Clock.Now()
	counted := map[string]*record.Topic{}
	var behind, counts []string
	for _, t := range topics {
		have := held[t.id]
		switch {
		case t.isBehind(have):
			behind = append(behind, t.id)
			if have == nil && t.topic != nil && t.topic.CreatedAt != nil && now.Sub(t.topic.CreatedAt.Time()) > arrivalTime {
				gaps++
			}
		case t.isWithheld():
		case have.Likes != t.topic.Likes || have.Views != t.topic.Views:
			counts, counted[t.id] = append(counts, t.id), t.topic
		}
	}
	records, err := l.take(ctx, counts, func(held *record.Topic) {
		held.Likes, held.Views = counted[held.ExternalID].Likes, counted[held.ExternalID].Views
	})
	if err != nil {
		return 0, err
	}
	if err := l.journal.Commit(ctx, records); err != nil {
		return 0, err
	}
	_, err = l.fetchAll(ctx, behind, l.pause())
	return gaps, err
}

// fetchAll fetches topics, and suspects those that are gone.
func (l *pollers) fetchAll(ctx context.Context, ids []string, pause time.Duration) (fetched, error) {
	found, err := l.fetch(ctx, ids, pause)
	if err == nil {
		err = l.suspect(ctx, found.gone)
	}
	return found, err
}
