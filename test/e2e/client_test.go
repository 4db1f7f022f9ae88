package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"pnyx/access"
	"pnyx/warehouse/engine"
)

// reply is an answer, or an error, with the headers around it.
type reply struct {
	status int
	header http.Header
	Data   any        `json:"data"`
	Meta   answerMeta `json:"meta"`
	Error  struct {
		Code string `json:"code"`
	} `json:"error"`
}

// crowd is a client that keeps as many connections as there are callers.
var crowd = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: 1000, IdleConnTimeout: 10 * time.Second},
	Timeout:   patience,
}

// visit asks a path as an internal caller, and decodes what the answer holds into data. It may be called
// by any goroutine.
func (i *instance) visit(path string, data any) (r reply, err error) {
	request, err := http.NewRequest(http.MethodGet, i.base+path, http.NoBody)
	if err != nil {
		return reply{}, err
	}
	request.Header.Set(access.HeaderInternal, internalToken)
	response, err := crowd.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, fmt.Errorf("GET %s: %w", path, err)
	}
	r.status, r.header, r.Data = response.StatusCode, response.Header, data
	if err := json.Unmarshal(text, &r); err != nil {
		return reply{}, fmt.Errorf("GET %s: %d %w: %s", path, r.status, err, text)
	}
	return r, nil
}

// read is visit for an answer that has to be a success.
func (i *instance) read(path string, data any) (reply, error) {
	r, err := i.visit(path, data)
	if err == nil && r.status != http.StatusOK {
		err = fmt.Errorf("GET %s: %d %s", path, r.status, r.Error.Code)
	}
	return r, err
}

// page is one page of a list and where the next begins.
type page struct {
	rows []json.RawMessage
	next string // "" after the last
	meta answerMeta
}

// turn reads the page that begins at a cursor, the first for "", and checks
// everything that a page says of itself.
func (i *instance) turn(path string, limit int, cursor string) (page, error) {
	at, err := url.Parse(path)
	if err != nil {
		return page{}, err
	}
	query := at.Query()
	query.Set("limit", strconv.Itoa(limit))
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	at.RawQuery = query.Encode()
	var p page
	r, err := i.read(at.String(), &p.rows)
	if err != nil {
		return page{}, err
	}
	p.meta = r.Meta
	said := r.Meta.Page
	switch {
	case p.rows == nil, said.Limit != limit, len(p.rows) > limit, said.HasMore != (said.NextCursor != nil),
		said.HasMore && len(p.rows) < limit, cursor != "" && len(p.rows) == 0:
		return page{}, fmt.Errorf("GET %s: %d rows, meta.page %+v", at, len(p.rows), said)
	case said.HasMore:
		p.next = *said.NextCursor
		query.Set("cursor", p.next)
	}
	return p, checkLink(at.Path, query, said.HasMore, r.header.Get("Link"))
}

// checkLink compares a Link header with the address of the next page, which leaves
// out what is the default.
func checkLink(path string, query url.Values, more bool, link string) error {
	if !more && link == "" {
		return nil
	}
	address, found := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	next, err := url.Parse(address)
	if err != nil || !found || !more || next.Path != path || next.Query().Get("cursor") != query.Get("cursor") ||
		!isPartOf(next.Query(), query) {
		return fmt.Errorf("link is %q, want %s?%s, or none after the last page: %t (%w)", link, path, query.Encode(), !more, err)
	}
	return nil
}

// isPartOf says whether a query names nothing that another does not.
func isPartOf(query, other url.Values) bool {
	for name := range query {
		if !other.Has(name) {
			return false
		}
	}
	return true
}

// honest asks a path and says whether there was an answer. Everything but an answer
// and a refusal that says when to come back is an error.
func (i *instance) honest(path string) (ready bool, err error) {
	var data json.RawMessage
	r, err := i.visit(path, &data)
	if err != nil || r.status == http.StatusOK {
		return err == nil, err
	}
	after, _ := strconv.Atoi(r.header.Get("Retry-After"))
	if r.status != http.StatusServiceUnavailable || r.Error.Code != "UNAVAILABLE" || after < 1 {
		return false, fmt.Errorf("GET %s: got %d %s, Retry-After %q, want an answer or an honest 503",
			path, r.status, r.Error.Code, r.header.Get("Retry-After"))
	}
	return false, nil
}

// same says whether a path is answered, and what is wrong with what it says.
func (i *instance) same(path string, right json.RawMessage) (ready bool, problem string) {
	var data json.RawMessage
	r, err := i.visit(path, &data)
	switch {
	case err != nil:
		return false, err.Error()
	case r.status == http.StatusServiceUnavailable:
		return false, ""
	case r.status != http.StatusOK:
		return false, fmt.Sprint(r.status, " ", r.Error.Code)
	case !bytes.Equal(data, right):
		return false, cmp.Diff(plain(right), plain(data))
	}
	return true, ""
}

// together does a number of jobs, a few at a time, and fails the test with the first
// of their errors.
func together(tb testing.TB, atOnce, jobs int, do func(n int) error) {
	tb.Helper()
	queue, errs := make(chan int), make(chan error, jobs)
	var wait sync.WaitGroup
	for range atOnce {
		wait.Go(func() {
			for n := range queue {
				errs <- do(n)
			}
		})
	}
	for n := range jobs {
		queue <- n
	}
	close(queue)
	wait.Wait()
	close(errs)
	wrong := 0
	for err := range errs {
		if err == nil {
			continue
		}
		if wrong++; wrong <= 10 {
			tb.Error(err)
		}
	}
	if wrong > 10 {
		tb.Errorf("%d of %d are wrong, %d more than shown", wrong, jobs, wrong-10)
	}
}

// doAll is together for jobs that differ.
func doAll(t *testing.T, jobs []func() error) {
	t.Helper()
	together(t, walkersAtOnce, len(jobs), func(n int) error { return jobs[n]() })
}

// warehouse connects to the engine of an instance, until the end of the test.
func (i *instance) warehouse() driver.Conn {
	i.tb.Helper()
	running, err := engine.Find(i.dataDir)
	if err != nil {
		i.tb.Fatal(err)
	}
	options, err := clickhouse.ParseDSN(running.URL("pnyx"))
	if err != nil {
		i.tb.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		i.tb.Fatal(err)
	}
	i.tb.Cleanup(func() { conn.Close() })
	return conn
}

// importLines puts files of upstream's lines into the warehouse.
func (i *instance) importLines(lines ...string) {
	i.tb.Helper()
	path := filepath.Join(i.tb.TempDir(), "lines.ndjson")
	writeLines(i.tb, path, lines...)
	i.importAgain(path)
}

// column asks the warehouse for a column of texts.
func (i *instance) column(sql string, args ...any) (texts []string) {
	i.tb.Helper()
	rows, err := i.warehouse().Query(i.tb.Context(), sql, args...)
	if err != nil {
		i.tb.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			i.tb.Fatal(err)
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		i.tb.Fatal(err)
	}
	return texts
}

// largestProposals returns the keys of those with the most ballots.
func (i *instance) largestProposals(n int) []string {
	i.tb.Helper()
	return i.column("SELECT proposal_key FROM proposal_states FINAL ORDER BY votes DESC, proposal_key LIMIT ?", n)
}

// busiestVoters returns the voters with the most ballots.
func (i *instance) busiestVoters(n int) []string {
	i.tb.Helper()
	return i.column("SELECT voter FROM latest_ballots GROUP BY voter ORDER BY count() DESC, voter LIMIT ?", n)
}
