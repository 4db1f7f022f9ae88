package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
)

// problem is one of the details of a VALIDATION_ERROR.
type problem struct {
	Parameter string `json:"parameter"`
	Given     string `json:"given"`
	Message   string `json:"message"`
	Allowed   string `json:"allowed"`
	Fix       string `json:"fix"`
}

// wantProblems asks for a path whose parameters are wrong, and returns in which
// way the answer says they are.
func (t *node) wantProblems(path string) []problem {
	t.Helper()
	got := t.wantFailure(t.get(path), http.StatusBadRequest, apierror.CodeValidation)
	var details struct {
		Problems []problem `json:"problems"`
	}
	env.Decode(t, got.Error.Details, &details)
	for _, p := range details.Problems {
		if p.Message == "" || p.Allowed == "" || p.Fix == "" || !strings.Contains(got.Error.Message, p.Message) {
			t.Errorf("GET %s: problem %+v does not say what is wrong, what is allowed and what to do", path, p)
		}
	}
	return details.Problems
}

func TestWrongParametersAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const (
		aBool   = "true or false"
		aLimit  = "an integer from 1 to 100"
		aText   = "a text of 1 to 512 bytes"
		aKey    = "p1_ and 22 base64url characters, as lists return it"
		aCursor = "the nextCursor of an earlier page, unchanged"
		aStatus = "one of complete, partial, backfilling, unavailable"
		daos    = "hasVoteData, hasForumData, coverageStatus, flagged, cursor, limit"
		escape  = "is not properly escaped"
	)
	long, longer := strings.Repeat("x", 513), strings.Repeat("x", 2049)
	for path, want := range map[string]problem{
		"/v2/daos?limits=5":               {"limits", "5", "is not a parameter of this endpoint, did you mean limit?", daos, ""},
		"/v2/daos?LIMIT=5":                {"LIMIT", "5", "is not a parameter of this endpoint, did you mean limit?", daos, ""},
		"/v2/daos?=5":                     {"", "5", "is not a parameter of this endpoint", daos, ""},
		"/v2/daos?limit=5&limit=5":        {"limit", "5, 5", "is given more than once", "one value", ""},
		"/v2/daos?limit=5&%6cimit=6":      {"limit", "5, 6", "is given more than once", "one value", ""},
		"/v2/daos?limit=":                 {"limit", "", "is empty", "a value, or leave the parameter out", ""},
		"/v2/daos?limit":                  {"limit", "", "is empty", "a value, or leave the parameter out", ""},
		"/v2/daos?limit=0":                {"limit", "0", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=101":              {"limit", "101", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=-1":               {"limit", "-1", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=%2B5":             {"limit", "+5", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=5.0":              {"limit", "5.0", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=1e1":              {"limit", "1e1", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=0x5":              {"limit", "0x5", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=+5":               {"limit", " 5", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=all":              {"limit", "all", "must be " + aLimit, aLimit, ""},
		"/v2/daos?limit=9999999999999999": {"limit", "9999999999999999", "must be " + aLimit, aLimit, ""},
		"/v2/daos?hasVoteData=yes":        {"hasVoteData", "yes", "must be " + aBool, aBool, ""},
		"/v2/daos?hasVoteData=1":          {"hasVoteData", "1", "must be " + aBool, aBool, ""},
		"/v2/daos?hasForumData=TRUE":      {"hasForumData", "TRUE", "must be " + aBool, aBool, ""},
		"/v2/daos?coverageStatus=ready":   {"coverageStatus", "ready", "must be " + aStatus, aStatus, ""},
		"/v2/daos?coverageStatus=Partial": {"coverageStatus", "Partial", "must be " + aStatus, aStatus, ""},
		"/v2/daos?cursor=" + longer:       {"cursor", longer[:64] + "…", "must be " + aCursor, aCursor, ""},
		"/v2/daos?limit=%zz":              {"", "", "the query " + escape, "name=value pairs joined by &", ""},
		"/v2/daos?limit=5%":               {"", "", "the query " + escape, "name=value pairs joined by &", ""},
		"/v2/daos?limit=5;cursor=x":       {"", "", "the query " + escape, "name=value pairs joined by &", ""},

		"/v2/meta/data-status?dao=uniswap":    {"dao", "uniswap", "is not a parameter of this endpoint, did you mean daoId?", "daoId", ""},
		"/v2/meta/data-status?daoId=" + long:  {"daoId", long[:64] + "…", "must be " + aText, aText, ""},
		"/v2/meta/data-status?daoId=a%00b":    {"daoId", "a\x00b", "must be " + aText, aText, ""},
		"/v2/meta/data-status?daoId=%ff":      {"daoId", "\ufffd", "must be " + aText, aText, ""},
		"/v2/daos/uniswap?limit=5":            {"limit", "5", "is not a parameter of this endpoint", "no query parameters", ""},
		"/v2/daos/uniswap?daoId=uniswap":      {"daoId", "uniswap", "is not a parameter of this endpoint", "no query parameters", ""},
		"/v2/daos/" + long:                    {"daoId", long[:64] + "…", "must be " + aText, aText, ""},
		"/v2/daos/%00":                        {"daoId", "\x00", "must be " + aText, aText, ""},
		"/v2/daos/%ff":                        {"daoId", "\ufffd", "must be " + aText, aText, ""},
		"/v2/proposals/0x8b8f":                {"proposalKey", "0x8b8f", "must be " + aKey, aKey, ""},
		"/v2/proposals/P1_" + long[:22]:       {"proposalKey", "P1_" + long[:22], "must be " + aKey, aKey, ""},
		"/v2/proposals/x/evidence":            {"proposalKey", "x", "must be " + aKey, aKey, ""},
		"/v2/proposals/x/votes/summary":       {"proposalKey", "x", "must be " + aKey, aKey, ""},
		"/v2/proposals/p1_%0AAAAAAAAAAAAAAAA": {"proposalKey", "p1_\nAAAAAAAAAAAAAAA", "must be " + aKey, aKey, ""},
	} {
		env.WantSame(t, "GET "+path, []problem{want}, n.wantProblems(path), cmpopts.IgnoreFields(problem{}, "Fix"))
	}
}

func TestWrongParametersComeWithWhatToDo(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	votes, timeline := "/v2/proposals/"+string(countedKey)+"/votes?", "/v2/daos/uniswap/timeline?metric=votes_cast&"
	for path, want := range map[string]string{
		"/v2/daos?limits=5":                                   "use limit instead",
		"/v2/daos?hasvotedata=true":                           "use hasVoteData instead",
		"/v2/daos?fields=name":                                "leave it out",
		"/v2/daos?limit=500":                                  "use limit=100",
		"/v2/daos?limit=-5":                                   "use limit=1",
		"/v2/daos?limit=5&limit=6":                            "give limit once",
		"/v2/daos?limit=":                                     "leave limit out, or give it a value",
		"/v2/daos?hasVoteData=True":                           "did you mean hasVoteData=true?",
		"/v2/daos?hasVoteData=yes":                            "give true or false, for example hasVoteData=true",
		"/v2/daos?coverageStatus=Partial":                     "did you mean coverageStatus=partial?",
		"/v2/daos?coverageStatus=complet":                     "did you mean coverageStatus=complete?",
		"/v2/daos?cursor=abc":                                 "start again without cursor, and go on with the nextCursor of each page",
		votes + "order=newest":                                "did you mean order=time?",
		votes + "order=sideways":                              "use one of power, time, for example order=time",
		votes + "order=tim":                                   "did you mean order=time?",
		"/v2/daos/uniswap/timeline":                           "add metric=votes_cast",
		"/v2/events?from=2026-11-01":                          "add to",
		"/v2/daos/uniswap/timeline?metric=":                   "give a value, for example metric=votes_cast",
		"/v2/daos/uniswap/timeline?metric=votes":              "use one of proposals_created, votes_cast, for example metric=votes_cast",
		"/v2/daos/uniswap/timeline?metric=vote_cast":          "did you mean metric=votes_cast?",
		"/v2/voters/0x1/votes?from=2026-02-01T05:30:00+05:30": "did you mean from=2026-02-01T00:00:00.000Z?",
		"/v2/voters/0x1/votes?from=2026-02-01%2000:00":        "did you mean from=2026-02-01T00:00:00.000Z?",
		"/v2/voters/0x1/votes?from=1769904000":                "did you mean from=2026-02-01T00:00:00.000Z?",
		"/v2/voters/0x1/votes?from=20260201":                  "did you mean from=2026-02-01T00:00:00.000Z?",
		"/v2/voters/0x1/votes?from=2026-02":                   "did you mean from=2026-02-01T00:00:00.000Z?",
		"/v2/voters/0x1/votes?from=2026-02-01&to=yesterday":   "give an RFC 3339 time from 1970 to 2261, or a date for midnight UTC, for example to=2026-07-01",
		"/v2/voters/0x1/votes?to=9999-12-31":                  "give an RFC 3339 time from 1970 to 2261, or a date for midnight UTC, for example to=2026-07-01",
		timeline + "toMonth=9999-12":                          "give a month as YYYY-MM, from 1970 to 2261, for example toMonth=2026-06",
	} {
		problems := n.wantProblems(path)
		if len(problems) != 1 || problems[0].Fix != want {
			t.Errorf("GET %s: got %+v, want the fix %q", path, problems, want)
		}
	}
}

func TestRangesAreCheckedWhenOtherParametersAreWrong(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	problems := n.wantProblems("/v2/voters/0x1/votes?from=2026-02-01&to=2026-01-01&limit=0&x=1")
	env.Want(t, 3, len(problems), problems, "three problems")
	env.Want(t, 2, len(n.wantProblems("/v2/proposals/nothing?includeVotes=true")), "in path and query")
}

// Clients write a list either way; both are one request to caches.
func TestAListMayRepeatItsParameter(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	q := januaryEvents()
	q.Types = []governance.EventType{rules.QuorumReached, rules.VotingEnded}
	n.writePage(q, eventRows())
	const window = "/v2/events?from=2026-01-01&to=2026-02-01"
	want := n.get(window + "&eventType=quorum_reached,voting_ended")
	for _, query := range []string{
		"&eventType=voting_ended&eventType=quorum_reached", "&eventType=quorum_reached,voting_ended&eventType=voting_ended",
	} {
		got := n.get(window + query)
		if got.status != http.StatusOK || got.header.Get("ETag") != want.header.Get("ETag") ||
			got.header.Get("Content-Location") != want.header.Get("Content-Location") {
			t.Errorf("%s: got %d %v, want the answer to the joined list: %v", query, got.status, got.header, want.header)
		}
	}
	for query, message := range map[string]string{
		"&eventType=voting_ended&eventType=":       "is empty",
		"&eventType=voting_ended&eventType=rumour": "must be one or more of",
	} {
		env.WantPart(t, message, n.wantFailure(n.get(window+query), http.StatusBadRequest, apierror.CodeValidation).Error.Message, query)
	}
}

func TestAnUnknownPathLeadsToTheNearestOne(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for path, want := range map[string]string{
		"/v2/dao":                      "/v2/daos",
		"/v2/DAOS/":                    "/v2/daos",
		"/v1/daos/uniswap":             "/v2/daos/uniswap",
		"/v2/daos/uniswap/voter":       "/v2/daos/uniswap/voters",
		"/v2/meta/datastatus":          "/v2/meta/data-status",
		"/v2/proposal/x/evidences":     "/v2/proposals/x/evidence",
		"/openapi.jsonl":               "/openapi.json",
		"/llm.txt":                     "/llms.txt",
		"/v2/brief":                    "",
		"/" + strings.Repeat("d", 600): "",
	} {
		got := n.wantFailure(n.get(path), http.StatusNotFound, apierror.CodeNotFound)
		var details struct{ Nearest, Described string }
		env.Decode(t, got.Error.Details, &details)
		if details.Nearest != want || details.Described != "/openapi/agent-v2.json" || strings.Contains(got.Error.Message, "did you mean") != (want != "") {
			t.Errorf("GET %s: got %+v, want that %q is near", path, got.Error, want)
		}
	}
}

func TestAPathThatIsNotProperlyEscapedIsRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	// The client would not send it.
	for _, path := range []string{"/v2/daos/%zz", "/v2/daos/%", "/v2/daos/a%2"} {
		status, body := n.raw("GET " + path + " HTTP/1.1\r\nHost: pnyx\r\n\r\n")
		if status != http.StatusBadRequest || !strings.Contains(body, "daoId is not properly escaped") {
			t.Errorf("GET %s: got %d %s, want 400 that names daoId", path, status, body)
		}
	}
}

func TestBoundsThemselvesAreAccepted(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for path, want := range map[string]int{
		"/v2/daos":           50,
		"/v2/daos?limit=1":   1,
		"/v2/daos?limit=100": 100,
		"/v2/daos?":          50,
		"/v2/daos?&&limit=7": 7,
	} {
		if got := n.wantSuccess(path).Meta.Page; got == nil || got.Limit != want {
			t.Errorf("GET %s: got %+v, want a limit of %d", path, got, want)
		}
	}
	n.wantFailure(n.get("/v2/daos/"+strings.Repeat("x", 512)), http.StatusNotFound, apierror.CodeNotFound)
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{
		"/", "/v2", "/v2/", "/v1/daos", "/v2/daos/", "/v2/daos//", "/v2//daos", "/V2/daos", "/v2/Daos", "/v2/daos/uniswap/",
		"/v2/daos/uniswap/votes", "/v2/proposals/", "/v2/proposals/resolve/", "/v2/proposals/" + string(countedKey) + "/votes/summary/",
		"/v2/meta", "/v2/meta/data-status/", "/v2/brief", "/v2/daos%2Funiswap", "/v2/%64aos",
	} {
		got := n.wantFailure(n.get(path), http.StatusNotFound, apierror.CodeNotFound)
		if !strings.HasPrefix(got.Error.Message, "no such path") && path != "/" {
			t.Errorf("GET %s: got %q, want that there is no such path", path, got.Error.Message)
		}
	}
}

func TestUnknownSubjectsAreNotFound(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for path, details := range map[string]string{
		"/v2/daos/UNISWAP":                          `{"daoId":"UNISWAP","nearest":"uniswap"}`,
		"/v2/daos/..":                               `{"daoId":".."}`,
		"/v2/daos/%22%3C%26%3E%E6%B0%91":            `{"daoId":"\"<&>民"}`,
		evidencePath(unknownKey):                    `{"proposalKey":"` + string(unknownKey) + `"}`,
		summaryPath(unknownKey):                     `{"proposalKey":"` + string(unknownKey) + `"}`,
		"/v2/daos/" + url.PathEscape("uniswap\r\n"): `{"daoId":"uniswap\r\n","nearest":"uniswap"}`,
	} {
		got := n.wantFailure(n.get(path), http.StatusNotFound, apierror.CodeNotFound)
		env.Want(t, details, string(got.Error.Details), "GET", path)
	}
}

func evidencePath(key governance.ProposalKey) string {
	return "/v2/proposals/" + string(key) + "/evidence"
}

func summaryPath(key governance.ProposalKey) string {
	return "/v2/proposals/" + string(key) + "/votes/summary"
}

func TestOtherMethodsAreNotAllowed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{
		"/v2/daos", "/v2/daos/uniswap", "/v2/meta/data-status", "/v2/proposals/" + string(countedKey), summaryPath(countedKey),
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE", "get", "X"} {
			got := n.ask(method, path, nil)
			n.wantFailure(got, http.StatusMethodNotAllowed, apierror.CodeMethodNotAllowed)
			env.Want(t, "GET, HEAD, OPTIONS", got.header.Get("Allow"), method, path, "Allow")
		}
	}
	n.wantFailure(n.ask(http.MethodPost, "/v2/brief", nil), http.StatusNotFound, apierror.CodeNotFound)
}

