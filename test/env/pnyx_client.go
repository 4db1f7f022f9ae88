package env

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pnyx/access"
)

// TimeLayout is the layout of every time in an answer: ISO 8601 in UTC, with milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Client keeps as many idle connections as concurrent callers of a test use.
var Client = &http.Client{ //nolint:gochecknoglobals // connections are reused by all tests of the process
	Transport: &http.Transport{MaxIdleConnsPerHost: 1000, IdleConnTimeout: 10 * time.Second},
	Timeout:   maxWait,
}

// Response is an answer of the API, or its error, with the headers around it.
type Response struct {
	Status int         `json:"-"`
	Header http.Header `json:"-"`
	Data   any         // what the caller gave to be decoded into
	Meta   Meta        // empty in an error
	Error  struct{ Code string }
}

// Meta is the meta object of an answer.
type Meta struct {
	RequestID string
	// GeneratedAt is when the answer was made, and DataAsOf when its data was computed, in TimeLayout.
	GeneratedAt, DataAsOf string
	// Readiness has the status "ready", "stale" or "notReady".
	Readiness struct{ Status string }
	// Page describes one page of a list; it is empty in other answers.
	Page struct {
		Limit      int
		HasMore    bool
		NextCursor *string
	}
}

// Check reports what is wrong with the meta object of an answer whose data is ready, or is not.
func (m Meta) Check(ready bool) error {
	generated, err := time.Parse(TimeLayout, m.GeneratedAt)
	asOf, errAsOf := time.Parse(TimeLayout, m.DataAsOf)
	if err != nil || errAsOf != nil || asOf.After(generated) || m.RequestID == "" || ready != (m.Readiness.Status == "ready") {
		return fmt.Errorf("got meta %+v, want one of data that is ready: %t", m, ready)
	}
	return nil
}

// Page is one page of a list.
type Page struct {
	Rows []json.RawMessage
	Meta Meta
	// Next is the cursor of the next page; "" on the last page.
	Next string
}

// Fetch sends a GET request as an internal caller and reads the response.
func Fetch(url string) (status int, body []byte, err error) {
	status, _, body, err = fetchAll(url)
	return status, body, err
}

func fetchAll(url string) (status int, header http.Header, body []byte, err error) {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody) //nolint:noctx // Client has a timeout
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set(access.HeaderInternal, InternalToken)
	response, err := Client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, body, err
}

// Get reads an answer, which must be a success, and decodes its data.
func (p *Pnyx) Get(path string, data any) {
	p.TB.Helper()
	Must(p.Read(path, data))(p.TB)
}

