package drills

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/test/env"
)

// reading is what a probe reads at once.
type reading struct {
	// life names the process that was read: it changes with a restart.
	life   string
	values map[string]float64
}

// probe reads one part of a deployment.
type probe struct {
	name string
	read func() (reading, error)
}

// gauge says how the values of a name may grow, and how they are shown.
type gauge struct {
	// name matches the end of the name of a value.
	name, unit string
	scale      float64
	bound      bound
	// least takes the smallest value of a minute, as garbage comes and goes.
	least bool
}

// gauges belong to all probes: the first that matches counts. Bounds of data are per thing and ballot.
func gauges() []gauge {
	const mib, kib = 1 << 20, 1 << 10
	return []gauge{
		{"ClickHouse resident", "MiB", mib, bound{0.3, 300 * mib, 0, 0}, false},
		{" resident", "MiB", mib, bound{0.15, 12 * mib, 2 * kib, 50}, false},
		{" heap after GC", "MiB", mib, bound{0.15, 5 * mib, 2 * kib, 50}, true},
		{" goroutines", "", 1, bound{0.1, 15, 0, 0}, true},
		{" descriptors", "", 1, bound{0.1, 15, 0, 0}, true},
		{" connections", "", 1, bound{0.2, 15, 0, 0}, true},
		{"Redis used", "MiB", mib, bound{0.2, 3 * mib, 16 * kib, 200}, false},
		{"the stream of changes", "rows", 1, bound{0.1, 100, 6, 2}, true},
		{"Redis keys: ", "", 1, bound{0.25, 150, 3, 0.02}, false},
		{"ClickHouse disk", "MiB", mib, bound{0.3, 20 * mib, 16 * kib, 400}, true},
		{"ClickHouse parts", "", 1, bound{0.3, 60, 0, 0}, true},
		{"ClickHouse inactive parts", "", 1, bound{0.5, 2000, 0, 0}, true}, // the engine keeps them for minutes
		// The engine keeps what was stated in the last hours, however much that is.
		{"ClickHouse log: minutes", "", 1, bound{0, 90, 0, 0}, true},
		{"ClickHouse log", "MiB", mib, bound{0.3, 1 << 30, 0, 0}, true},
		{"ClickHouse queries", "", 1, bound{0, 4, 0, 0}, true},
		{"seconds of the oldest message", "s", 1, bound{0, 30, 0, 0}, true},
		{" p50", "ms", 1e-3, bound{1, 0.5, 0, 0}, false},
		{" p99", "ms", 1e-3, bound{2, 2, 0, 0}, false},
		{"errors outside of faults", "", 1, bound{0, 5, 0, 0}, false},
		{"", "", 1, bound{0.5, 20, 0, 0}, true},
	}
}

// gaugeOf returns the gauge of a value.
func gaugeOf(name string) gauge {
	for _, g := range gauges() {
		if strings.HasSuffix(name, g.name) || strings.HasSuffix(g.name, ": ") && strings.HasPrefix(name, g.name) {
			return g
		}
	}
	return gauge{}
}

// probes cover everything that runs.
func (s *soak) probes() []probe {
	all := []probe{{"Redis", s.readRedis}, {"ClickHouse", s.readWarehouse}, {"edge", s.readEdge}}
	for role, nodes := range map[string][]*node{"api": s.apis, "worker": s.workers, "follower": {s.follower}} {
		for i, n := range nodes {
			all = append(all, probe{fmt.Sprint(role, i), n.readProcess})
		}
	}
	return all
}

// processMetrics are the metrics of a process that are sampled, by what they are called here.
func processMetrics() map[string]string {
	return map[string]string{
		"process_resident_memory_bytes":       "resident",
		"go_memstats_heap_alloc_bytes":        "heap after GC",
		"go_goroutines":                       "goroutines",
		"process_open_fds":                    "descriptors",
		"pnyx_redis_connections":              "Redis connections",
		"pnyx_clickhouse_connections":         "ClickHouse connections",
		"pnyx_http_requests_in_flight":        "requests in flight",
		"pnyx_fill_queue_length":              "queue of pages",
		"pnyx_fill_waiters":                   "requests that wait for a page",
		"pnyx_usage_pending_counts":           "usage counts not written",
		"pnyx_publish_unsettled_daos":         "DAOs not settled",
		"pnyx_changes_waiting":                "requests that wait for changes",
		"pnyx_webhook_oldest_message_seconds": "seconds of the oldest message",
		// A process that was started again, and a worker that leads from now on, begins a life.
		"process_start_time_seconds": "",
		"pnyx_worker_leading":        "",
	}
}

