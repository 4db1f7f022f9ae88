package fill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
)

// unmarkedFor is how long a list that has no mark is taken to be fresh: that of a DAO
// which nobody has heard of, or of a Redis that was just flushed.
const unmarkedFor = time.Second

// shownUntil completes the head of a list's page, and returns up to when what it lists
// has happened: the page shows what its mark stands for, no more.
func (p *pageMaker) shownUntil(ctx context.Context) (governance.Timestamp, error) {
	mark, err := p.store.Version(ctx, p.request.Kind, p.request.Filter.DAOID)
	if err == nil {
		p.head.Revision = mark.Revision
		return governance.TimestampOf(time.UnixMicro(int64(mark.Revision))), nil //nolint:gosec // microseconds since 1970
	}
	if !errors.Is(err, cache.ErrMiss) {
		return 0, err
	}
	now, err := p.warehouse.Now(ctx)
	until := governance.TimestampOf(time.Now().Add(unmarkedFor))
	p.head.FreshUntil = &until
	return governance.TimestampOf(now), err
}

// events makes a page of the event list.
func (p pageMaker) events(ctx context.Context) (cache.View, error) {
	wanted := p.request.Filter
	if wanted.From == nil || wanted.To == nil {
		return cache.View{}, errNoWindow
	}
	shown, err := p.shownUntil(ctx)
	if err != nil {
		return cache.View{}, err
	}
	filter := warehouse.EventFilter{
		DAOID: wanted.DAOID, Basis: wanted.TimeField, From: *wanted.From, To: *wanted.To, Shown: shown,
		Types: wanted.Types, Importance: wanted.Least,
	}
	if after := p.request.After; after != nil && after.At != nil {
		filter.After = &warehouse.EventPosition{At: *after.At, ID: after.Key}
	}
	rows, err := p.warehouse.Events(ctx, filter, p.request.Limit+1)
	if err != nil {
		return cache.View{}, err
	}
	if rows == nil {
		rows = []governance.EventRow{}
	}
	if err := p.nameDAOs(ctx, rows); err != nil {
		return cache.View{}, err
	}
	return cache.NewView(p.head, rows)
}

// errNoWindow is a request for a list without the window that it needs.
var errNoWindow = errors.New("the page has no window of time")

// nameDAOs fills in the names of the DAOs, each read once; one that is not
// published goes by its id.
func (p pageMaker) nameDAOs(ctx context.Context, rows []governance.EventRow) error {
	names := map[string]string{}
	for i, row := range rows {
		name, known := names[row.DAOID]
		if !known {
			var err error
			if name, err = p.daoName(ctx, row.DAOID); err != nil {
				return err
			}
			names[row.DAOID] = name
		}
		rows[i].DAOName = name
	}
	return nil
}

// daoName reads the name off the directory. A row that is missing is that of no DAO
// only if everything is published: Redis may have been flushed.
func (p pageMaker) daoName(ctx context.Context, id string) (string, error) {
	row, err := p.store.DAORow(ctx, id)
	if errors.Is(err, cache.ErrMiss) {
		if _, err := p.store.PublicationState(ctx); err != nil {
			return "", fmt.Errorf("read the name of %s: %w", id, err)
		}
		row, err = p.store.DAORow(ctx, id)
	}
	if errors.Is(err, cache.ErrMiss) {
		return id, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the name of %s: %w", id, err)
	}
	return row.Name, nil
}
