package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/redis/go-redis/v9"

	"pnyx/access"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

// manyPerMinute is a rate limit above every load of the benchmark.
const manyPerMinute = 1_000_000_000

// usualNiceness is the niceness of the worker and the warehouse. They yield to the node
// that serves, as if each had its own share of the machine.
const usualNiceness = 10

// World runs the programs that rows need, and holds the data they serve. Shared
// programs start when a row first needs them and serve all later rows. Programs that
// a row starts with Start stop with the row.
type World struct {
	// Pnyx is the path of the program under test.
	Pnyx string
	// Dir is the folder that keeps generated data between runs.
	Dir string
	// Quick selects the quick run: less data and fewer rounds.
	Quick bool
	// Niceness is the niceness of the worker and the warehouse.
	Niceness int
	// LoadCores are the cores of the load generator.
	LoadCores []int
	// ServeCores are the cores of all programs that serve requests, Redis included.
	ServeCores []int
	// AllCores are the cores of programs that no request waits for.
	AllCores []int
	// Log receives progress messages.
	Log io.Writer

	undo    []func() error
	mark    int
	data    *Dataset
	engine  *Process
	redis   *Process
	worker  *Process
	api     *Process
	apiBase string
	url     string
	store   redis.UniversalClient
	conn    driver.Conn
	token   string
	secret  string
	// coldURLs are the deep pages that walks found.
	coldURLs []string
	// saturations are the saturation rates in requests per second, by row.
	saturations map[string]float64
	// ballots is the number of ballots imported one by one.
	ballots int
}

// newWorld assigns the first core to the load generator and the second to the servers.
func newWorld(ctx context.Context, pnyx, dir string, quick bool, log io.Writer) (*World, error) {
	w := &World{Pnyx: pnyx, Dir: dir, Quick: quick, Log: log, Niceness: usualNiceness, saturations: map[string]float64{}, secret: "internal-token-of-the-benchmark-" + rand.Text()}
	all, err := ownCores()
	if err != nil {
		return nil, err
	}
	if len(all) < 2 {
		return nil, errors.New("a benchmark needs two cores: one for the load and one that serves")
	}
	w.LoadCores, w.ServeCores, w.AllCores = all[:1], all[1:2], all
	runtime.GOMAXPROCS(len(w.LoadCores))
	return w, errors.Join(pinSelf(ctx, w.LoadCores), os.MkdirAll(dir, 0o750))
}

// Run runs a program until it exits and returns its output.
func (w *World) Run(ctx context.Context, p Program) (string, error) {
	if len(p.Cores) == 0 {
		p.Cores = w.AllCores
	}
	return run(ctx, p)
}

func (w *World) launch(p Program) (*Process, error) {
	if len(p.Cores) == 0 {
		p.Cores = w.AllCores
	}
	return launch(p)
}

// Undo registers a function that runs when the current row ends, or else when the
// benchmark ends.
func (w *World) Undo(undo func() error) { w.undo = append(w.undo, undo) }

// endRow stops everything that the row started.
func (w *World) endRow() error { return w.end(w.mark) }

func (w *World) end(down int) error {
	var problems []error
	for len(w.undo) > down {
		last := len(w.undo) - 1
		undo := w.undo[last]
		w.undo = w.undo[:last]
		problems = append(problems, undo())
	}
	return errors.Join(problems...)
}

// Close stops all programs.
func (w *World) Close() error { return w.end(0) }

// Start starts a program that stops with the row, and waits until check succeeds.
func (w *World) Start(ctx context.Context, p Program, check func() error) error {
	process, err := w.launch(p)
	if err != nil {
		return err
	}
	w.Undo(process.stop)
	return process.until(ctx, check)
}

// shared starts a program that outlives the row. Shared programs stop in reverse order
// of their start.
func (w *World) shared(ctx context.Context, p Program, check func() error) (*Process, error) {
	process, err := w.launch(p)
	if err != nil {
		return nil, err
	}
	own := append([]func() error{process.stop}, w.undo[w.mark:]...)
	w.undo = append(w.undo[:w.mark:w.mark], own...)
	w.mark++
	return process, process.until(ctx, check)
}

// Redis returns the URL of a redis-server on the serving core.
func (w *World) Redis(ctx context.Context) (string, error) {
	if w.redis != nil {
		return w.url, nil
	}
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	host, port := "127.0.0.1", address[len("127.0.0.1:"):]
	w.url = "redis://" + address
	w.store = redis.NewClient(&redis.Options{Addr: address})
	w.redis, err = w.shared(ctx, Program{
		Name: "redis-server", Cores: w.ServeCores,
		Args: []string{"redis-server", "--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", w.Dir},
	}, func() error { return w.store.Ping(ctx).Err() })
	return w.url, err
}

// Warehouse returns the URL of an embedded ClickHouse that holds the data set, and a
// connection. It may use all cores, at a lower priority than the servers.
func (w *World) Warehouse(ctx context.Context) (string, driver.Conn, error) {
	data, err := w.Data(ctx)
	if err != nil {
		return "", nil, err
	}
	if w.engine == nil {
		w.engine, err = w.shared(ctx, w.engineAt(data.Warehouse), func() error { _, err := engine.Find(data.Warehouse); return err })
		if err != nil {
			return "", nil, err
		}
	}
	instance, err := engine.Find(data.Warehouse)
	if err != nil {
		return "", nil, err
	}
	url := instance.URL(warehouse.DefaultDatabase)
	if w.conn == nil {
		if w.conn, err = connect(url); err != nil {
			return "", nil, err
		}
	}
	return url, w.conn, nil
}

