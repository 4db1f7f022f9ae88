package drills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
)

const (
	crowdRate = 80 // requests a second, to the four nodes in turn
	// crowdSlots is how many slots of the Cluster move there and back.
	crowdSlots = 2000
)

// crowd is a deployment with several of each process, under load, while ballots are
// imported.
type crowd struct {
	*deployment

	// tokenID names the token that all of the load is sent with.
	tokenID string
}

// TestOverAClusterTwoWorkersAndFourNodesAgree plays one thing after another on two workers,
// four API nodes, one warehouse and a Redis Cluster of six. No node ever gives a wrong
// answer or goes back to an earlier one, all four agree in the end, and what they have
// metered together is what was sent.
func TestOverAClusterTwoWorkersAndFourNodesAgree(t *testing.T) {
	gate(t, "PNYX_TEST_CLUSTER", "make test-cluster")
	c := openCrowd(t)
	var second *node
	c.play("nothing is broken", func() { wait(t.Context(), 2*calmPeriod) })
	c.play("the leading worker is killed", func() { second = c.killLeader() })
	c.play("it is started again", func() { c.joins(second) })
	c.play(fmt.Sprintf("%d slots of the Cluster move there and back", crowdSlots), func() { c.cluster.MoveSlots(crowdSlots) })
	c.load.stop()
	if charged, used := c.metered(), c.used(); used != charged {
		t.Errorf("of the month are used %d, want the %d that are charged", used, charged)
	}
	c.load.onward = false // what a failover of Redis has lost is published again
	c.load.start()
	c.play("a primary of the Cluster is killed", func() {
		c.cluster.KillPrimary().Restart()
		c.cluster.AwaitReplicas()
	})
	c.load.stop()
	c.agree()
	// Commands that were sent to the primary when it died may be sent twice.
	charged, used := c.metered(), c.used()
	t.Logf("of the month are used %d, and %d are charged", used, charged)
	if used < charged {
		t.Error("less of the month is used than is charged")
	}
}

// openCrowd starts everything, and the load.
func openCrowd(t *testing.T) *crowd {
	t.Helper()
	w := loadDataset(t)
	c := &crowd{deployment: newDeployment(t, w, deploymentOptions{
		workers: 2, apis: 4, cluster: true, environ: []string{"PNYX_CACHE_TIMEOUT=1s", "PNYX_LIMIT_TIMEOUT=1s"}, // fourteen processes share the machine
	})}
	id, token := c.issue()
	c.tokenID = id
	c.open()
	env.Within(t, readyTimeout, func() error { return c.knows(token) })
	c.poll = w.poll.begin()
	c.load = newLoad(t, w, c.poll, crowdRate, drillCold, c.bases()...)
	c.load.token, c.load.onward = token, true
	c.load.start()
	ctx, cancel := context.WithCancel(context.Background())
	imported := make(chan struct{})
	go func() {
		defer close(imported)
		c.importing(ctx, c.poll, importInterval)
	}()
	t.Cleanup(func() {
		cancel()
		<-imported
	})
	return c
}

// knows reports whether every node accepts a token.
func (c *crowd) knows(token string) error {
	for _, n := range c.apis {
		if r := ask(n.base+"/v2/meta/usage", withToken(token)); r.transport != nil || r.status != http.StatusOK {
			return fmt.Errorf("a new token: %d %w %s", r.status, r.transport, r.text)
		}
	}
	return nil
}

// play does something, waits until every node shows what was imported since, and logs
// what became of the requests meanwhile.
func (c *crowd) play(what string, happen func()) {
	c.tb.Helper()
	before, began := c.load.tally(), time.Now()
	happen()
	happened := time.Now()
	recovered := c.recovered(happened)
	wait(c.tb.Context(), calmPeriod)
	after := c.load.tally()
	c.tb.Logf("%s, in %.1f s: %d requests, %d wrong, %d refused, %d without an answer, %d marked stale; all four show what was imported since after %.1f s",
		what, happened.Sub(began).Seconds(), after.requests-before.requests, after.wrong-before.wrong, after.refused-before.refused,
		after.broken-before.broken, after.stale-before.stale, recovered.Sub(happened).Seconds())
	if after.wrong+after.broken > 0 {
		c.tb.Fatalf("%s: wrong, or without an answer:\n%s", what, strings.Join(c.load.problems, "\n"))
	}
}