// Ask sends a GET request as an internal caller and decodes the data. Any goroutine may call it.
func (p *Pnyx) Ask(path string, data any) (r Response, err error) {
	r.Data = data
	var text []byte
	if r.Status, r.Header, text, err = fetchAll(p.URL + path); err != nil {
		return Response{}, fmt.Errorf("GET %s: %w", path, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return Response{}, fmt.Errorf("GET %s: %d %w: %s", path, r.Status, err, text)
	}
	return r, nil
}

// Read is Ask for an answer that must be a success.
func (p *Pnyx) Read(path string, data any) (Response, error) {
	r, err := p.Ask(path, data)
	if err == nil && r.Status != http.StatusOK {
		err = fmt.Errorf("GET %s: got %d %s, want 200", path, r.Status, r.Error.Code)
	}
	return r, err
}

// Page reads the page at a cursor, the first one for "", and checks it, its meta.page and its Link header.
func (p *Pnyx) Page(path string, limit int, cursor string) (Page, error) {
	address, err := url.Parse(path)
	if err != nil {
		return Page{}, err
	}
	query := address.Query()
	query.Set("limit", strconv.Itoa(limit))
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	address.RawQuery = query.Encode()
	var page Page
	r, err := p.Read(address.String(), &page.Rows)
	if err != nil {
		return Page{}, err
	}
	page.Meta = r.Meta
	meta := r.Meta.Page
	switch {
	case page.Rows == nil, meta.Limit != limit, len(page.Rows) > limit, meta.HasMore != (meta.NextCursor != nil),
		meta.HasMore && len(page.Rows) < limit, cursor != "" && len(page.Rows) == 0:
		return Page{}, fmt.Errorf("GET %s: got %d rows with meta.page %+v", address, len(page.Rows), meta)
	case meta.HasMore:
		page.Next = *meta.NextCursor
		query.Set("cursor", page.Next)
	}
	return page, checkLink(address.Path, query, meta.HasMore, r.Header.Get("Link"))
}

// checkLink compares a Link header, without parameters with their defaults, with the address of the next page.
func checkLink(path string, query url.Values, more bool, link string) error {
	if !more && link == "" {
		return nil
	}
	if voter := strings.ToLower(path); strings.HasPrefix(voter, "/v2/voters/0x") {
		path = voter
	}
	missing := func(name string) bool { return !query.Has(name) }
	address, found := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	next, err := url.Parse(address)
	if err != nil || !found || !more || next.Path != path || next.Query().Get("cursor") != query.Get("cursor") ||
		slices.ContainsFunc(slices.Collect(maps.Keys(next.Query())), missing) {
		return fmt.Errorf("got Link %q, want %s?%s if there is a next page (%t): %w",
			link, path, query.Encode(), more, err)
	}
	return nil
}

// Walk reads a list to its end, by pages of limit rows, each again while it is stale.
func (p *Pnyx) Walk(path string, limit int) (rows []json.RawMessage, err error) {
	for cursor, last := "", false; !last; {
		page, err := p.Page(path, limit, cursor)
		for began := time.Now(); err == nil && page.Meta.Readiness.Status == "stale" && time.Since(began) < maxWait; {
			<-time.After(maxPause)
			page, err = p.Page(path, limit, cursor)
		}
		if err = cmp.Or(err, page.Meta.Check(true)); err != nil {
			return rows, err
		}
		rows = append(rows, page.Rows...)
		cursor, last = page.Next, page.Next == ""
	}
	return rows, nil
}

// CheckList walks a list and compares its rows, field by field.
func (p *Pnyx) CheckList(path string, limit int, want []json.RawMessage) error {
	got, err := p.Walk(path, limit)
	if err != nil {
		return err
	}
	for n := range max(len(got), len(want)) {
		if n >= len(got) || n >= len(want) || !SameJSON(got[n], want[n]) {
			return fmt.Errorf("%s by pages of %d: got %d rows, want %d; row %d differs (-want +got):\n%s", path, limit,
				len(got), len(want), n, DiffJSON(rowAt(want, n), rowAt(got, n)))
		}
	}
	return nil
}

func rowAt(rows []json.RawMessage, n int) any {
	if n >= len(rows) {
		return "no row"
	}
	return rows[n]
}

// Metric reads the value of a metric, or of one series with its labels; 0 while there is no answer.
func (p *Pnyx) Metric(series string) float64 {
	p.TB.Helper()
	_, body, err := Fetch(p.AdminURL + "/metrics")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(body)) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				p.TB.Fatalf("metric %s: %v", series, err)
			}
			return number
		}
	}
	return 0
}

// AwaitPublished waits until everything that is committed by now is published.
func (p *Pnyx) AwaitPublished() {
	p.TB.Helper()
	now := float64(time.Now().UnixMilli()) / 1000
	Until(p.TB, func() error {
		through := p.Metric("pnyx_publish_sealed_through_timestamp_seconds")
		if unsettled := p.Metric("pnyx_publish_unsettled_daos"); through <= now || unsettled > 0 {
			return fmt.Errorf("published through %.3f, want %.3f; %v DAOs unsettled", through, now, unsettled)
		}
		return nil
	})
}

// Concurrently runs jobs 0 to n-1 on a number of goroutines, and reports their first ten errors.
func Concurrently(tb testing.TB, goroutines, n int, job func(n int) error) {
	tb.Helper()
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(goroutines)
	for n := range n {
		group.Go(func() error { errs[n] = job(n); return nil })
	}
	_ = group.Wait() // the errors are in errs
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	const shown = 10
	for _, err := range errs[:min(len(errs), shown)] {
		tb.Error(err)
	}
	if wrong := len(errs); wrong > shown {
		tb.Errorf("%d of %d jobs have errors, %d more than shown", wrong, n, wrong-shown)
	}
}

// FillConcurrency is the number of goroutines that request pages on demand: as many as fill them.
const FillConcurrency = 4
