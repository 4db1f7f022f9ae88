package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/api/doc/client"
	"pnyx/test/env"
)

// dayOne is the example that keeps a copy of a DAO, in one language, as it runs.
type dayOne struct {
	*instance

	language client.Language
	copied   string
	// requests counts its requests, and refused the 429 among them.
	requests, refused atomic.Int64
}

// startDayOne runs the example on the DAO a.eth every second, which is more often than the plan allows.
func (i *instance) startDayOne(t *testing.T, language client.Language, token string) *dayOne {
	t.Helper()
	p := newPrograms(t, language)
	d := &dayOne{instance: i, language: language, copied: filepath.Join(t.TempDir(), "copy")}
	node, err := url.Parse(i.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(node) },
		ModifyResponse: func(r *http.Response) error {
			d.requests.Add(1)
			if r.StatusCode == http.StatusTooManyRequests {
				d.refused.Add(1)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	program := append(p.prepare(t, "dayone", exampleOf(t, language, "dayone")), server.URL, "a.eth", d.copied, "1")
	env.NewProcess(t, program[0], []string{"PNYX_TOKEN=" + token}, program[1:]...).Start()
	return d
}

// held is what the copy has, by kind and key.
func (d *dayOne) held() (map[string]any, error) {
	var lines []string
	if d.language == client.Python {
		const read = "import sqlite3, sys\nfor (row,) in sqlite3.connect(sys.argv[1]).execute('SELECT data FROM rows'): print(row)"
		out, err := exec.CommandContext(d.TB.Context(), "python3", "-c", read, d.copied).Output()
		if err != nil {
			return nil, fmt.Errorf("read the copy: %w", err)
		}
		lines = strings.Split(strings.TrimSpace(string(out)), "\n")
	} else if err := filepath.WalkDir(d.copied, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Dir(path) == d.copied {
			return err
		}
		text, err := os.ReadFile(path)
		lines = append(lines, string(text))
		return err
	}); err != nil {
		return nil, err
	}
	held := map[string]any{}
	for _, line := range lines {
		var row struct {
			Kind, Key string
			Ballot    *struct{ VoterIdentity string }
		}
		var whole any
		if err := errors.Join(json.Unmarshal([]byte(line), &row), json.Unmarshal([]byte(line), &whole)); err != nil {
			return nil, fmt.Errorf("a row of the copy: %w", err)
		}
		key := row.Kind + " " + row.Key
		if row.Ballot != nil {
			key += " " + row.Ballot.VoterIdentity
		}
		held[key] = whole
	}
	return held, nil
}

// wantWalked waits until the copy equals the walk of all lists.
func (d *dayOne) wantWalked() {
	d.TB.Helper()
	env.Until(d.TB, func() error {
		walked, err := walkDAO(d.instance, "a.eth")
		if err != nil {
			return err
		}
		want := map[string]any{}
		for key, line := range walked {
			var row any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				return err
			}
			want[key] = row
		}
		got, err := d.held()
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 70 {
			return fmt.Errorf("%s: the copy differs from the walk of %d rows: %.2000s", d.language, len(want), diff)
		}
		return nil
	})
}

// TestDayOne lets the programs keep copies of a DAO while it changes and the service restarts.
func TestDayOne(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, []string{"REDIS_URL=" + env.Redis(t).URL}, "serve").ready()
	i.ImportLines(goodSpace)
	i.ImportLines(proposalLine("a.eth", "one"), proposalLine("a.eth", "two"))
	i.ImportLines(append(castBallots("one", 0, 40), castBallots("two", 0, 30)...)...)
	i.AwaitPublished()
	var running []*dayOne
	for _, language := range client.Languages() {
		if _, err := os.Stat(clientFolder + "/node_modules/.bin/tsc"); err != nil && language == client.TypeScript {
			t.Log("no node_modules: make npm")
			continue
		}
		token := issueToken(t, i.Environ, "--name", string(language), "--plan", "developer", "--scopes", "v2:paid:plus").Token
		i.awaitToken(token)
		running = append(running, i.startDayOne(t, language, token))
	}
	for _, change := range []func(){
		func() {},
		func() { i.ImportLines(castBallots("two", 30, 31)...) },
		func() { i.Stop(); i.Start(); i.ready() },
		func() { i.ImportLines(proposalLine("a.eth", "three")) },
	} {
		change()
		i.AwaitPublished()
		for _, program := range running {
			program.wantWalked()
		}
	}
	for _, program := range running {
		if program.refused.Load() > 0 {
			t.Errorf("%s: %d of %d requests were refused", program.language, program.refused.Load(), program.requests.Load())
		}
		t.Logf("%s: %d requests, none refused", program.language, program.requests.Load())
	}
}
