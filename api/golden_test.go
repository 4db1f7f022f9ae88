package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/api/routes"
	"pnyx/reference/openapi"
	"pnyx/test/openapitest"
)

var update = flag.Bool("update", false, "write the answers to testdata instead of comparing them")

// goldens are requests whose answers are in testdata, to the last byte but for
// indentation.
func goldens() map[string]string {
	return map[string]string{
		"data_status":                 "/v2/meta/data-status",
		"data_status_of_a_dao":        "/v2/meta/data-status?daoId=uniswap",
		"daos":                        "/v2/daos",
		"daos_first_page":             "/v2/daos?limit=1",
		"daos_filtered":               "/v2/daos?hasVoteData=true&hasForumData=true&coverageStatus=complete&limit=100",
		"daos_without_any":            "/v2/daos?hasVoteData=true&coverageStatus=partial",
		"dao":                         "/v2/daos/uniswap",
		"proposal":                    "/v2/proposals/" + string(countedKey),
		"proposal_with_little_known":  "/v2/proposals/" + string(uncountedKey),
		"vote_summary":                "/v2/proposals/" + string(countedKey) + "/votes/summary",
		"vote_summary_not_ready":      "/v2/proposals/" + string(uncountedKey) + "/votes/summary",
		"evidence":                    "/v2/proposals/" + string(countedKey) + "/evidence",
		"evidence_with_little_known":  "/v2/proposals/" + string(uncountedKey) + "/evidence",
		"forum_topic":                 "/v2/forum-topics/" + string(talkKey),
		"error_no_such_topic":         "/v2/forum-topics/" + string(unknownTopicKey),
		"error_malformed_topic_key":   "/v2/forum-topics/" + string(countedKey),
		"events":                      "/v2/events?from=2026-01-01&to=2026-02-01",
		"signals":                     "/v2/signals?from=2026-01-01&to=2026-02-01",
		"error_no_such_path":          "/v2/brief",
		"error_almost_a_path":         "/v2/dao/uniswap",
		"error_no_such_dao":           "/v2/daos/nobody",
		"error_no_such_dao_status":    "/v2/meta/data-status?daoId=nobody",
		"error_no_such_proposal":      "/v2/proposals/" + string(unknownKey),
		"error_malformed_key":         "/v2/proposals/0x8b8f",
		"error_several_parameters":    "/v2/daos?hasVoteData=yes&coverageStatus=most&limit=101&cursor=&hasForumData=true&hasForumData=false&includeVotes=1",
		"error_a_cursor_made_up":      "/v2/daos?cursor=abc",
		"error_parameter_of_no_route": "/v2/daos/uniswap?includeLive=true",
	}
}

func TestAnswersMatchGoldenFiles(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, path := range goldens() {
		t.Run(name, func(t *testing.T) {
			got := n.ask(http.MethodGet, path, http.Header{"X-Request-Id": {"golden"}})
			var text bytes.Buffer
			if err := json.Indent(&text, []byte(got.body), "", "  "); err != nil {
				t.Errorf("%s: %v in %s", path, err, got.body)
				return
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return
			}
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		})
	}
}

func TestEveryGoldenFileIsUsed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(goldens()) {
		t.Errorf("got %d files, want %d", len(files), len(goldens()))
	}
}

func TestHEADIsGETWithoutTheBody(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, path := range goldens() {
		t.Run(name, func(t *testing.T) {
			id := http.Header{"X-Request-Id": {"same"}}
			get, head := n.ask(http.MethodGet, path, id), n.ask(http.MethodHead, path, id)
			if head.status != get.status || head.body != "" {
				t.Errorf("HEAD %s: got %d with %d bytes, want %d with none", path, head.status, len(head.body), get.status)
			}
			if got, want := head.header.Get("Content-Length"), strconv.Itoa(len(get.body)); got != want {
				t.Errorf("HEAD %s: got a length of %s, want %s (%s)", path, got, want, name)
			}
			for _, differs := range []string{"Date", "Server-Timing", "Cache-Status"} {
				get.header.Del(differs)
				head.header.Del(differs)
			}
			if diff := cmp.Diff(get.header, head.header); diff != "" {
				t.Errorf("HEAD %s (-GET +HEAD):\n%s", path, diff)
			}
		})
	}
}

func TestGoldenFilesMatchTheOpenAPIDocument(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	contract := openapitest.New(t, []byte(n.get("/openapi/agent-v2.json").body))
	for name, path := range goldens() {
		for _, route := range routes.All() {
			if !matches(route.Path, path) {
				continue
			}
			got := n.get(path)
			if err := contract.Check(openapi.PathTemplate(route.Path), got.status, got.header, []byte(got.body)); err != nil {
				t.Errorf("%s: %v", filepath.Join("testdata", name), err)
			}
			break
		}
	}
}

// matches says whether a request asks for a route.
func matches(route, request string) bool {
	path, _, _ := strings.Cut(request, "?")
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, ":") })
}
