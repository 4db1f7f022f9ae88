package drills

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/test/facilitator"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

// readyTimeout bounds the time until a new deployment has published everything.
const readyTimeout = 60 * time.Second

// deploymentOptions says what a deployment is made of: by default one worker and one API node.
type deploymentOptions struct {
	workers, apis int
	// environ are further settings of every pnyx.
	environ []string
	// disk bounds the file system of the warehouse, in bytes; 0 sets no bound.
	disk int
	// sentinels makes Redis a pair watched by Sentinels, cluster a Cluster of six nodes, without links.
	sentinels, cluster bool
	// shards makes the warehouse a cluster of two.
	shards bool
	// front puts nginx before the API nodes.
	front bool
	// program is the pnyx that runs; empty for the one under test.
	program string
}

// deployment is what a drill breaks: a Redis, an engine, a facilitator, workers and API nodes.
type deployment struct {
	tb      testing.TB
	dataset *dataset
	// dir is the folder of the deployment, data the warehouse's.
	dir, data string
	redis     *redisServer
	// engine is the warehouse's, unless shards are.
	engine *engine.Engine
	shards []*env.EngineShard
	ledger *facilitator.Ledger
	// The links between them.
	apiToRedis, workerToRedis, workerToEngine, apiToFacilitator *link
	sentinels                                                   *env.RedisSentinelServers
	cluster                                                     *env.RedisClusterServers
	// environ are the settings that every pnyx shares.
	environ       []string
	workers, apis []*node
	// front is the address of the load balancer before the API nodes, if there is one.
	front   string
	poll    *poll
	load    *load
	imports int
	// caught is the worker that was paused, remark the text of a drill for the report.
	caught *node
	remark string
	// recovers bounds a recovery, if not by recoveryTimeout.
	recovers time.Duration
	// program is the pnyx that commands and new processes run.
	program atomic.Pointer[string]
}

type node struct {
	*env.Process

	tb          testing.TB
	role        string
	environ     []string
	base, admin string
}

// newDeployment starts what pnyx depends on; open starts pnyx.
func newDeployment(tb testing.TB, w *dataset, o deploymentOptions) *deployment {
	tb.Helper()
	dir := tb.TempDir()
	s := &deployment{tb: tb, dataset: w, dir: dir, data: filepath.Join(dir, "warehouse"), ledger: facilitator.NewLedger(tb)}
	program := o.program
	if program == "" {
		program = env.Binary(tb)
	}
	s.program.Store(&program)
	if o.disk > 0 {
		mount(tb, s.data, o.disk)
	}
	if _, err := os.Stat(w.data); err == nil {
		env.MustDo(tb, os.CopyFS(s.data, os.DirFS(w.data)))
	}
	s.redis = &redisServer{RedisServer: env.Redis(tb), tb: tb}
	s.startEngine(o)
	s.connect()
	s.environ = append(s.settings(), o.environ...)
	if o.shards {
		s.environ = append(s.environ, "CLICKHOUSE_CLUSTER="+engine.ClusterName)
	}
	if o.sentinels {
		s.sentinels = env.RedisSentinels(tb)
		s.environ = append(s.environ, "REDIS_URL="+s.sentinels.URL)
	}
	if o.cluster {
		s.cluster = env.ReplicatedRedisCluster(tb)
		s.environ = append(s.environ, "REDIS_URL="+s.cluster.URL)
	}
	for range max(1, o.workers) {
		s.workers = append(s.workers, s.node("worker", "CLICKHOUSE_URL="+s.warehouseURL(s.workerToEngine.addr())))
	}
	for range max(1, o.apis) {
		s.apis = append(s.apis, s.node("api", "X402_FACILITATOR_URL=http://"+s.apiToFacilitator.addr()))
	}
	if o.front {
		s.startFront()
	}
	return s
}

func (s *deployment) connect() {
	s.tb.Helper()
	s.apiToRedis, s.workerToRedis = newLink(s.tb, s.redis.Addr), newLink(s.tb, s.redis.Addr)
	s.workerToEngine = newLink(s.tb, s.instance().TCPAddr)
	s.apiToFacilitator = newLink(s.tb, strings.TrimPrefix(s.ledger.Facilitator, "http://"))
}

// settings are the settings of every pnyx, without links in between.
func (s *deployment) settings() []string {
	return append(s.ledger.Environ(),
		"PNYX_DATA="+filepath.Join(s.dir, "pnyx"), "PNYX_FREE_RATE=0", "PNYX_PUBLISH_INTERVAL=250ms",
		"REDIS_URL=redis://"+s.redis.Addr, "CLICKHOUSE_URL="+s.warehouseURL(s.instance().TCPAddr),
		"X402_VERIFY_TIMEOUT=1s", "X402_SETTLE_TIMEOUT=2s")
}

// startEngine runs the warehouse's engine, which is supervised as in the product.
func (s *deployment) startEngine(o deploymentOptions) {
	s.tb.Helper()
	ctx := context.Background()
	if o.shards {
		both := env.EngineShards(s.tb)
		s.shards = both[:]
		return
	}
	program, err := engine.Locate(engine.LocateOptions{Library: os.Getenv("PNYX_ENGINE_LIB")})
	if err != nil {
		s.tb.Skip(err)
	}
	running := env.Must(engine.Start(ctx, engine.Options{DataDir: s.data, Program: program, Executable: env.Binary(s.tb)}))(s.tb)
	s.engine = running
	s.tb.Cleanup(s.stopEngine)
}

