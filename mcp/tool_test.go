package mcp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/mcp"
	"pnyx/ratelimit"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// calls holds a call of each tool that succeeds.
func calls() map[string]string {
	return map[string]string{
		"find_daos": `{"name":"NAME 7 of"}`, "get_dao": `{"daoId":"dao-000","timeline":"votes_cast"}`,
		"find_proposals": `{"lifecycleStatus":["active","pending"]}`, "resolve_proposal": `{"title":"pay"}`,
		"get_proposal": `{"proposalKey":"` + string(sampleKey) + `","include":["text","votes","evidence"]}`,
		"list_ballots": `{"proposalKey":"` + string(sampleKey) + `"}`, "list_voters": `{"daoId":"dao-000"}`,
		"list_delegates": `{"daoId":"dao-000"}`, "list_delegations": `{"voterIdentity":"` + sampleVoter + `"}`,
		"list_open_votes": `{"voterIdentity":"` + sampleVoter + `"}`,
		"get_voter":       `{"voterIdentity":"` + sampleVoter + `"}`, "find_topics": `{"governanceRelated":true}`,
		"get_topic": `{"topicKey":"` + string(sampleTopicKey) + `"}`, "list_signals": `{}`, "list_events": `{"eventType":["voting_ended"]}`, "get_status": ``,
		"list_changes": `{}`,
	}
}

