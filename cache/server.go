package cache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// What INFO calls the id of a run of a server, and the section that has it.
const (
	serverSection = "server"
	runIDField    = "run_id"
)

// serverInfo calls visit with a section of INFO of every primary, one at a time. Fields may be missing.
func serverInfo(ctx context.Context, s *Store, section string, visit func(info map[string]string)) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	var mu sync.Mutex
	return eachPrimary(ctx, s, func(ctx context.Context, server *redis.Client) error {
		info, err := decodeInfo(server.Info(ctx, section), section)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		visit(info)
		return nil
	})
}

// decodeInfo returns the fields of a section of INFO, none where the server denies it.
func decodeInfo(reply *redis.StringCmd, section string) (map[string]string, error) {
	text, err := reply.Result()
	if err != nil && !deniesInfo(err) {
		return nil, fmt.Errorf("%w: INFO %s: %w", ErrUnavailable, section, err)
	}
	return parseInfo(text), nil
}

// eachPrimary calls visit for the server, or concurrently for every primary of a Cluster.
func eachPrimary(ctx context.Context, s *Store, visit func(context.Context, *redis.Client) error) error {
	switch client := Client(s.conn).(type) {
	case *redis.ClusterClient:
		return client.ForEachMaster(ctx, visit)
	case *redis.Client:
		return visit(ctx, client)
	}
	return nil
}

// deniesInfo reports whether a server refuses INFO: an embedded one has few sections, a user may lack the right.
func deniesInfo(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) &&
		(strings.HasPrefix(reply.Error(), "NOPERM") || strings.Contains(reply.Error(), "is not supported"))
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info
}

// ErrServerConfig means that a Redis server is configured in a way that makes responses wrong.
var ErrServerConfig = errors.New("redis is not configured for Pnyx")

// CheckServers reports servers that are too old, of another kind than the URL says, or evict keys without a TTL.
// The error is ErrServerConfig with the change to make, or ErrUnavailable.
func (s *Store) CheckServers(ctx context.Context) error {
	var problems []error
	_, cluster := Client(s.conn).(*redis.ClusterClient)
	check := func(info map[string]string) {
		if err := checkServer(info, cluster); err != nil {
			problems = append(problems, fmt.Errorf("%w: port %s: %w", ErrServerConfig, info["tcp_port"], err))
		}
	}
	if err := serverInfo(ctx, s, "default", check); err != nil {
		return err
	}
	return errors.Join(problems...)
}

func checkServer(info map[string]string, cluster bool) error {
	const oldestRedis = 7 // the minimum major version of a server, which tests run on
	limited := info["maxmemory"] != "" && info["maxmemory"] != "0"
	major, _, _ := strings.Cut(info["redis_version"], ".")
	version, err := strconv.Atoi(major)
	switch mode := info["redis_mode"]; {
	case err == nil && version < oldestRedis:
		return errors.New("REDIS_URL names a server that is too old; want Redis, or what speaks its protocol, of at least 7.0")
	case mode == "sentinel":
		return errors.New("REDIS_URL names a Sentinel as a server; use redis+sentinel://…?master=name")
	case mode == "cluster" && !cluster:
		return errors.New("REDIS_URL names a node of a Redis Cluster as a single server; use redis+cluster://")
	case mode == "standalone" && cluster:
		return errors.New("REDIS_URL names a single server as a Redis Cluster; use redis://")
	case info["role"] == "slave":
		return errors.New("REDIS_URL names a replica; name its primary or the Sentinels that know it")
	case limited && strings.HasPrefix(info["maxmemory_policy"], "allkeys-"):
		return errors.New("maxmemory-policy allkeys-* evicts data that must stay: a proposal, a revoked token " +
			"or a used payment would seem not to exist; use noeviction or volatile-lru")
	}
	return nil
}
