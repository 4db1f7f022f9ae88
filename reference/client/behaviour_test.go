package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	pnyx "pnyx/clients"
	"pnyx/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

// told is what each client makes of a node that behaves in a way.
const told = `busy: ens uniswap
missing: NOT_FOUND 404 there is no DAO r2 {"daoId":"nobody"} -
quota: QUOTA_EXCEEDED 429 none left r3 {} 86400
settlement: SETTLEMENT_PENDING 504 not known yet r4 {} 0
slow bucket: RATE_LIMITED 429 wait r5 {} 60
proxy: HTTP_ERROR 503 the answer is not one of Pnyx p1 {} 0
not pnyx: HTTP_ERROR 200 the answer is not one of Pnyx  {} -
no list: HTTP_ERROR 200 the answer is not one of Pnyx  {} -
moved: HTTP_ERROR 302 the answer is not one of Pnyx  {} -
hangs: no answer
cut: no answer
newer: everything very ready
parameters: 7
escaped: ens
no id: no answer
dots: no answer
cancelled: no answer
held: 7
mirror: anew proposal p1, ballot p1 0x1 @30/d1, topic t1 @30/d1/d3, @30, topic t1 gone @30, @32
delta: @32
resumed: topic t1 @30/d1/d3, @30, topic t1 gone @30, @32
expired: anew proposal p1, ballot p1 0x1 @30/d1, @30
torn: anew proposal p1, ballot p1 0x1 @30/d1, HTTP_ERROR the file differs from its digest
gone: EXPORT_GONE begin at the manifest
`

// asked is what a client asks for meanwhile.
var asked = `/busy/v2/daos?hasVoteData=false&limit=100
/busy/v2/daos?hasVoteData=false&limit=100
/busy/v2/daos?hasVoteData=false&limit=100
/busy/v2/daos?cursor=next%2B%2F%3D&hasVoteData=false&limit=100
/missing/v2/daos/nobody
/quota/v2/daos?hasVoteData=false&limit=100
/settlement/v2/daos?hasVoteData=false&limit=100
/bucket/v2/daos?hasVoteData=false&limit=100
/proxy/v2/daos?hasVoteData=false&limit=100
/page/v2/daos/ens
/page/v2/daos?hasVoteData=false&limit=100
/moved/v2/daos?hasVoteData=false&limit=100
/cut/v2/daos?hasVoteData=false&limit=100
/newer/v2/meta/data-status?daoId=a+b%2Bc
/parameters/v2/proposals?from=2026-01-01T00%3A00%3A00%2B02%3A00&limit=7&outcome=passed%2Cexecuted
/escaped/v2/daos/a%2Fb%20%3F%23%25%C3%BC
/bucket/v2/daos/ens
/parameters/v2/proposals?limit=100
/parameters/v2/changes?limit=500&wait=25
/mirror/v2/daos/ens/export
/mirror/v2/daos/ens/export/d1
/mirror/v2/daos/ens/export/d2
/mirror/v2/daos/ens/export
/mirror/v2/daos/ens/export/d3
/mirror/v2/daos/ens/export?since=30
/mirror/v2/daos/ens/export/d4?since=30
/mirror/v2/daos/ens/export?since=32
/mirror/v2/daos/ens/export
/mirror/v2/daos/ens/export/d3
/mirror/v2/daos/ens/export?since=30
/mirror/v2/daos/ens/export/d4?since=30
/expired/v2/daos/ens/export?since=5
/expired/v2/daos/ens/export
/expired/v2/daos/ens/export/d1
/torn/v2/daos/ens/export
/torn/v2/daos/ens/export/d1
/torn/v2/daos/ens/export/torn
` + gone

// gone are six tries of an export whose parts are never there.
var gone = strings.Repeat("/gone/v2/daos/ens/export\n/gone/v2/daos/ens/export/d2\n", 6)

// A revision has 51 bits, an int 32 on some machines.
func TestGoClientTakesRevisionsOn32Bits(t *testing.T) {
	t.Parallel()
	env.Want(t, reflect.Int64, reflect.TypeOf(pnyx.DAOExportParams{}.Since).Kind())
}

// node behaves in one way under each base, and notes what it is asked.
type node struct {
	url string

	mu    sync.Mutex
	asked []string
	wrong []string
}

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

