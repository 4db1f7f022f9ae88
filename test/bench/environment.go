package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

// unreachableRate is a rate limit above every load of the benchmark.
const unreachableRate = 1_000_000_000

// defaultNiceness makes the worker and the warehouse yield to the node that serves.
const defaultNiceness = 10

// Environment runs the programs that rows need, and holds the data they serve. Shared programs serve all later
// rows. Programs that a row starts with Start stop with the row.
type Environment struct {
	// Pnyx is the path of the program under test, and Dir the folder that keeps generated data between runs.
	Pnyx, Dir string
	Quick     bool
	Niceness  int
	// ServeCores include Redis, and AllCores are of programs that no request waits for.
	LoadCores, ServeCores, AllCores []int
	Log                             io.Writer

	undo                       []func() error
	mark                       int
	data                       *Dataset
	engine, redis, worker, api *Process
	// workerAdmin is the base URL of the worker's admin address, apiBase of the node, and url the one of Redis.
	workerAdmin, apiBase, url string
	store                     redis.UniversalClient
	conn                      driver.Conn
	token, secret             string
	// coldURLs are the pages of coldPages, once they were asked for.
	coldURLs []string
	// saturations are the saturation rates in requests per second, by row.
	saturations map[string]float64
	ballots     int
}

// newEnvironment assigns the first core to the load generator and the second to the servers.
func newEnvironment(ctx context.Context, pnyx, dir string, quick bool, log io.Writer) *Environment {
	e := &Environment{Pnyx: pnyx, Dir: dir, Quick: quick, Log: log, Niceness: defaultNiceness, saturations: map[string]float64{}, secret: "internal-token-of-the-benchmark-" + rand.Text()}
	all := must(ownCores())
	if len(all) < 2 {
		mustDo(errors.New("a benchmark needs two cores: one for the load and one that serves"))
	}
	e.LoadCores, e.ServeCores, e.AllCores = all[:1], all[1:2], all
	runtime.GOMAXPROCS(len(e.LoadCores))
	pinSelf(ctx, e.LoadCores)
	mustDo(os.MkdirAll(dir, 0o750))
	return e
}

// Run runs a program until it exits and returns its output.
func (e *Environment) Run(ctx context.Context, p Program) (string, error) {
	if len(p.Cores) == 0 {
		p.Cores = e.AllCores
	}
	return run(ctx, p)
}

func (e *Environment) launch(p Program) *Process {
	if len(p.Cores) == 0 {
		p.Cores = e.AllCores
	}
	return launch(p)
}

// Undo registers a function that runs when the current row, or else the benchmark, ends.
func (e *Environment) Undo(undo func() error) { e.undo = append(e.undo, undo) }

// endRow stops everything that the row started.
func (e *Environment) endRow() error { return e.end(e.mark) }

func (e *Environment) end(down int) error {
	var problems []error
	for len(e.undo) > down {
		last := len(e.undo) - 1
		undo := e.undo[last]
		e.undo = e.undo[:last]
		problems = append(problems, undo())
	}
	return errors.Join(problems...)
}

// Close stops all programs.
func (e *Environment) Close() error { return e.end(0) }

// Start starts a program that stops with the row, and waits until check succeeds.
func (e *Environment) Start(ctx context.Context, p Program, check func() error) *Process {
	process := e.launch(p)
	e.Undo(process.stop)
	mustDo(process.until(ctx, check))
	return process
}

// listen serves a handler until the end of the row, and returns its address.
func (e *Environment) listen(handler http.Handler) string {
	server := httptest.NewServer(handler)
	e.Undo(func() error { server.CloseClientConnections(); server.Close(); return nil })
	return server.URL
}

// shared starts a program that outlives the row. They stop in reverse order of their start.
func (e *Environment) shared(ctx context.Context, p Program, check func() error) *Process {
	process := e.launch(p)
	own := append([]func() error{process.stop}, e.undo[e.mark:]...)
	e.undo = append(e.undo[:e.mark:e.mark], own...)
	e.mark++
	mustDo(process.until(ctx, check))
	return process
}

// Redis returns the URL of a redis-server on the serving core.
func (e *Environment) Redis(ctx context.Context) string {
	if e.redis != nil {
		return e.url
	}
	address := freeAddress()
	e.url = "redis://" + address
	e.store = redis.NewClient(&redis.Options{Addr: address})
	server := redisAt(address, "--dir", e.Dir)
	server.Cores = e.ServeCores
	e.redis = e.shared(ctx, server, func() error { return e.store.Ping(ctx).Err() })
	return e.url
}

// Warehouse returns the URL of an embedded ClickHouse that holds the data set, and a connection.
func (e *Environment) Warehouse(ctx context.Context) (string, driver.Conn) {
	data := e.Data(ctx)
	if e.engine == nil {
		e.engine = e.shared(ctx, e.engineAt(data.Warehouse), func() error { _, err := engine.Find(data.Warehouse); return err })
	}
	instance := must(engine.Find(data.Warehouse))
	url := instance.URL(warehouse.DefaultDatabase)
	if e.conn == nil {
		e.conn = connect(url)
	}
	return url, e.conn
}

// engineAt returns the program that runs the engine on a data folder.
func (e *Environment) engineAt(dir string) Program {
	executable, _ := os.Executable() // it is running
	return Program{Name: "engine", Args: []string{executable, "engine", "-pnyx", e.Pnyx, "-data", dir}, Nice: e.Niceness}
}

