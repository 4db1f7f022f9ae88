package drills

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"pnyx/test/env"
	"pnyx/test/histories"
)

type historyFault struct {
	histories.Breakage

	// redis faults keep a process from Redis or empty it, rewinds faults bring an earlier state back.
	redis, rewinds, setsClock bool
	// breaks causes it, and returns its repair: nil if it repairs itself.
	breaks func(r *historyRun, random *rand.Rand) (mend func())
}

// historyKinds are the deployments of histories. A seed chooses one by its remainder.
func historyKinds() []historyKind {
	base := deploymentOptions{workers: 2, apis: 2, front: true}
	watched, sharded := base, base
	watched.sentinels, sharded.cluster = true, true
	everywhere := processFaults()
	return []historyKind{
		{name: "one Redis", options: base, faults: slices.Concat(redisFaults(), everywhere)},
		{name: "a pair of Redis with Sentinels", options: watched, faults: slices.Concat(sentinelFaults(), everywhere)},
		{name: "one Redis, and clocks that jump", options: base, faults: slices.Concat(clockFaults(), redisFaults(), everywhere)},
		{name: "a Redis Cluster of six", options: sharded, faults: slices.Concat(clusterFaults(), everywhere)},
		{name: "one Redis, and live sources", options: base, follows: true, faults: slices.Concat(sourceFaults(), redisFaults(), everywhere)},
	}
}

// breakage returns a fault that leaves Redis alone.
func breakage(name string, lasts time.Duration, breaks func(r *historyRun, random *rand.Rand) (mend func())) historyFault {
	return historyFault{Breakage: histories.Breakage{Name: name, Lasts: lasts}, breaks: breaks}
}

// between returns a fault that begins and ends with a call.
func between(name string, lasts time.Duration, calls func(r *historyRun) (breaks, mend func())) historyFault {
	return breakage(name, lasts, func(r *historyRun, _ *rand.Rand) func() {
		breaks, mend := calls(r)
		breaks()
		return mend
	})
}

// ofRedis marks faults that keep a process from Redis or empty it.
func ofRedis(faults ...historyFault) []historyFault {
	for i := range faults {
		faults[i].redis = true
	}
	return faults
}

// ofOne breaks one of several processes, whichever the seed chooses.
func ofOne(name string, lasts time.Duration, of func(*historyRun) []*node, breaks, mend func(*node)) historyFault {
	return breakage(name, lasts, func(r *historyRun, random *rand.Rand) func() {
		nodes := of(r)
		chosen := nodes[random.IntN(len(nodes))]
		breaks(chosen)
		return func() { mend(chosen) }
	})
}

func processFaults() []historyFault {
	apis, workers := func(r *historyRun) []*node { return r.apis }, func(r *historyRun) []*node { return r.workers }
	mortal := func(all func(r *historyRun) []*node) func(r *historyRun) []*node {
		return func(r *historyRun) []*node {
			if r.sparesFirst {
				return all(r)[1:]
			}
			return all(r)
		}
	}
	return []historyFault{
		ofOne("an API node is killed", 3*time.Second, mortal(apis), (*node).Kill, (*node).Start),
		ofOne("an API node hangs", 6*time.Second, apis, (*node).Pause, (*node).Resume),
		ofOne("a worker is killed", 6*time.Second, mortal(workers), (*node).Kill, (*node).Start),
		ofOne("a worker hangs", 14*time.Second, workers, (*node).Pause, (*node).Resume),
		breakage("the engine is killed", 0, func(r *historyRun, _ *rand.Rand) func() {
			r.signalEngine(syscall.SIGKILL)
			return nil
		}),
		breakage("the engine hangs", 8*time.Second, func(r *historyRun, _ *rand.Rand) func() {
			r.signalEngine(syscall.SIGSTOP)
			return func() { r.signalEngine(syscall.SIGCONT) }
		}),
		between("workers are cut off from the engine", 6*time.Second, func(r *historyRun) (breaks, mend func()) { return r.workerToEngine.close, r.workerToEngine.open }),
		between("the facilitator is away", 6*time.Second, func(r *historyRun) (breaks, mend func()) { return r.apiToFacilitator.close, r.apiToFacilitator.open }),
		breakage("the facilitator charges and does not say so", 8*time.Second, func(r *historyRun, _ *rand.Rand) func() {
			r.ledger.Behave("settle", func(_ http.ResponseWriter, request *http.Request, honest func() any) {
				honest()
				<-request.Context().Done()
			})
			return func() { r.ledger.Behave("settle", nil) }
		}),
	}
}