// listedTool is a tool as tools/list describes it.
type listedTool struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	InputSchema struct {
		Properties map[string]struct {
			Type        string `json:"type"`
			Description string `json:"description"`
			Minimum     *int   `json:"minimum"`
			Maximum     *int   `json:"maximum"`
		} `json:"properties"`
		AdditionalProperties *bool `json:"additionalProperties"`
	} `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
}

// list returns the tools.
func (t *node) list() []listedTool {
	t.Helper()
	answer := decode[rpc](t, t.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body)
	return decode[struct {
		Tools []listedTool `json:"tools"`
	}](t, string(answer.Result)).Tools
}

// wantSchema holds structuredContent against the schema of a tool.
func (t *node) wantSchema(tool listedTool, structured json.RawMessage) {
	t.Helper()
	schema := env.Must(jsonschema.UnmarshalJSON(bytes.NewReader(tool.OutputSchema)))(t)
	compiler := jsonschema.NewCompiler()
	env.MustDo(t, compiler.AddResource("mem:///"+tool.Name, schema))
	compiled := env.Must(compiler.Compile("mem:///" + tool.Name))(t)
	value := env.Must(jsonschema.UnmarshalJSON(bytes.NewReader(structured)))(t)
	if err := compiled.Validate(value); err != nil {
		t.Errorf("%s: %s does not fit its schema: %v", tool.Name, structured, err)
	}
}

func TestToolsAreDescribed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	first := n.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body
	env.Want(t, first, n.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body, "two lists differ")
	tools := n.list()
	if len(tools) != len(calls()) {
		t.Fatalf("got %d tools, want %d", len(tools), len(calls()))
	}
	for _, tool := range tools {
		if length := len(tool.Description); length < 40 || length > 1200 {
			t.Errorf("%s: the description has %d characters", tool.Name, length)
		}
		if closed := tool.InputSchema.AdditionalProperties; closed == nil || *closed {
			t.Errorf("%s: further arguments are allowed", tool.Name)
		}
		for name, p := range tool.InputSchema.Properties {
			if p.Description == "" || p.Type == "integer" && (p.Minimum == nil || p.Maximum == nil) {
				t.Errorf("%s: %s lacks a description or bounds", tool.Name, name)
			}
		}
		want := map[string]any{"title": tool.Title, "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true}
		if diff := cmp.Diff(want, tool.Annotations); diff != "" || tool.Title == "" {
			t.Errorf("%s: annotations (-want +got):\n%s", tool.Name, diff)
		}
	}
}

func TestArgumentErrorsSayWhatIsAllowed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, c := range map[string]struct{ tool, arguments, says string }{
		"a missing argument":    {"get_proposal", `{}`, "proposalKey is required. proposalKey may be p1_ and 22"},
		"a similar name":        {"find_proposals", `{"daoid":"x"}`, "did you mean daoId?"},
		"an unknown argument":   {"list_changes", `{"wait":5}`, "wait is not a parameter of this endpoint. Allowed: daoId, kind, from, cursor, limit, detail. Leave it out. (request "},
		"too much":              {"find_proposals", `{"limit":101}`, "limit must be an integer from 1 to 100"},
		"a value of a set":      {"find_proposals", `{"sort":"newest"}`, "endedDesc. Did you mean sort=createdDesc? (request "},
		"a value in a list":     {"find_proposals", `{"outcome":["won"]}`, "joined by commas. Did you mean outcome=passed? (request "},
		"an object":             {"find_proposals", `{"daoId":{"a":1}}`, "daoId has a value of the wrong type"},
		"numbers in a list":     {"find_proposals", `{"outcome":[1]}`, "outcome has a value of the wrong type"},
		"nothing":               {"find_proposals", `{"daoId":""}`, "daoId is empty"},
		"months of nothing":     {"get_dao", `{"daoId":"dao-000","toMonth":"2026-01"}`, "timeline is required with fromMonth or toMonth. timeline may be one of proposals_created"},
		"an altered window":     {"list_events", `{"cursor":"1.abc"}`, "cursor is not a cursor of this list"},
		"no integer":            {"find_daos", `{"limit":1.5}`, "limit must be an integer from 1 to 100. (request "},
		"a foreign cursor":      {"list_ballots", `{"proposalKey":"` + string(sampleKey) + `","cursor":"abc"}`, "cursor is not a cursor of this list"},
		"a window that is long": {"list_events", `{"from":"2025-01-01","to":"2026-01-01"}`, "to is more than 90 days after from"},
		"several ways to name":  {"resolve_proposal", `{"title":"a","url":"b"}`, "exactly one"},
		"a text from nowhere":   {"get_topic", `{"topicKey":"` + string(sampleTopicKey) + `","textLimit":20001}`, "textLimit must be an integer from 1 to 20000"},
		"nobody":                {"get_proposal", `{"proposalKey":"` + string(unknownKey) + `"}`, string(unknownKey) + "\". Take ids and keys from tools that list them. (request "},
		"choices that are many": {"get_proposal", `{"proposalKey":"` + string(hugeKey) + `"}`, "include asks for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := n.with(t).callAs(c.tool, c.arguments, asInternal()...)
			if !got.IsError || !strings.Contains(got.Content[0].Text, c.says) {
				t.Fatalf("got %+v, want an error that says %q", got, c.says)
			}
			failed := decode[envelope](t, string(got.StructuredContent))
			if failed.Meta.RequestID == "" || !strings.HasSuffix(got.Content[0].Text, "(request "+failed.Meta.RequestID+")") {
				t.Errorf("got %q, want the id of the request %q", got.Content[0].Text, failed.Meta.RequestID)
			}
		})
	}
}

// walk follows the cursors of a list to its end, and returns its rows.
func (t *node) walk(read func(cursor string) envelope) (rows []json.RawMessage) {
	t.Helper()
	for cursor, pages := "", 0; ; pages++ {
		page := read(cursor)
		rows = append(rows, decode[[]json.RawMessage](t, string(page.Data))...)
		if page.Meta.Page == nil || pages > 1000 {
			t.Fatalf("a page without meta, or no end: %+v", page.Meta)
		}
		if page.Meta.Page.NextCursor == nil {
			return rows
		}
		cursor = *page.Meta.Page.NextCursor
	}
}

func TestWalksHaveTheRowsOfHTTP(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, w := range map[string]struct {
		tool, arguments string // beside cursor
		path            string
	}{
		"ballots":               {"list_ballots", `"detail":"full","proposalKey":"` + string(sampleKey) + `","limit":100`, "/v2/proposals/" + string(sampleKey) + "/votes?limit=500"},
		"proposals":             {"find_proposals", `"detail":"full","limit":7`, "/v2/proposals?limit=100"},
		"signals, cut by bytes": {"list_signals", `"detail":"full","from":"2026-07-01","to":"2026-07-08","limit":50`, "/v2/signals?from=2026-07-01&to=2026-07-08&limit=100"},
		"events":                {"list_events", `"detail":"full","from":"2026-07-01","to":"2026-07-08"`, "/v2/events?from=2026-07-01&to=2026-07-08&limit=200"},
		"DAOs":                  {"find_daos", `"limit":33`, "/v2/daos?limit=100"},
		"voters":                {"list_voters", `"detail":"full","daoId":"dao-000"`, "/v2/daos/dao-000/voters?limit=100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := n.with(t)
			got := n.walk(func(cursor string) envelope {
				page := n.callAs(w.tool, "{"+w.arguments+`,"cursor":`+orNull(cursor)+"}", asInternal()...)
				if text := string(page.StructuredContent); page.IsError || len(text) > 50_000 {
					t.Fatalf("got %d bytes: %.300s", len(text), text)
				}
				return decode[envelope](t, string(page.StructuredContent))
			})
			want := n.walk(func(cursor string) envelope {
				if cursor != "" {
					cursor = "&cursor=" + cursor
				}
				return n.httpData(w.path + cursor)
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-HTTP +tool):\n%.2000s", diff)
			}
		})
	}
}

func TestConciseRowsHaveValuesOfFullOnes(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for tool, want := range map[string]string{
		"find_proposals": `"proposalKey identity.daoId identity.provider title lifecycleStatus outcome startAt endAt"`,
		"list_ballots":   `"voterIdentity voterName choice.label invalid votingPower votedAt reason"`,
		"list_voters":    `"rank voterIdentity voterName totalVotingPower voteCount proposalCount"`,
		"list_delegates": `"rank voterIdentity voterName token votingPower delegators shareOfSupply ballotsOfLast50.cast ballotsOfLast50.of lastVoteAt"`,
		"find_topics":    `"topicKey identity.daoId title summary relevanceScore replies updatedAt"`,
		"list_signals":   `"signalType priority.score priority.band actionability daoId title summary deadlineAtMs proposalKey"`,
		"list_events":    `"eventType eventTimeMs eventTimeConfidence daoId itemType proposalKey title importanceScore"`,
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			n := n.with(t)
			arguments := calls()[tool]
			short := decode[[]map[string]any](t, string(n.wantData(tool, arguments).Data))[0]
			full := decode[[]map[string]any](t, string(n.wantData(tool, strings.Replace(strings.Replace(arguments, "}", `,"detail":"full"}`, 1), "{,", "{", 1)).Data))[0]
			kept := map[string]bool{}
			for name := range strings.FieldsSeq(strings.Trim(want, `"`)) {
				kept[name] = true
			}
			var paths []string
			for name, value := range short {
				inner, is := value.(map[string]any)
				if !is {
					paths = append(paths, name)
				}
				for key := range inner {
					paths = append(paths, name+"."+key)
				}
			}
			env.Want(t, len(kept), len(paths), paths)
			for _, path := range paths {
				outer, inner, nested := strings.Cut(path, ".")
				a, b := short[outer], full[outer]
				if nested {
					of, _ := a.(map[string]any)
					as, _ := b.(map[string]any)
					a, b = of[inner], as[inner]
				}
				if diff := cmp.Diff(b, a); diff != "" || !kept[path] {
					t.Errorf("%s (-full +concise):\n%s", path, diff)
				}
			}
		})
	}
}

