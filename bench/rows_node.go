package main

import "context"

// nodeRows are about an API node as a whole. They come last, after everything that
// was asked of it.
func nodeRows() []Row {
	return []Row{{
		ID: "memory", Name: "API node, most memory resident under all of the above", Unit: "MB",
		Value: AtMost(150), Rounds: 1, Quick: 1,
		Prepare: func(ctx context.Context, w *World) (Sides, error) {
			_, node, err := w.API(ctx)
			return Sides{Ours: func(context.Context) (float64, error) {
				bytes, err := node.peakMemory()
				return bytes / 1e6, err
			}}, err
		},
	}}
}
