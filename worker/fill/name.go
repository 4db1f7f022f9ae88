package fill

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

type shown struct {
	identity string
	name     **governance.VoterName
}

// setNames sets names beside identities. A publication of names makes the pages stale that show them.
func (p *page) setNames(ctx context.Context, places []shown) error {
	version, err := p.Store.Version(ctx, cache.Names())
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return err
	}
	voters := warehouse.Values(places, func(at shown) string { return at.identity })
	names, err := warehouse.Share(ctx, p.Warehouse, "names", wantedNames{version.Revision, voters}, p.names.read)
	for _, at := range places {
		*at.name = names[at.identity]
	}
	return err
}

// nameRows sets the names in rows that were read, unless that failed.
func nameRows[Row any](ctx context.Context, p *page, rows []Row, err error, places func(*Row) []shown) ([]Row, error) {
	if err != nil {
		return nil, err
	}
	var all []shown
	for i := range rows {
		all = append(all, places(&rows[i])...)
	}
	return rows, p.setNames(ctx, all)
}

// byName builds the page of a voter who may be given by a verified name. An identity that is held wins.
func byName[Query any](
	read func(*page, context.Context, Query) (any, error), voter func(*Query) *query.Voter,
) func(*page, context.Context, Query) (any, error) {
	return func(p *page, ctx context.Context, q Query) (any, error) {
		payload, err := read(p, ctx, q)
		name := string(*voter(&q))
		if !errors.Is(err, errAbsent) || !strings.Contains(name, ".") {
			return payload, err
		}
		identity, err := records.VoterNamed(ctx, p.Warehouse, name)
		if err != nil || identity == "" {
			return nil, cmp.Or(err, errAbsent)
		}
		*voter(&q) = query.Voter(identity)
		return read(p, ctx, q)
	}
}

// heldNames are the names of all voters: to search the names of a page takes as long as to read it. They are compared
// with what is stored when the version of names changes. It is safe for concurrent use.
type heldNames struct {
	latest atomic.Pointer[namesAt]
}

type namesAt struct {
	state records.NamesState
	// names is nil where there are more than maxHeldNames.
	names map[string]*governance.VoterName
	// revision is of the version of names for which state was read, at the time read.
	revision uint64
	read     time.Time
}

// wantedNames are voters whose names a page shows, by the version of names at a revision; 0 where it is lost.
type wantedNames struct {
	revision uint64
	voters   []string
}

// read returns the names of the voters on some pages. Names above maxHeldNames are searched.
func (h *heldNames) read(ctx context.Context, w *warehouse.Warehouse, wanted []wantedNames) ([]map[string]*governance.VoterName, error) {
	var revision uint64
	for _, page := range wanted {
		revision = max(revision, page.revision)
	}
	at, err := h.current(ctx, w, revision)
	if err != nil {
		return nil, err
	}
	names := at.names
	if names == nil {
		var voters []string
		for _, page := range wanted {
			voters = append(voters, page.voters...)
		}
		names, err = records.VoterNames(ctx, w, voters)
	}
	return slices.Repeat([]map[string]*governance.VoterName{names}, len(wanted)), err
}

func (h *heldNames) current(ctx context.Context, w *warehouse.Warehouse, revision uint64) (*namesAt, error) {
	const (
		maxHeldNames = 50_000      // bounds the rows of names that a worker holds: some ten megabytes
		maxAge       = time.Minute // bounds for how long a revision ahead of the clock hides a change
	)
	before := h.latest.Load()
	if before != nil && revision != 0 && revision <= before.revision && time.Since(before.read) < maxAge {
		return before, nil
	}
	now := &namesAt{revision: revision, read: time.Now()}
	var err error
	if now.state, err = records.NamesStateOf(ctx, w); err != nil {
		return nil, err
	}
	switch {
	case before != nil && before.state == now.state:
		now.names = before.names
	case now.state.Rows <= maxHeldNames:
		now.names, err = records.AllVoterNames(ctx, w)
	}
	if err == nil {
		h.latest.Store(now)
	}
	return now, err
}