func TestTextsComeInParts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, c := range map[string]struct{ tool, arguments, want string }{
		"a proposal":       {"get_proposal", `"proposalKey":"` + string(sampleKey) + `","include":["text"]`, sampleBody()},
		"in other scripts": {"get_topic", `"topicKey":"` + string(sampleTopicKey) + `","textLimit":20000`, strings.Repeat("界", 30_000)},
		"in small parts":   {"get_proposal", `"proposalKey":"` + string(sampleKey) + `","textLimit":7777`, sampleBody()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := n.with(t)
			var read strings.Builder
			for offset, parts := 0, 0; ; parts++ {
				got := n.callAs(c.tool, fmt.Sprintf(`{%s,"textOffset":%d}`, c.arguments, offset), asInternal()...)
				if got.IsError || len(got.StructuredContent) > 50_000 || parts > 10 {
					t.Fatalf("part %d: %d bytes, error %t", parts, len(got.StructuredContent), got.IsError)
				}
				part := decode[struct {
					Text struct {
						Text       string
						Offset     int
						TotalChars int
						Truncated  bool
						NextOffset *int
					}
				}](t, string(decode[envelope](t, string(got.StructuredContent)).Data)).Text
				read.WriteString(part.Text)
				if part.Offset != offset || part.TotalChars != utf8.RuneCountInString(c.want) || part.Truncated != (part.NextOffset != nil) {
					t.Errorf("part at %d: got %d of %d, truncated %t", offset, part.Offset, part.TotalChars, part.Truncated)
				}
				if part.NextOffset == nil {
					break
				}
				offset = *part.NextOffset
			}
			env.Want(t, c.want, read.String(), "the parts are not the text")
		})
	}
}

