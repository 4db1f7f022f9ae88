package hub

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"pnyx/fetch"
	"pnyx/governance"
)

const (
	// maxFirst and maxSkip are the hub's limits of a page, maxIn its limit of a list of ids.
	maxFirst, maxSkip, maxIn = 1000, 5000, 100
	// maxSplits bounds the requests for a page with rows that cannot be answered.
	maxSplits = 200
)

//go:embed queries/*.graphql
var queries embed.FS

// trouble is what the hub says, with HTTP 500 or 200, when its database fails. It passes.
const trouble = "request failed"

// rowError reports a row that the hub cannot answer, and its page with it.
type rowError struct {
	// index is the index of the row in its page; -1 if unknown.
	index   int
	message string
}

// Error implements error.
func (e *rowError) Error() string { return e.message }

// refusedError reports a request that the hub never answers.
type refusedError struct{ message string }

// Error implements error.
func (e *refusedError) Error() string { return e.message }

// answer has the value of each root field.
type answer map[string]json.RawMessage

// ask sends a query from queries/.
func (h *Hub) ask(ctx context.Context, name string, variables map[string]any) (answer, error) {
	text, err := queries.ReadFile("queries/" + name + ".graphql")
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"query": string(text), "variables": variables})
	if err != nil {
		return nil, err
	}
	got, err := h.send(ctx, body)
	for _, value := range got {
		if name != "space" && string(value) == "null" { // a space that is not there is, and no list
			err = errors.New("a list is null")
		}
	}
	if err != nil && !errors.As(err, new(*rowError)) {
		err = fmt.Errorf("ask %s for %s: %w", h.Host.Name(), name, err)
	}
	return got, err
}

// said is what an answer says of errors.
type said struct {
	Errors []struct {
		Message string `json:"message"`
		Path    []any  `json:"path"`
	} `json:"errors"`
}

// send sends a request once. The hub answers invalid requests and rows that it cannot read with HTTP 500 too: the
// body comes before the status.
func (h *Hub) send(ctx context.Context, body []byte) (answer, error) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if h.APIKey != "" {
		header.Set("X-Api-Key", h.APIKey)
	}
	response, err := h.Host.Do(ctx, fetch.Request{
		Method: http.MethodPost, Header: header, Body: body,
		Accepts: func(_ int, body []byte) bool {
			var found said
			return fetch.Decode(body, &found) == nil && len(found.Errors) > 0
		},
		Trouble: func(body []byte) string {
			var found said
			if bytes.Contains(body, []byte(trouble)) && fetch.Decode(body, &found) == nil && len(found.Errors) > 0 && found.Errors[0].Message == trouble {
				return trouble
			}
			return ""
		},
	})
	if failed, is := errors.AsType[*fetch.StatusError](err); is && failed.Status == http.StatusUnauthorized {
		return nil, fmt.Errorf("the API key is refused: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if response.Header.Get("X-Historical-Data-Access") == "restricted" {
		before, err := strconv.ParseInt(response.Header.Get("X-Historical-Data-Cutoff"), 10, 64)
		if err != nil || before <= 0 {
			before = h.Clock.Now().Unix()
		}
		h.withheld.Store(before)
	}
	var got struct {
		said

		Data answer `json:"data"`
	}
	if err := fetch.Decode(response.Body, &got); err != nil {
		return nil, err
	}
	switch {
	case len(got.Errors) == 0 && got.Data == nil:
		return nil, errors.New("the answer has no data")
	case len(got.Errors) == 0:
		return got.Data, nil
	}
	first := got.Errors[0]
	if len(first.Path) > 2 {
		broken := &rowError{index: -1, message: fetch.Clip(first.Message)}
		if index, is := first.Path[1].(float64); is {
			broken.index = int(index)
		}
		return nil, broken
	}
	return nil, &refusedError{fetch.Clip(first.Message)}
}

// isWithheld reports whether the last answers lack whatever was created at a time; nil for unknown.
func (h *Hub) isWithheld(created *governance.Timestamp) bool {
	const moves = 24 * time.Hour // as time passes
	before := h.withheld.Load()
	return before > 0 && (created == nil || created.Time().Before(time.Unix(before, 0).Add(moves)))
}

type page struct {
	rows []json.RawMessage
	// holes is the number of rows that cannot be answered.
	holes int
	// full is true if there may be more rows after the page.
	full bool
}

// list asks for a page of a query's only root field. Where one row takes its page along, it asks for the others.
func (h *Hub) list(ctx context.Context, query, root string, variables map[string]any, skip, first int) (page, error) {
	rows, holes, err := h.rows(ctx, query, root, variables, skip, first, new(maxSplits))
	return page{rows: rows, holes: holes, full: len(rows)+holes >= first}, err
}

// isOfOneRow reports whether an error may be about one row, which takes its page along.
func isOfOneRow(err error) bool {
	return errors.As(err, new(*rowError)) || errors.Is(err, fetch.ErrTooLarge) || errors.Is(err, fetch.ErrMalformed)
}

func (h *Hub) rows(
	ctx context.Context, query, root string, variables map[string]any, skip, first int, splits *int,
) (rows []json.RawMessage, holes int, err error) {
	if first <= 0 {
		return nil, 0, nil
	}
	if skip > maxSkip {
		return nil, first, nil // the hub refuses to skip to them
	}
	variables["skip"], variables["first"] = skip, first
	got, err := h.ask(ctx, query, variables)
	if !isOfOneRow(err) {
		if err == nil {
			err = fetch.Decode(got[root], &rows)
		}
		if err == nil && len(rows) > first {
			err = fmt.Errorf("%s answers %d rows of %s where %d were asked for", h.Host.Name(), len(rows), query, first)
		}
		return rows, 0, err
	}
	if *splits--; *splits < 0 {
		return nil, 0, fmt.Errorf("ask %s for %s: more than %d rows of a page cannot be answered: %w", h.Host.Name(), query, maxSplits/2, err)
	}
	if first == 1 {
		return nil, 1, nil
	}
	at, alone := first/2, 0
	if broken, is := errors.AsType[*rowError](err); is && broken.index >= 0 && broken.index < first {
		at, alone = broken.index, 1
	}
	for _, part := range [][2]int{{0, at}, {at, alone}, {at + alone, first - at - alone}} {
		more, lost, err := h.rows(ctx, query, root, variables, skip+part[0], part[1], splits)
		if err != nil {
			return nil, 0, err
		}
		rows, holes = append(rows, more...), holes+lost
	}
	return rows, holes, nil
}
