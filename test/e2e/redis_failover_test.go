package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
)

// These tests run the service over each kind of Redis, and cause under load the faults of
// production. They take minutes; `make test-cluster` runs them.

// requireCluster skips a test unless PNYX_TEST_CLUSTER is set.
func requireCluster(t *testing.T) {
	t.Helper()
	if os.Getenv("PNYX_TEST_CLUSTER") == "" {
		t.Skip("PNYX_TEST_CLUSTER is not set: make test-cluster asks for the long tests")
	}
	env.RequireEngine(t)
}

// recordedAnswers are the answers about a data set while nothing disturbs the service.
type recordedAnswers struct {
	dir   string
	paths []string
	want  []json.RawMessage
}

// patient sets timeouts for a busy machine.
func patient(redisURL string) []string {
	return []string{"REDIS_URL=" + redisURL, "PNYX_LEASE_TTL=2s", "PNYX_CACHE_TIMEOUT=1s", "PNYX_REQUEST_TIMEOUT=5s"}
}

// recordSingleServer imports a data set and records a few answers of every kind from a
// service on a single Redis server.
func recordSingleServer(t *testing.T) recordedAnswers {
	t.Helper()
	k := recordedAnswers{dir: t.TempDir()}
	if out, status := env.Run(t, []string{"PNYX_DATA=" + k.dir}, "import", env.DataSet(t, 20_000)); status != 0 {
		t.Fatalf("import: status %d: %s", status, out)
	}
	i := start(t, k.dir, patient(env.Redis(t).URL), "serve").ready()
	i.AwaitPublished()
	k.paths = append(i.mixedPaths(), "/v2/meta/data-status", "/v2/proposals", "/v2/proposals?lifecycleStatus=active&sort=endingSoon",
		"/v2/forum-topics", "/v2/events?from=2026-04-01&to=2026-05-01", "/v2/signals?from=2026-04-01&to=2026-05-01")
	k.record(t, i)
	i.Stop()
	return k
}

// record reads the answers to all paths.
func (k *recordedAnswers) record(t *testing.T, i *instance) {
	t.Helper()
	k.want = make([]json.RawMessage, len(k.paths))
	for n, path := range k.paths {
		env.Until(t, func() error {
			_, err := i.Read(path, &k.want[n])
			return err
		})
	}
}

// holds waits until all answers equal the recorded ones.
func (k recordedAnswers) holds(t *testing.T, i *instance) {
	t.Helper()
	for n, path := range k.paths {
		env.Until(t, func() error {
			if ready, problem := i.compareAnswer(path, k.want[n]); !ready || problem != "" {
				return fmt.Errorf("GET %s: answered %t: %s", path, ready, problem)
			}
			return nil
		})
	}
}

// outcomes counts responses by outcome. It is safe for concurrent use.
type outcomes struct {
	mu                sync.Mutex
	answered, refused int
	wrong             map[string]string
	// first and last are the times of refusals.
	first, last time.Time
}

// ask requests a path and counts the outcome.
func (o *outcomes) ask(i *instance, path string, want json.RawMessage) {
	answered, difference := i.compareAnswer(path, want)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case difference != "":
		o.wrong[path] = difference
	case answered:
		o.answered++
	default:
		o.refused++
		o.last = time.Now()
		if o.first.IsZero() {
			o.first = o.last
		}
	}
}

// counts returns the numbers of right answers and of refusals so far.
func (o *outcomes) counts() (answered, refused int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answered, o.refused
}

// during requests all paths repeatedly while a fault is active, and until all are
// answered again. Each response must be the recorded answer or a 503.
func (k recordedAnswers) during(t *testing.T, i *instance, what string, happen func(o *outcomes)) {
	t.Helper()
	o := &outcomes{wrong: map[string]string{}}
	var asking sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() {
		close(stop)
		asking.Wait()
	})
	defer end()
	for first := range env.FillConcurrency {
		asking.Go(func() {
			for n := first; ; n = (n + 1) % len(k.paths) {
				select {
				case <-stop:
					return
				default:
					o.ask(i, k.paths[n], k.want[n])
				}
			}
		})
	}
	began := time.Now()
	happen(o)
	happened := time.Now()
	k.holds(t, i)
	held := time.Now()
	end()
	t.Logf("%s, in %.1f s: %d right answers, %d refusals within %.1f s, %d wrong answers; all answered again after %.1f s", what,
		happened.Sub(began).Seconds(), o.answered, o.refused, o.last.Sub(o.first).Seconds(), len(o.wrong), held.Sub(happened).Seconds())
	reportWrong(t, o.wrong)
	if o.answered == 0 {
		t.Errorf("%s: got no answer, want some", what)
	}
}

