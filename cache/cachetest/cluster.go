package cachetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Sizes of a cluster.
const (
	clusterNodes = 3
	clusterSlots = 16384
)

// Cluster is a Redis Cluster on this machine, without replicas.
type Cluster struct {
	// URL names every node.
	URL string

	nodes []*Server
}

// RealCluster starts three redis-servers and makes a cluster of them, until the
// end of tb. It skips the test when there is no such program.
func RealCluster(tb testing.TB) *Cluster {
	tb.Helper()
	path := located(tb)
	c := &Cluster{}
	for range clusterNodes {
		busPort := freePort(tb)
		node := newServer(tb, path,
			"--cluster-enabled", "yes", "--cluster-port", busPort, "--cluster-node-timeout", "2000")
		node.start()
		c.nodes = append(c.nodes, node)
	}
	c.join(tb)
	c.URL = "redis+cluster://"
	for i, node := range c.nodes {
		if i > 0 {
			c.URL += ","
		}
		c.URL += node.addr
	}
	return c
}

// Kill ends every node at once.
func (c *Cluster) Kill() {
	for _, node := range c.nodes {
		node.Kill()
	}
}

// join shares the slots out, introduces the nodes to each other, and waits until
// each of them knows where every slot is.
func (c *Cluster) join(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), soon)
	defer cancel()
	for i, node := range c.nodes {
		first, next := clusterSlots*i/clusterNodes, clusterSlots*(i+1)/clusterNodes
		node.command(ctx, "cluster", "set-config-epoch", i+1)
		node.command(ctx, "cluster", "addslotsrange", first, next-1)
	}
	for _, node := range c.nodes[1:] {
		host, port, _ := strings.Cut(node.addr, ":")
		c.nodes[0].command(ctx, "cluster", "meet", host, port, node.busPort())
	}
	for _, node := range c.nodes {
		eventually(tb, func() error { return node.knowsAll(ctx) })
	}
}

// command runs a command on one node.
func (s *Server) command(ctx context.Context, args ...any) {
	s.tb.Helper()
	client := s.client()
	defer client.Close()
	if err := client.Do(ctx, args...).Err(); err != nil {
		s.tb.Fatalf("%v on %s: %v", args, s.addr, err)
	}
}

// busPort is the port on which nodes of a cluster talk to each other.
func (s *Server) busPort() string {
	for i, arg := range s.args {
		if arg == "--cluster-port" {
			return s.args[i+1]
		}
	}
	return ""
}

// knowsAll checks that a node knows where every slot is.
func (s *Server) knowsAll(ctx context.Context) error {
	client := s.client()
	defer client.Close()
	said, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return fmt.Errorf("ask %s: %w", s.addr, err)
	}
	for _, want := range []string{
		"cluster_state:ok", fmt.Sprintf("cluster_slots_ok:%d", clusterSlots), fmt.Sprintf("cluster_known_nodes:%d", clusterNodes),
	} {
		if !strings.Contains(said, want) {
			return fmt.Errorf("cluster information of %s: got %s, want %s", s.addr, said, want)
		}
	}
	return nil
}