// readProcess reads the metrics of a node.
func (n *node) readProcess() (reading, error) {
	r := ask(n.admin+"/metrics", nil)
	if r.transport != nil {
		return reading{}, r.transport
	}
	values, metrics := map[string]float64{}, processMetrics()
	life := ""
	for line := range strings.Lines(r.text) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, _, _ = strings.Cut(name, "{")
		called, sampled := metrics[name]
		value, err := strconv.ParseFloat(text[strings.LastIndexByte(text, ' ')+1:], 64)
		switch {
		case !sampled || err != nil:
		case called == "":
			life += text + " "
		default:
			values[called] += value
		}
	}
	if life == "" {
		return reading{}, errors.New("got no metrics")
	}
	return reading{life, values}, nil
}

// readEdge reads what nginx holds: the edge itself only starts it.
func (s *soak) readEdge() (reading, error) {
	values := map[string]float64{}
	pids := []int{s.edge.PID()}
	for i := 0; i < len(pids); i++ {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pids[i], pids[i]))
		if err != nil {
			return reading{}, err
		}
		for child := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				return reading{}, err
			}
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		bytes, err := env.ResidentMemory(pid)
		if err != nil {
			return reading{}, err
		}
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			return reading{}, err
		}
		values["resident"] += float64(bytes)
		values["descriptors"] += float64(len(open))
	}
	return reading{fmt.Sprint(pids), values}, nil
}

// ofCaller matches what a key has of a caller, whose kinds of keys are counted together.
var ofCaller = regexp.MustCompile(`\{limit:[^}]*\}`)

// kindOfKey is what a key of Redis is for: its first words.
func kindOfKey(key string) string {
	key = ofCaller.ReplaceAllString(strings.TrimPrefix(key, "rate:"), "limit")
	words := strings.Split(key, ":")
	if len(words) > 2 && words[0] == "pnyx" {
		words = words[2:]
	}
	return strings.Join(words[:min(2, len(words))], " ")
}

// readRedis reads what the primary holds.
func (s *soak) readRedis() (reading, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	values := map[string]float64{}
	info, err := s.client.Info(ctx, "memory", "clients").Result()
	if err != nil {
		return reading{}, err
	}
	for line := range strings.Lines(info) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		called, sampled := map[string]string{"used_memory": "used", "connected_clients": "connections"}[name]
		if !sampled {
			continue
		}
		if values[called], err = strconv.ParseFloat(text, 64); err != nil {
			return reading{}, err
		}
	}
	keys := s.client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		values["keys: "+kindOfKey(keys.Val())]++
	}
	if err := keys.Err(); err != nil {
		return reading{}, err
	}
	length, err := s.client.XLen(ctx, changesStream).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return reading{}, err
	}
	values["the stream of changes"] = float64(length)
	return reading{"", values}, nil
}

// readWarehouse reads what the engine holds, and how much of it is data that came.
func (s *soak) readWarehouse() (reading, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	values := map[string]float64{}
	rows, err := s.conn.Query(ctx, `
		SELECT 'disk' AS name, toFloat64(sum(bytes_on_disk)) AS value FROM system.parts WHERE active AND database = currentDatabase()
		UNION ALL SELECT 'log', toFloat64(sum(bytes_on_disk)) FROM system.parts WHERE active AND database = 'system'
		UNION ALL SELECT 'log: minutes', toFloat64(dateDiff('minute', min(min_time), now())) FROM system.parts
			WHERE active AND table = 'query_log' HAVING count() > 0
		UNION ALL SELECT 'parts', toFloat64(count()) FROM system.parts WHERE active
		UNION ALL SELECT 'inactive parts', toFloat64(count()) FROM system.parts WHERE NOT active
		UNION ALL SELECT 'queries', toFloat64(count()) FROM system.processes
		UNION ALL SELECT 'mutations', toFloat64(countIf(NOT is_done)) FROM system.mutations
		UNION ALL SELECT concat('rows: ', table), toFloat64(sum(rows)) FROM system.parts
			WHERE active AND database = currentDatabase() GROUP BY table`)
	if err != nil {
		return reading{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value float64
		if err := rows.Scan(&name, &value); err != nil {
			return reading{}, err
		}
		values[name] = value
	}
	if err := rows.Err(); err != nil {
		return reading{}, err
	}
	pid := s.engine.Instance().EnginePID
	bytes, err := env.ResidentMemory(pid)
	if err != nil {
		return reading{}, err
	}
	values["resident"] = float64(bytes)
	return reading{strconv.Itoa(pid), values}, nil
}

// added returns how many things and ballots a reading of the warehouse has.
func added(r reading) (things, ballots float64) {
	for _, table := range []string{"proposals", "topics", "feed_events", "feed_signals", "tokens", "payments", "webhook_deliveries"} {
		things += r.values["rows: "+table]
	}
	return things, r.values["rows: ballots"]
}

// patientTicker ticks until ctx ends, first at once.
func patientTicker(ctx context.Context, every time.Duration, do func()) {
	for {
		do()
		if !wait(ctx, every) {
			return
		}
	}
}
