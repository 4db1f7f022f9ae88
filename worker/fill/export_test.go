package fill

import (
	"context"

	"pnyx/cache"
)

// Fill answers requests as one set.
func (f *Filler) Fill(ctx context.Context, fills []cache.Fill) { f.fill(ctx, fills, func() {}) }