// killLeader kills the worker that leads, waits until the other one does, and returns
// the one that was killed. Until then the other has published nothing.
func (c *crowd) killLeader() *node {
	c.tb.Helper()
	leading, others := c.leader()
	c.publishedNothing(others[0])
	leading.Kill()
	began := time.Now()
	env.Within(c.tb, readyTimeout, func() error {
		if leads, err := others[0].metric("pnyx_worker_leading"); err != nil || leads != 1 {
			return fmt.Errorf("the other does not lead yet: %w", err)
		}
		return nil
	})
	c.tb.Logf("the other worker leads after %.1f s", time.Since(began).Seconds())
	return leading
}

// joins starts a worker that was killed: the other one goes on leading, and this one
// publishes nothing.
func (c *crowd) joins(killed *node) {
	c.tb.Helper()
	killed.Start()
	killed.ready()
	wait(c.tb.Context(), 2*calmPeriod)
	if leading, _ := c.leader(); leading == killed {
		c.tb.Error("a worker that has come back leads beside, or instead of, the one that did")
	}
	c.publishedNothing(killed)
}

func (c *crowd) publishedNothing(worker *node) {
	c.tb.Helper()
	for _, name := range []string{"pnyx_publish_proposals_total", "pnyx_publish_values_total"} {
		if published, err := worker.metric(name); err != nil || published != 0 {
			c.tb.Errorf("%s of a worker that does not lead: got %v (%v), want 0", name, published, err)
		}
	}
}

// metered waits until what all nodes have metered of the load's token, as it is billed,
// is what was sent, by what became of it. It returns how many answers are charged: all.
func (c *crowd) metered() (charged int) {
	c.tb.Helper()
	requests, answers := c.load.metered()
	want := fmt.Sprint([]int{requests, answers, requests - answers, answers})
	const sums = `
SELECT sum(requests), sum(ok), sum(failed), sum(charged) FROM usage_by_day WHERE route != 'meta.usage' AND token_id = '`
	env.Within(c.tb, readyTimeout, func() error {
		out, err := c.try("sql", "--format", "csv", sums+c.tokenID+"'")
		if err != nil {
			return err
		}
		var said [4]int
		lines := strings.Fields(out)
		if _, err := fmt.Sscanf(lines[len(lines)-1], "%d,%d,%d,%d", &said[0], &said[1], &said[2], &said[3]); err != nil {
			return fmt.Errorf("metered are %s: %w", out, err)
		}
		if got := fmt.Sprint(said); got != want {
			return fmt.Errorf("metered are %s, want %s: requests, answers, failures, and what is charged", got, want)
		}
		return nil
	})
	c.tb.Logf("sent with the token were %d requests, %d of them answered; metered by all four together are just as many", requests, answers)
	return answers
}

// used is how much of its month the load's token has used, as it is told.
func (c *crowd) used() (used int) {
	c.tb.Helper()
	r := ask(c.apis[0].base+"/v2/meta/usage", withToken(c.load.token))
	var data struct{ Month struct{ Used string } }
	if err := errors.Join(r.transport, json.Unmarshal(r.Data, &data)); err != nil {
		c.tb.Fatal(err)
	}
	used, err := strconv.Atoi(data.Month.Used)
	if err != nil {
		c.tb.Fatal(err)
	}
	return used
}

// agree waits until all four nodes give the one right answer to everything, and one and
// the same to what is asked of the vote that went on.
func (c *crowd) agree() {
	c.tb.Helper()
	for _, base := range c.bases() {
		c.load.bases = []string{base}
		c.load.askEverything()
	}
	for _, q := range c.poll.questions() {
		env.Within(c.tb, readyTimeout, func() error {
			var first string
			for _, n := range c.apis {
				r := ask(n.base+q.path, c.dataset.headers())
				if r.transport != nil || r.status != http.StatusOK {
					return fmt.Errorf("GET %s: %d %w %s", q.path, r.status, r.transport, r.text)
				}
				if first == "" {
					first = string(r.Data)
				}
				if string(r.Data) != first {
					return fmt.Errorf("GET %s: one node says %s, another %s", q.path, first, r.Data)
				}
			}
			return nil
		})
	}
}
