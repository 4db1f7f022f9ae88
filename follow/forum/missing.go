package forum

import (
	"context"
	"slices"
	"time"

	"pnyx/clock"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// missingFor is how long a topic must be gone before it is withdrawn: a little less than the hour within which it
// is. askAgain is the time between two looks at it.
const missingFor, askAgain = 50 * time.Minute, 10 * time.Minute

// missingPosition has the topics that the forum says are gone.
type missingPosition struct {
	// Since has the time at which each was missed first, Asked the time of the last look.
	Since map[string]time.Time `json:"since"`
	Asked map[string]time.Time `json:"asked,omitempty"`
}

// suspect notes that topics are gone. They are withdrawn if they still are within an hour.
func (l *pollers) suspect(ctx context.Context, gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	l.missing.Lock()
	defer l.missing.Unlock()
	held, err := records.HeldTopics(ctx, l.journal.Warehouse, l.Name, gone, false)
	if err != nil {
		return err
	}
	at := missingPosition{Since: map[string]time.Time{}}
	cursor := l.cursor(pollerMissing, &at)
	before := len(at.Since)
	for _, t := range held {
		if _, known := at.Since[t.ExternalID]; !known && !t.Withdrawn {
			at.Since[t.ExternalID] = l.Clock.Now()
		}
	}
	if len(at.Since) == before {
		return nil
	}
	return l.move(ctx, nil, cursor, at)
}

// lookForMissing asks for missed topics every ten minutes, and withdraws those that are still gone in the end.
func (l *pollers) lookForMissing(ctx context.Context) (bool, error) {
	l.missing.Lock()
	defer l.missing.Unlock()
	at := missingPosition{Since: map[string]time.Time{}, Asked: map[string]time.Time{}}
	cursor := l.cursor(pollerMissing, &at)
	now := l.Clock.Now()
	var due []string
	for id, since := range at.Since {
		if asked := at.Asked[id]; asked.After(since) {
			since = asked
		}
		if clock.Elapsed(now, since) >= askAgain && len(due) < commitSize {
			due = append(due, id)
		}
	}
	if len(due) == 0 {
		return false, nil
	}
	found, err := l.fetch(ctx, due, l.pause())
	if err != nil {
		return false, err
	}
	var gone []string
	for _, id := range due {
		at.Asked[id] = now
		still := slices.Contains(found.gone, id)
		if still && clock.Elapsed(now, at.Since[id]) >= missingFor {
			gone = append(gone, id)
		}
		if !still || slices.Contains(gone, id) {
			delete(at.Since, id)
			delete(at.Asked, id)
		}
	}
	withdrawn, err := l.take(ctx, gone, func(t *record.Topic) { t.Visible, t.Withdrawn = false, true })
	if err != nil {
		return false, err
	}
	cursor.Withdrawn += uint64(len(withdrawn))
	return true, l.move(ctx, withdrawn, cursor, at)
}
