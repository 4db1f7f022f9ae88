package routes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

// HintOf returns Meta.Hint: an empty list may be of a DAO that does not exist, and a text without match near
// another.
func (b *Backend) HintOf(ctx context.Context, r *Request, found Answer) (string, error) {
	resolution, resolves := found.Data.(governance.Resolution)
	rows := reflect.ValueOf(found.Data)
	if resolves {
		rows = reflect.ValueOf(resolution.Candidates)
	}
	if rows.Kind() != reflect.Slice || rows.Len() > 0 {
		return "", nil
	}
	hint, err := hintOfDAO(ctx, b, r.daoFilter())
	if hint == "" && err == nil {
		hint = hintOfProvider(r.valueOf(func(p param.Param) bool { return p.Name == "provider" }))
	}
	if q, is := r.Params.(*query.Resolve); is && hint == "" && err == nil {
		return hintOfResolve(ctx, b, *q), nil
	}
	return hint, err
}

// hintOfProvider names the upstream system that is nearest to one that does not exist.
func hintOfProvider(given string) string {
	var known []string
	for _, provider := range governance.Providers() {
		known = append(known, string(provider))
	}
	if given == "" || slices.Contains(known, given) {
		return ""
	}
	return fmt.Sprintf("there is no provider %q, only %s%s", given, strings.Join(known, ", "), didYouMean(param.Nearest(given, known)))
}

func hintOfDAO(ctx context.Context, b *Backend, daoID string) (string, error) {
	if daoID == "" {
		return "", nil
	}
	_, err := b.Store.DAORow(ctx, daoID)
	if errors.Is(err, cache.ErrMiss) { // as every DAO after a flush of Redis, until all are published
		if _, incomplete := b.Store.CompletePublication(ctx); incomplete != nil {
			return "", nil //nolint:nilerr // an answer without rows is one
		}
		_, err = b.Store.DAORow(ctx, daoID)
	}
	if !errors.Is(err, cache.ErrMiss) {
		return "", nil
	}
	near, err := b.nearestDAO(ctx, daoID)
	if err != nil {
		return "", apierror.Unavailable(err)
	}
	return apierror.NotFound("daoId", daoID).Message + didYouMean(near), nil
}

// hintOfResolve says what is near a text that no proposal matches: of those that have its longest
// words in their titles the most similar. It leaves that out where the list is not read in nearWait.
func hintOfResolve(ctx context.Context, b *Backend, q query.Resolve) string {
	ctx, cancel := context.WithTimeout(ctx, nearWait)
	defer cancel()
	none, text := "no proposal", governance.NormalizeTitle(q.Title)
	if q.DAOID != "" || q.Provider != "" {
		none += " that daoId and provider select"
	}
	switch {
	case q.Title == "":
		return none + " has that url or externalId; url takes an address, externalId an id, and title a part of a title"
	case utf8.RuneCountInString(text) < query.MinPartialTitle:
		return fmt.Sprintf("%s has that as its title; a part of a title has %d characters or more", none, query.MinPartialTitle)
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.SortStableFunc(words, func(a, b string) int { return utf8.RuneCountInString(b) - utf8.RuneCountInString(a) })
	for _, word := range words[:min(len(words), maxNearWords)] {
		if utf8.RuneCountInString(word) < query.MinPartialTitle {
			break
		}
		near := query.Proposals{DAOID: q.DAOID, Provider: q.Provider, Title: word, Order: query.ProposalsByUpdate}
		near.Limit = query.ShortPage
		view, _, err := b.page(ctx, cache.NewPageRequest(near), apierror.Unavailable(errListUnpublished))
		var rows []cache.ProposalRow
		if err == nil {
			err = view.Decode(&rows)
		}
		if err != nil {
			return ""
		}
		if row := nearestTitle(text, rows); row != nil {
			return fmt.Sprintf("%s has that in its title; near is %q (%s)", none, *row.Title, row.ProposalKey)
		}
	}
	return none + " has that in its title, nor one of its longest words; give another part of it"
}

const (
	// maxNearWords bounds the words that a hint is looked for by, and nearWait how long.
	maxNearWords = 2
	nearWait     = 400 * time.Millisecond
)

// nearestTitle returns the proposal whose title is most similar to a normalized text; nil for none.
func nearestTitle(text string, rows []cache.ProposalRow) (best *governance.ProposalListItem) {
	least := 0
	for i := range rows {
		item := &rows[i].Item
		if item.Title == nil {
			continue
		}
		distance := levenshtein.ComputeDistance(governance.Shorten(text, param.MaxTextBytes), governance.Shorten(governance.NormalizeTitle(*item.Title), param.MaxTextBytes))
		if best == nil || distance < least {
			best, least = item, distance
		}
	}
	return best
}

// NameNearestDAO adds the nearest DAO to the error of one that does not exist.
func (b *Backend) NameNearestDAO(ctx context.Context, err error) error {
	var failed *apierror.Error
	if !errors.As(err, &failed) || failed.Status != http.StatusNotFound {
		return err
	}
	subject, is := failed.Details.(apierror.SubjectDetails)
	if !is || subject["daoId"] == "" {
		return err
	}
	near, missing := b.nearestDAO(ctx, subject["daoId"])
	if missing != nil || near == "" || near == subject["daoId"] {
		return err
	}
	named := *failed
	named.Message += didYouMean(near)
	named.Details = apierror.SubjectDetails{"daoId": subject["daoId"], "nearest": near}
	return &named
}

// nearestDAO returns the id that is most similar to one that does not exist; empty for none.
func (b *Backend) nearestDAO(ctx context.Context, daoID string) (string, error) {
	ids, err := b.Store.DAOIDs(ctx, query.DAOs{})
	return param.Nearest(daoID, ids), err
}

// didYouMean ends a message that names what does not exist.
func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}
