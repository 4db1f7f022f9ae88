package forum

import (
	"context"
	"maps"
	"slices"
	"time"

	"pnyx/warehouse/record"
)

// watchPosition is what the first page of latest activity said last.
type watchPosition struct {
	// Bumped has the time of each topic's last bump in milliseconds. It may go back.
	Bumped map[string]int64 `json:"bumped"`
}

// watchLatest fetches the topics whose entries in the list of latest activity have changed.
func (l *pollers) watchLatest(ctx context.Context) (bool, error) {
	const maxWatchPages = 20 // bounds one run; the sweep finds what is beyond
	var at watchPosition
	cursor := l.cursor(pollerWatch, &at)
	next, seen := watchPosition{map[string]int64{}}, map[string]listedState{}
	for page := range maxWatchPages {
		topics, more, err := l.list(ctx, "activity", page)
		if err != nil {
			return false, err
		}
		var left []string
		if page == 0 {
			left = at.left(topics, more)
		}
		found, err := l.fetchBumped(ctx, topics, left, at)
		if err != nil {
			return false, err
		}
		if page == 0 {
			for _, id := range left {
				if found.lacks(id) {
					next.Bumped[id] = at.Bumped[id]
				}
			}
			for _, t := range topics {
				if found.lacks(t.id) {
					next.Bumped[t.id] = at.Bumped[t.id] // again next time
					continue
				}
				next.Bumped[t.id], seen[t.id] = t.bumped.UnixMilli(), t.state()
			}
		}
		if !more || !at.goesOn(topics, l.Clock.Now()) {
			break
		}
	}
	l.seen = seen
	if maps.Equal(next.Bumped, at.Bumped) && cursor.Position != "" {
		return false, nil
	}
	return false, l.move(ctx, nil, cursor, next)
}

// left returns the topics that left the first page although their last bump should keep them there.
func (p watchPosition) left(topics []listed, more bool) (ids []string) {
	lowest, listed := int64(0), map[string]bool{}
	for _, t := range topics {
		listed[t.id] = true
		if more && !t.pinned {
			lowest = t.bumped.UnixMilli() // they come in this order
		}
	}
	for id, bumped := range p.Bumped {
		if !listed[id] && bumped > lowest {
			ids = append(ids, id)
		}
	}
	return ids
}

// fetchBumped fetches some ids, and those listed topics that differ from the last time and from what is held.
func (l *pollers) fetchBumped(ctx context.Context, topics []listed, ids []string, at watchPosition) (fetched, error) {
	changed := slices.DeleteFunc(slices.Clone(topics), func(t listed) bool { return l.seen[t.id] == t.state() })
	held, err := l.held(ctx, changed)
	if err != nil {
		return fetched{}, err
	}
	ids = slices.Clone(ids)
	for _, t := range changed {
		if t.isBehind(held[t.id]) || !t.isWithheld() && at.isBumped(t, held[t.id], l.Clock.Now()) {
			ids = append(ids, t.id)
		}
	}
	return l.fetchAll(ctx, ids, 0)
}

// isBumped reports whether a topic was bumped by something else than the newest held post, as by an edit.
func (p watchPosition) isBumped(t listed, held *record.Topic, now time.Time) bool {
	last, known := p.Bumped[t.id]
	bumped := t.bumped.UnixMilli()
	moved := known && bumped != last || !known && bumped > p.newest(now)
	return moved && (held.LastPostAt == nil || int64(*held.LastPostAt) != bumped)
}

// goesOn reports whether the page after one may have topics bumped since the last time; the first time, none has.
func (p watchPosition) goesOn(topics []listed, now time.Time) bool {
	newest := p.newest(now)
	for _, t := range topics {
		if !t.pinned && t.bumped.UnixMilli() <= newest {
			return false
		}
	}
	return newest > 0
}

// newest returns the time of the latest bump. One that is to come would be it for good.
func (p watchPosition) newest(now time.Time) (newest int64) {
	for _, bumped := range p.Bumped {
		if bumped <= now.UnixMilli() {
			newest = max(newest, bumped)
		}
	}
	return newest
}