// ServeHTTP notes a request, and answers it.
func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base, _, _ := strings.Cut(r.URL.Path[1:], "/")
	if base == "hangs" {
		<-r.Context().Done() // perhaps before the client gets through at all
		return
	}
	n.mu.Lock()
	line := r.URL.EscapedPath()
	if query := r.URL.Query().Encode(); query != "" {
		line += "?" + query
	}
	n.asked = append(n.asked, line)
	nth := strings.Count(strings.Join(n.asked, "\n"), line)
	if r.Header.Get("X-Service-Api-Token") != "secret" {
		n.wrong = append(n.wrong, line+" without the token")
	}
	n.mu.Unlock()
	switch base {
	case "moved":
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	case "cut":
		w.Header().Set("Content-Length", "100") // more than comes
		fmt.Fprint(w, `{"data":[`)
	case "page":
		if r.URL.RawQuery != "" {
			fmt.Fprint(w, `{"message":"Log in to the network"}`)
			return
		}
		fmt.Fprint(w, "<html>Log in to the network</html>")
	default:
		n.answer(w, r, base, nth)
	}
}

const (
	meta     = `"meta":{"requestId":"r","generatedAt":"2026-01-01T00:00:00.000Z","dataAsOf":"2026-01-01T00:00:00.000Z","readiness":{"status":"ready"}`
	metaPage = meta + `,"page":{"limit":%d,"hasMore":%t,"nextCursor":%s}}`
)

// exportParts are the rows of parts by their digest.
var exportParts = map[string]string{
	"d1":   `{"kind":"proposal","key":"p1"}` + "\n" + `{"kind":"ballot","key":"p1","ballot":{"voterIdentity":"0x1"}}` + "\n",
	"d3":   `{"kind":"topic","key":"t1"}` + "\n",
	"d4":   `{"kind":"topic","key":"t1","removed":true}` + "\n",
	"torn": `{"kind":"topic","key":"torn"}` + "\n",
}

