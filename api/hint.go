package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"pnyx/cache"
)

// hintOf returns Meta.Hint of an answer: a list without rows may be of a DAO that does not exist.
func (a *API) hintOf(ctx context.Context, r *request, found answer) (string, error) {
	daoID := r.daoFilter()
	rows := reflect.ValueOf(found.data)
	if daoID == "" || rows.Kind() != reflect.Slice || rows.Len() > 0 {
		return "", nil
	}
	_, err := a.store.DAORow(ctx, daoID)
	if !errors.Is(err, cache.ErrMiss) {
		return "", nil
	}
	near, err := a.nearestDAO(ctx, daoID)
	if err != nil {
		return "", unavailable(err)
	}
	return notFound("daoId", daoID).Message + didYouMean(near), nil
}

// nameNearestDAO adds the nearest DAO to the error of one that does not exist.
func (a *API) nameNearestDAO(ctx context.Context, err error) error {
	var failed *Error
	if !errors.As(err, &failed) || failed.Status != http.StatusNotFound {
		return err
	}
	subject, is := failed.Details.(subjectDetails)
	if !is || subject["daoId"] == "" {
		return err
	}
	near, missing := a.nearestDAO(ctx, subject["daoId"])
	if missing != nil || near == "" {
		return err
	}
	named := *failed
	named.Message += didYouMean(near)
	named.Details = subjectDetails{"daoId": subject["daoId"], "nearest": near}
	return &named
}

// nearestDAO returns the id that is most similar to one that does not exist; empty for none.
func (a *API) nearestDAO(ctx context.Context, daoID string) (string, error) {
	ids, err := a.store.DAOIDs(ctx)
	return nearest(daoID, ids), err
}

// didYouMean ends a message that names what does not exist.
func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}
