package drills

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
	upstreamtally "pnyx/test/upstream/tally"
)

// soakUpstreams are the systems that a soak follows: a hub, a chain, a forum, and Tally's API.
type soakUpstreams struct {
	hub   *drilledHub
	chain *drilledChain
	forum *drilledForum
	tally *drilledTally
	// sources is the text of the sources file.
	sources string
}

// drilledTally is an endpoint of Tally's API with an organization in which people vote.
type drilledTally struct {
	*upstreamtally.Tally

	mu        sync.Mutex
	proposals []string
	votes     int
}

func newDrilledTally() *drilledTally {
	t := &drilledTally{Tally: upstreamtally.New(time.Now)}
	t.AddOrganization("mole", "Mole", 6)
	t.proposals = []string{t.Propose("mole", "First", 48*time.Hour)}
	return t
}

// change casts a vote, and now and then proposes something.
func (t *drilledTally) change(random *rand.Rand) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if random.IntN(50) == 0 {
		t.proposals = append(t.proposals, t.Propose("mole", fmt.Sprint("Proposal ", len(t.proposals)), 48*time.Hour))
	}
	t.votes++
	t.Vote(t.proposals[len(t.proposals)-1], fmt.Sprintf("0x%040x", t.votes), "for", fmt.Sprint(t.votes))
	return nil
}

// startUpstreams starts the upstream systems.
func startUpstreams(t *testing.T, random *rand.Rand) *soakUpstreams {
	t.Helper()
	hub, daos, err := newDrilledHub(random)
	if err != nil {
		t.Fatal(err)
	}
	u := &soakUpstreams{hub: hub, chain: newDrilledChain(), forum: newDrilledForum(), tally: newDrilledTally()}
	u.chain.goOn(t)
	u.sources = followedSources("soak@example.org", daos, newGateway(t, "the hub", u.hub).url,
		newGateway(t, "the chain's first endpoint", u.chain.endpoints[0]).url,
		newGateway(t, "the chain's second endpoint", u.chain.endpoints[1]).url, newGateway(t, "the forum", u.forum).url) +
		fmt.Sprintf("- {id: mole, name: Mole, tally: [mole]}\ntally: {url: %s/query, apiKey: \"${SOAK_TALLY_KEY}\", requestsPerMinute: 600}\n",
			newGateway(t, "Tally", u.tally).url)
	return u
}

// startFollower runs a process that follows the upstream systems.
func (s *soak) startFollower() {
	s.tb.Helper()
	file := filepath.Join(s.dir, "sources.yaml")
	env.WriteFile(s.tb, file, s.upstreams.sources)
	s.follower = s.node("follow", "PNYX_SOURCES="+file, "SOAK_TALLY_KEY=soak")
	s.follower.Start()
	s.follower.ready()
}

// changeUpstreams changes the upstream systems until the clients end.
func (s *soak) changeUpstreams() {
	for n, one := range []struct {
		change func(*rand.Rand) error
		every  time.Duration
	}{
		{s.upstreams.hub.change, 10 * s.upstreams.hub.every()},
		{s.upstreams.chain.change, 4 * s.upstreams.chain.every()},
		{s.upstreams.forum.change, 4 * s.upstreams.forum.every()},
		{s.upstreams.tally.change, 2 * time.Second},
	} {
		random := rand.New(rand.NewPCG(s.seed, uint64(n)))
		s.clients.Go(func() {
			for wait(s.ctx, one.every) {
				env.WantError(s.tb, nil, one.change(random))
			}
		})
	}
}

// agree waits until a node states what the hub and the chain do, and a forum but for deletions.
func (s *soak) agree() {
	s.tb.Helper()
	environ := append(slices.Clone(s.environ), "PNYX_INTERNAL_TOKEN="+env.InternalToken)
	f := &followed{deployment: s.deployment, api: env.StartPnyx(s.tb, filepath.Join(s.dir, "agree"), environ, "api")}
	env.Within(s.tb, settleTimeout, func() error {
		if err := s.upstreams.hub.differ(f); err != nil {
			return err
		}
		return s.upstreams.chain.differ(f)
	})
}
