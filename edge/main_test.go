package edge_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"strings"
	"testing"
	"time"

	"pnyx/edge"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// soon bounds every wait in these tests. A test that passes never waits that long.
const soon = 2 * time.Minute

// internalToken is the internal token of the edge under test.
const internalToken = apinode.InternalToken

// nginx is an edge under test.
type nginx struct {
	testing.TB

	base   string
	admin  string
	client *http.Client
	// requests are the lines about requests.
	requests *env.Buffer
}

// with returns the edge for a subtest, whose failures are its own.
func (e *nginx) with(tb testing.TB) *nginx {
	tb.Helper()
	same := *e
	same.TB = tb
	return &same
}

// untilProcessing waits until the edge has read the headers of so many requests and not answered them yet.
func (e *nginx) untilProcessing(requests int) {
	e.Helper()
	env.Until(e, func() error {
		_, body, err := env.Fetch(e.admin + "/status")
		if err != nil {
			return err
		}
		var reading, processing int
		_, counts, _ := strings.Cut(string(body), "Reading: ")
		if _, err := fmt.Sscanf(counts, "%d Writing: %d", &reading, &processing); err != nil {
			return fmt.Errorf("status of the edge: %w: %s", err, body)
		}
		if processing--; processing != requests { // one is this request itself
			return fmt.Errorf("the edge processes %d requests, want %d", processing, requests)
		}
		return nil
	})
}

// startEdge runs an edge in front of an origin, with changed options, until the end of the test.
func startEdge(tb testing.TB, origin string, changes ...func(*edge.Options)) *nginx {
	tb.Helper()
	options := newOptions(tb, origin)
	for _, change := range changes {
		change(&options)
	}
	return startEdgeWith(tb, options)
}

// newOptions returns the options of an edge in front of an origin. It waits longer for
// payments than nodes under test work on them.
func newOptions(tb testing.TB, origin string) edge.Options {
	tb.Helper()
	options := edge.Options{
		Listen: env.FreeAddress(tb), AdminListen: env.FreeAddress(tb),
		Origin: origin, Dir: tb.TempDir(), CacheBytes: 64 << 20,
		Token: internalToken, AnswerTimeout: soon, PaymentTimeout: time.Hour, Modules: env.NginxModules,
	}
	if me, err := user.Current(); err == nil && os.Geteuid() == 0 {
		options.User = me.Username
	}
	return options
}

// startEdgeWith runs an edge with the given options until the end of the test.
func startEdgeWith(tb testing.TB, options edge.Options) *nginx {
	tb.Helper()
	env.Nginx(tb)
	ctx, stop := context.WithCancel(context.Background())
	var log env.Buffer
	ended := make(chan error, 1)
	e := &nginx{TB: tb, base: "http://" + options.Listen, admin: "http://" + options.AdminListen, requests: new(env.Buffer)}
	go func() { ended <- edge.Run(ctx, options, e.requests, &log) }()
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256}
	e.client = &http.Client{Transport: transport, Timeout: soon}
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			tb.Errorf("the end of nginx: %v", err)
		}
		if log := log.String(); log != "" && tb.Failed() {
			tb.Logf("nginx says:\n%s", log)
		}
	})
	env.Until(e, func() error {
		response, err := e.client.Get(e.admin + "/healthz")
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
	if strings.Contains(log.String(), "setrlimit") {
		tb.Errorf("nginx complains of limits: %s", log.String())
	}
	return e
}

// answer is a response with its whole body.
type answer struct {
	status int
	header http.Header
	body   string
}

// get requests a path; headers alternate names and values.
func (e *nginx) get(path string, headers ...string) answer {
	e.Helper()
	return env.Must(e.try(http.MethodGet, path, headers...))(e)
}

// try sends a request and returns its error, so that any goroutine may call it.
func (e *nginx) try(method, path string, headers ...string) (answer, error) {
	return e.send(method, path, http.NoBody, headers...)
}

func (e *nginx) send(method, path string, content io.Reader, headers ...string) (answer, error) {
	request, err := http.NewRequest(method, e.base+path, content)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := e.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	reader := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" && method == http.MethodGet && response.StatusCode == http.StatusOK {
		if reader, err = gzip.NewReader(response.Body); err != nil {
			return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: string(body)}, nil
}
