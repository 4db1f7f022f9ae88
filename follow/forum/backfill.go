package forum

import (
	"context"

	"pnyx/governance"
)

// backfillPosition is the next page of the backfill. Topics that appear meanwhile move others to later pages,
// where they are seen again; what a deletion moves to an earlier page is found by the sweep that follows.
type backfillPosition struct {
	Page int  `json:"page"`
	Done bool `json:"done"`
}

// backfill reads a page of all topics, newest first, and fetches those that are not held.
func (l *pollers) backfill(ctx context.Context) (bool, error) {
	var at backfillPosition
	cursor := l.cursor(pollerBackfill, &at)
	if at.Done {
		return false, nil
	}
	if at.Page == 0 {
		stated, err := l.about(ctx)
		if err != nil {
			return false, err
		}
		cursor.Total = min(stated.topics(), maxStated)
	}
	topics, more, err := l.list(ctx, "created", at.Page)
	if err != nil {
		return false, err
	}
	if _, err := l.compare(ctx, topics); err != nil {
		return false, err
	}
	at.Page++
	cursor.State = governance.SourceBackfilling
	cursor.Done += uint64(len(topics))
	cursor.Total = max(cursor.Total, cursor.Done)
	if !more {
		at.Done, cursor.State, cursor.Total = true, governance.SourceLive, cursor.Done
	}
	return more, l.move(ctx, nil, cursor, at)
}

func (l *pollers) isBackfilled() bool {
	var at backfillPosition
	l.cursor(pollerBackfill, &at)
	return at.Done
}
