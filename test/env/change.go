package env

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
)

// AddChanges adds rows to the stream of changes, and begins it where there is none, as a worker
// does that has written them to its log. It returns how many rows the stream has.
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