// Published starts a worker, which keeps running, and waits until everything is published.
func (e *Environment) Published(ctx context.Context) {
	if e.worker != nil {
		return
	}
	url, _ := e.Warehouse(ctx)
	redisURL, admin := e.Redis(ctx), freeAddress()
	e.workerAdmin = "http://" + admin
	e.worker = e.shared(ctx, Program{
		Name: "pnyx worker", Args: []string{e.Pnyx, "worker"}, Nice: e.Niceness,
		Env: append(e.common(), "CLICKHOUSE_URL="+url, "REDIS_URL="+redisURL, "PNYX_ADMIN_LISTEN="+admin),
	}, func() error { return answersOK(ctx, e.workerAdmin+"/readyz") })
}

// settled waits until the warehouse has run no longer statement for half a second.
func (e *Environment) settled(ctx context.Context) {
	last := time.Now()
	mustDo(e.worker.until(ctx, func() error {
		var running uint64
		err := e.conn.QueryRow(ctx, "SELECT count() FROM system.processes WHERE user = currentUser() AND elapsed > 0.1").Scan(&running)
		if running > 0 {
			last = time.Now()
		}
		if err == nil && time.Since(last) < time.Second/2 {
			err = fmt.Errorf("%d statements are running", running)
		}
		return err
	}))
}

// API returns the base URL and the process of an API node, once everything is published.
func (e *Environment) API(ctx context.Context) (string, *Process) {
	if e.api != nil {
		return e.apiBase, e.api
	}
	e.Published(ctx)
	listen, admin := freeAddresses()
	fmt.Fprintln(e.Log, "publishing everything")
	e.apiBase = "http://" + listen
	e.api = e.shared(ctx, e.apiAt(listen, admin), func() error { return answersOK(ctx, "http://"+admin+"/readyz") })
	// Wait for the sorted copies, and for what the start has begun: both would disturb the first measurements.
	copied(ctx, e, e.largestProposal(ctx))
	awaitQuiet(e)
	return e.apiBase, e.api
}

// apiAt returns the program that runs an API node at two addresses, on the serving core.
func (e *Environment) apiAt(listen, admin string) Program {
	return Program{
		Name: "pnyx api", Args: []string{e.Pnyx, "api"}, Cores: e.ServeCores,
		Env: append(e.common(), "REDIS_URL="+e.url, "PNYX_LISTEN="+listen, "PNYX_ADMIN_LISTEN="+admin),
	}
}

// common returns the settings of every program under test: as in production, but that no rate limit is reached and
// timeouts tolerate a busy machine.
func (e *Environment) common() []string {
	return []string{
		"PNYX_INTERNAL_TOKEN=" + e.secret, "PNYX_FREE_RATE=" + strconv.Itoa(unreachableRate),
		"PNYX_LOG_LEVEL=warn", "PNYX_CACHE_TIMEOUT=2s", "PNYX_QUERY_TIMEOUT=5m", "PNYX_DATA=" + filepath.Join(e.Dir, "unused"),
	}
}

// warehouseEnv returns the settings that connect a program to the running warehouse and Redis.
func (e *Environment) warehouseEnv() []string {
	instance, err := engine.Find(e.data.Warehouse)
	if err != nil {
		return nil // the program says what is wrong then
	}
	return append(e.common(), "CLICKHOUSE_URL="+instance.URL(warehouse.DefaultDatabase), "REDIS_URL="+e.url)
}

// Token returns a partner token with every scope, whose limits are too high to be reached.
func (e *Environment) Token(ctx context.Context) string {
	if e.token != "" {
		return e.token
	}
	url, _ := e.Warehouse(ctx)
	redisURL := e.Redis(ctx)
	many := strconv.Itoa(unreachableRate)
	text := must(e.Run(ctx, Program{
		Args: []string{
			e.Pnyx, "token", "issue", "--json", "--name", "bench", "--plan", "custom", "--scopes", "v2:paid:*",
			"--limits", "4000000000," + many + "," + many + "," + many + "," + many,
		},
		Env: append(e.common(), "CLICKHOUSE_URL="+url, "REDIS_URL="+redisURL),
	}))
	var issued struct{ Token string }
	mustDo(json.Unmarshal([]byte(text), &issued))
	e.token = issued.Token
	base, node := e.API(ctx)
	mustDo(node.until(ctx, func() error { // it does not know the token at once
		_, err := fetch(ctx, base+"/v2/meta/usage", e.paid())
		return err
	}))
	return e.token
}

func (e *Environment) paid() http.Header {
	return http.Header{access.HeaderToken: {e.token}}
}

// internal returns the headers of a request that is neither limited nor metered.
func (e *Environment) internal() http.Header {
	return http.Header{access.HeaderInternal: {e.secret}}
}

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

// fetch is get for a request that has to be answered with 200.
func fetch(ctx context.Context, url string, header http.Header) ([]byte, error) {
	status, body, err := get(ctx, url, header)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %.300s", url, status, body)
	}
	return body, err
}

func read(ctx context.Context, url string, header http.Header, into any) error {
	body, err := fetch(ctx, url, header)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s answers %.300s: %w", url, body, err)
	}
	return nil
}
