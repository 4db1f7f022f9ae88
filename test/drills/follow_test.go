package drills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/upstream/hub"
)

// followed is a hub, two followers, a worker and an API node, each in a process of its own.
type followed struct {
	*deployment

	hub       *hub.Hub
	proposals []string
	followers [2]*env.Pnyx
	worker    *env.Pnyx
	api       *env.Pnyx
	random    *rand.Rand
}

// TestFollow kills followers, the engine and Redis, and takes the hub down, at random moments
// while votes go on. In the end the API states what the hub does.
func TestFollow(t *testing.T) {
	length, err := time.ParseDuration(gate(t, "PNYX_TEST_FOLLOW", "make follow-drill"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(os.Getenv("PNYX_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("PNYX_TEST_SEED=%d", seed)
	f := newFollowed(t, rand.New(rand.NewPCG(seed, 0)))
	t.Logf("the past shows after %s", f.agree())
	f.logIdle(max(time.Minute, length/10))
	stop := f.vote()
	faults := 0
	for end := time.Now().Add(length); time.Now().Before(end); faults++ {
		name, fault := f.fault()
		t.Logf("%s", name)
		fault()
		f.pause(4 * time.Second)
	}
	votes := stop()
	t.Logf("%d faults, %d votes; everything shows after %s", faults, votes, f.agree())
}

func newFollowed(t *testing.T, random *rand.Rand) *followed {
	t.Helper()
	dir := t.TempDir()
	s := &deployment{tb: t, dataset: &dataset{}, dir: dir, data: filepath.Join(dir, "warehouse")}
	s.startRedis(deploymentOptions{})
	s.startEngine(deploymentOptions{})
	f := &followed{deployment: s, hub: hub.New(nil), random: random}
	var daos string
	for n := range 10 {
		space := fmt.Sprintf("harbor%d.eth", n)
		f.hub.AddSpace(hub.Space{ID: space, Name: space, Network: "1", Symbol: "HRB"})
		now := time.Now()
		f.proposals = append(f.proposals, f.hub.Propose(hub.Proposal{
			Space: space, Title: "Renew " + space, Choices: []string{"Yes", "No"},
			Created: now.Add(-time.Hour), Start: now.Add(-time.Hour), End: now.Add(48 * time.Hour),
		}))
		daos += fmt.Sprintf("- {id: dao%d, name: Harbor, snapshot: [%s]}\n", n, space)
	}
	for range 500 {
		f.cast()
	}
	server := httptest.NewServer(f.hub)
	t.Cleanup(server.Close)
	file := filepath.Join(dir, "sources.yaml")
	text := fmt.Sprintf("contact: test@example.org\nsnapshot: {url: %s/graphql, requestsPerMinute: 6000}\ndaos:\n%s", server.URL, daos)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"PNYX_SOURCES=" + file, "REDIS_URL=" + s.redis.URL, "CLICKHOUSE_URL=" + s.warehouseURL(s.engine.Instance().RelayAddr),
		"PNYX_FREE_RATE=0", "PNYX_LEASE_TTL=5s", "PNYX_PUBLISH_INTERVAL=500ms", // as by default: idling is measured
	}
	start := func(role string) *env.Pnyx { return env.StartPnyx(t, filepath.Join(dir, role), environ, role) }
	f.worker = start("worker")
	f.api = start("api")
	for i := range f.followers {
		f.followers[i] = start("follow")
	}
	return f
}

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
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			tb.Fatal(err)
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		user, errUser := strconv.Atoi(fields[11])
		system, errSystem := strconv.Atoi(fields[12])
		if err := errors.Join(errUser, errSystem); err != nil {
			tb.Fatal(err)
		}
		used = append(used, time.Duration(user+system)*tick)
	}
	return used
}

// cast casts a vote that nobody or an earlier voter has cast.
func (f *followed) cast() {
	n := f.random.IntN(1 << 14)
	_, err := f.hub.Cast(hub.Vote{
		Proposal: f.proposals[f.random.IntN(len(f.proposals))], Voter: hub.Voter(strconv.Itoa(n)),
		Choice: strconv.Itoa(1 + n%2), Power: strconv.Itoa(1+n) + ".25",
	})
	// A voter who votes twice in a second is refused half of the time.
	if err != nil && !errors.Is(err, hub.ErrVotedLater) {
		f.tb.Error(err)
	}
}

// vote casts votes until stop, which returns their number.
func (f *followed) vote() (stop func() int) {
	votes, ended := 0, make(chan struct{})
	source := *f
	source.random = rand.New(rand.NewPCG(f.random.Uint64(), 0))
	var voting sync.WaitGroup
	voting.Go(func() {
		next := time.NewTicker(20 * time.Millisecond)
		defer next.Stop()
		for ; ; votes++ {
			select {
			case <-ended:
				return
			case <-next.C:
				source.cast()
			}
		}
	})
	return func() int {
		close(ended)
		voting.Wait()
		return votes
	}
}

// fault returns something that may go wrong. What it breaks, it repairs.
func (f *followed) fault() (name string, do func()) {
	one := f.followers[f.random.IntN(len(f.followers))]
	faults := []struct {
		name string
		do   func()
	}{
		{"a follower is killed", func() {
			one.Kill()
			f.pause(3 * time.Second)
			one.Start()
		}},
		{"both followers are killed", func() {
			for _, follower := range f.followers {
				follower.Kill()
			}
			for _, follower := range f.followers {
				follower.Start()
			}
		}},
		{"a follower hangs", func() {
			one.Pause()
			f.pause(8 * time.Second)
			one.Resume()
		}},
		{"the engine is killed", func() { f.signalEngine(syscall.SIGKILL) }},
		{"Redis is killed and comes back empty", func() { f.redis.Restart() }},
		{"the hub is down", func() {
			f.hub.Set(func(s *hub.Switches) { s.Down = true })
			f.pause(5 * time.Second)
			f.hub.Set(func(s *hub.Switches) { s.Down = false })
		}},
		{"the hub's database is in trouble", func() { f.hub.Set(func(s *hub.Switches) { s.Trouble = 5 }) }},
	}
	picked := faults[f.random.IntN(len(faults))]
	return picked.name, picked.do
}

// pause waits for up to longest.
func (f *followed) pause(longest time.Duration) {
	timer := time.NewTimer(time.Duration(f.random.Int64N(int64(longest))))
	defer timer.Stop()
	<-timer.C
}

// agree waits until the API states what the hub does, and returns how long that took.
func (f *followed) agree() time.Duration {
	f.tb.Helper()
	began := time.Now()
	env.Within(f.tb, 5*time.Minute, func() error {
		truth := f.hub.Truth().Proposals
		for n, id := range f.proposals {
			if err := f.differ(fmt.Sprintf("dao%d", n), id, truth[id]); err != nil {
				return fmt.Errorf("proposal %s: %w", id, err)
			}
		}
		return nil
	})
	return time.Since(began).Round(time.Millisecond)
}

// differ compares the ballots of a proposal, and their sum, with the hub's.
func (f *followed) differ(daoID, id string, want hub.ProposalTruth) error {
	key := string((governance.Identity{DAOID: daoID, Provider: governance.Snapshot, ExternalID: id}).ProposalKey())
	rows, err := f.api.Walk("/v2/proposals/"+key+"/votes", 500)
	if err != nil {
		return err
	}
	if len(rows) != len(want.Votes) {
		return fmt.Errorf("got %d votes, want %d", len(rows), len(want.Votes))
	}
	sum := decimal.Zero
	for _, raw := range rows {
		var got struct {
			VoteID, VoterIdentity, ChoiceKey string
			VotingPower                      decimal.Decimal
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			return err
		}
		v := want.Votes[got.VoterIdentity]
		if got.VoteID != v.ID || got.ChoiceKey != v.Choice || got.VotingPower.String() != v.Power {
			return fmt.Errorf("got %s, want %+v", raw, v)
		}
		sum = sum.Add(got.VotingPower)
	}
	var summary struct {
		Totals *struct{ VotingPower decimal.Decimal }
	}
	if _, err := f.api.Read("/v2/proposals/"+key+"/votes/summary", &summary); err != nil {
		return err
	}
	if summary.Totals == nil {
		return errors.New("got no totals")
	}
	if !summary.Totals.VotingPower.Equal(sum) {
		return fmt.Errorf("got power %s, want %s", summary.Totals.VotingPower, sum)
	}
	return nil
}
