package fill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/feed"
)

// unversionedTTL is how long a page without a version is fresh: its DAO does not exist, or Redis was just flushed.
const unversionedTTL = time.Second

func (p *page) events(ctx context.Context, q query.Events) (any, error) {
	shown, err := p.shownUntil(ctx, q.Scope())
	if err != nil {
		return nil, err
	}
	rows, err := feed.ListEvents(ctx, p.Warehouse, q, shown)
	if err != nil {
		return nil, err
	}
	names := NewDAONames(p.Store)
	for i, row := range rows {
		if rows[i].DAOName, err = names.Of(ctx, row.DAOID); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// shownUntil completes the head of a page of the feed, and returns until when it shows what happened: its version's
// time, or now.
func (p *page) shownUntil(ctx context.Context, scope query.Scope) (governance.Timestamp, error) {
	version, there, err := p.version(ctx, scope)
	if err != nil {
		return 0, err
	}
	if there {
		p.head.Revision = version.Revision
		return governance.TimestampOfRevision(version.Revision), nil
	}
	now, err := p.Warehouse.Now(ctx)
	p.head.FreshUntil = new(governance.TimestampOf(time.Now().Add(unversionedTTL)))
	return governance.TimestampOf(now), err
}

// DAONames reads the names of DAOs, each once.
type DAONames struct {
	store *cache.Store
	known map[string]string
}

// NewDAONames returns names of which none is read yet.
func NewDAONames(store *cache.Store) DAONames { return DAONames{store, map[string]string{}} }

// Of returns the name of a DAO; its id where it is not published. A row that is missing means that only if
// everything is published: Redis may have been flushed.
func (n DAONames) Of(ctx context.Context, id string) (string, error) {
	if name, known := n.known[id]; known {
		return name, nil
	}
	row, err := n.store.DAORow(ctx, id)
	if errors.Is(err, cache.ErrMiss) {
		if _, err = n.store.PublicationState(ctx); err == nil {
			row, err = n.store.DAORow(ctx, id)
			if errors.Is(err, cache.ErrMiss) {
				row.Name, err = id, nil
			}
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the name of %s: %w", id, err)
	}
	n.known[id] = row.Name
	return row.Name, nil
}
