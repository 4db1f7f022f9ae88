package drills

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pnyx/test/env"
)

// settleTimeout bounds the time until the API states what the upstream systems do.
const settleTimeout = 10 * time.Minute

// chainGateway is the place of the chain's first endpoint among the gateways.
const chainGateway = 1

// followed is a hub, a chain and a forum, two followers, a worker and an API node, each a process.
type followed struct {
	*deployment

	hub       *drilledHub
	chain     *drilledChain
	forum     *drilledForum
	gateways  []*gateway
	followers [2]*env.Pnyx
	worker    *env.Pnyx
	api       *env.Pnyx
	random    *rand.Rand
	// handOvers counts the faults after which another follower may ask an upstream.
	handOvers int
}

// TestFollow breaks followers, engine, Redis and upstreams while people vote. In the end the API is right.
func TestFollow(t *testing.T) {
	length := lasting(t, "PNYX_TEST_FOLLOW", "make follow-drill")
	f := newFollowed(t, rand.New(rand.NewPCG(newSeed(t), 0)))
	t.Logf("the past shows after %s", f.agree())
	f.logIdle(max(time.Minute, length/10))
	stop := f.change()
	faults := 0
	for end := time.Now().Add(length); time.Now().Before(end); faults++ {
		one := f.fault()
		t.Logf("%s", one.name)
		one.do()
		f.pause(4 * time.Second)
	}
	changes := stop()
	began := time.Now()
	f.forum.sweepNow(f)
	f.agree()
	t.Logf("%d faults, %d changes; everything shows after %s", faults, changes, time.Since(began).Round(time.Millisecond))
	f.eachAskedOnce()
	f.chain.countGaps(f)
	t.Log("every gap is counted")
	f.chain.standStill(f)
	f.agree()
}

func newFollowed(t *testing.T, random *rand.Rand) *followed {
	t.Helper()
	dir := t.TempDir()
	s := &deployment{tb: t, dataset: &dataset{}, dir: dir, data: filepath.Join(dir, "warehouse")}
	s.redis = &redisServer{RedisServer: env.Redis(t), tb: t}
	s.startEngine(deploymentOptions{})
	f := &followed{deployment: s, chain: newDrilledChain(), forum: newDrilledForum(), random: random}
	var daos string
	var err error
	if f.hub, daos, err = newDrilledHub(random); err != nil {
		t.Fatal(err)
	}
	f.gateways = []*gateway{
		newGateway(t, "the hub", f.hub), newGateway(t, "the chain's first endpoint", f.chain.endpoints[0]),
		newGateway(t, "the chain's second endpoint", f.chain.endpoints[1]), newGateway(t, "the forum", f.forum),
	}
	environ := []string{
		"REDIS_URL=" + s.redis.URL, "CLICKHOUSE_URL=" + s.warehouseURL(s.engine.Instance().TCPAddr),
		"PNYX_FREE_RATE=0", "PNYX_LEASE_TTL=5s", "PNYX_PUBLISH_INTERVAL=500ms", // as by default: idling is measured
	}
	start := func(role string) *env.Pnyx { return env.StartPnyx(t, filepath.Join(dir, role), environ, role) }
	f.worker, f.api = start("worker"), start("api")
	shared := environ
	for i := range f.followers {
		// By the contact, upstream systems tell the followers apart.
		file := filepath.Join(dir, fmt.Sprintf("sources%d.yaml", i))
		text := followedSources(fmt.Sprintf("follower%d@example.org", i), daos, f.gateways[0].url, f.gateways[1].url, f.gateways[2].url, f.gateways[3].url)
		env.WriteFile(t, file, text)
		environ = append([]string{"PNYX_SOURCES=" + file}, shared...)
		f.followers[i] = start("follow")
	}
	f.chain.goOn(t)
	return f
}

// followedSources is a sources file with a contact, DAOs, a hub, a chain with two endpoints, and a forum.
func followedSources(contact, daos, hub, chain, otherChain, forum string) string {
	return fmt.Sprintf(`contact: %s
snapshot: {url: %s/graphql, requestsPerMinute: 6000}
chains: {'eip155:7': {rpc: ['%s', '%s'], requestsPerMinute: 6000, pollInterval: 1s}}
forums: {%s: {url: %s, requestsPerMinute: 6000}}
daos:
%s- {id: reef, name: Reef, governors: ['%s']}
- {id: pier, name: Pier, forums: [%s]}
`, contact, hub, chain, otherChain, drilledForumHost, forum, daos, drilledSource, drilledForumHost)
}

func (f *followed) upstreams() []followedUpstream { return []followedUpstream{f.hub, f.chain, f.forum} }

// logIdle logs which share of a core each part uses while nothing happens.
func (f *followed) logIdle(length time.Duration) {
	f.tb.Helper()
	pids := []int{f.followers[0].PID(), f.followers[1].PID(), f.worker.PID(), f.engine.Instance().EnginePID}
	before := cpuTimes(f.tb, pids)
	timer := time.NewTimer(length)
	defer timer.Stop()
	<-timer.C
	after := cpuTimes(f.tb, pids)
	for i, name := range []string{"follower", "follower", "worker", "engine"} {
		f.tb.Logf("idle for %s, ten DAOs: the %s uses %.2f %% of a core", length, name,
			100*(after[i]-before[i]).Seconds()/length.Seconds())
	}
}

