package tally

import (
	"bytes"
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
	// maxPages bounds the pages of an organization's proposals, maxVotePages of a proposal's votes: none has as many.
	maxPages, maxVotePages = 1000, 100_000
)

// endless reports a list of which more pages were read than there can be.
func (t *Tally) endless(name, of string, pages int) error {
	return fmt.Errorf("%w: %s has more than %d pages of %s of %s", follow.ErrEndless, t.Host.Name(), pages, name, of)
}

// queryError is what the API says of a query that it does not answer, or what is wrong with its answer.
type queryError struct{ message string }

// Error implements error.
func (e *queryError) Error() string { return e.message }

const queryVotes = "votes"

// answer is the value of the root field of an answer. incomplete has what went wrong with nodes of a page, by
// index: what they lack is unknown.
type answer struct {
	value      json.RawMessage
	incomplete map[int]error
}

// ask sends a query from queries/. Votes have two names in versions of the API, each of which refuses the other's.
func (t *Tally) ask(ctx context.Context, name string, input map[string]any) (answer, error) {
	text, err := queries.ReadFile("queries/" + name + ".graphql")
	if err != nil {
		return answer{}, err
	}
	earlier := name == queryVotes && t.earlier.Load()
	got, status, err := t.send(ctx, name, namedVotes(text, earlier), input)
	if isInvalid(status, nil) && name == queryVotes {
		if again, _, retried := t.send(ctx, name, namedVotes(text, !earlier), input); retried == nil {
			t.earlier.Store(!earlier)
			return again, nil
		}
	}
	return got, err
}

// isInvalid reports whether a status is that of a query which the API does not understand.
func isInvalid(status int, _ []byte) bool {
	return status == http.StatusUnprocessableEntity || status == http.StatusBadRequest
}

func namedVotes(query []byte, earlier bool) []byte {
	if earlier {
		return bytes.Replace(query, []byte("on OnchainVote"), []byte("on Vote"), 1)
	}
	return query
}

// send sends the text of a query. The status is that of an answer that is understood.
func (t *Tally) send(ctx context.Context, name string, query []byte, input map[string]any) (answer, int, error) {
	body, err := json.Marshal(map[string]any{"query": string(query), "variables": map[string]any{"i": input}})
	if err != nil {
		return answer{}, 0, err
	}
	var said struct {
		Data   map[string]json.RawMessage `json:"data"`
		Errors []struct {
			Message string `json:"message"`
			Path    []any  `json:"path"`
		} `json:"errors"`
	}
	response, err := t.Host.Do(ctx, fetch.Request{
		Method: http.MethodPost, Body: body,
		Header:  http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "Api-Key": {t.APIKey}},
		Accepts: isInvalid,
	})
	failed, is := errors.AsType[*fetch.StatusError](err)
	switch {
	case is && (failed.Status == http.StatusUnauthorized || failed.Status == http.StatusForbidden):
		return answer{}, 0, fmt.Errorf("the API key is refused: %w", err)
	case is && failed.Status == http.StatusInternalServerError: // of what was asked for
		return answer{}, 0, &queryError{err.Error()}
	case err != nil:
		return answer{}, 0, err
	}
	if err := fetch.Decode(response.Body, &said); err != nil {
		return answer{}, 0, &queryError{fmt.Sprintf("%s to query %s: %s", t.Host.Name(), name, err)}
	}
	got := answer{value: said.Data[name], incomplete: map[int]error{}}
	isNone := got.value == nil || string(got.value) == "null"
	for _, e := range said.Errors {
		err := fmt.Errorf("%s refuses query %s: %w", t.Host.Name(), name, &queryError{fetch.Clip(e.Message)})
		node, is := nodeOf(e.Path)
		if isNone || !is {
			return answer{}, response.Status, err
		}
		got.incomplete[node] = err
	}
	if isNone {
		return answer{}, response.Status, &queryError{fmt.Sprintf("answer of %s to query %s has no data", t.Host.Name(), name)}
	}
	return got, response.Status, nil
}

// nodeOf returns the index of the node of a page that the path of an error leads to.
func nodeOf(path []any) (index int, is bool) {
	const atIndex = 2 // proposals, nodes, index
	if len(path) <= atIndex || path[1] != "nodes" {
		return 0, false
	}
	number, is := path[atIndex].(float64)
	return int(number), is
}

type page struct {
	nodes []json.RawMessage
	// after is the cursor of the next page; empty at the end.
	after string
	// short is true of a page with fewer nodes than were asked for: the end of most lists, or some were left out.
	short bool
	// unread are the ids of the nodes that were rejected.
	unread []string
}

// page asks for a page of proposals or votes, newest first. Nodes of which something could not be read at upstream
// are rejected: what is held of them stays.
func (o *organization) page(ctx context.Context, name string, filters map[string]any, after string) (page, error) {
	input := map[string]any{
		"filters": filters, "page": map[string]any{"limit": maxPage},
		"sort": map[string]any{"sortBy": "id", "isDescending": true},
	}
	if after != "" {
		input["page"] = map[string]any{"limit": maxPage, "afterCursor": after}
	}
	answered, err := o.ask(ctx, name, input)
	if err != nil {
		return page{}, err
	}
	var said struct {
		Nodes    []json.RawMessage `json:"nodes"`
		PageInfo *struct {
			LastCursor string `json:"lastCursor"`
		} `json:"pageInfo"`
	}
	switch err := fetch.Decode(answered.value, &said); {
	case err != nil || said.PageInfo == nil || said.Nodes == nil:
		return page{}, &queryError{fmt.Sprintf("answer of %s to query %s is no page", o.Host.Name(), name)}
	case len(said.Nodes) > maxPage:
		return page{}, &queryError{fmt.Sprintf("%s answers %d nodes of %s where %d were asked for", o.Host.Name(), len(said.Nodes), name, maxPage)}
	case len(said.Nodes) == 0:
		return page{short: true}, nil
	case after != "" && said.PageInfo.LastCursor == after:
		return page{}, fmt.Errorf("%w: %s answers the same page of %s again", follow.ErrEndless, o.Host.Name(), name)
	}
	got := page{after: said.PageInfo.LastCursor, short: len(said.Nodes) < maxPage}
	for i, node := range said.Nodes {
		if err := answered.incomplete[i]; err != nil {
			got.unread = append(got.unread, idOf(node))
			o.journal.Reject(o.source, idOf(node), err)
			continue
		}
		got.nodes = append(got.nodes, node)
	}
	return got, nil
}

// idOf returns the id of a node; empty for one without.
func idOf(node json.RawMessage) string {
	var said struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(node, &said) // a node that is no object has none
	return said.ID
}
