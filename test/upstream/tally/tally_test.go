package tally_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pnyx/clock"
	"pnyx/test/check"
	"pnyx/test/upstream/tally"
)

type fixture struct {
	*tally.Tally

	t     *testing.T
	clock *clock.Clock
}

func newTally(t *testing.T) *fixture {
	t.Helper()
	c := clock.Stepping(time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC))
	f := &fixture{tally.New(c.Now), t, c}
	f.AddOrganization("harbor", "Harbor", 6)
	return f
}

// ask sends a query with its variable as JSON, and returns how many errors the answer states.
func (f *fixture) ask(query, variable string) (status, failures int) {
	f.t.Helper()
	body := fmt.Sprintf(`{"query":%q,"variables":{"i":%s}}`, query, variable)
	request := httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, "/query", strings.NewReader(body))
	request.Header.Set("Api-Key", "secret")
	recorder := httptest.NewRecorder()
	f.ServeHTTP(recorder, request)
	var got struct{ Errors []any }
	_ = json.Unmarshal(recorder.Body.Bytes(), &got) // some answers are texts
	return recorder.Code, len(got.Errors)
}

func TestOneRequestASecondIsAllowed(t *testing.T) {
	t.Parallel()

	f := newTally(t)
	f.Switch(func(s *tally.Switches) { s.Limited = true })
	statuses := []int{}
	for range 4 {
		status, _ := f.ask("query($i:OrganizationInput!){organization(input:$i){id}}", `{"slug":"harbor"}`)
		statuses = append(statuses, status)
	}
	for range 3 {
		f.clock.Step(2 * time.Second)
		status, _ := f.ask("query($i:OrganizationInput!){organization(input:$i){id}}", `{"slug":"harbor"}`)
		statuses = append(statuses, status)
	}
	check.WantSame(t, "result", []int{200, 200, 429, 429, 200, 200, 200}, statuses)
}

func TestInvalidQueriesAndFailures(t *testing.T) {
	t.Parallel()

	f := newTally(t)
	if status, got := f.ask("query($i:ProposalInput!){proposal(input:$i){id cost}}", `{"id":"1"}`); status != 422 || got != 1 {
		t.Errorf("got status %d, %d errors; want 422 and one", status, got)
	}
	f.Switch(func(s *tally.Switches) { s.Fails = true })
	if status, got := f.ask("query($i:ProposalInput!){proposal(input:$i){id}}", `{"id":"1"}`); status != 200 || got != 1 {
		t.Errorf("got status %d, %d errors; want 200 and one", status, got)
	}
}