// answer answers the nth request of its kind under a base.
func (n *node) answer(w http.ResponseWriter, r *http.Request, base string, nth int) {
	fail := func(status int, after, code, message, id, details string) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%q,"message":%q,"details":%s},"meta":{"requestId":%q}}`, code, message, details, id)
	}
	if _, part, is := strings.Cut(r.URL.Path, "/export"); is {
		writeExport(w, base, strings.TrimPrefix(part, "/"), r.URL.Query().Get("since"), nth, fail)
		return
	}
	switch {
	case base == "busy" && r.URL.Query().Get("cursor") != "":
		fmt.Fprintf(w, `{"data":[{"daoId":"uniswap"}],`+metaPage+`}`, 100, false, "null")
	case base == "busy" && nth == 1:
		fail(429, "0", "RATE_LIMITED", "wait", "r1", "{}")
	case base == "busy" && nth == 2:
		fail(503, "1", "UNAVAILABLE", "wait", "r1", "{}")
	case base == "busy":
		fmt.Fprintf(w, `{"data":[{"daoId":"ens","new":1}],`+metaPage+`,"more":{}}`, 100, true, `"next+/="`)
	case base == "missing":
		fail(404, "", "NOT_FOUND", "there is no DAO", "r2", `{"daoId":"nobody"}`)
	case base == "quota":
		fail(429, "86400", "QUOTA_EXCEEDED", "none left", "r3", "{}")
	case base == "settlement":
		fail(504, "0", "SETTLEMENT_PENDING", "not known yet", "r4", "{}")
	case base == "bucket":
		fail(429, "60", "RATE_LIMITED", "wait", "r5", "{}")
	case base == "proxy":
		w.Header().Set("Retry-After", "0")
		w.Header().Set("X-Request-Id", "p1")
		http.Error(w, `{"error":"no backend","meta":"none"}`, http.StatusServiceUnavailable)
	case base == "newer":
		fmt.Fprint(w, `{"data":{"coverageStatus":"everything"},"meta":{"readiness":{"status":"very ready"}}}`)
	case base == "parameters":
		fmt.Fprintf(w, `{"data":[],`+metaPage+`}`, 7, false, "null")
	default:
		fmt.Fprint(w, `{"data":{"name":"ens"},`+meta+`}}`)
	}
}

// writeExport answers the nth request for a manifest, or with a part.
func writeExport(
	w http.ResponseWriter, base, part, since string, nth int, fail func(status int, after, code, message, id, details string),
) {
	rows, there := exportParts[part]
	manifest := map[string]string{"expired": "30 d1", "torn": "30 d1 torn", "gone": "30 d2"}[base]
	switch {
	case since == "5":
		fail(410, "", "CURSOR_EXPIRED", "it has expired", "r7", "{}")
		return
	case there:
		sum := sha256.Sum256([]byte(strings.ReplaceAll(rows, "torn", "whole")))
		w.Header().Set("Unencoded-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
		fmt.Fprint(w, rows)
		return
	case part != "":
		fail(410, "", "EXPORT_GONE", "begin at the manifest", "r6", "{}")
		return
	case since != "":
		manifest = map[string]string{"30": "32 d4", "32": "32"}[since]
	case manifest == "" && nth == 1:
		manifest = "30 d1 d2"
	case manifest == "":
		manifest = "31 d1 d3"
	}
	parts := strings.Fields(manifest)
	for i := range parts[1:] {
		parts[i+1] = fmt.Sprintf(`{"digest":%q}`, parts[i+1])
	}
	fmt.Fprintf(w, `{"data":{"revision":%q,"parts":[%s]},`+meta+`}}`, parts[0], strings.Join(parts[1:], ","))
}

// want checks what a client has printed and asked.
func (n *node) want(t *testing.T, printed string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	env.Want(t, told, printed, "printed")
	env.Want(t, asked, strings.Join(n.asked, "\n")+"\n", "asked")
	env.Want(t, 0, len(n.wrong), n.wrong)
}

// TestLongTypeScriptClientWaitsAndFails compiles the client and a program, and runs it.
func TestLongTypeScriptClientWaitsAndFails(t *testing.T) {
	t.Parallel()
	compiler := typeScriptCompiler(t)
	n, p := newNode(t), program{dir: t.TempDir()}
	p.copy(t, "../../clients/pnyx.ts", "testdata/behaviour.ts")
	p.write(t, "package.json", `{"type": "module"}`)
	p.run(t, nil, compiler, "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom",
		"--rewriteRelativeImportExtensions", "behaviour.ts")
	n.want(t, p.run(t, nil, "node", "behaviour.js", n.url))
}

// TestLongPythonClientWaitsAndFails checks a program, and runs it.
func TestLongPythonClientWaitsAndFails(t *testing.T) {
	t.Parallel()
	python := env.Program(t, "python3", "PNYX_TEST_REQUIRE_MYPY")
	n, p := newNode(t), program{dir: t.TempDir()}
	p.copy(t, "../../clients/pnyx.py", "testdata/behaviour.py")
	if mypy, err := exec.LookPath("mypy"); err == nil {
		p.run(t, nil, mypy, "--strict", "--python-version", "3.11", "--no-error-summary", "behaviour.py")
	}
	n.want(t, p.run(t, nil, python, "behaviour.py", n.url))
}

func TestLongGoClientWaitsAndFails(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var printed strings.Builder
	at := func(base string, options ...pnyx.Option) *pnyx.Client {
		return pnyx.New(n.url+"/"+base+"/", append(options, pnyx.WithToken("secret"))...)
	}
	tell := func(name string, call func(ctx context.Context) (string, error)) {
		result, err := call(t.Context())
		if failed, is := errors.AsType[*pnyx.Error](err); is {
			after := "-"
			if seconds := int(failed.RetryAfter.Seconds()); seconds > 0 || failed.Status >= 500 {
				after = fmt.Sprint(seconds)
			}
			details := string(failed.Details)
			if details == "" {
				details = "{}"
			}
			message, _, _ := strings.Cut(failed.Message, ":")
			result = fmt.Sprintf("%s %d %s %s %s %s", failed.Code, failed.Status, message, failed.RequestID, details, after)
		} else if err != nil {
			result = "no answer"
		}
		fmt.Fprintf(&printed, "%s: %s\n", name, result)
	}
	ids := func(c *pnyx.Client) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			var all []string
			for dao, err := range c.DAOs(ctx, &pnyx.DAOsParams{HasVoteData: new(false)}) {
				if err != nil {
					return "", err
				}
				all = append(all, dao.DAOID)
			}
			return strings.Join(all, " "), nil
		}
	}
	name := func(c *pnyx.Client, id string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			dao, err := c.DAO(ctx, id)
			if err != nil {
				return "", err
			}
			return dao.Data.Name, nil
		}
	}
	tell("busy", ids(at("busy")))
	tell("missing", name(at("missing"), "nobody"))
	tell("quota", ids(at("quota")))
	tell("settlement", ids(at("settlement")))
	tell("slow bucket", ids(at("bucket", pnyx.WithMaxWait(time.Second))))
	tell("proxy", ids(at("proxy")))
	tell("not pnyx", name(at("page"), "ens"))
	tell("no list", ids(at("page")))
	tell("moved", ids(at("moved")))
	tell("hangs", ids(at("hangs", pnyx.WithTimeout(100*time.Millisecond))))
	tell("cut", ids(at("cut")))
	tell("newer", func(ctx context.Context) (string, error) {
		answer, err := at("newer").DataStatus(ctx, &pnyx.DataStatusParams{DAOID: "a b+c"})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(answer.Data.CoverageStatus, " ", answer.Meta.Readiness.Status), nil
	})
	tell("parameters", func(ctx context.Context) (string, error) {
		page, err := at("parameters").ProposalsPage(ctx, &pnyx.ProposalsParams{
			Outcome: []pnyx.Outcome{pnyx.OutcomePassed, pnyx.OutcomeExecuted}, From: "2026-01-01T00:00:00+02:00", Limit: 7,
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(page.Meta.Page.Limit), nil
	})
	tell("escaped", name(at("escaped"), "a/b ?#%ü"))
	tell("no id", name(at("escaped"), ""))
	tell("dots", name(at("escaped"), ".."))
	tell("cancelled", func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		return name(at("bucket", pnyx.WithTransport(afterwards(cancel))), "ens")(ctx)
	})
	tell("held", func(ctx context.Context) (string, error) {
		var c *pnyx.Client
		c = at("parameters", pnyx.WithMaxWait(time.Hour), pnyx.WithTransport(before(func(r *http.Request) error {
			if !r.URL.Query().Has("wait") {
				return nil
			}
			_, err := c.ProposalsPage(ctx, nil)
			return err
		})))
		page, err := c.ChangesPage(ctx, &pnyx.ChangesParams{Wait: 25})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(page.Meta.Page.Limit), nil
	})
	mirror := func(base, revision string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			var all []string
			for part, err := range at(base).Mirror(ctx, "ens", revision) {
				if failed, is := errors.AsType[*pnyx.Error](err); is {
					all = append(all, fmt.Sprint(failed.Code, " ", failed.Message))
					continue
				}
				var rows []string
				for _, row := range part.Rows {
					rows = append(rows, row.Kind+" "+row.Key)
					if row.Ballot != nil {
						rows[len(rows)-1] += " " + row.Ballot.VoterIdentity
					}
					if row.Removed {
						rows[len(rows)-1] += " gone"
					}
				}
				text := strings.TrimSpace(strings.Join(rows, ", ") + " @" + part.Revision)
				if part.Anew {
					text = "anew " + text
				}
				all = append(all, text)
			}
			return strings.Join(all, ", "), nil
		}
	}
	tell("mirror", mirror("mirror", ""))
	tell("delta", mirror("mirror", "32"))
	tell("resumed", mirror("mirror", "30/d1"))
	tell("expired", mirror("expired", "5"))
	tell("torn", mirror("torn", ""))
	tell("gone", mirror("gone", ""))
	n.want(t, printed.String())
}

// afterwards is a transport that calls a function after each request.
type afterwards func()

// RoundTrip sends a request.
func (f afterwards) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	f()
	return response, err
}

// before is a transport that calls a function before each request.
type before func(r *http.Request) error

// RoundTrip sends a request.
func (f before) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := f(r); err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}

// copy copies files into the folder.
func (p program) copy(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		text := env.ReadFile(t, path)
		p.write(t, filepath.Base(path), string(text))
	}
}
