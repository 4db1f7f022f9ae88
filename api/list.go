package api

import (
	"context"

	"pnyx/cache"
)

// listPage answers a request for one page of a list that is made on demand. The
// rows are cut from a page of a standard size, and the cursor continues after the
// last row shown.
func listPage[Row any](
	ctx context.Context, a *API, values Values, request cache.PageRequest,
	positionOf func(Row) cache.Position, missing *Error,
) (answer, error) {
	key, err := a.publication.cursorKey(ctx)
	if err != nil {
		return answer{}, err
	}
	if cursor := values.text("cursor"); cursor != "" {
		request.After = &cache.Position{}
		if err := decodeCursor(key, values, cursor, request.After); err != nil {
			return answer{}, invalidCursor(values, err)
		}
	}
	limit := values.integer("limit")
	request.Limit = cache.ShortPage
	if limit > cache.ShortPage {
		request.Limit = cache.LongPage
	}
	view, from, err := a.page(ctx, request, missing)
	if err != nil {
		return answer{}, err
	}
	rows := []Row{}
	if err := view.Decode(&rows); err != nil {
		return answer{}, unavailable(err)
	}
	found := answer{data: rows, view: view, source: from, page: &Page{Limit: limit}}
	if len(rows) <= limit {
		return found, nil
	}
	found.data = rows[:limit]
	next, err := encodeCursor(key, values, positionOf(rows[limit-1]))
	if err != nil {
		return answer{}, err
	}
	found.page.HasMore, found.page.NextCursor = true, &next
	return found, nil
}

// page reads a page of something that exists, or fails with missing. A worker that
// found nothing may have looked into a Redis that was just flushed: only when
// everything is published, nothing is really nothing, and is looked at again.
func (a *API) page(ctx context.Context, request cache.PageRequest, missing *Error) (cache.View, source, error) {
	view, from, err := a.pages.page(ctx, request)
	if err != nil || !view.Absent {
		return view, from, err
	}
	if _, err := a.store.PublicationState(ctx); err != nil {
		return cache.View{}, "", unavailable(err)
	}
	if view, from, err = a.pages.page(ctx, request); err == nil && view.Absent {
		return cache.View{}, "", missing
	}
	return view, from, err
}
