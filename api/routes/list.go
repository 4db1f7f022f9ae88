package routes

import (
	"context"

	"pnyx/api/apierror"
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

// listPage answers with one page of a list, cut from a page of a standard size. The cursor continues after the
// last row. missing is the error of a list that does not exist.
func listPage[Row, Position any](
	ctx context.Context, b *Backend, r *Request, q listQuery[Row, Position], missing *apierror.Error,
) (Answer, error) {
	limit := q.Pages().Limit
	rows, cursors, found, err := readPage(ctx, b, r, q, missing)
	if err != nil {
		return Answer{}, err
	}
	return cutPage(r, cursors, limit, rows, q.PositionOf, found)
}

// listHandler returns the handler of a list. The query's PositionOf is not called: the types are inferred from it.
func listHandler[Row, Position, Query any, Pointer interface {
	*Query
	listQuery[Row, Position]
}](_ func(Query, Row) Position) handler[Query] {
	return func(b *Backend, ctx context.Context, r *Request, q Query) (Answer, error) {
		return listPage(ctx, b, r, Pointer(&q), r.missing())
	}
}

// readPage reads the rows of the page of a standard size, and the cipher of its cursors.
func readPage[Row, Position any](
	ctx context.Context, b *Backend, r *Request, q listQuery[Row, Position], missing *apierror.Error,
) ([]Row, *cursorCipher, Answer, error) {
	paging := q.Pages()
	cursors, err := b.openCursor(ctx, r, &paging.After)
	if err != nil {
		return nil, nil, Answer{}, err
	}
	paging.Limit = query.PageSize(paging.Limit)
	view, from, err := b.page(ctx, cache.NewPageRequest(q), missing)
	if err != nil {
		return nil, nil, Answer{}, err
	}
	var rows []Row
	if err := view.Decode(&rows); err != nil {
		return nil, nil, Answer{}, apierror.Unavailable(err)
	}
	return rows, cursors, Answer{View: view, Source: from}, nil
}

// cutPage completes an answer with the first limit rows, and the cursor after them if there are more.
func cutPage[Row, Position any](
	r *Request, cursors *cursorCipher, limit int, rows []Row, positionOf func(Row) Position, found Answer,
) (Answer, error) {
	found.Data, found.Page = rows, &Page{Limit: limit}
	if len(rows) <= limit {
		return found, nil
	}
	found.Data = rows[:limit]
	next, err := cursors.encode(r, positionOf(rows[limit-1]))
	if err != nil {
		return Answer{}, err
	}
	found.Page.HasMore, found.Page.NextCursor = true, &next
	return found, nil
}

func invalidCursor(cursor string, err error) *apierror.Error {
	one := param.Param{Name: "cursor", Kind: param.Cursor}
	return apierror.Validation([]param.Problem{{
		Parameter: one.Name, Given: cursor, Message: err.Error(), Allowed: one.Allowed(), Fix: one.Fix(""),
	}}, 0)
}