func TestDAOsAreFoundByAPartOfTheirName(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var got []string
	for _, row := range n.walk(func(cursor string) envelope {
		return n.wantData("find_daos", `{"name":"E 1","limit":20,"cursor":`+orNull(cursor)+`}`)
	}) {
		got = append(got, decode[struct{ DAOID string }](t, string(row)).DAOID)
	}
	var want []string
	for i := range sampleDAOs {
		if strings.HasPrefix(fmt.Sprint(i), "1") {
			want = append(want, fmt.Sprintf("dao-%03d", i))
		}
	}
	env.WantSame(t, "DAOs", want, got)
}

// TestWhatCallersAndStrangersMakeLongFitsAResult has a month of use, the DAOs of a voter and the names of DAOs.
func TestWhatCallersAndStrangersMakeLongFitsAResult(t *testing.T) {
	t.Parallel()
	n, ample := newNode(t), ratelimit.Rate{PerMinute: 600, Burst: 200}
	token := n.Admit(ratelimit.Limits{Month: 50, Standard: ample, Detail: ample}, access.V2All)
	const voter = "0x0000000000000000000000000000000000000002"
	head := cache.View{Revision: 2, DataAsOf: apinode.AsOf, Readiness: governance.Ready, FreshUntil: new(governance.TimestampOf(time.Now().Add(time.Hour)))}
	writer, name := n.Store.NewWriter(2), strings.Repeat("Long name ", 50)
	for i := range 150 {
		writer.SetDAO(t.Context(), head, governance.DAOListItem{DAOID: fmt.Sprintf("long-%03d", i), Name: name})
	}
	writer.SetPayload(t.Context(), cache.UsageKey(strings.Split(token, "_")[1]), head,
		access.MonthUsage{Month: ratelimit.MonthOf(time.Now()).String(), Days: make([]access.DayUsage, 500)})
	env.MustDo(t, writer.Flush(t.Context()))
	profile := env.Must(cache.NewView(head, governance.VoterProfile{VoterIdentity: voter, DAOs: make([]governance.VoterDAO, 500)}))(t)
	request := cache.NewPageRequest(query.Profile{Voter: voter})
	env.MustDo(t, errors.Join(n.Store.Fills().Complete(t.Context(), []cache.CompletedFill{{Page: request, View: &profile}})...))
	for _, test := range []struct{ tool, arguments, has string }{
		{"get_status", `{}`, `"hint":"days is too long`},
		{"get_voter", `{"voterIdentity":"` + voter + `"}`, `"hint":"daos is too long`},
		{"find_daos", `{"name":"long name","limit":100}`, `"hasMore":true`},
	} {
		got := n.callAs(test.tool, test.arguments, access.HeaderToken, token)
		if text := string(got.StructuredContent); got.IsError || len(text) > 50_000 || !strings.Contains(text, test.has) {
			t.Errorf("%s: got %d bytes, %.300s, want %s in at most 50,000", test.tool, len(text), text, test.has)
		}
	}
	if got := n.walk(func(cursor string) envelope {
		return n.wantData("find_daos", `{"name":"long name","limit":100,"cursor":`+orNull(cursor)+`}`)
	}); len(got) != 150 {
		t.Errorf("got %d DAOs on all pages, want 150", len(got))
	}
}

