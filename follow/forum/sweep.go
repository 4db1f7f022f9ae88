package forum

import (
	"context"
	"time"

	"pnyx/warehouse/record"
)

const (
	// sweepAfter is the time between two sweeps, and youngAfter that between two readings
	// of the first posts of young topics, which are edited most.
	sweepAfter = 24 * time.Hour
	youngAfter = time.Hour
	// youngFor is how long a topic is young.
	youngFor = 30 * 24 * time.Hour
	// arrivalTime is how long the other lanes have to find a new topic before it counts
	// as a gap.
	arrivalTime = 10 * time.Minute
)

// sweepPosition says when the last whole sweep and the last reading of young topics began.
type sweepPosition struct {
	Swept time.Time `json:"swept"`
	Young time.Time `json:"young"`
}

// sweep compares a page of all topics with what is held, once a day, from the oldest on. It
// goes on after an error where it stopped. After the last page it fetches what is held and
// was on no page. In between, it fetches young topics again.
func (l *lanes) sweep(ctx context.Context) (bool, error) {
	var at sweepPosition
	cursor := l.cursor(laneSweep, &at)
	now := l.Clock.Now()
	switch {
	case !l.isBackfilled():
		return false, nil
	case now.Sub(at.Young) >= youngAfter:
		young, err := l.journal.Warehouse.VisibleTopics(ctx, l.Name, now.Add(-youngFor), nil)
		if err != nil {
			return false, err
		}
		found, err := l.fetchAll(ctx, young)
		if err != nil {
			return false, err
		}
		at.Young = now
		cursor.Rejected += found.rejected
		return true, l.move(ctx, nil, cursor, at)
	case now.Sub(at.Swept) < sweepAfter && !l.leftSince(at.Swept):
		return false, nil
	}
	if l.page == 0 {
		l.swept, l.sweepBegan = nil, now
	}
	topics, more, err := l.list(ctx, "created&ascending=true", l.page)
	if err != nil {
		return false, err
	}
	found, gaps, err := l.compare(ctx, topics)
	if err != nil {
		return false, err
	}
	for _, t := range topics {
		l.swept = append(l.swept, t.id)
	}
	cursor.Gaps += gaps
	cursor.Rejected += found.rejected
	if more {
		l.page++
		if gaps+found.rejected > 0 {
			err = l.move(ctx, nil, cursor, at)
		}
		return true, err
	}
	found, err = l.fetchUnlisted(ctx)
	if err != nil {
		return false, err
	}
	cursor.Rejected += found.rejected
	at.Swept, l.page = l.sweepBegan, 0
	return false, l.move(ctx, nil, cursor, at)
}

// compare fetches the listed topics that differ from what is held, and writes changed likes
// and views without asking again. gaps counts those that no other lane has found in time.
func (l *lanes) compare(ctx context.Context, topics []listed) (found fetched, gaps uint64, err error) {
	held, err := l.held(ctx, topics)
	if err != nil {
		return found, 0, err
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
		case have.Likes != t.topic.Likes || have.Views != t.topic.Views:
			counts, counted[t.id] = append(counts, t.id), t.topic
		}
	}
	records, err := l.take(ctx, counts, func(held *record.Topic) {
		held.Likes, held.Views = counted[held.ExternalID].Likes, counted[held.ExternalID].Views
	})
	if err != nil {
		return found, 0, err
	}
	if _, err := l.journal.Commit(ctx, records); err != nil {
		return found, 0, err
	}
	found, err = l.fetchAll(ctx, behind)
	return found, gaps, err
}

// fetchUnlisted fetches what is held as visible and was on no page of the sweep. A sweep
// that saw nothing says nothing.
func (l *lanes) fetchUnlisted(ctx context.Context) (fetched, error) {
	if len(l.swept) == 0 {
		return fetched{}, nil
	}
	unlisted, err := l.journal.Warehouse.VisibleTopics(ctx, l.Name, time.UnixMilli(0), l.swept)
	if err != nil {
		return fetched{}, err
	}
	return l.fetchAll(ctx, unlisted)
}

// fetchAll fetches topics without hurry, and suspects those that are gone.
func (l *lanes) fetchAll(ctx context.Context, ids []string) (fetched, error) {
	found, err := l.fetch(ctx, ids, l.pause())
	if err != nil {
		return found, err
	}
	return found, l.suspect(ctx, found.gone)
}
