package api

import (
	"context"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance/query"
)

// listQuery is a query for a page of a list that is computed on demand.
type listQuery[Row, Position any] interface {
	query.Page
	// PositionOf returns the place of a row in the query's order.
	PositionOf(row Row) Position
	Pages() *query.Paging[Position]
}

// listPage answers a request for one page of a list. The rows are cut from a page of a
// standard size, and the cursor continues after the last row shown. Missing is the error
// of a list that does not exist.
func listPage[Row, Position any](
	ctx context.Context, b *Backend, r *request, q listQuery[Row, Position], missing *apierror.Error,
) (answer, error) {
	limit := q.Pages().Limit
	rows, cursors, found, err := readPage(ctx, b, r, q, missing)
	if err != nil {
		return answer{}, err
	}
	return cutPage(r, cursors, limit, rows, q.PositionOf, found)
}

// readPage reads the rows of the page of a standard size, and the cipher of its cursors.
func readPage[Row, Position any](
	ctx context.Context, b *Backend, r *request, q listQuery[Row, Position], missing *apierror.Error,
) ([]Row, *cursorCipher, answer, error) {
	paging := q.Pages()
	cursors, err := b.openCursor(ctx, r, &paging.After)
	if err != nil {
		return nil, nil, answer{}, err
	}
	paging.Limit = query.PageSize(paging.Limit)
	view, from, err := b.page(ctx, cache.NewPageRequest(q), missing)
	if err != nil {
		return nil, nil, answer{}, err
	}
	var rows []Row
	if err := view.Decode(&rows); err != nil {
		return nil, nil, answer{}, apierror.Unavailable(err)
	}
	return rows, cursors, answer{view: view, source: from}, nil
}

// openCursor reads the position from the cursor that a request gives, if it gives one,
// and returns the cipher that makes the next cursor.
func (b *Backend) openCursor(ctx context.Context, r *request, after any) (*cursorCipher, error) {
	cursors, err := b.publication.cursorCipher(ctx)
	if err != nil {
		return nil, err
	}
	if cursor := r.cursor(); cursor != "" {
		if err := cursors.decode(r, cursor, after); err != nil {
			return nil, invalidCursor(cursor, err)
		}
	}
	return cursors, nil
}

// cutPage completes an answer with the first limit rows, and with the cursor of the page
// after them if there are more.
func cutPage[Row, Position any](
	r *request, cursors *cursorCipher, limit int, rows []Row, positionOf func(Row) Position, found answer,
) (answer, error) {
	found.data, found.page = rows, &Page{Limit: limit}
	if len(rows) <= limit {
		return found, nil
	}
	found.data = rows[:limit]
	next, err := cursors.encode(r, positionOf(rows[limit-1]))
	if err != nil {
		return answer{}, err
	}
	found.page.HasMore, found.page.NextCursor = true, &next
	return found, nil
}

// invalidCursor returns the error for a cursor that does not decode.
func invalidCursor(cursor string, err error) *apierror.Error {
	one := param.Param{Name: "cursor", Kind: param.Cursor}
	return apierror.Validation([]param.Problem{{
		Parameter: one.Name, Given: cursor, Message: err.Error(), Allowed: one.Allowed(), Fix: one.Fix(""),
	}}, 0)
}

// pageTags returns the tags of a page: the tag of the scope whose version it depends on.
func pageTags[Query query.Page](q Query) []cache.Tag {
	return []cache.Tag{cache.ScopeTag(q.Scope())}
}

// page reads a page, or returns the error missing when its subject does not exist. A worker
// also reports an absent subject right after a flush of Redis. The page is therefore read
// again once everything is published.
func (b *Backend) page(ctx context.Context, request cache.PageRequest, missing *apierror.Error) (cache.View, httpcache.Source, error) {
	view, from, err := b.pages.page(ctx, request)
	if err != nil || !view.Absent {
		return view, from, err
	}
	if _, err := b.store.PublicationState(ctx); err != nil {
		return cache.View{}, "", apierror.Unavailable(err)
	}
	if view, from, err = b.pages.page(ctx, request); err == nil && view.Absent {
		return cache.View{}, "", missing
	}
	return view, from, err
}
