package env

import (
	"cmp"
	"context"
	"errors"
	"time"

	"pnyx/cache"
	"pnyx/governance"
)

// Announce states that everything is published at a revision, as the leader of a new worker does.
func Announce(ctx context.Context, store *cache.Store, revision uint64) error {
	return AnnounceState(ctx, store, cache.PublicationState{
		Revision: revision, CommittedThrough: time.Now().UnixMicro(), HeartbeatAt: governance.TimestampOf(time.Now()),
		CursorKey: []byte("sixteen bytes or more"),
	})
}

// AnnounceState is Announce with another state.
func AnnounceState(ctx context.Context, store *cache.Store, published cache.PublicationState) error {
	lease := store.NewLease(time.Hour)
	if err := lease.Acquire(ctx); err != nil {
		return err
	}
	token, err := lease.BeginFullPublication(ctx)
	if err != nil {
		return err
	}
	found, err := store.Standing(ctx)
	if err != nil {
		return err
	}
	published.ServerRunIDs = cmp.Or(published.ServerRunIDs, found.ServerRunIDs)
	_, changes := AddChanges(ctx, store)
	return errors.Join(changes, lease.SetPublicationState(ctx, published, token), lease.Release(ctx))
}

// AddChanges adds rows to the stream of changes, which it may begin, and returns how many it has.
func AddChanges(ctx context.Context, store *cache.Store, changes ...governance.Change) (length int64, err error) {
	head, err := store.ChangeHead(ctx)
	if err != nil {
		return 0, err
	}
	after, rows := &head.Last, make([]cache.ChangeRow, len(changes))
	if !head.Exists {
		after = &cache.ChangeID{Time: head.Time}
		if length, err = store.AppendChanges(ctx, nil, []cache.ChangeRow{{ID: *after}}); err != nil {
			return 0, err
		}
		head.Time++
	}
	for i, change := range changes {
		rows[i] = cache.ChangeRow{Change: change, ID: cache.ChangeID{Time: head.Time, Number: uint64(i)}}
	}
	if len(rows) > 0 {
		length, err = store.AppendChanges(ctx, after, rows)
	}
	return length, err
}