// cpuTimes returns the processor time that processes have used.
func cpuTimes(tb testing.TB, pids []int) (used []time.Duration) {
	tb.Helper()
	const tick = 10 * time.Millisecond // on Linux, whatever the kernel's own
	for _, pid := range pids {
		text := env.ReadFile(tb, fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		user, errUser := strconv.Atoi(fields[11])
		system, errSystem := strconv.Atoi(fields[12])
		env.MustDo(tb, errors.Join(errUser, errSystem))
		used = append(used, time.Duration(user+system)*tick)
	}
	return used
}

// change changes upstream systems until stop, which returns the number of changes.
func (f *followed) change() (stop func() int) {
	ended := make(chan struct{})
	var changes atomic.Int64
	var changing sync.WaitGroup
	for _, u := range f.upstreams() {
		random := rand.New(rand.NewPCG(f.random.Uint64(), 0))
		changing.Go(func() {
			next := time.NewTicker(u.every())
			defer next.Stop()
			for {
				select {
				case <-ended:
					return
				case <-next.C:
				}
				env.WantError(f.tb, nil, u.change(random))
				changes.Add(1)
			}
		})
	}
	return func() int {
		close(ended)
		changing.Wait()
		return int(changes.Load())
	}
}

// fault returns something that may go wrong. What it breaks, it repairs.
func (f *followed) fault() fault {
	one := f.followers[f.random.IntN(len(f.followers))]
	faults := []fault{
		{"a follower is killed", func() {
			f.handOvers++
			one.Kill()
			f.pause(3 * time.Second)
			one.Start()
		}},
		{"both followers are killed", func() {
			f.handOvers++
			f.killFollowers()
			for _, follower := range f.followers {
				follower.Start()
			}
		}},
		{"a follower hangs", func() {
			f.handOvers++
			one.Pause()
			f.pause(8 * time.Second)
			one.Resume()
		}},
		{"the engine is killed", func() {
			f.handOvers++
			env.Within(f.tb, settleTimeout, func() error { // the last kill may be a moment ago
				return syscall.Kill(f.engine.Instance().EnginePID, syscall.SIGKILL)
			})
		}},
		{"Redis is killed and comes back empty", func() {
			f.handOvers++
			f.redis.Restart()
		}},
	}
	var upstream []fault
	for _, u := range f.upstreams() {
		upstream = append(upstream, u.faults(f)...)
	}
	for _, g := range f.gateways {
		upstream = append(upstream, g.faults(f)...)
	}
	if f.random.IntN(2) == 0 {
		return faults[f.random.IntN(len(faults))]
	}
	return upstream[f.random.IntN(len(upstream))]
}

func (f *followed) killFollowers() {
	for _, follower := range f.followers {
		follower.Kill()
	}
}

// later ends the followers, lets the waits of a poller seem to be over, and starts them again.
func (f *followed) later(poller string) {
	f.tb.Helper()
	f.handOvers++
	f.killFollowers()
	env.Within(f.tb, settleTimeout, func() error { // the last fault may have killed the engine
		return f.followers[0].Warehouse().Exec(f.tb.Context(), `INSERT INTO follows
			SELECT * REPLACE (replaceRegexpAll(position, '"20[0-9]{2}-', '"2020-') AS position, version + 1 AS version)
			FROM follows FINAL WHERE upstream LIKE 'discourse:%' AND poller = '`+poller+`'`)
	})
	for _, follower := range f.followers {
		follower.Start()
	}
}

// eachAskedOnce fails the test if both followers asked an upstream at the same time: another asks next only after
// a fault that may end a lease, and twice at most, there and back.
func (f *followed) eachAskedOnce() {
	f.tb.Helper()
	for _, g := range f.gateways {
		requests, handOvers := g.counted()
		f.tb.Logf("%s: %d requests, %d times by another follower than before, in %d faults", g.name, requests, handOvers, f.handOvers)
		if handOvers > 1+2*f.handOvers {
			f.tb.Errorf("%s: got %d requests by another follower than the one before, want at most two after each of %d faults",
				g.name, handOvers, f.handOvers)
		}
	}
}

func (f *followed) pause(longest time.Duration) {
	timer := time.NewTimer(time.Duration(f.random.Int64N(int64(longest))))
	defer timer.Stop()
	<-timer.C
}

// agree waits until the API states what the upstream systems do, and returns how long that took.
func (f *followed) agree() time.Duration {
	f.tb.Helper()
	began := time.Now()
	env.Within(f.tb, settleTimeout, func() error {
		for _, u := range f.upstreams() {
			if err := u.differ(f); err != nil {
				return err
			}
		}
		return nil
	})
	return time.Since(began).Round(time.Millisecond)
}
