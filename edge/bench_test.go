package edge_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"pnyx/access"
	"pnyx/test/env"
)

// benchRounds is how often each server is measured, in turns, so that other load on the
// machine affects all of them alike.
const benchRounds = 7

// TestHitThroughputAgainstStaticFile compares cache hits at the edge with nginx serving
// the same bytes as a file. It asserts only that every request succeeds, and logs the
// throughput.
func TestHitThroughputAgainstStaticFile(t *testing.T) {
	if os.Getenv("PNYX_TEST_EDGE_BENCH") == "" {
		t.Skip("is `make bench-edge`")
	}
	env.Nginx(t)
	n := startNodeOn(t, env.Redis(t).URL, nil)
	p := n.issue(1_000_000_000, "v2:paid:*")
	paid := n.read(p, pathOf(0))
	file := serveFile(t, paid.body)
	header := access.HeaderToken + ": " + p.token
	measures := []struct {
		name, url string
		headers   []string
		rates     []float64
	}{
		{name: "file", url: file + "/body"},
		{name: "free hit", url: n.base + "/v2/daos/a"},
		{name: "paid hit", url: n.base + pathOf(0), headers: []string{header}},
		{name: "paid, no edge", url: n.direct.base + pathOf(0), headers: []string{header}},
	}
	for range benchRounds {
		for i := range measures {
			m := &measures[i]
			m.rates = append(m.rates, wrk(t, m.url, m.headers...))
		}
	}
	for _, m := range measures {
		var ratios []float64
		for i, rate := range m.rates {
			ratios = append(ratios, rate/measures[0].rates[i])
		}
		slices.Sort(m.rates)
		slices.Sort(ratios)
		last := benchRounds - 1
		t.Logf("%-14s %8.0f/s (%.0f to %.0f), %.2f of a file (%.2f to %.2f)",
			m.name, m.rates[last/2], m.rates[0], m.rates[last], ratios[last/2], ratios[0], ratios[last])
	}
}

// wrk measures a URL and returns requests per second.
func wrk(t *testing.T, url string, headers ...string) float64 {
	t.Helper()
	args := []string{"-t1", "-c32", "-d2s"}
	for _, header := range headers {
		args = append(args, "-H", header)
	}
	out, err := exec.Command(env.Program(t, "wrk", ""), append(args, url)...).CombinedOutput()
	found := regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`).FindSubmatch(out)
	if err != nil || found == nil || regexp.MustCompile(`Non-2xx`).Match(out) {
		t.Fatalf("wrk %s: %v %s", url, err, out)
	}
	rate, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return rate
}

// serveFile runs an nginx that serves text as a file, with as many workers as an edge.
func serveFile(t *testing.T, text string) (base string) {
	t.Helper()
	dir, address := t.TempDir(), env.FreeAddress(t)
	if err := os.WriteFile(filepath.Join(dir, "body"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	configuration := fmt.Sprintf(`daemon off; user root; worker_processes auto; pid %[1]s/pid; error_log stderr;
events { worker_connections 4096; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000; open_file_cache max=100; default_type application/json;
server { listen %[2]s; root %[1]s; } }`, dir, address)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	env.NewProcess(t, env.Nginx(t), nil, "-p", dir, "-e", "stderr", "-c", path).Start()
	base = "http://" + address
	e := &nginx{TB: t, base: base, client: http.DefaultClient}
	env.Until(e, func() error {
		got, err := e.try(http.MethodGet, "/body")
		if err == nil && got.body != text {
			err = fmt.Errorf("got %d %s", got.status, got.body)
		}
		return err
	})
	return base
}
