package api

import (
	"cmp"
	"context"
	"errors"

	"pnyx/cache"
	"pnyx/governance"
)

func (a *API) dataStatus(ctx context.Context, values Values) (answer, error) {
	id := values.text("daoId")
	var status governance.DataStatus
	view, err := a.view(ctx, cache.DataStatusKey(id), &status, notFound("daoId", id))
	return answer{data: status, view: view, source: sourceRedis}, err
}

func (a *API) daoDetail(ctx context.Context, values Values) (answer, error) {
	id := values.text("daoId")
	var detail governance.DAODetail
	view, err := a.view(ctx, cache.DAODetailKey(id), &detail, notFound("daoId", id))
	return answer{data: detail, view: view, source: sourceRedis}, err
}

func (a *API) listDAOs(ctx context.Context, values Values) (answer, error) {
	key, err := a.publication.cursorKey(ctx)
	if err != nil {
		return answer{}, err
	}
	var after string
	if cursor := values.text("cursor"); cursor != "" {
		if err := decodeCursor(key, values, cursor, &after); err != nil {
			return answer{}, invalidCursor(values, err)
		}
	}
	limit := values.integer("limit")
	listed, err := a.daoPage(ctx, cache.DAOFilter{
		HasVoteData:    values.boolean("hasVoteData"),
		HasForumData:   values.boolean("hasForumData"),
		CoverageStatus: governance.Coverage(values.text("coverageStatus")),
	}, after, limit)
	if err != nil {
		return answer{}, unavailable(err)
	}
	found := answer{data: listed.Items, view: listed.View, source: sourceRedis, page: &Page{Limit: limit}}
	if len(listed.Items) > limit {
		found.data = listed.Items[:limit]
		next, err := encodeCursor(key, values, listed.Items[limit-1].DAOID)
		if err != nil {
			return answer{}, err
		}
		found.page.HasMore, found.page.NextCursor = true, &next
	}
	return found, nil
}

// daoPageTries is how often a page is read while publications come in between.
const daoPageTries = 3

// daoPage reads a page of the directory as one publication left it: one that Redis
// was flushed and filled around might lack DAOs that are not back yet. Without a
// directory beside what is published, the warehouse holds no DAO at all.
func (a *API) daoPage(
	ctx context.Context, filter cache.DAOFilter, after string, limit int,
) (cache.DAOIndexPage, error) {
	before, err := a.store.PublicationState(ctx)
	for range daoPageTries {
		if err != nil {
			return cache.DAOIndexPage{}, err
		}
		listed, failed := a.store.DAOPage(ctx, filter, after, limit)
		var now cache.PublicationState
		now, err = a.store.PublicationState(ctx)
		switch {
		case err != nil || now.Revision != before.Revision:
			before = now
		case errors.Is(failed, cache.ErrMiss):
			return emptyDirectory(now), nil
		default:
			return listed, failed
		}
	}
	return cache.DAOIndexPage{}, cmp.Or(err, errUnsettled)
}

// errUnsettled is a directory that was published anew at every try.
var errUnsettled = errors.New("publications come too fast to read the directory")

func emptyDirectory(published cache.PublicationState) cache.DAOIndexPage {
	return cache.DAOIndexPage{
		View: cache.View{
			Revision: published.Revision, Readiness: governance.Ready,
			DataAsOf: governance.Timestamp(published.CommittedThrough / 1000),
		},
		Items: []governance.DAOListItem{},
	}
}

func invalidCursor(values Values, err error) *Error {
	param := cursorParam()
	return validationError([]Problem{{
		Parameter: param.Name, Given: values.text(param.Name), Message: err.Error(),
		Allowed: param.Allowed(), Fix: param.fix(""),
	}})
}
