package cache

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// connections collects the state of the connection pools.
type connections struct {
	open, timeouts *prometheus.Desc
	mu             sync.Mutex
	clients        map[string]redis.UniversalClient
}

func newConnections() *connections {
	return &connections{
		open: prometheus.NewDesc("pnyx_redis_connections",
			"Connections to Redis, by purpose of the client and state: idle or busy.", []string{"client", "state"}, nil),
		timeouts: prometheus.NewDesc("pnyx_redis_pool_timeouts_total",
			"Commands that got no connection from the pool in time.", []string{"client"}, nil),
		clients: map[string]redis.UniversalClient{},
	}
}

func (c *connections) add(name string, client redis.UniversalClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients[name] = client
}

// Describe implements prometheus.Collector.
func (c *connections) Describe(into chan<- *prometheus.Desc) {
	into <- c.open
	into <- c.timeouts
}

// Collect implements prometheus.Collector.
func (c *connections) Collect(into chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, client := range c.clients {
		stats := client.PoolStats()
		gauge := func(state string, value uint32) {
			into <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(value), name, state)
		}
		gauge("idle", stats.IdleConns)
		gauge("busy", stats.TotalConns-min(stats.IdleConns, stats.TotalConns))
		into <- prometheus.MustNewConstMetric(c.timeouts, prometheus.CounterValue, float64(stats.Timeouts), name)
	}
}