// instance is how the warehouse's engine is reached, the first shard's if there are some.
func (s *deployment) instance() engine.Instance {
	if s.shards != nil {
		return s.shards[0].Instance()
	}
	return s.engine.Instance()
}

func (s *deployment) stopEngine() {
	if s.engine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	env.WantError(s.tb, nil, s.engine.Stop(ctx))
	s.engine = nil
}

func (s *deployment) warehouseURL(addr string) string {
	instance := s.instance()
	instance.TCPAddr = addr
	return instance.URL(warehouse.DefaultDatabase)
}

func (s *deployment) node(role string, environ ...string) *node {
	s.tb.Helper()
	listen, admin := env.FreeAddress(s.tb), env.FreeAddress(s.tb)
	environ = append(append([]string{"PNYX_LISTEN=" + listen, "PNYX_ADMIN_LISTEN=" + admin}, s.environ...), environ...)
	if network := map[string]*link{"api": s.apiToRedis, "worker": s.workerToRedis, "follow": s.workerToRedis}[role]; s.sentinels == nil && s.cluster == nil {
		environ = append(environ, "REDIS_URL=redis://"+network.addr())
	}
	return &node{
		Process: env.NewProcess(s.tb, *s.program.Load(), environ, role), tb: s.tb, role: role, environ: environ,
		base: "http://" + listen, admin: "http://" + admin,
	}
}

// open starts every pnyx and waits until all are ready.
func (s *deployment) open() {
	s.tb.Helper()
	for _, n := range append(s.workers, s.apis...) {
		n.Start()
	}
	for _, n := range append(s.workers, s.apis...) {
		n.ready()
	}
}

// close ends everything, in the order of an orderly shutdown.
func (s *deployment) close() {
	s.tb.Helper()
	for _, n := range append(s.apis, s.workers...) {
		n.Stop()
	}
	s.redis.Kill()
	s.stopEngine()
}

func (n *node) ready() {
	n.tb.Helper()
	env.Within(n.tb, readyTimeout, func() error {
		env.MustDo(n.tb, n.Err())
		return n.isReady()
	})
}

func (n *node) isReady() error {
	r := ask(n.admin+"/readyz", nil)
	if r.transport != nil || r.status != http.StatusOK {
		return fmt.Errorf("readyz of %s: %d %w %s", n.role, r.status, r.transport, r.text)
	}
	return nil
}

// metric reads one number off the node's metrics.
func (n *node) metric(name string) (float64, error) {
	r := ask(n.admin+"/metrics", nil)
	if r.transport != nil {
		return 0, r.transport
	}
	for line := range strings.Lines(r.text) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, errors.New("there is no metric " + name)
}

func (s *deployment) leader() (leading *node) {
	s.tb.Helper()
	env.Within(s.tb, 30*time.Second, func() error {
		leading = nil
		for _, w := range s.workers {
			if leads, err := w.metric("pnyx_worker_leading"); err == nil && leads == 1 {
				leading = w
			}
		}
		if leading == nil {
			return errors.New("no worker leads")
		}
		return nil
	})
	return leading
}

func (s *deployment) importFiles(path string) {
	s.tb.Helper()
	s.must("import", path)
}

// must runs a command of the deployment's pnyx that must succeed.
func (s *deployment) must(args ...string) (output string) {
	s.tb.Helper()
	output = env.Must(s.try(args...))(s.tb)
	return output
}

// try runs a command of the deployment's pnyx that may fail, and returns what it printed.
func (s *deployment) try(args ...string) (string, error) {
	out, status := env.RunProgram(s.tb, *s.program.Load(), s.environ, args...)
	if status != 0 {
		return "", fmt.Errorf("pnyx %v: status %d: %s", args, status, out)
	}
	return out, nil
}

func (s *deployment) importLines(lines ...string) {
	s.tb.Helper()
	for _, line := range lines {
		env.MustDo(s.tb, s.importLine(line))
	}
}

// importLine imports one line, and may be called by any one goroutine.
func (s *deployment) importLine(line string) error {
	path := s.line(line)
	_, err := s.try("import", path)
	return errors.Join(err, os.Remove(path))
}

// line writes a line of a source file.
func (s *deployment) line(text string) (path string) {
	s.imports++
	path = filepath.Join(s.dir, fmt.Sprintf("line-%d.ndjson", s.imports))
	env.WantError(s.tb, nil, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

// awaitFeed waits until events and signals follow from everything that is published.
func (s *deployment) awaitFeed() {
	s.tb.Helper()
	conn := env.ConnectWarehouse(s.tb, s.warehouseURL(s.instance().TCPAddr))
	env.Within(s.tb, readyTimeout, func() error {
		if pending := env.Column(s.tb, conn, env.PendingFeedItems)[0]; pending != "0" {
			return fmt.Errorf("%s items are not in the feed yet", pending)
		}
		return nil
	})
}
