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

// These tests run the service over each kind of Redis, and do to it under load what
// happens to it in production. They take minutes, so `make test-cluster` asks for them.

// requireCluster skips a test that was not asked for.
func requireCluster(t *testing.T) {
	t.Helper()
	if os.Getenv("PNYX_TEST_CLUSTER") == "" {
		t.Skip("PNYX_TEST_CLUSTER is not set: make test-cluster asks for the long tests")
	}
	env.RequireEngine(t)
}

// truth is what a single server answers about a data set.
type truth struct {
	dir   string
	paths []string
	right []json.RawMessage
}

// patient leaves a loaded machine its time: what is asked is whether answers are
// right, and how they are refused.
func patient(redisURL string) []string {
	return []string{"REDIS_URL=" + redisURL, "PNYX_LEASE_TTL=2s", "PNYX_CACHE_TIMEOUT=1s"}
}

// truthOf imports a data set and asks for a few answers of every kind.
func truthOf(t *testing.T) truth {
	t.Helper()
	k := truth{dir: t.TempDir()}
	if out, status := env.Run(t, []string{"PNYX_DATA=" + k.dir}, "import", env.DataSet(t, 20_000)); status != 0 {
		t.Fatalf("import: status %d: %s", status, out)
	}
	i := start(t, k.dir, patient(env.Redis(t).URL), "serve").ready()
	i.AwaitPublished()
	k.paths = append(i.mixedPaths(), "/v2/meta/data-status", "/v2/proposals", "/v2/proposals?lifecycleStatus=active&sort=endingSoon",
		"/v2/forum-topics", "/v2/events?from=2026-04-01&to=2026-05-01", "/v2/signals?from=2026-04-01&to=2026-05-01")
	k.learn(t, i)
	i.Stop()
	return k
}

// learn takes down the right answers.
func (k *truth) learn(t *testing.T, i *instance) {
	t.Helper()
	k.right = make([]json.RawMessage, len(k.paths))
	for n, path := range k.paths {
		env.Until(t, func() error {
			_, err := i.Read(path, &k.right[n])
			return err
		})
	}
}

// holds waits until everything is answered, and as by the single server.
func (k truth) holds(t *testing.T, i *instance) {
	t.Helper()
	for n, path := range k.paths {
		env.Until(t, func() error {
			if ready, problem := i.compareAnswer(path, k.right[n]); !ready || problem != "" {
				return fmt.Errorf("GET %s: answered %t: %s", path, ready, problem)
			}
			return nil
		})
	}
}

// watch is what became of requests while something happened.
type watch struct {
	mu                sync.Mutex
	answered, refused int
	wrong             map[string]string
	// first and last are the times of refusals.
	first, last time.Time
}

// ask asks for one thing, and takes down what became of it.
func (w *watch) ask(i *instance, path string, right json.RawMessage) {
	ready, problem := i.compareAnswer(path, right)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case problem != "":
		w.wrong[path] = problem
	case ready:
		w.answered++
	default:
		w.refused++
		w.last = time.Now()
		if w.first.IsZero() {
			w.first = w.last
		}
	}
}

// during asks for everything again and again while something happens. Every answer
// is right, or an honest refusal.
func (k truth) during(t *testing.T, i *instance, what string, happen func()) {
	t.Helper()
	w := watch{wrong: map[string]string{}}
	var asking sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() {
		close(stop)
		asking.Wait()
	})
	defer end()
	for first := range 4 {
		asking.Go(func() {
			for n := first; ; n = (n + 1) % len(k.paths) {
				select {
				case <-stop:
					return
				default:
					w.ask(i, k.paths[n], k.right[n])
				}
			}
		})
	}
	began := time.Now()
	happen()
	happened := time.Now()
	k.holds(t, i)
	held := time.Now()
	end()
	t.Logf("%s, in %.1f s: %d right answers, %d honest refusals within %.1f s, %d wrong; all there again after %.1f s", what,
		happened.Sub(began).Seconds(), w.answered, w.refused, w.last.Sub(w.first).Seconds(), len(w.wrong), held.Sub(happened).Seconds())
	reportWrong(t, w.wrong)
	if w.answered == 0 {
		t.Errorf("%s: nothing was answered", what)
	}
}

func TestOverAClusterSlotsMoveAndPrimariesDie(t *testing.T) {
	requireCluster(t)
	k := truthOf(t)
	cluster := env.ReplicatedRedisCluster(t)
	i := start(t, k.dir, patient(cluster.URL), "serve").ready()
	i.AwaitPublished()
	k.holds(t, i)
	k.during(t, i, "4000 slots move there and back", func() { cluster.MoveSlots(4000) })
	for round := range 2 {
		k.during(t, i, "a primary is killed", func() {
			cluster.KillPrimary().Restart()
			cluster.AwaitReplicas()
		})
		i.saysAgain("publishing everything again: Redis has failed over", round+1)
	}
}

func TestOverSentinelsAPrimaryDies(t *testing.T) {
	requireCluster(t)
	k := truthOf(t)
	sentinels := env.RedisSentinels(t)
	i := start(t, k.dir, patient(sentinels.URL), "serve").ready()
	i.AwaitPublished()
	k.holds(t, i)
	for round := range 2 {
		k.during(t, i, "the primary is killed", func() {
			former := sentinels.Primary()
			former.Kill()
			sentinels.AwaitFailover(former)
			former.Restart()
			sentinels.AwaitReplica()
		})
		i.saysAgain("publishing everything again: Redis has failed over", round+1)
	}
}

// saysAgain waits until the instance has logged a text so many times.
func (i *instance) saysAgain(text string, times int) {
	i.TB.Helper()
	env.Until(i.TB, func() error {
		if said := strings.Count(i.Output.String(), text); said < times {
			return fmt.Errorf("%q is logged %d times, want %d", text, said, times)
		}
		return nil
	})
}

func TestOverAFullRedisColdPagesGoFirst(t *testing.T) {
	requireCluster(t)
	k := truthOf(t)
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
	lasting := func() int {
		t.Helper()
		keys, count := client.Scan(t.Context(), 0, "*", 1000).Iterator(), 0
		for keys.Next(t.Context()) {
			if ttl, err := client.TTL(t.Context(), keys.Val()).Result(); err == nil && ttl < 0 {
				count++
			}
		}
		return count
	}
	before := lasting()
	k.during(t, i, "memory for a few cold pages", func() {
		limit("volatile-lru", used+used/20)
		for _, voter := range i.BusiestVoters(400) {
			_, _ = i.answerOrRefusal("/v2/voters/" + voter + "/votes?limit=100") // what it says is looked at beside
		}
	})
	if after := lasting(); after < before {
		t.Errorf("got %d keys that must stay, want the %d of before", after, before)
	}
	if evicted := infoNumber(t, server.URL, "evicted_keys"); evicted == 0 {
		t.Error("nothing was evicted: the limit was not reached")
	}
	// Below what must stay, nothing can be written any more: what is there is served.
	limit("noeviction", used/2)
	for n, path := range k.paths {
		if _, problem := i.compareAnswer(path, k.right[n]); problem != "" {
			t.Errorf("GET %s of a full Redis: %s", path, problem)
		}
	}
	k.during(t, i, "memory again", func() { limit("noeviction", 0) })
}

// infoNumber reads a number that a server tells of itself.
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