func TestDAOsMayHaveAnyID(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for i, id := range []string{
		"a b", "a/b", "a:b", "a+b", "a%b", "a%2Fb", "a?b", "a#b", "a&b=c", ";", "..", "民主", "é", "\"", "<b>", "😀", ":daoId", "*", "~",
		"A", "x/../a", "a", "a//b", "a/", strings.Repeat("x", 512),
	} {
		n.write(2, cache.View{Readiness: governance.Ready}, map[cache.Key]any{
			cache.DAODetailKey(id):  governance.DAODetail{DAOID: id, Name: fmt.Sprint(i)},
			cache.DataStatusKey(id): governance.DataStatus{Scope: governance.ScopeDAO, DAOID: &id},
		})
		var detail governance.DAODetail
		n.decode(string(n.wantSuccess("/v2/daos/"+url.PathEscape(id)).Data), &detail)
		if detail.DAOID != id || detail.Name != fmt.Sprint(i) {
			t.Errorf("detail of %q: got %+v", id, detail)
		}
		var status governance.DataStatus
		n.decode(string(n.wantSuccess("/v2/meta/data-status?daoId="+url.QueryEscape(id)).Data), &status)
		if status.DAOID == nil || *status.DAOID != id {
			t.Errorf("status of %q: got %+v", id, status)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/v2/daos", "/v2/daos/nobody", "/v2/daos?limit=0", "/nowhere"} {
		for given, kept := range map[string]bool{
			"abc-123_X.9":                          true,
			"4bf92f35-77b3-4da6-a3ce-929d0e0e4736": true,
			strings.Repeat("x", 64):                true,
			strings.Repeat("x", 65):                false,
			"":                                     false,
			"two words":                            false,
			"a,b":                                  false,
			"a\tb":                                 false,
			"<script>":                             false,
			"\"quoted\"":                           false,
			"é":                                    false,
			"{\"a\":1}":                            false,
			"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7": true,
		} {
			got := n.ask(http.MethodGet, path, http.Header{"X-Request-Id": {given}})
			var envelope struct {
				Meta struct {
					RequestID string `json:"requestId"`
				} `json:"meta"`
			}
			env.Decode(t, []byte(got.body), &envelope)
			id := got.header.Get("X-Request-Id")
			if id == "" || id != envelope.Meta.RequestID || (id == given) != kept {
				t.Errorf("GET %s with id %q: got %q in the header, %q in the body, want it kept: %t",
					path, given, id, envelope.Meta.RequestID, kept)
			}
		}
	}
	if first, second := n.get("/v2/daos"), n.get("/v2/daos"); first.header.Get("X-Request-Id") == second.header.Get("X-Request-Id") {
		t.Error("two requests without an id share one")
	}
}

func TestAttackARequestIDCannotSmuggleAHeader(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, id := range []string{"a\r\n Set-Cookie: x=1", "a\n\tSet-Cookie: x=1", "a\rSet-Cookie: x=1", "a\x00b"} {
		status, answer := n.raw("GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\nX-Request-Id: " + id + "\r\n\r\n")
		if strings.Contains(answer, "Set-Cookie") || strings.Contains(answer, "\x00") {
			t.Errorf("id %q: got %d %s", id, status, answer)
		}
	}
}

// send opens a connection and sends bytes that no client would. The connection ends with
// the test.
func (t *node) send(bytes string) *bufio.Reader {
	t.Helper()
	conn := env.Must(net.Dial("tcp", strings.TrimPrefix(t.Base, "http://")))(t)
	t.Cleanup(func() { conn.Close() })
	env.MustDo(t, conn.SetDeadline(time.Now().Add(soon)))
	env.Must(io.WriteString(conn, bytes))(t)
	return bufio.NewReader(conn)
}

// raw sends bytes and returns the whole answer.
func (t *node) raw(request string) (status int, answer string) {
	t.Helper()
	response, err := http.ReadResponse(t.send(request), nil)
	if err != nil {
		t.Fatalf("answer to %q: %v", request, err)
	}
	defer response.Body.Close()
	var text strings.Builder
	env.MustDo(t, response.Write(&text))
	return response.StatusCode, text.String()
}

func TestSizesOfRequests(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	payment := func(bytes int) http.Header { return http.Header{"Payment-Signature": {strings.Repeat("x", bytes)}} }
	env.Want(t, http.StatusOK, n.ask(http.MethodGet, "/v2/daos", payment(10<<10)).status, "a header of 10 KB")
	status, answer := n.raw("GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\nPayment-Signature: " + strings.Repeat("x", 40<<10) + "\r\n\r\n")
	if status != http.StatusRequestHeaderFieldsTooLarge || !strings.Contains(answer, `"code":"VALIDATION_ERROR"`) {
		t.Errorf("a header of 40 KB: got %d %s, want 431 in the envelope", status, answer)
	}

	status, answer = n.raw("GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000))
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(answer, `"code":"VALIDATION_ERROR"`) {
		t.Errorf("a body of 5 KB: got %d %s, want 413 in the envelope", status, answer)
	}
}

// Fiber reuses the memory of a request: whatever outlives the handler has to be a
// copy.
func TestRequestsAtOnceDoNotMix(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const daos, rounds = 8, 40
	payloads := map[cache.Key]any{}
	for i := range daos {
		id := strings.Repeat(fmt.Sprint(i), 10)
		payloads[cache.DAODetailKey(id)] = governance.DAODetail{DAOID: id}
	}
	n.write(2, cache.View{Readiness: governance.Ready}, payloads)
	var asking sync.WaitGroup
	for i := range daos {
		id := strings.Repeat(fmt.Sprint(i), 10)
		asking.Go(func() {
			for round := range rounds {
				requestID := fmt.Sprintf("request-%s-%d", id, round)
				for path, want := range map[string]string{
					"/v2/daos/" + id:          `"data":{"daoId":"` + id + `"`,
					"/v2/daos/no" + id:        `"details":{"daoId":"no` + id + `"}`,
					"/v2/daos?filter" + id:    `"parameter":"filter` + id + `"`,
					"/v2/nothing/" + id + "/": `"path":"/v2/nothing/` + id + `/"`,
				} {
					got := n.ask(http.MethodGet, path, http.Header{"X-Request-Id": {requestID}})
					if !strings.Contains(got.body, want) || !strings.Contains(got.body, `"requestId":"`+requestID+`"`) {
						t.Errorf("GET %s as %s: got %s, want %s", path, requestID, got.body, want)
						return
					}
				}
			}
		})
	}
	asking.Wait()
}

// TestATimelineSpansAtMost240Months gives one bound: the other one is the first or last month with a value.
func TestATimelineSpansAtMost240Months(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.write(1, cache.View{Readiness: governance.Ready}, map[cache.Key]any{
		cache.TimelineKey("uniswap", governance.VotesCast): governance.Timeline{
			DAOID: "uniswap", Buckets: []governance.TimelineBucket{{Month: "2026-01", Value: "1"}, {Month: "2026-02", Value: "2"}},
		},
	})
	for parameters, want := range map[string]int{
		"": 2, "&fromMonth=2006-03": 240, "&toMonth=2045-12": 240, "&fromMonth=2026-03": 0, "&toMonth=2025-12": 0, "&fromMonth=2006-02": -1, "&toMonth=2261-12": -1,
	} {
		got := n.get("/v2/daos/uniswap/timeline?metric=votes_cast" + parameters)
		if months := strings.Count(got.body, `"month"`); want >= 0 && (got.status != http.StatusOK || months != want) ||
			want < 0 && (got.status != http.StatusBadRequest || !strings.Contains(got.body, "at most 240 months") || strings.Contains(got.body, `"given":"2026-02"`)) {
			t.Errorf("%s: got %d and %d months, want %d (-1: 400)", parameters, got.status, months, want)
		}
	}
}
