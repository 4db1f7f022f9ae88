package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestArgumentsAreReadAsClientsWriteThem(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for arguments, want := range map[string]bool{
		`null`: true, `{"limit":5.0}`: true, `{"limit":"5.0"}`: true, `{"limit":5e0}`: true, `"{\"limit\":5}"`: true, `{"limit":5.5}`: false, `{"limit":1e400}`: false, `{"limit":1e-400}`: false,
		`{"lifecycleStatus":"active, closed"}`: true, `{"flagged":"True"}`: true, `{"flagged":"yes"}`: false,
		`{"lifecycleStatus":"[\"closed\"]"}`: true, `{"lifecycleStatus":"[\"active\", \"closed\"]"}`: true, `{"lifecycleStatus":"[\"none\"]"}`: false, `{"lifecycleStatus":"[1]"}`: false, `{"lifecycleStatus":"[]"}`: true,
		`{"lifecycleStatus":[]}`: true, `{"daoId":[]}`: false, `{"limit":[]}`: false, `{"limit":["5"]}`: true, `{"daoId":["dao-000","dao-001"]}`: false,
	} {
		got := n.callAs("find_proposals", arguments, asInternal()...)
		if got.IsError == want {
			t.Errorf("%s: got %s", arguments, got.StructuredContent)
		}
		if strings.Contains(arguments, `limit`) && want && decode[envelope](t, string(got.StructuredContent)).Meta.Page.Limit != 5 {
			t.Errorf("%s: got %s, want 5 rows", arguments, got.StructuredContent)
		}
	}
}

func TestPathMayEndInASlash(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.Send(http.MethodPost, "/mcp/", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers())
	if got.Status != http.StatusOK || !strings.Contains(got.Body, "list_events") {
		t.Errorf("got %d %.200s", got.Status, got.Body)
	}
}

func TestUnknownDAOIsAnErrorThatNamesTheNearest(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, tool := range []string{"list_events", "get_dao"} {
		got := n.callAs(tool, `{"daoId":"dao-01"}`, asInternal()...)
		if !got.IsError || !strings.Contains(got.Content[0].Text, `did you mean "dao-001"?`) {
			t.Errorf("%s: got %s", tool, got.StructuredContent)
		}
	}
}

func TestEventsThatWereMerelyDiscoveredAreLeftOutAndCounted(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	list := func(arguments string) (ids int, hint string, next *string) {
		t.Helper()
		got := n.callAs("list_events", arguments, asInternal()...)
		var listed struct {
			Data []struct {
				EventTimeConfidence string `json:"eventTimeConfidence"`
			} `json:"data"`
			Meta struct {
				Hint string `json:"hint"`
				Page struct {
					NextCursor *string `json:"nextCursor"`
				} `json:"page"`
			} `json:"meta"`
		}
		if err := json.Unmarshal(got.StructuredContent, &listed); err != nil || got.IsError {
			t.Fatalf("%s: got %s (%v)", arguments, got.StructuredContent, err)
		}
		for _, row := range listed.Data {
			if row.EventTimeConfidence == "" {
				t.Errorf("%s: got %s", arguments, got.StructuredContent)
			}
		}
		return len(listed.Data), listed.Meta.Hint, listed.Meta.Page.NextCursor
	}
	if rows, hint, _ := list(`{"daoId":"dao-000","limit":30}`); rows != 30 || hint != "" {
		t.Errorf("got %d rows with %q, want 30 without a hint", rows, hint)
	}
	rows, hint, next := list(`{"daoId":"dao-001","limit":30}`)
	if rows != 10 || !strings.HasPrefix(hint, "50 events are left out") || next == nil {
		t.Errorf("got %d rows with %q, want 10 and 50 left out", rows, hint)
	}
	if rows, hint, next := list(`{"daoId":"dao-001","limit":30,"cursor":"` + *next + `"}`); rows != 5 || !strings.HasPrefix(hint, "5 events") || next != nil {
		t.Errorf("got %d rows with %q, want 5 and 5 left out", rows, hint)
	}
	if rows, hint, next := list(`{"daoId":"dao-001","limit":2}`); rows != 0 || !strings.HasPrefix(hint, "20 events") || next == nil {
		t.Errorf("got %d rows with %q, want none of ten pages that are all left out, and a cursor", rows, hint)
	}
	for _, arguments := range []string{`{"daoId":"dao-001","discovered":true,"limit":30}`, `{"daoId":"dao-001","timeBasis":"discoveredTime","limit":30}`} {
		if rows, hint, _ := list(arguments); rows != 30 || hint != "" {
			t.Errorf("%s: got %d rows with %q, want all", arguments, rows, hint)
		}
	}
}