func TestOverClusterSlotsMoveAndPrimariesDie(t *testing.T) {
	requireCluster(t)
	k := recordSingleServer(t)
	cluster := env.ReplicatedRedisCluster(t)
	i := start(t, k.dir, patient(cluster.URL), "serve").ready()
	i.AwaitPublished()
	k.holds(t, i)
	k.during(t, i, "4000 slots move there and back", func(*outcomes) { cluster.MoveSlots(4000) })
	for round := range 2 {
		k.during(t, i, "a primary is killed", func(*outcomes) {
			cluster.KillPrimary().Restart()
			cluster.AwaitReplicas()
		})
		i.saysAgain("publishing everything again: Redis failed over", round+1)
	}
}

func TestOverSentinelsPrimaryDies(t *testing.T) {
	requireCluster(t)
	k := recordSingleServer(t)
	sentinels := env.RedisSentinels(t)
	i := start(t, k.dir, patient(sentinels.URL), "serve").ready()
	i.AwaitPublished()
	k.holds(t, i)
	for round := range 2 {
		k.during(t, i, "the primary is killed", func(*outcomes) {
			former := sentinels.Primary()
			former.Kill()
			sentinels.AwaitFailover(former)
			former.Restart()
			sentinels.AwaitReplica()
		})
		i.saysAgain("publishing everything again: Redis failed over", round+1)
	}
}

// saysAgain waits until the instance has logged a text a number of times.
func (i *instance) saysAgain(text string, times int) {
	i.TB.Helper()
	env.Until(i.TB, func() error {
		if said := strings.Count(i.Output.String(), text); said < times {
			return fmt.Errorf("%q is logged %d times, want %d", text, said, times)
		}
		return nil
	})
}

func TestOverFullRedisEvictsColdPagesFirst(t *testing.T) {
	requireCluster(t)
	k := recordSingleServer(t)
	server := env.Redis(t)
	client := env.RedisClient(t, server.URL)
	i := start(t, k.dir, patient(server.URL), "serve").ready()
	i.AwaitPublished()
	k.holds(t, i)
	used := infoNumber(t, server.URL, "used_memory")
	limit := func(policy string, bytes int) {
		t.Helper()
		if err := client.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(bytes)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	countPersistent := func() int {
		t.Helper()
		keys, count := client.Scan(t.Context(), 0, "*", 1000).Iterator(), 0
		for keys.Next(t.Context()) {
			if ttl, err := client.TTL(t.Context(), keys.Val()).Result(); err == nil && ttl < 0 {
				count++
			}
		}
		return count
	}
	before := countPersistent()
	k.during(t, i, "memory for a few cold pages", func(*outcomes) {
		limit("volatile-lru", used+used/20)
		for _, voter := range i.BusiestVoters(400) {
			_, _ = i.answerOrRefusal("/v2/voters/" + voter + "/votes?limit=100") // answers are checked separately
		}
	})
	if after := countPersistent(); after < before {
		t.Errorf("got %d keys that must stay, want the %d of before", after, before)
	}
	if evicted := infoNumber(t, server.URL, "evicted_keys"); evicted == 0 {
		t.Error("got no eviction, want some: the memory limit was not reached")
	}
	// When memory is smaller than the keys without expiry, writes fail and existing answers
	// are served.
	limit("noeviction", used/2)
	for n, path := range k.paths {
		if _, problem := i.compareAnswer(path, k.want[n]); problem != "" {
			t.Errorf("GET %s of a full Redis: %s", path, problem)
		}
	}
	k.during(t, i, "memory again", func(*outcomes) { limit("noeviction", 0) })
}

// infoNumber reads a number of the INFO of a server.
func infoNumber(t *testing.T, url, name string) (number int) {
	t.Helper()
	said, err := env.RedisClient(t, url).Info(t.Context(), "everything").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(said) {
		if text, is := strings.CutPrefix(line, name+":"); is {
			_, _ = fmt.Sscan(text, &number)
		}
	}
	return number
}
