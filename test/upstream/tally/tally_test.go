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

// reply is an answer with what the tests look at.
type reply struct {
	Data struct {
		Organization struct{ ID, Slug, Name string }
		Proposals    struct {
			Nodes    []struct{ ID string }
			PageInfo struct {
				LastCursor string
				Count      int
			}
		}
	}
	Errors []struct{ Message string }
}

func (r reply) ids() (ids []string) {
	for _, node := range r.Data.Proposals.Nodes {
		ids = append(ids, node.ID)
	}
	return ids
}

// ask sends a query with its variable as JSON.
func (f *fixture) ask(query, variable string) (status int, got reply) {
	f.t.Helper()
	body := fmt.Sprintf(`{"query":%q,"variables":{"i":%s}}`, query, variable)
	request := httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, "/query", strings.NewReader(body))
	request.Header.Set("Api-Key", "secret")
	recorder := httptest.NewRecorder()
	f.ServeHTTP(recorder, request)
	_ = json.Unmarshal(recorder.Body.Bytes(), &got) // some answers are texts
	return recorder.Code, got
}

func (f *fixture) organization() string {
	f.t.Helper()
	_, got := f.ask("query($i:OrganizationInput!){organization(input:$i){id slug name}}", `{"slug":"harbor"}`)
	return got.Data.Organization.ID
}

// page asks for a page of proposals, newest first.
func (f *fixture) page(organization, after string, limit int) reply {
	f.t.Helper()
	_, got := f.ask("query($i:ProposalsInput!){proposals(input:$i){nodes{... on Proposal{id}} pageInfo{lastCursor count}}}", fmt.Sprintf(
		`{"filters":{"organizationId":%q},"page":{"afterCursor":%q,"limit":%d},"sort":{"sortBy":"id","isDescending":true}}`, organization, after, limit))
	return got
}

func TestKeysAreNeeded(t *testing.T) {
	t.Parallel()

	f := newTally(t)
	for _, status := range []int{401, 403} {
		f.Switch(func(s *tally.Switches) { s.Key, s.RefusedStatus = "other", status })
		if got, _ := f.ask("query{organization{id}}", "{}"); got != status {
			t.Errorf("got status %d, want %d", got, status)
		}
	}
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
	if status, got := f.ask("query($i:ProposalInput!){proposal(input:$i){id cost}}", `{"id":"1"}`); status != 422 || len(got.Errors) != 1 {
		t.Errorf("got status %d, %+v; want 422 and an error", status, got)
	}
	f.Switch(func(s *tally.Switches) { s.Fails = true })
	if status, got := f.ask("query($i:ProposalInput!){proposal(input:$i){id}}", `{"id":"1"}`); status != 200 || len(got.Errors) != 1 {
		t.Errorf("got status %d, %+v; want 200 and an error", status, got)
	}
}

func TestPagesHaveTwentyNodesAndOpaqueCursors(t *testing.T) {
	t.Parallel()

	f := newTally(t)
	var newest string
	for range 45 {
		newest = f.Propose("harbor", "Renew", time.Hour)
	}
	organization := f.organization()
	first := f.page(organization, "", 50)
	if got := first.ids(); len(got) != 20 || got[0] != newest || first.Data.Proposals.PageInfo.Count != 0 {
		t.Errorf("got %d nodes from %s on, count %d; want 20 from %s on, count 0", len(got), got[0], first.Data.Proposals.PageInfo.Count, newest)
	}
	seen, cursor := map[string]bool{}, ""
	for range 3 {
		got := f.page(organization, cursor, 20)
		cursor = got.Data.Proposals.PageInfo.LastCursor
		for _, id := range got.ids() {
			seen[id] = true
		}
	}
	if last := f.page(organization, cursor, 20); len(seen) != 45 || len(last.ids()) != 0 || last.Data.Proposals.PageInfo.LastCursor != "" {
		t.Errorf("got %d proposals, then %d, want 45 and an empty page without a cursor", len(seen), len(last.ids()))
	}
	if got := f.page("other", cursor, 20); len(got.Errors) == 0 {
		t.Error("got an answer to the cursor of another filter, want an error")
	}
	f.Switch(func(s *tally.Switches) { s.ForgetsCursors = true })
	if got := f.page(organization, cursor, 20); len(got.Errors) == 0 {
		t.Error("got an answer to an unknown cursor, want an error")
	}
	f.Switch(func(s *tally.Switches) { s.Others = true })
	check.Want(t, "", f.page(organization, "", 20).ids()[0], "first id of a node of another type")
}
