package api_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// changeEvents are the events of a stream of changes.
type changeEvents struct {
	testing.TB

	lines *bufio.Reader
	// id is the id of the last event.
	id string
}

// event is an event as a browser would know it.
type event struct {
	kind, data string
	// comments counts the comments before it.
	comments int
}

// stream opens a stream, as a caller with some headers.
func (t *node) stream(path string, header http.Header) *changeEvents {
	t.Helper()
	request := env.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, t.Base+path, http.NoBody))(t)
	if request.Header = header.Clone(); header == nil {
		request.Header = http.Header{access.HeaderInternal: {internalToken}}
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := t.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if got := response.Header; response.StatusCode != http.StatusOK || got.Get("Content-Type") != "text/event-stream" ||
		got.Get("Cache-Control") != "private, no-store" || got.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%s: got %d %v, want a stream that nobody keeps", path, response.StatusCode, got)
	}
	return &changeEvents{TB: t.TB, lines: bufio.NewReader(response.Body)}
}

// next returns the next event; io.EOF after the last one. What has an id and no data is none.
func (e *changeEvents) next() (got event, err error) {
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			return got, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && got.data != "":
			return got, nil
		case line == "\n":
		case name == "":
			got.comments++
		case name == "id":
			e.id = value
		case name == "event":
			got.kind = value
		case name == "data":
			got.data = value
		}
	}
}

// wantRows reads one event, which has some rows.
func (e *changeEvents) wantRows(want ...string) {
	e.Helper()
	got := env.Must(e.next())(e)
	if rows := e.rows(got); !slices.Equal(rows, want) {
		e.Errorf("got %q, want %q", rows, want)
	}
}

// rows returns the rows of an event, as addChanges takes them.
func (e *changeEvents) rows(got event) (rows []string) {
	e.Helper()
	var changes []governance.Change
	if err := json.Unmarshal([]byte(got.data), &changes); err != nil {
		e.Fatalf("got %+v, want rows: %v", got, err)
	}
	for _, change := range changes {
		rows = append(rows, fmt.Sprint(change.Kind, " ", change.Key, " ", change.DAOID))
	}
	return rows
}

// wantFailure reads one event, which is an error and the last one.
func (e *changeEvents) wantFailure(code apierror.Code) {
	e.Helper()
	got, err := e.next()
	if err != nil || got.kind != "failure" || !strings.Contains(got.data, string(code)) {
		e.Fatalf("got %+v, %v, want %s", got, err, code)
	}
	e.wantEnd()
}

func (e *changeEvents) wantEnd() {
	e.Helper()
	if got, err := e.next(); !errors.Is(err, io.EOF) {
		e.Errorf("got %+v, %v, want the end", got, err)
	}
}

func TestStreamHasTheRowsOfPages(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	all, filtered := n.stream("/v2/changes?limit=2", nil), n.stream("/v2/changes?kind=topic", nil)
	n.waitHeld(2)
	n.addChanges("proposal a dao", "proposal b dao", "topic t dao")
	all.wantRows("proposal a dao", "proposal b dao")
	between := all.id
	all.wantRows("topic t dao")
	filtered.wantRows("topic t dao")

	resumed := n.stream("/v2/changes?limit=2", http.Header{access.HeaderInternal: {internalToken}, "Last-Event-Id": {between}})
	resumed.wantRows("topic t dao")
	if rows, _, _ := n.changes("/v2/changes?limit=2&cursor=" + url.QueryEscape(between)); !slices.Equal(rows, []string{"topic t dao"}) {
		t.Errorf("its id as a cursor: got %q, want the same row", rows)
	}
	n.wantFailure(n.ask(http.MethodGet, "/v2/changes", http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {"made up"}}),
		http.StatusBadRequest, apierror.CodeValidation)
}

func TestStreamTellsWhereItBeginsAndThatItLives(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{prepare: func(a *api.API) { a.SetStreamTimes(soon, time.Millisecond, soon) }})
	events := n.stream("/v2/changes", nil)
	for comments := 0; comments < 3; {
		line := env.Must(events.lines.ReadString('\n'))(t)
		if strings.HasPrefix(line, ":") {
			comments++
		}
		if id, is := strings.CutPrefix(line, "id: "); is {
			events.id = strings.TrimSpace(id)
		}
	}
	n.addChanges("proposal a dao")
	resumed := n.stream("/v2/changes", http.Header{access.HeaderInternal: {internalToken}, "Last-Event-Id": {events.id}})
	resumed.wantRows("proposal a dao")
}

func TestStreamCountsEachPageAsARequest(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := http.Header{access.HeaderToken: {n.admitsTwiceAMonth()}}
	for range 3 { // to open one costs nothing
		n.stream("/v2/changes?kind=topic", token)
	}
	events := n.stream("/v2/changes?limit=1", token)
	n.addChanges("proposal a dao", "proposal b dao", "proposal c dao")
	events.wantRows("proposal a dao")
	events.wantRows("proposal b dao")
	events.wantFailure(apierror.CodeQuotaExceeded)
}

func TestStreamWaitsForTheBucket(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{clock: time.Now})
	record, token := partner(ratelimit.Custom, access.V2All)
	narrow := ratelimit.Rate{PerMinute: 600, Burst: 1}
	record.Limits = &ratelimit.Limits{Standard: narrow, Detail: narrow}
	n.admits(token, record)
	events := n.stream("/v2/changes?limit=500", http.Header{access.HeaderToken: {token}})
	var want, got []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("proposal p%d dao", i))
		n.addChanges(want[i])
	}
	for len(got) < len(want) {
		one := env.Must(events.next())(t)
		got = append(got, events.rows(one)...)
	}
	env.WantSame(t, "rows", want, got)
}

