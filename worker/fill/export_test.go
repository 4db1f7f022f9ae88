package fill

import (
	"context"

	"pnyx/cache"
)

// Fill answers requests as one set, and makes the pages ahead.
func (f *Filler) Fill(ctx context.Context, fills []cache.Fill) { f.Answer(ctx, fills)() }

// Answer answers requests as one set. What it returns makes the pages ahead.
func (f *Filler) Answer(ctx context.Context, fills []cache.Fill) (ahead func()) {
	next := f.fill(ctx, fills, func() {})
	return func() { f.makeAhead(ctx, next) }
}

// MaxAheads is maxAheads.
const MaxAheads = maxAheads
