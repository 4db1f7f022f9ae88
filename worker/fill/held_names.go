package fill

import (
	"context"
	"slices"
	"sync/atomic"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// heldNames are the names of all voters, read again when one changes: a page has hundreds of voters, and
// to search their names takes as long as to read the page. It is safe for concurrent use.
type heldNames struct {
	latest atomic.Pointer[namesAt]
}

type namesAt struct {
	state records.NamesState
	names map[string]*governance.VoterName
}

// read returns the names of the voters in some lists. Names above maxHeldNames are searched.
func (h *heldNames) read(ctx context.Context, w *warehouse.Warehouse, lists [][]string) ([]map[string]*governance.VoterName, error) {
	const maxHeldNames = 50_000 // bounds the rows of names that a worker holds: some ten megabytes
	state, err := records.NamesStateOf(ctx, w)
	if err != nil {
		return nil, err
	}
	var names map[string]*governance.VoterName
	switch at := h.latest.Load(); {
	case state.Rows > maxHeldNames:
		names, err = records.VoterNames(ctx, w, slices.Concat(lists...))
	case at != nil && at.state == state:
		names = at.names
	default:
		if names, err = records.AllVoterNames(ctx, w); err == nil {
			h.latest.Store(&namesAt{state, names})
		}
	}
	return slices.Repeat([]map[string]*governance.VoterName{names}, len(lists)), err
}
