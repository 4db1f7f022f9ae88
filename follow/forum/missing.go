package forum

import (
	"context"
	"time"

	"pnyx/warehouse/record"
)

// missingFor is how long a topic must be gone before it is withdrawn.
const missingFor = time.Hour

// missingPosition has the topics that the forum says are gone.
type missingPosition struct {
	// Since has the time at which each was missed first.
	Since map[string]time.Time `json:"since"`
}

// suspect notes that topics are gone. They are withdrawn if they still are in an hour.
func (l *lanes) suspect(ctx context.Context, gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	l.missing.Lock()
	defer l.missing.Unlock()
	held, err := l.journal.Warehouse.HeldTopics(ctx, l.Name, gone, false)
	if err != nil {
		return err
	}
	at := missingPosition{map[string]time.Time{}}
	cursor := l.cursor(laneMissing, &at)
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

// lookForMissing asks again for topics that were missed an hour ago, and withdraws those
// that are still gone.
func (l *lanes) lookForMissing(ctx context.Context) (bool, error) {
	l.missing.Lock()
	defer l.missing.Unlock()
	at := missingPosition{map[string]time.Time{}}
	cursor := l.cursor(laneMissing, &at)
	now := l.Clock.Now()
	var due []string
	for id, since := range at.Since {
		if now.Sub(since) >= missingFor && len(due) < commitSize {
			due = append(due, id)
			delete(at.Since, id)
		}
	}
	if len(due) == 0 {
		return false, nil
	}
	found, err := l.fetch(ctx, due, l.pause())
	if err != nil {
		return false, err
	}
	withdrawn, err := l.take(ctx, found.gone, func(t *record.Topic) { t.Visible, t.Withdrawn = false, true })
	if err != nil {
		return false, err
	}
	cursor.Withdrawn += uint64(len(withdrawn))
	return true, l.move(ctx, withdrawn, cursor, at)
}