func redisFaults() []historyFault {
	return ofRedis(
		between("Redis is killed and comes back empty", 4*time.Second, func(r *historyRun) (breaks, mend func()) { return r.redis.Kill, r.redis.Restart }),
		breakage("Redis is flushed", 0, func(r *historyRun, _ *rand.Rand) func() { r.redis.do("FLUSHALL"); return nil }),
		between("Redis hangs", 6*time.Second, func(r *historyRun) (breaks, mend func()) { return r.redis.Pause, r.redis.Resume }),
		between("nodes are cut off from Redis", 5*time.Second, func(r *historyRun) (breaks, mend func()) { return r.apiToRedis.close, r.apiToRedis.open }),
		between("nodes hear nothing from Redis", 5*time.Second, func(r *historyRun) (breaks, mend func()) { return r.apiToRedis.swallow, r.apiToRedis.mend }),
		breakage("nodes hear late from Redis", 6*time.Second, func(r *historyRun, _ *rand.Rand) func() {
			r.apiToRedis.delay(400 * time.Millisecond)
			return r.apiToRedis.mend
		}),
		between("workers hear nothing from Redis", 12*time.Second, func(r *historyRun) (breaks, mend func()) { return r.workerToRedis.swallow, r.workerToRedis.mend }),
	)
}

// flushed empties whatever Redis there is.
func flushed(r *historyRun, _ *rand.Rand) func() {
	for _, setting := range r.environ {
		if address, is := strings.CutPrefix(setting, "REDIS_URL=redis+"); is {
			env.FlushRedis(r.tb, env.RedisClient(r.tb, "redis+"+address))
		}
	}
	return nil
}

func sentinelFaults() []historyFault {
	failover := func(fail func(*env.RedisServer) (mend func())) func(r *historyRun, _ *rand.Rand) func() {
		return func(r *historyRun, _ *rand.Rand) func() {
			former := r.sentinels.Primary()
			mend := fail(former)
			r.sentinels.AwaitFailover(former)
			return func() { mend(); r.sentinels.AwaitReplica() }
		}
	}
	faults := ofRedis(
		breakage("Redis is flushed", 0, flushed),
		breakage("the primary of Redis is killed", 4*time.Second, failover(func(former *env.RedisServer) func() {
			former.Kill()
			return former.Restart
		})),
		breakage("the primary of Redis hangs", 6*time.Second, failover(func(former *env.RedisServer) func() {
			former.Pause()
			return former.Resume
		})),
	)
	failovers := faults[1:]
	for i := range failovers {
		failovers[i].rewinds, failovers[i].Takes = true, "a Redis of the pair"
	}
	return faults
}

func clusterFaults() []historyFault {
	faults := ofRedis(
		breakage("Redis is flushed", 0, flushed),
		breakage("a primary of the Cluster is killed", 4*time.Second, func(r *historyRun, _ *rand.Rand) func() {
			former := r.cluster.KillPrimary()
			return func() { former.Restart(); r.cluster.AwaitReplicas() }
		}),
		breakage("slots of the Cluster move there and back", 0, func(r *historyRun, _ *rand.Rand) func() {
			r.cluster.MoveSlots(500)
			return nil
		}),
	)
	faults[1].rewinds = true
	return faults
}

// clockFaults set the clock of one process wrong, by up to an hour ahead or behind, and right again.
func clockFaults() []historyFault {
	jump := func(name string, process func(r *historyRun, random *rand.Rand) int) historyFault {
		return breakage("the clock of "+name+" jumps", 6*time.Second, func(r *historyRun, random *rand.Rand) func() {
			by := []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, hour}[random.IntN(4)]
			if random.IntN(2) == 0 {
				by = -by
			}
			r.tb.Logf("by %s", by)
			return r.setClock(process(r, random), by)
		})
	}
	one := func(of []*node, random *rand.Rand) int { return of[random.IntN(len(of))].PID() }
	faults := ofRedis( // buckets and months are counted by the clock
		jump("an API node", func(r *historyRun, random *rand.Rand) int { return one(r.apis, random) }),
		jump("a worker", func(r *historyRun, random *rand.Rand) int { return one(r.workers, random) }),
		jump("Redis", func(r *historyRun, _ *rand.Rand) int { return r.redis.PID() }),
		jump("the engine", func(r *historyRun, _ *rand.Rand) int { return r.engine.Instance().EnginePID }),
	)
	for i := range faults {
		faults[i].setsClock = true
	}
	return faults
}