// engineAt returns the program that runs the engine on a data folder.
func (w *World) engineAt(dir string) Program {
	executable, _ := os.Executable() // it is running
	return Program{Name: "engine", Args: []string{executable, "engine", "-pnyx", w.Pnyx, "-data", dir}, Nice: w.Niceness}
}

// Published starts a worker and waits until everything is published. The worker keeps
// running.
func (w *World) Published(ctx context.Context) error {
	if w.worker != nil {
		return nil
	}
	url, _, err := w.Warehouse(ctx)
	if err != nil {
		return err
	}
	redisURL, err := w.Redis(ctx)
	if err != nil {
		return err
	}
	admin, err := freeAddress()
	if err != nil {
		return err
	}
	w.worker, err = w.shared(ctx, Program{
		Name: "pnyx worker", Args: []string{w.Pnyx, "worker"}, Nice: w.Niceness,
		Env: append(w.common(), "CLICKHOUSE_URL="+url, "REDIS_URL="+redisURL, "PNYX_ADMIN_LISTEN="+admin),
	}, func() error { return answersOK("http://" + admin + "/readyz") })
	return err
}

// API returns the base URL and the process of an API node on the serving core. It waits
// until everything is published.
func (w *World) API(ctx context.Context) (string, *Process, error) {
	if w.api != nil {
		return w.apiBase, w.api, nil
	}
	if err := w.Published(ctx); err != nil {
		return "", nil, err
	}
	listen, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	admin, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	fmt.Fprintln(w.Log, "publishing everything")
	w.apiBase = "http://" + listen
	w.api, err = w.shared(ctx, Program{
		Name: "pnyx api", Args: []string{w.Pnyx, "api"}, Cores: w.ServeCores,
		Env: append(w.common(), "REDIS_URL="+w.url, "PNYX_LISTEN="+listen, "PNYX_ADMIN_LISTEN="+admin),
	}, func() error { return answersOK("http://" + admin + "/readyz") })
	if err != nil {
		return "", nil, err
	}
	// Wait for the sorted copies: building them would disturb the first measurement.
	largest, err := w.largestProposal(ctx)
	if err != nil {
		return "", nil, err
	}
	_, err = w.copied(ctx, largest)
	return w.apiBase, w.api, err
}

// common returns the settings of every program under test. They are those of
// production, except that no rate limit is reached and that timeouts tolerate a busy
// machine.
func (w *World) common() []string {
	return []string{
		"PNYX_INTERNAL_TOKEN=" + w.secret, "PNYX_FREE_RATE=" + strconv.Itoa(manyPerMinute),
		"PNYX_LOG_LEVEL=warn", "PNYX_CACHE_TIMEOUT=2s", "PNYX_QUERY_TIMEOUT=5m", "PNYX_DATA=" + filepath.Join(w.Dir, "unused"),
	}
}

// warehouseEnv returns the settings that connect a program to the running warehouse.
func (w *World) warehouseEnv() []string {
	instance, err := engine.Find(w.data.Warehouse)
	if err != nil {
		return nil // the program says what is wrong then
	}
	return append(w.common(), "CLICKHOUSE_URL="+instance.URL(warehouse.DefaultDatabase))
}

// Token returns a partner token with every scope. Its limits are enforced, but are too
// high to be reached.
func (w *World) Token(ctx context.Context) (string, error) {
	if w.token != "" {
		return w.token, nil
	}
	url, _, err := w.Warehouse(ctx)
	if err != nil {
		return "", err
	}
	redisURL, err := w.Redis(ctx)
	if err != nil {
		return "", err
	}
	many := strconv.Itoa(manyPerMinute)
	text, err := w.Run(ctx, Program{
		Args: []string{
			w.Pnyx, "token", "issue", "--json", "--name", "bench", "--plan", "custom", "--scopes", "v2:paid:*",
			"--limits", "4000000000," + many + "," + many + "," + many + "," + many,
		},
		Env: append(w.common(), "CLICKHOUSE_URL="+url, "REDIS_URL="+redisURL),
	})
	if err != nil {
		return "", err
	}
	var issued struct{ Token string }
	if err := json.Unmarshal([]byte(text), &issued); err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	w.token = issued.Token
	return w.token, w.awaitToken(ctx)
}

// awaitToken waits until the node knows the token.
func (w *World) awaitToken(ctx context.Context) error {
	base, process, err := w.API(ctx)
	if err != nil {
		return err
	}
	return process.until(ctx, func() error {
		status, body, err := get(ctx, base+"/v2/meta/usage", w.paid())
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("usage: %d %s", status, body)
		}
		return err
	})
}

// paid returns the headers of a request with the token.
func (w *World) paid() http.Header {
	return http.Header{access.HeaderToken: {w.token}}
}

// internal returns the headers of a request that is neither limited nor metered.
func (w *World) internal() http.Header {
	return http.Header{access.HeaderInternal: {w.secret}}
}

// get sends a GET request and reads the response.
func get(ctx context.Context, url string, header http.Header) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}
