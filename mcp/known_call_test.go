package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/mcp"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// changing matches what differs between two answers to one call.
var changing = regexp.MustCompile(`(\\?"generatedAt\\?":\\?")[^"\\]*`)

// sendAs sends a body with an id of the request, and returns the status and the body without the time.
func (t *node) sendAs(body string, modern bool) string {
	t.Helper()
	header := headers(append(asInternal(), "X-Request-Id", "a-request")...)
	if modern {
		var m struct {
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal([]byte(body), &m) // what does not decode is refused
		header.Set(mcp.HeaderVersion, "2026-07-28")
		header.Set(mcp.HeaderMethod, mcp.EncodeHeader(m.Method))
		header.Set(mcp.HeaderName, mcp.EncodeHeader(m.Params.Name))
	}
	got := t.Send(http.MethodPost, mcp.Path, body, header)
	return fmt.Sprint(got.Status, " ", got.Header.Get("Content-Type"), " ", changing.ReplaceAllString(got.Body, "$1"))
}

// FuzzAnswersToKnownCalls holds that a call has the same answer whether one like it was
// answered before or not. ID in a body stands for one of the ids.
func FuzzAnswersToKnownCalls(f *testing.F) {
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for i, body := range []string{
		`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"get_dao","arguments":{"daoId":"dao-000"}` + meta + `}}`,
		`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"find_daos","arguments":{"limit":3}}}`,
		`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"find_daos","arguments":{"name":"dao-1"}}}`,
		`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"find_daos","arguments":{"limit":0}}}`,
		`{"method":"tools/call","params":{"name":"get_proposal","arguments":{"proposalKey":"` + string(sampleKey) + `"}},"jsonrpc":"2.0","id":ID}`,
		`{"method":"tools/call","params":{"name":"get_proposal","arguments":{"proposalKey":"` + string(unknownKey) + `"}},"jsonrpc":"2.0","id":ID}`,
		`{"jsonrpc":"2.0","id": ID ,"method":"tools/call","params":{"name":"list_ballots","arguments":{"proposalKey":"` + string(sampleKey) + `","detail":"full"}}}`,
		`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"get_status"}}`,
		`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"list_signals"}}`,
		`{"jsonrpc":"2.0","id":ID,"id":7,"method":"tools/call","params":{"name":"find_daos"}}`,
		`{"jsonrpc":"2.0","id":7,"id":ID,"method":"tools/call","params":{"name":"find_daos"}}`,
		`{"jsonrpc":"2.0","id":ID,"ID":7,"method":"tools/call","params":{"name":"find_daos"}}`,
		`{"params":{"id":ID,"name":"find_daos"},"jsonrpc":"2.0","id":ID,"method":"tools/call"}`,
		`{"params":{"name":"get_dao","arguments":{"daoId":"\"id\":ID"}},"jsonrpc":"2.0","id":ID,"method":"tools/call"}`,
		`{"params":{"name":"find_daos","arguments":{"id":ID}},"jsonrpc":"2.0","id":ID,"method":"tools/call"}`,
		`[{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"find_daos"}}]`,
		`{"jsonrpc":"2.0","id":ID,"method":"tools/list"}`,
		"{\"jsonrpc\":\"2.0\",\"id\":ID\x00,\"method\":\"tools/call\",\"params\":{\"name\":\"find_daos\"}}",
	} {
		for _, ids := range [][2]string{
			{"1", "2"},
			{"1", `"a"`},
			{`"a"`, "1e5"},
			{"1", "07"},
			{"0", "-1"},
			{`"\u0061"`, `"é"`},
			{"1", "null"},
			{"1", `{"a":1}`},
			{`"` + strings.Repeat("x", 70) + `"`, "1"},
			{"1", "1.5"},
			{"1", `"a`},
			{"12", ""},
			{"1", "1,\"x\":2"},
		} {
			if i == 0 || ids[0] == "1" && ids[1] == "2" {
				f.Add(body, ids[0], ids[1], strings.Contains(body, "_meta"))
			}
		}
	}
	n := startNode(f, apinode.Settings{Unlogged: true})
	f.Fuzz(func(t *testing.T, body, first, second string, modern bool) {
		n := n.with(t)
		other := strings.ReplaceAll(body, "ID", second)
		n.tools.ForgetCalls()
		want := n.sendAs(other, modern)
		n.tools.ForgetCalls()
		for range 3 { // from Redis, from the node's copy, and known
			n.sendAs(strings.ReplaceAll(body, "ID", first), modern)
		}
		for call := range 3 {
			if diff := cmp.Diff(want, n.sendAs(other, modern)); diff != "" {
				t.Fatalf("call %d of %q after one with the id %q (-unknown +known):\n%s", call+1, other, first, diff)
			}
		}
	})
}

func TestCallsAreKnownByAllButTheirIDs(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const body = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}`
	call := func(id, tool, arguments string) { n.sendAs(fmt.Sprintf(body, id, tool, arguments), false) }
	for _, c := range []struct {
		name                  string
		call                  func()
		wantCalls, wantResult int
	}{
		{"a call", func() { call("1", "get_dao", `{"daoId":"dao-000"}`) }, 1, 1},
		{"with another id", func() { call(`"b"`, "get_dao", `{"daoId":"dao-000"}`) }, 1, 1},
		{"with other arguments", func() { call("1", "get_dao", `{"daoId":"dao-000","timeline":"votes_cast"}`) }, 2, 2},
		{"of another tool", func() { call("1", "find_daos", `{}`) }, 3, 3},
		{"that reads several pages", func() { call("1", "find_daos", `{"name":"dao-1"}`) }, 4, 3},
		{"with an error", func() { call("1", "find_daos", `{"limit":0}`) }, 4, 3},
		{"whose window is that of now", func() { call("1", "list_signals", `{}`) }, 4, 3},
		{"whose routes depend on the token", func() { call("1", "get_status", `{}`) }, 4, 3},
		{"without a plain id", func() { call(`"\u0061"`, "find_daos", `{"limit":1}`) }, 4, 3},
	} {
		c.call()
		if calls, results := n.tools.KnownCalls(); calls != c.wantCalls || results != c.wantResult {
			t.Errorf("%s: got %d known calls, %d with results, want %d and %d", c.name, calls, results, c.wantCalls, c.wantResult)
		}
	}
}

func TestAKnownResultFollowsThePublication(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for range 3 {
		n.wantData("get_dao", `{"daoId":"dao-000"}`)
	}
	writer := n.Store.NewWriter(2)
	view, err := cache.NewView(cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready}, governance.DAODetail{DAOID: "dao-000", Name: "Another name"})
	if err == nil {
		err = errors.Join(writer.SetView(t.Context(), cache.DAODetailKey("dao-000"), view), writer.Flush(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	env.Until(t, func() error { // the node's copy expires
		if got := string(n.wantData("get_dao", `{"daoId":"dao-000"}`).Data); !strings.Contains(got, "Another name") {
			return fmt.Errorf("got %s", got)
		}
		return nil
	})
}

// noted is what metrics and log say of what n sends: how much counters and counts of histograms grow, and the lines of the
// log without what differs between requests.
func (t *node) noted(send func()) (counts map[string]float64, lines []string) {
	t.Helper()
	before, logged := t.counts(), len(t.Logged.String())
	send()
	counts = t.counts()
	for name := range counts {
		if counts[name] -= before[name]; counts[name] == 0 {
			delete(counts, name)
		}
	}
	for line := range strings.Lines(t.Logged.String()[logged:]) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"time", "duration", "durationMs", "duration_ms", "requestId", "request_id", "traceId"} {
			delete(fields, name)
		}
		lines = append(lines, fmt.Sprint(fields))
	}
	return counts, lines
}

// counts are the values of the node's counters about requests, and the counts of its histograms.
func (t *node) counts() map[string]float64 {
	t.Helper()
	families, err := t.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if !slices.ContainsFunc([]string{"pnyx_http_", "pnyx_mcp_", "pnyx_cache_answers", "pnyx_rate", "pnyx_limit"}, func(prefix string) bool {
			return strings.HasPrefix(family.GetName(), prefix)
		}) {
			continue
		}
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			if family.GetType() == dto.MetricType_HISTOGRAM {
				values[name] = float64(metric.GetHistogram().GetSampleCount())
			} else {
				values[name] = metric.GetCounter().GetValue()
			}
		}
	}
	return values
}

func TestAKnownCallIsNotedAsOneThatIsNot(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	header := n.admit(1_000_000)
	for name, arguments := range map[string]string{
		"get_dao": `{"daoId":"dao-000"}`, "get_proposal": `{"proposalKey":"` + string(sampleKey) + `"}`, "find_daos": `{"name":"dao-1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			n := n.with(t)
			call := func() {
				if got := n.callAs(name, arguments, header...); got.IsError {
					t.Fatalf("got %s, want data", got.Content[0].Text)
				}
			}
			env.Until(t, func() error { // both calls must find the node's copy, which lives a second
				call()
				n.tools.ForgetCalls()
				wantCounts, wantLines := n.noted(call)
				gotCounts, gotLines := n.noted(call)
				return errors.Join(differ("counts", wantCounts, gotCounts), differ("lines", wantLines, gotLines))
			})
			if calls, _ := n.tools.KnownCalls(); calls != 1 {
				t.Errorf("got %d known calls, want 1", calls)
			}
		})
	}
}

// differ returns an error with the difference, if there is one.
func differ(what string, want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s of a known call (-unknown +known):\n%s", what, diff)
	}
	return nil
}

func TestAKnownCallIsAuthorizedForEachCaller(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	header := n.admit(3)
	for range 3 {
		if got := n.callAs("list_ballots", oneProposal, header...); got.IsError {
			t.Fatalf("got %s, want ballots", got.Content[0].Text)
		}
	}
	n.wantCode("PAYMENT_REQUIRED", "list_ballots", oneProposal)
	n.wantCode("UNAUTHORIZED", "list_ballots", oneProposal, access.HeaderToken, "no-token")
	n.wantCode("QUOTA_EXCEEDED", "list_ballots", oneProposal, header...)
	n.wantUsed(header, "3")
}
