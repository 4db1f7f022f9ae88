package follow

import (
	"context"
	"time"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// maxKept bounds the rejected items of an upstream that are kept in an hour; all are counted.
	maxKept = 1000
	// maxShown bounds a text of upstream in a reason, and maxReason a reason, in bytes.
	maxShown, maxReason = 80, records.MaxRejectReason
)

// rejects are the rejected items of one upstream. Journal.mu guards it.
type rejects struct {
	// counted is the number since the journal was opened.
	counted uint64
	// hour is the hour in which kept were kept.
	hour time.Time
	kept int
	// open is set while the upstream has some that were not read since.
	open bool
	// pending are not written yet.
	pending []records.FollowReject
}

// Reject keeps an item that is no valid record, or that the source may not state. An item of the zero source
// counts for each source of the upstream.
func (j *Journal) Reject(source record.SourceRef, itemID string, rejected error) {
	j.reject(source, itemID, rejected, nil)
}

func (j *Journal) reject(source record.SourceRef, itemID string, rejected error, text []byte) {
	now := j.Clock.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &j.rejects
	r.counted++
	r.open = true
	if hour := now.Truncate(time.Hour); !hour.Equal(r.hour) {
		r.hour, r.kept = hour, 0
	}
	if r.kept == maxKept {
		return
	}
	r.kept++
	if source.ID == "" {
		source = record.SourceRef{}
	}
	r.pending = append(r.pending, records.FollowReject{
		Upstream: j.upstream, Provider: source.Provider, SourceID: source.ID, At: now,
		ItemID: record.Clip(itemID, records.MaxRejectID), Reason: record.Clip(rejected.Error(), maxReason),
		Text: string(text[:min(len(text), records.MaxRejectText)]),
	})
}

// writeRejects writes the rejected items that are not written yet.
func (j *Journal) writeRejects(ctx context.Context) error {
	j.mu.Lock()
	pending := j.rejects.pending
	j.rejects.pending = nil
	j.mu.Unlock()
	err := records.WriteFollowRejects(ctx, j.Warehouse, pending)
	if err != nil {
		j.mu.Lock()
		j.rejects.pending = append(pending, j.rejects.pending...)
		j.mu.Unlock()
	}
	return err
}

// resolveRejects marks those rejected items as read that are among some committed records, but for what was left
// out of a record since began.
func (j *Journal) resolveRejects(ctx context.Context, all []record.Record, began time.Time) (err error) {
	j.mu.Lock()
	open, counted := j.rejects.open, j.rejects.counted
	j.mu.Unlock()
	if !open || len(all) == 0 {
		return nil
	}
	items := warehouse.Values(all, func(r record.Record) records.FollowReject {
		source, itemID := subjectOf(r)
		return records.FollowReject{SourceID: source.ID, ItemID: itemID}
	})
	if resolved, err := records.ResolveFollowRejects(ctx, j.Warehouse, j.upstream, items, began); err != nil || resolved == 0 {
		return err
	}
	if open, err = records.HasFollowRejects(ctx, j.Warehouse, j.upstream); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.rejects.counted == counted {
		j.rejects.open = open
	}
	return nil
}