func TestWindowsThatAreLeftOutAreWalkedWithTheirCursor(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	rows := n.walk(func(cursor string) envelope {
		return n.wantData("list_events", `{"cursor":`+orNull(cursor)+`}`)
	})
	env.Want(t, sampleSignals, len(rows), "rows")
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return `"` + text + `"`
}

func TestTokensComeInTwoHeaders(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, header := range map[string][]string{
		"the header of HTTP": {access.HeaderInternal, apinode.InternalToken},
		"a wrong token":      {"Authorization", "Bearer nonsense"},
		"another scheme":     {"Authorization", "Basic nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := n.with(t)
			got := n.callAs("find_proposals", `{}`, header...)
			want := map[string]apierror.Code{"a wrong token": apierror.CodeUnauthorized, "another scheme": apierror.CodePaymentRequired}[name]
			env.Want(t, want, decode[envelope](t, string(got.StructuredContent)).Error.Code, "code")
			if text := got.Content[0].Text; strings.Contains(text, "PAYMENT-REQUIRED") {
				t.Errorf("got %q, want no word of terms, of which there are none", text)
			}
			if free := n.callAs("find_daos", `{}`, header...); free.IsError {
				t.Errorf("a free tool: got %s", free.Content[0].Text)
			}
		})
	}
	t.Run("no way to OAuth", func(t *testing.T) {
		t.Parallel()
		n := n.with(t)
		got := n.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_proposals"}}`)
		if got.Status != http.StatusOK || got.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("got %d %v, want a result without a challenge", got.Status, got.Header)
		}
	})
}

// A dossier of a proposal with many actions takes no more than agents read: what is left out of
// it is its longest parts.
func TestEvidenceIsConcise(t *testing.T) {
	t.Parallel()
	evidence := func(actions, findings int) string {
		return fmt.Sprintf(`{"proposal":{"title":"a"},"provenance":[],"intelligence":{"status":"available","dossier":{"summary":"It pays.",`+
			`"decision":{"leader":null},"actions":[%s],"findings":[%s],"findingCounts":{"high":1}},"sourceRefs":[]},"warnings":[]}`,
			strings.Repeat(`"action",`, actions)+`"last"`, strings.Repeat(`"finding",`, findings)+`"last"`)
	}
	if short := evidence(3, 3); string(mcp.ConciseEvidence([]byte(short))) != short {
		t.Error("short evidence is changed")
	}
	for name, test := range map[string]struct {
		long     string
		findings bool
	}{"many actions": {evidence(3000, 3), true}, "many findings": {evidence(3000, 3000), false}} {
		got := string(mcp.ConciseEvidence([]byte(test.long)))
		if len(got) > 6<<10 || !strings.Contains(got, "It pays.") || !strings.Contains(got, `"high":1`) ||
			strings.Contains(got, "action\"") || strings.Contains(got, "finding\"") != test.findings {
			t.Errorf("%s: got %d bytes: %.300s", name, len(got), got)
		}
	}
}

// What findings name stays with them while there is room.
func TestConciseEvidenceHasWhatFindingsName(t *testing.T) {
	t.Parallel()
	evidence := func(actions int) string {
		return fmt.Sprintf(`{"proposal":{},"provenance":[%q],"intelligence":{"status":"available","dossier":{"summary":"It pays.","voters":%q,"actions":[%q],`+
			`"findings":[{"sentence":"Money moves.","facts":["/actions/0/inText"],"refs":["actions"]}]},"sourceRefs":[{"id":"actions"}]},"warnings":[]}`,
			"provenance", strings.Repeat("v", 7000), strings.Repeat("a", actions))
	}
	for actions, kept := range map[int]bool{100: true, 7000: false} {
		got := string(mcp.ConciseEvidence([]byte(evidence(actions))))
		if strings.Contains(got, "aaa") != kept || strings.Contains(got, "vvv") || !strings.Contains(got, `"refs":["actions"]`) || !strings.Contains(got, `"sourceRefs":[{"id":"actions"}]`) {
			t.Errorf("actions of %d bytes: got %.300s", actions, got)
		}
	}
}

