package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/records"
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

// shownUntil completes the head, and returns until when the page shows the feed: its version's time, or now.
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

func (p *page) signals(ctx context.Context, q query.Signals) (any, error) {
	shown, err := p.shownUntil(ctx, q.Scope())
	if err != nil {
		return nil, err
	}
	asOf := p.head.DataAsOf
	if q.After != nil {
		asOf = 0 // for cursors that say none, which list all deadlines as to come
		if q.After.AsOf != nil {
			asOf = *q.After.AsOf
		}
	}
	rows, err := feed.ListSignals(ctx, p.Warehouse, q, shown, asOf)
	if err != nil {
		return nil, err
	}
	// The nearest deadline comes first until it has passed.
	if q.Order == query.SignalsByDeadline && q.After == nil && len(rows) > 0 && rows[0].DeadlineAtMs != nil && !rows[0].HasExpired(asOf) {
		p.head.FreshUntil = rows[0].DeadlineAtMs
	}
	return rows, NameSignals(ctx, p.Store, p.Warehouse, rows)
}

// NameSignals puts names of DAOs and voters, which change, into texts of derived signals. A name that may look like
// another is left out: the text has no room to say so.
func NameSignals(ctx context.Context, store *cache.Store, w *warehouse.Warehouse, signals []governance.SignalRow) error {
	daos, voters := NewDAONames(store), make([]string, len(signals))
	for i, signal := range signals {
		voters[i] = rules.SignalVoter(signal.Signal)
	}
	named := slices.DeleteFunc(slices.Clone(voters), func(voter string) bool { return voter == "" })
	names, err := records.VoterNames(ctx, w, named)
	if err != nil {
		return err
	}
	for i := range signals {
		signal := &signals[i]
		if signal.Recorded {
			continue
		}
		if name := names[voters[i]]; name != nil && !name.Suspect {
			signal.Title = rules.NameVoter(signal.Title, voters[i], *name)
			signal.Summary = rules.NameVoter(signal.Summary, voters[i], *name)
		}
		dao, err := daos.Of(ctx, signal.DAOID)
		if err != nil {
			return err
		}
		signal.Title = rules.SignalTitle(dao, signal.Title)
	}
	return nil
}