func TestAttackRevokedTokenGetsNoChangesThatItWaitsFor(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsOne(ratelimit.Custom, access.V2All)
	events := n.stream("/v2/changes", http.Header{access.HeaderToken: {token}})
	waited := make(chan int, 1)
	go func() { waited <- n.askWith(http.MethodGet, "/v2/changes?wait=25", token).status }()
	n.waitHeld(2)
	others := [2]access.Token{}
	others[0], _ = partner(ratelimit.Custom, access.V2All)
	others[1], _ = partner(ratelimit.Custom, access.V2All)
	n.Tokens(others[:]...)
	env.Until(t, func() error {
		if got := n.askWith(http.MethodGet, "/v2/changes", token); got.status != http.StatusUnauthorized {
			return fmt.Errorf("got %d, want that the token is revoked", got.status)
		}
		return nil
	})
	n.addChanges("proposal a dao")
	events.wantFailure(apierror.CodeUnauthorized)
	env.Want(t, http.StatusUnauthorized, <-waited, "status of the request that waited")
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		life time.Duration
		end  func(*node)
		code apierror.Code
	}{
		"after its time":       {time.Millisecond, func(*node) {}, ""},
		"when the node drains": {soon, func(n *node) { n.API.Drain() }, ""},
		"when rows may be missed": {soon, func(n *node) {
			n.setPublished(cache.PublicationState{Revision: 9, LastFullRevision: 9, ChangesEpoch: 9, CursorKey: []byte(cursorKey)})
		}, apierror.CodeCursorExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, settings{prepare: func(a *api.API) { a.SetStreamTimes(test.life, soon, soon) }})
			events := n.stream("/v2/changes", nil)
			test.end(n)
			if test.code == "" {
				events.wantEnd()
			} else {
				events.wantFailure(test.code)
			}
			n.waitHeld(0)
		})
	}
}

func TestAttackStreamToASlowReaderEnds(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{prepare: func(a *api.API) { a.SetStreamTimes(soon, soon, 10*time.Millisecond) }})
	n.send(fmt.Sprintf("GET /v2/changes?limit=500 HTTP/1.1\r\nHost: pnyx\r\nAccept: text/event-stream\r\n%s: %s\r\n\r\n",
		access.HeaderInternal, internalToken)) // whose answer nobody reads
	n.waitHeld(1)
	rows := make([]governance.Change, 500) // more than sockets hold
	for i := range rows {
		rows[i] = governance.Change{Kind: governance.TopicChange, Key: fmt.Sprint(i, strings.Repeat("x", 20_000)), Revision: "1"}
	}
	env.Must(env.AddChanges(t.Context(), n.Store, rows...))(t)
	n.waitHeld(0)
}

func TestRequestsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{prepare: func(a *api.API) { a.SetMaxWaiting(1) }})
	n.stream("/v2/changes", nil)
	for name, header := range map[string]http.Header{"a page": nil, "a stream": {"Accept": {"text/event-stream"}}} {
		// At once: the client ends the first stream after a minute.
		t.Run(name, func(t *testing.T) {
			n := n.with(t)
			got := n.ask(http.MethodGet, "/v2/changes?wait=25", header)
			n.wantFailure(got, http.StatusServiceUnavailable, apierror.CodeUnavailable)
			if got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "too many requests wait") {
				t.Errorf("got %v %s, want why, and when to try again", got.header, got.body)
			}
		})
	}
	if rows, _, _ := n.changes("/v2/changes"); len(rows) > 0 {
		t.Errorf("without wait: got %v, want a page", rows)
	}
}

func TestNodeFollowsChangesWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	follows := func(want bool) {
		t.Helper()
		env.Until(t, func() error {
			if got := n.API.FollowsChanges(); got != want {
				return fmt.Errorf("got %v, want %v", got, want)
			}
			return nil
		})
	}
	follows(false)
	events := n.stream("/v2/changes", nil)
	follows(true)
	n.addChanges("proposal a dao")
	events.wantRows("proposal a dao")
	n.Client.CloseIdleConnections()
	n.API.Drain()
	events.wantEnd()
	follows(false)
}

func TestPaymentIsNotTakenForAPageWithoutChanges(t *testing.T) {
	t.Parallel()
	shop := newTill(t)
	_, cursor, _ := shop.changes("/v2/changes")
	path := "/v2/changes?wait=25&cursor=" + cursor
	header := http.Header{http.CanonicalHeaderKey(x402.HeaderPayment): {shop.sign(path)}, "Accept": {"text/event-stream"}}
	got := shop.askAs(http.MethodGet, path, header)
	if got.status != http.StatusOK || !strings.Contains(got.body, `"data":[]`) || got.header.Get(x402.HeaderReceipt) != "" {
		t.Fatalf("got %d %v %s, want a page without rows and without a receipt", got.status, got.header, got.body)
	}
	shop.wantCharged(0)
	shop.addChanges("proposal a dao")
	got = shop.askAs(http.MethodGet, path, header)
	if got.status != http.StatusOK || !strings.Contains(got.body, `"key":"a"`) || got.header.Get(x402.HeaderReceipt) == "" {
		t.Errorf("the same payment again: got %d %v %s, want the row and a receipt", got.status, got.header, got.body)
	}
	shop.wantCharged(1)
}
