package env

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	clusterPrimaries = 3
	clusterSlots     = 16384
	// clusterTimeout is after how many milliseconds a node is taken for dead, while a cluster is formed and when a
	// primary is killed: a failover takes a second more. In between, a busy machine must not cause one.
	clusterTimeout, clusterTimeoutBetween = "2000", "120000"
)

// RedisClusterServers is a Redis RedisClusterServers on this machine.
type RedisClusterServers struct {
	// URL names every node.
	URL string

	tb    testing.TB
	nodes []*RedisServer
}

// RedisCluster starts three redis-servers that form a Cluster, until the end of tb, or skips the test.
func RedisCluster(tb testing.TB) *RedisClusterServers {
	tb.Helper()
	return startCluster(tb, clusterPrimaries)
}

// ReplicatedRedisCluster is RedisCluster with a replica for each of the three.
func ReplicatedRedisCluster(tb testing.TB) *RedisClusterServers {
	tb.Helper()
	c := startCluster(tb, 2*clusterPrimaries)
	for i, replica := range c.nodes[clusterPrimaries:] {
		MustDo(tb, replica.ask("cluster", "replicate", c.nodes[i].id()).Err())
	}
	for _, replica := range c.nodes[clusterPrimaries:] {
		Until(tb, func() error { return replica.role("slave") })
	}
	return c
}

func startCluster(tb testing.TB, nodes int) *RedisClusterServers {
	tb.Helper()
	path := redisServerPath(tb)
	c := &RedisClusterServers{tb: tb}
	var addresses []string
	for range nodes {
		bus := Free(tb)
		node := newServer(tb, path, "--cluster-enabled", "yes", "--cluster-port", bus,
			"--cluster-node-timeout", clusterTimeout, "--repl-diskless-sync-delay", "0")
		node.bus = bus
		node.start()
		c.nodes, addresses = append(c.nodes, node), append(addresses, node.Addr)
	}
	c.URL = "redis+cluster://" + strings.Join(addresses, ",")
	c.join()
	c.setTimeout(clusterTimeoutBetween)
	return c
}

// setTimeout sets after how many milliseconds nodes take another one for dead.
func (c *RedisClusterServers) setTimeout(milliseconds string) {
	c.tb.Helper()
	for _, node := range c.nodes {
		MustDo(c.tb, node.ask("config", "set", "cluster-node-timeout", milliseconds).Err())
	}
}

// Kill ends every node at once.
func (c *RedisClusterServers) Kill() {
	for _, node := range c.nodes {
		node.Kill()
	}
}

// KillPrimary ends a primary at once, and returns when its replica has taken over.
func (c *RedisClusterServers) KillPrimary() *RedisServer {
	c.tb.Helper()
	killed, replica := c.nodes[0], c.nodes[clusterPrimaries]
	if killed.role("master") != nil {
		killed, replica = replica, killed
	}
	c.setTimeout(clusterTimeout)
	killed.Kill()
	Until(c.tb, func() error { return replica.role("master") })
	for _, node := range c.nodes {
		if node != killed {
			Until(c.tb, func() error { return node.says("cluster_state:ok") })
		}
	}
	return killed
}

// AwaitReplicas returns when each primary has a replica that is up to date.
func (c *RedisClusterServers) AwaitReplicas() {
	c.tb.Helper()
	for first := range clusterPrimaries {
		one, other := c.nodes[first], c.nodes[first+clusterPrimaries]
		Until(c.tb, func() error {
			if one.role("master") != nil {
				one, other = other, one
			}
			return errors.Join(one.role("master"), other.role("slave"))
		})
	}
	c.setTimeout(clusterTimeoutBetween)
	c.agree()
}

// MoveSlots moves slots, with their keys, from the second primary to the third and back, by redis-cli.
func (c *RedisClusterServers) MoveSlots(slots int) {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.tb.Context()), 4*soon)
	defer cancel()
	from, to := c.nodes[1], c.nodes[2]
	for range 2 {
		move := exec.CommandContext(ctx, "redis-cli", "--cluster", "reshard", from.Addr, "--cluster-from", from.id(), //nolint:gosec // our own words
			"--cluster-to", to.id(), "--cluster-slots", strconv.Itoa(slots), "--cluster-yes")
		if said, err := move.CombinedOutput(); err != nil {
			c.tb.Fatalf("move slots: %v: %s", err, said)
		}
		c.agree()
		from, to = to, from
	}
}

// agree returns when all nodes agree on the slots: redis-cli moves none before.
func (c *RedisClusterServers) agree() {
	c.tb.Helper()
	Until(c.tb, func() error {
		first, err := c.nodes[0].slots()
		if err != nil {
			return err
		}
		for _, node := range c.nodes[1:] {
			said, err := node.slots()
			if err != nil {
				return err
			}
			if said != first {
				return fmt.Errorf("%s says %s, and %s says %s", c.nodes[0].Addr, first, node.Addr, said)
			}
		}
		return nil
	})
}

// slots is what a node knows of who has which slots.
func (s *RedisServer) slots() (string, error) {
	nodes, err := s.ask("cluster", "nodes").Text()
	if err != nil {
		return "", err
	}
	var said []string
	for line := range strings.Lines(nodes) {
		// Id, address, flags, its primary, two times, epoch, link, and then slots.
		if words := strings.Fields(line); len(words) > 8 {
			said = append(said, words[0]+" "+strings.Join(words[8:], " "))
		}
	}
	slices.Sort(said)
	return strings.Join(said, ", "), nil
}

// join shares the slots out, introduces the nodes, and waits until each knows where every slot is.
func (c *RedisClusterServers) join() {
	c.tb.Helper()
	for i, node := range c.nodes {
		MustDo(c.tb, node.ask("cluster", "set-config-epoch", i+1).Err())
		if i < clusterPrimaries {
			first, next := clusterSlots*i/clusterPrimaries, clusterSlots*(i+1)/clusterPrimaries
			MustDo(c.tb, node.ask("cluster", "addslotsrange", first, next-1).Err())
		}
	}
	for _, node := range c.nodes[1:] {
		host, port, _ := strings.Cut(node.Addr, ":")
		MustDo(c.tb, c.nodes[0].ask("cluster", "meet", host, port, node.bus).Err())
	}
	for _, node := range c.nodes {
		Until(c.tb, func() error {
			return node.says("cluster_state:ok", fmt.Sprintf("cluster_slots_ok:%d", clusterSlots),
				fmt.Sprintf("cluster_known_nodes:%d", len(c.nodes)))
		})
	}
}

// id is the name by which nodes of a cluster know each other.
func (s *RedisServer) id() string {
	s.tb.Helper()
	return Must(s.ask("cluster", "myid").Text())(s.tb)
}

// says checks what a node knows of its cluster.
func (s *RedisServer) says(wants ...string) error {
	said, err := s.ask("cluster", "info").Text()
	if err != nil {
		return err
	}
	for _, want := range wants {
		if !strings.Contains(said, want) {
			return fmt.Errorf("cluster information of %s: got %s, want %s", s.Addr, said, want)
		}
	}
	return nil
}