func TestStatusSaysInWordsThatDataIsImported(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	at := governance.Timestamp(1772323200000) // 2026-03-01
	writer := n.Store.NewWriter(2)
	status := governance.DataStatus{Scope: governance.ScopeGlobal, LatestSuccessfulSync: governance.LatestSync{GovernanceAt: &at}}
	writer.SetPayload(t.Context(), cache.DataStatusKey(""), cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready}, status)
	env.MustDo(t, writer.Flush(t.Context()))
	got := n.callAs("get_status", `{}`, asInternal()...)
	env.WantPart(t, `"freshness":"imported; newest record March 2026"`, string(got.StructuredContent))
}

func TestAnswersTogetherAreAsCompleteAsTheLeastOne(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	writer := n.Store.NewWriter(2)
	for key, held := range map[cache.Key]governance.VoteCoverage{
		cache.DAODetailKey("dao-000"): governance.VotesReady, cache.TimelineKey("dao-000", governance.VotesCast): governance.VotesPartial,
	} {
		writer.SetPayload(t.Context(), key, cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready, VoteCoverage: held}, sampleViews()[key])
	}
	env.MustDo(t, writer.Flush(t.Context()))
	got := n.callAs("get_dao", `{"daoId":"dao-000","timeline":"votes_cast"}`, asInternal()...)
	env.WantPart(t, `"voteCoverageStatus":"partial"`, string(got.StructuredContent), "what holds of the timeline")
}

func TestWhatIsKnownWithoutRedisIsAnswered(t *testing.T) {
	t.Parallel()
	redis := env.Redis(t)
	n := startNode(t, apinode.Settings{RedisURL: redis.URL})
	ample := ratelimit.Rate{PerMinute: 600, Burst: 200}
	token := []string{access.HeaderToken, n.Admit(ratelimit.Limits{Month: 50, Standard: ample, Detail: ample}, access.V2All)}
	const timeline = `{"daoId":"dao-000","timeline":"votes_cast"}`
	for tool, arguments := range map[string]string{"get_status": `{}`, "get_dao": timeline} {
		if got := n.callAs(tool, arguments, token...); got.IsError || strings.Contains(string(got.StructuredContent), `"hint"`) {
			t.Fatalf("%s: got %s, want all of it", tool, got.StructuredContent)
		}
	}
	redis.Kill()
	for _, test := range []struct{ tool, arguments, has, lacks, hint string }{
		{"get_status", `{}`, `"pricing":{`, `"usage":`, "usage cannot be read at the moment: try again shortly"},
		{"get_status", `{}`, `"status":{"scope"`, `"usage":`, "usage cannot be read"},
		{"get_status", `{"daoId":"unread"}`, `"pricing":{`, `"status":{"scope"`, "status and usage cannot be read"},
		{"get_dao", timeline, `"dao":{"daoId"`, `"timeline":`, "timeline cannot be read"},
	} {
		env.Until(t, func() error { // the node's copies of what is paid last a moment
			got := n.callAs(test.tool, test.arguments, token...)
			text := string(got.StructuredContent)
			if got.IsError || !strings.Contains(text, test.has) || strings.Contains(text, test.lacks) || !strings.Contains(text, `"hint":"`+test.hint) {
				return fmt.Errorf("%s %s: got %s, want %s and no %s", test.tool, test.arguments, text, test.has, test.lacks)
			}
			return nil
		})
	}
	n.wantCode(apierror.CodeUnavailable, "get_dao", `{"daoId":"unread"}`, token...)
}
