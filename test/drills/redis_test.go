package drills

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/test/env"
)

// redisDrills break Redis itself.
func redisDrills() []drill {
	return []drill{
		{
			name: "Redis killed", fault: "SIGKILL; started again, empty, after 5 s", lasts: 5 * time.Second,
			breaks: func(s *deployment) func() { s.redis.Kill(); return s.redis.Restart },
		},
		{name: "Redis flushed", fault: "FLUSHALL", breaks: func(s *deployment) func() { s.redis.do("FLUSHALL"); return nil }},
		{
			name: "Redis paused", fault: "SIGSTOP for 8 s: connections stay, nothing is answered", lasts: 8 * time.Second,
			breaks: func(s *deployment) func() { s.redis.Pause(); return s.redis.Resume },
		},
		{
			name: "Redis full, noeviction", fault: "maxmemory 64 KiB below what is used for 20 s: every write is refused", lasts: 20 * time.Second,
			breaks: func(s *deployment) func() { return s.redis.full("noeviction", -1<<16) },
		},
		{
			name: "Redis full, volatile-lru", fault: "100 KiB left for 20 s: whatever has an expiry is evicted", lasts: 20 * time.Second,
			breaks: func(s *deployment) func() { return s.redis.full("volatile-lru", 100<<10) },
		},
		{
			name: "Redis full, volatile-ttl", fault: "maxmemory 64 KiB below what is used for 20 s: what has an expiry is evicted", lasts: 20 * time.Second,
			breaks: func(s *deployment) func() { return s.redis.full("volatile-ttl", -1<<16) },
		},
		{
			name: "Redis failed over", deployment: deploymentOptions{sentinels: true, workers: 2},
			fault: "SIGKILL of the primary; three Sentinels make its replica the primary",
			breaks: func(s *deployment) func() {
				former := s.sentinels.Primary()
				former.Kill()
				s.sentinels.AwaitFailover(former)
				return nil
			},
		},
		{
			name: "Redis failed over, the former primary hangs", deployment: deploymentOptions{sentinels: true, workers: 2},
			fault: "SIGSTOP of the primary for 20 s, which the Sentinels replace meanwhile", lasts: 20 * time.Second,
			breaks: func(s *deployment) func() {
				former := s.sentinels.Primary()
				former.Pause()
				s.sentinels.AwaitFailover(former)
				return former.Resume
			},
		},
	}
}

// client is a connection to the server.
func (r *redisServer) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: r.Addr})
}

// do runs a command.
func (r *redisServer) do(args ...any) {
	r.tb.Helper()
	client := r.client()
	defer client.Close()
	env.WantError(r.tb, nil, client.Do(r.tb.Context(), args...).Err(), args...)
}

// full limits the memory to what is used and left bytes more, until mend is called.
func (r *redisServer) full(policy string, left int64) (mend func()) {
	r.tb.Helper()
	used, err := r.used()
	if err != nil {
		r.tb.Error(err)
	}
	r.do("CONFIG", "SET", "maxmemory-policy", policy, "maxmemory", fmt.Sprint(int64(used)+left))
	return func() { r.do("CONFIG", "SET", "maxmemory", "0") }
}

// used is the memory that Redis uses, in bytes.
func (r *redisServer) used() (bytes float64, err error) {
	client := r.client()
	defer client.Close()
	info, err := client.Info(r.tb.Context(), "memory").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(line, "used_memory:"); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, errors.New("no used_memory")
}
