package drills

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/test/env"
)

const (
	// serveInterval is between two requests to `pnyx serve`.
	serveInterval = 200 * time.Millisecond
	// productionRate is the requests a second to the edge, productionCold the percentage on demand.
	productionRate, productionCold = 10, 5
	// productionImports is how often a ballot is imported.
	productionImports = 10 * time.Second
)

// patientTimeouts are limits that a machine that runs all of this at once keeps.
func patientTimeouts() []string { return []string{"PNYX_CACHE_TIMEOUT=4s", "PNYX_LIMIT_TIMEOUT=4s"} }

// startServe runs `pnyx serve --demo` with its defaults, but for addresses, folder and patientTimeouts.
func startServe(t *testing.T) []string {
	t.Helper()
	listen, admin := env.FreeAddress(t), env.FreeAddress(t)
	n := &node{tb: t, role: "serve", base: "http://" + listen, admin: "http://" + admin}
	n.Process = env.NewProcess(t, env.Binary(t), append(patientTimeouts(),
		"PNYX_DATA="+t.TempDir(), "PNYX_LISTEN="+listen, "PNYX_ADMIN_LISTEN="+admin), "serve", "--demo")
	n.Start()
	t.Cleanup(n.Stop)
	n.ready()
	token := regexp.MustCompile(`business\s+(pnyx_\w+)`)
	var headers map[string]string
	env.Until(t, func() error {
		found := token.FindStringSubmatch(n.Output.String())
		if found == nil {
			return fmt.Errorf("serve --demo has printed no token: %s", n.Output)
		}
		headers = map[string]string{access.HeaderToken: found[1]}
		return nil
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		paths := []string{
			"/v2/daos", "/v2/daos/alderfold", "/v2/proposals?limit=5", "/v2/daos/alderfold/timeline?metric=votes_cast",
			"/v2/meta/data-status", "/v2/events?limit=5", "/v2/proposals?state=closed&limit=3", "/v2/daos/nobody",
		}
		for _, voter := range votersOf(n, headers) { // pages that are made on demand
			paths = append(paths, "/v2/voters/"+voter)
		}
		for i := 0; wait(ctx, serveInterval); i++ {
			ask(n.base+paths[i%len(paths)], headers)
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return []string{admin}
}

func votersOf(n *node, headers map[string]string) (identities []string) {
	var voters []struct{ VoterIdentity string }
	env.WantError(n.tb, nil, json.Unmarshal(ask(n.base+"/v2/daos/alderfold/voters?limit=100", headers).Data, &voters))
	for _, voter := range voters {
		identities = append(identities, url.PathEscape(voter.VoterIdentity))
	}
	return identities
}

// behindEdge are the settings of nodes with an edge before them.
func behindEdge() []string {
	return []string{"PNYX_INTERNAL_TOKEN=internal-token-of-a-healthy-deployment", "PNYX_TRUSTED_PROXIES=127.0.0.0/8"}
}

// startEdge runs an edge before the API nodes, until the end of the test.
func (s *deployment) startEdge() *node {
	s.tb.Helper()
	listen, admin := env.FreeAddress(s.tb), env.FreeAddress(s.tb)
	edge := &node{tb: s.tb, role: "edge", base: "http://" + listen, admin: "http://" + admin}
	edge.Process = env.NewProcess(s.tb, env.Binary(s.tb), append(slices.Clip(s.environ),
		"PNYX_EDGE_LISTEN="+listen, "PNYX_EDGE_ADMIN_LISTEN="+admin, "PNYX_EDGE_DIR="+filepath.Join(s.dir, "edge"),
		"PNYX_EDGE_ORIGIN=http://"+spread(s.tb, s.apis)), "edge")
	edge.Start()
	s.tb.Cleanup(edge.Stop)
	env.Until(s.tb, func() error {
		env.MustDo(s.tb, edge.Err())
		_, _, err := env.Fetch(edge.admin + "/healthz")
		return err
	})
	return edge
}

// startProduction runs a whole deployment whose callers ask and pay while ballots are imported.
func startProduction(t *testing.T) []string {
	t.Helper()
	w := loadDataset(t)
	s := newDeployment(t, w, deploymentOptions{apis: 2, environ: append(patientTimeouts(), behindEdge()...)})
	s.open()
	edge := s.startEdge()
	ctx, cancel := context.WithCancel(context.Background())
	imports := make(chan struct{})
	s.poll = w.poll.begin()
	go func() {
		defer close(imports)
		s.importing(ctx, s.poll, productionImports)
	}()
	l := newLoad(t, w, s.poll, productionRate, productionCold, edge.base)
	l.start()
	payments := make(chan struct{})
	payer := newPayer(t, l, s.ledger)
	go func() {
		defer close(payments)
		payer.run(ctx)
	}()
	t.Cleanup(func() {
		l.stop()
		cancel()
		<-imports
		<-payments
		if sum := l.tally(); sum.wrong+sum.broken > 0 {
			t.Errorf("%d wrong, %d without an answer of %d requests:\n%s", sum.wrong, sum.broken, sum.requests, strings.Join(l.problems, "\n"))
		}
	})
	targets := []string{strings.TrimPrefix(edge.admin, "http://")}
	for _, n := range append(s.workers, s.apis...) {
		targets = append(targets, strings.TrimPrefix(n.admin, "http://"))
	}
	return targets
}

// spread gives the connections to an address to nodes in turn, as a Service does.
func spread(tb testing.TB, nodes []*node) (address string) {
	tb.Helper()
	listener := env.Must(net.Listen("tcp", "127.0.0.1:0"))(tb)
	tb.Cleanup(func() { listener.Close() })
	var turn atomic.Int64
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(nodes[turn.Add(1)%int64(len(nodes))].base, "http://"))
			if err != nil {
				in.Close()
				continue
			}
			pipe := func(to, from net.Conn) {
				_, _ = io.Copy(to, from) // ends with either side
				to.Close()
				from.Close()
			}
			go pipe(in, out)
			go pipe(out, in)
		}
	}()
	return listener.Addr().String()
}
