package fill

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/warehouse"
)

// pagesAhead is how many pages are made in advance after one that is requested with a
// cursor. Planning a statement costs more than making one page.
const pagesAhead = 3

// maxAheads bounds how many pages have others made after them at a time. Each keeps a
// connection to the warehouse until these are made.
const maxAheads = 4

// ahead are the pages after one of a sorted copy that is the second, at least, that a caller
// requests with a cursor: the next ones are most likely requested, too. Their rows are read by
// the statement of that page, and they are made once it is answered, under the names by which
// its caller will request them.
type ahead struct {
	// query is the query of the page, and shown how many of its rows its caller is shown.
	query query.Ballots
	shown int
	// rows are those of the page, and with read of all pages.
	rows []warehouse.LatestBallot
	// rest are the rows that were not read yet; nil where they could not be.
	rest *warehouse.Rows[warehouse.LatestBallot]
	// view makes a page of rows.
	view func([]warehouse.LatestBallot) (cache.View, error)
	// end lets other pages be made in advance.
	end func()
}

// copiedBallots reads the rows of a page of a sorted copy, and begins to read those of the
// pages ahead. It does so also while others wait: four pages by one statement take them less
// time than by four.
func (p *page) copiedBallots(ctx context.Context, generation uint64, q query.Ballots) ([]warehouse.LatestBallot, error) {
	at := warehouse.BallotSource{Generation: generation}
	p.dropAhead() // those of a copy that was replaced meanwhile
	if p.shown == 0 || !p.expected || !p.mayReadAhead() {
		return p.Warehouse.ListBallots(ctx, at, q)
	}
	// The rows are read beyond the end of the fill.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Timeout)
	p.ahead = &ahead{query: q, shown: p.shown, end: func() {
		cancel()
		<-p.aheads
	}}
	q.Limit += pagesAhead * p.shown
	var err error
	if p.ahead.rest, err = p.Warehouse.WalkBallots(ctx, at, q); err != nil {
		return nil, err
	}
	p.ahead.rows, err = p.ahead.rest.Next(p.ahead.query.Limit)
	return p.ahead.rows, err
}

// mayReadAhead takes one of the places of maxAheads, if one is free.
func (f *Filler) mayReadAhead() bool {
	select {
	case f.aheads <- struct{}{}:
		return true
	default:
		return false
	}
}

// dropAhead ends the pages ahead of a page without making them.
func (p *page) dropAhead() {
	p.ahead.close()
	p.ahead = nil
}

func (a *ahead) close() {
	if a == nil {
		return
	}
	if a.rest != nil {
		a.rest.Close()
	}
	a.end()
}

// has reports whether there is a page so many pages after the one that was requested.
func (a *ahead) has(n int) bool { return n*a.shown < len(a.rows) }

// request returns the request for that page.
func (a *ahead) request(n int) cache.PageRequest {
	return nextRequest(a.query, a.shown, a.rows[n*a.shown-1])
}

// nextRequest returns the request for the page after a ballot, by a caller who is shown so
// many rows of each. q is a query that has read one row more than a page has.
func nextRequest(q query.Ballots, shown int, last warehouse.LatestBallot) cache.PageRequest {
	after := q.PositionOf(last.Ballot)
	q.After = &after
	q.Limit--
	r := cache.NewPageRequest(q)
	r.Shown = shown
	return r
}

// read reads the rows of all pages.
func (a *ahead) read() error {
	more, err := a.rest.Next(pagesAhead * a.shown)
	a.rows = slices.Concat(a.rows, more)
	return err
}

// page makes the page so many pages after the one that was requested.
func (a *ahead) page(n int) (cache.CompletedFill, error) {
	from := n * a.shown
	view, err := a.view(a.rows[from:min(from+a.query.Limit, len(a.rows))])
	if err != nil {
		return cache.CompletedFill{}, err
	}
	if last := pagesAhead + 1; n == pagesAhead-1 && a.has(last) {
		// Whoever reads this page has another to read while the next ones are made.
		next := a.request(last)
		view.Next = &next
	}
	return cache.CompletedFill{Page: a.request(n), View: &view, Next: view.Next, Ahead: true}, nil
}

// makeAhead makes the pages ahead of those that were answered. The first of each is pending
// already: a caller who requests it meanwhile waits for it.
func (f *Filler) makeAhead(ctx context.Context, all []*ahead) {
	var making sync.WaitGroup
	for _, a := range all {
		making.Go(func() {
			defer a.close()
			pending, err := f.makePagesAhead(ctx, a)
			if err != nil {
				f.Logger.LogAttrs(ctx, slog.LevelWarn, "pages were not made in advance, they are made on request", slog.Any("error", err))
			}
			if pending > 0 {
				// Whoever waits for the page finds it missing, and requests it.
				f.Store.CompleteFills(ctx, []cache.CompletedFill{{Page: a.request(pending)}})
			}
		})
	}
	making.Wait()
}

// makePagesAhead stores the pages one by one. It returns which one is still pending, zero for
// none.
func (f *Filler) makePagesAhead(ctx context.Context, a *ahead) (pending int, err error) {
	pending = 1
	if err := a.read(); err != nil {
		return pending, err
	}
	for pending > 0 {
		made, err := a.page(pending)
		if err != nil {
			return pending, err
		}
		var started []cache.PageRequest
		if pending++; pending <= pagesAhead && a.has(pending) {
			started = append(started, a.request(pending))
		} else {
			pending = 0
		}
		if err := f.Store.CompleteFills(ctx, []cache.CompletedFill{made}, started...)[0]; err != nil {
			return pending, err
		}
		f.metrics.ahead.Inc()
	}
	return pending, nil
}
