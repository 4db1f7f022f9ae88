package drills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
)

// changesTap passes requests on, counts those for changes, and logs all.
type changesTap struct {
	*httptest.Server

	log env.Buffer

	mu                      sync.Mutex
	requests, rows, expired int
}

func newChangesTap(t *testing.T, base string) *changesTap {
	t.Helper()
	to := env.Must(url.Parse(base))(t)
	tap := &changesTap{}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: tap.note,
	}
	tap.Server = httptest.NewServer(proxy)
	t.Cleanup(func() {
		tap.Close()
		if !t.Failed() {
			return
		}
		path := filepath.Join(os.TempDir(), fmt.Sprintf("mirror-%d.log", time.Now().Unix()))
		t.Logf("the answers to the mirror are in %s (%v)", path, os.WriteFile(path, []byte(tap.log.String()), 0o600))
	})
	return tap
}

// note logs an answer, and counts what changes it has.
func (tap *changesTap) note(r *http.Response) error {
	text, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	fmt.Fprintf(&tap.log, "%s %s %d %s %s\n", time.Now().Format("15:04:05.000"), r.Request.URL.RequestURI(), r.StatusCode,
		r.Header.Get("Cache-Status"), text)
	if r.Request.URL.Path != "/v2/changes" {
		return err
	}
	var page struct{ Data []json.RawMessage }
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.requests++
	switch r.StatusCode {
	case http.StatusOK:
		err = errors.Join(err, json.Unmarshal(text, &page))
		tap.rows += len(page.Data)
	case http.StatusGone:
		tap.expired++
	}
	return err
}

func (tap *changesTap) counts() (requests, rows, expired int) {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	return tap.requests, tap.rows, tap.expired
}

// String is the run in Markdown.
func (r mirrorResult) String() string {
	var out strings.Builder
	sum := 0
	for _, times := range r.faults {
		sum += times
	}
	fmt.Fprintf(&out, `<!-- Written by make test-mirror: change the program, not this file. -->
# A mirror while everything breaks

The example follows the changes while data is imported and something breaks every few seconds. Every %d faults the copy has to equal a crawl of
each node. `+"`SEED=…`"+` repeats a run.

| of | seed | minutes | data sets | ballots cast one by one | faults | requests for changes | rows | begun again (410) | comparisons | files, all equal |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| %s | %d | %.1f | %d | %d | %d | %d | %d | %d | %d | %d |

| fault | times |
|---|---:|
`, mirrorBatches, time.Now().UTC().Format(time.DateOnly), r.seed, r.lasted.Minutes(), r.sets, r.ballots, sum, r.requests, r.rows, r.expired,
		r.comparisons, r.files)
	for _, name := range slices.Sorted(maps.Keys(r.faults)) {
		fmt.Fprintf(&out, "| %s | %d |\n", name, r.faults[name])
	}
	return out.String()
}

// shownOfMirror is how many bytes of a file [mirrorDifferences] shows.
const shownOfMirror = 3000

// mirrorFiles reads the files of docs/examples/mirror in a folder, by path. One may disappear meanwhile.
func mirrorFiles(folder string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (entry.IsDir() || entry.Name() == "cursor" || entry.Name() == "unfinished") {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		files[path[len(folder):]] = string(text)
		return err
	})
	return files, err
}

// mirrorDifferences reports all files that differ.
func mirrorDifferences(got, want map[string]string) error {
	var problems []error
	for path, text := range want {
		if got[path] != text {
			problems = append(problems, fmt.Errorf("%s:\n got %.*s\nwant %.*s", path, shownOfMirror, got[path], shownOfMirror, text))
		}
	}
	for path, text := range got {
		if _, is := want[path]; !is {
			problems = append(problems, fmt.Errorf("%s: got %.*s, want none", path, shownOfMirror, text))
		}
	}
	return errors.Join(problems...)
}
