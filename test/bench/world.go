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

// manyPerMinute is a rate that no load here reaches.
const manyPerMinute = 1_000_000_000

// usualNiceness is that of the worker and the warehouse: they run beside the node
// that serves, as they do where each has a share of the machine of its own.
const usualNiceness = 10

// World is what rows run in: the programs beside the benchmark, and the data they
// serve. Parts are started when a row first asks for them, and shared by all rows
// after it; what a row starts for itself ends with the row.
type World struct {
	// Pnyx is the path of the program under test.
	Pnyx string
	// Dir keeps generated data between runs.
	Dir   string
	Quick bool
	// Niceness is that of the worker and the warehouse.
	Niceness int
	// LoadCores are those of the load generator, ServeCores those of all that serve.
	LoadCores, ServeCores []int
	// AllCores are those of programs that nobody waits for.
	AllCores []int
	Log      io.Writer

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
	// coldURLs are the deep pages that walks have found.
	coldURLs []string
	// saturations are the most requests a second, by row.
	saturations map[string]float64
	// ballots counts what was imported one by one.
	ballots int
}

// newWorld divides the cores: the first is the generator's, the next one serves.
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

// Run runs a program to its end and returns what it printed.
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

// Undo ends something with the row that is running, or with the benchmark.
func (w *World) Undo(undo func() error) { w.undo = append(w.undo, undo) }

// endRow ends what the row has started.
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

// Close ends everything.
func (w *World) Close() error { return w.end(0) }

// Start launches a program that ends with the row, and waits until check succeeds.
func (w *World) Start(ctx context.Context, p Program, check func() error) error {
	process, err := w.launch(p)
	if err != nil {
		return err
	}
	w.Undo(process.stop)
	return process.until(ctx, check)
}

// shared starts a program that outlives the row: it ends before whatever was
// shared earlier.
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
// connection. It may use all cores, but gives way to what serves.
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

// engineAt is the engine over a folder.
func (w *World) engineAt(dir string) Program {
	executable, _ := os.Executable() // it is running
	return Program{Name: "engine", Args: []string{executable, "engine", "-pnyx", w.Pnyx, "-data", dir}, Nice: w.Niceness}
}

// Published runs a worker until everything is published, and leaves it running.
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

// API returns the address of an API node on the serving core, once everything is
// published, and its process.
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
	// What is copied after a publication would be measured along with whatever comes first.
	largest, err := w.largestProposal(ctx)
	if err != nil {
		return "", nil, err
	}
	_, err = w.copied(ctx, largest)
	return w.apiBase, w.api, err
}

// common are the settings of every program under test: those of production, but that
// no rate is ever reached, and that a moment in which something else has the machine
// is no error.
func (w *World) common() []string {
	return []string{
		"PNYX_INTERNAL_TOKEN=" + w.secret, "PNYX_FREE_RATE=" + strconv.Itoa(manyPerMinute),
		"PNYX_LOG_LEVEL=warn", "PNYX_CACHE_TIMEOUT=2s", "PNYX_QUERY_TIMEOUT=5m", "PNYX_DATA=" + filepath.Join(w.Dir, "unused"),
	}
}

// warehouseEnv points a program at the warehouse that is running.
func (w *World) warehouseEnv() []string {
	instance, err := engine.Find(w.data.Warehouse)
	if err != nil {
		return nil // the program says what is wrong then
	}
	return append(w.common(), "CLICKHOUSE_URL="+instance.URL(warehouse.DefaultDatabase))
}

// Token returns a partner token that opens everything, with limits that are never
// reached but have to be kept.
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

// paid are the headers of a request with the token.
func (w *World) paid() http.Header {
	return http.Header{access.HeaderToken: {w.token}}
}

// internal are the headers of a request that is neither limited nor metered.
func (w *World) internal() http.Header {
	return http.Header{access.HeaderInternal: {w.secret}}
}

// get reads an answer.
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
