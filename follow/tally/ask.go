package tally

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"pnyx/fetch"
	"pnyx/follow"
)

//go:embed queries/*.graphql
var queries embed.FS

const (
	// maxPage is the largest page that the API answers.
	maxPage = 20
	// maxPages bounds the pages of proposals of one organization, and maxVotePages the pages of
	// the votes on one proposal: there are none with as many.
	maxPages, maxVotePages = 1000, 100_000
)

// endless reports a list of which more pages were read than there can be.
func (t *Tally) endless(name, of string, pages int) error {
	return fmt.Errorf("%w: %s has more than %d pages of %s of %s", follow.ErrEndless, t.Host.Name(), pages, name, of)
}

// queryError is what the API says of a query that it does not answer.
type queryError struct{ message string }

// Error implements error.
func (e *queryError) Error() string { return e.message }

// ask sends a query from queries/ with its input and returns the value of its root field.
func (t *Tally) ask(ctx context.Context, name string, input map[string]any) (json.RawMessage, error) {
	text, err := queries.ReadFile("queries/" + name + ".graphql")
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"query": string(text), "variables": map[string]any{"i": input}})
	if err != nil {
		return nil, err
	}
	var got struct {
		Data   map[string]json.RawMessage `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	answer, err := t.Host.Do(ctx, fetch.Request{
		Method: http.MethodPost, Body: body,
		Header:  http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "Api-Key": {t.APIKey}},
		Accepts: func(status int, _ []byte) bool { return status == http.StatusUnprocessableEntity },
	})
	if failed, is := errors.AsType[*fetch.StatusError](err); is &&
		(failed.Status == http.StatusUnauthorized || failed.Status == http.StatusForbidden) {
		return nil, fmt.Errorf("the API key is refused: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if err := fetch.Decode(answer.Body, &got); err != nil {
		return nil, fmt.Errorf("%s to query %s: %w", t.Host.Name(), name, err)
	}
	if len(got.Errors) > 0 {
		return nil, fmt.Errorf("%s refuses query %s: %w", t.Host.Name(), name, &queryError{fetch.Clip(got.Errors[0].Message)})
	}
	value := got.Data[name]
	if len(value) == 0 || string(value) == "null" {
		return nil, fmt.Errorf("answer of %s to query %s has no data", t.Host.Name(), name)
	}
	return value, nil
}

// page is one page of nodes.
type page struct {
	nodes []json.RawMessage
	// after is the cursor of the next page; empty at the end.
	after string
}

// page asks for a page of proposals or votes, newest first.
func (t *Tally) page(ctx context.Context, name string, filters map[string]any, after string) (page, error) {
	input := map[string]any{
		"filters": filters, "page": map[string]any{"limit": maxPage},
		"sort": map[string]any{"sortBy": "id", "isDescending": true},
	}
	if after != "" {
		input["page"] = map[string]any{"limit": maxPage, "afterCursor": after}
	}
	text, err := t.ask(ctx, name, input)
	if err != nil {
		return page{}, err
	}
	var said struct {
		Nodes    []json.RawMessage `json:"nodes"`
		PageInfo *struct {
			LastCursor string `json:"lastCursor"`
		} `json:"pageInfo"`
	}
	switch err := fetch.Decode(text, &said); {
	case err != nil || said.PageInfo == nil:
		return page{}, fmt.Errorf("answer of %s to query %s is no page", t.Host.Name(), name)
	case len(said.Nodes) > maxPage:
		return page{}, fmt.Errorf("%s answers %d nodes of %s where %d were asked for", t.Host.Name(), len(said.Nodes), name, maxPage)
	case after != "" && said.PageInfo.LastCursor == after:
		return page{}, fmt.Errorf("%w: %s answers the same page of %s again", follow.ErrEndless, t.Host.Name(), name)
	}
	got := page{nodes: said.Nodes, after: said.PageInfo.LastCursor}
	if len(got.nodes) < maxPage {
		got.after = ""
	}
	return got, nil
}
