package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ServerRunIDs names the present lives of all primaries. It changes when one was
// restarted, when its replica took over, and when one joined a Cluster. Replication
// is asynchronous, and so is writing to disk: whatever was written shortly before
// may be gone then, and nothing else tells of it. A Redis that does not say who it
// is, as the embedded one, has the identity of one that never fails over.
func (s *Store) ServerRunIDs(ctx context.Context) (string, error) {
	var lives []string
	err := s.ask(ctx, "server", func(said map[string]string) {
		lives = append(lives, said["run_id"])
	})
	if err != nil {
		return "", err
	}
	slices.Sort(lives)
	return strings.Join(lives, " "), nil
}

// ask has every primary tell a section of what it knows of itself, one after the
// other. What a server does not tell is empty.
func (s *Store) ask(ctx context.Context, section string, tell func(said map[string]string)) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var mu sync.Mutex
	askOne := func(ctx context.Context, server redis.Cmdable) error {
		said, err := server.Info(ctx, section).Result()
		if err != nil && !deniesInfo(err) {
			return fmt.Errorf("%w: ask a server for its %s: %w", ErrUnavailable, section, err)
		}
		mu.Lock()
		defer mu.Unlock()
		tell(parseInfo(said))
		return nil
	}
	if cluster, is := s.client.(*redis.ClusterClient); is {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, server *redis.Client) error {
			return askOne(ctx, server)
		})
	}
	return askOne(ctx, s.client)
}

// deniesInfo says whether a server refused to tell for good: the embedded one knows
// few sections, and users may lack the right.
func deniesInfo(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) &&
		(strings.HasPrefix(reply.Error(), "NOPERM") || strings.Contains(reply.Error(), "is not supported"))
}

func parseInfo(text string) map[string]string {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			said[name] = value
		}
	}
	return said
}

// Errors of what Redis servers are set up as.
var (
	errIsCluster  = errors.New("it is a node of a Redis Cluster: write redis+cluster:// in REDIS_URL")
	errIsSentinel = errors.New("it is a Sentinel: write redis+sentinel://…?master=name in REDIS_URL")
	errIsReplica  = errors.New("it is a replica: name its primary, or the Sentinels that know it, in REDIS_URL")
	errNoCluster  = errors.New("it is no Redis Cluster: write redis:// in REDIS_URL")
	errEvicts     = errors.New("set its maxmemory-policy to volatile-lru or noeviction: it may evict any key now, " +
		"and without its keys a proposal, a revoked token or a used payment would look as if there were none")
)

// CheckServers says which server is set up so that answers could be wrong: it is
// another kind of Redis than the URL says, or evicts what has no expiry. The error
// is ErrServerConfig, with what to do about it, or ErrUnavailable.
func (s *Store) CheckServers(ctx context.Context) error {
	var problems []error
	_, cluster := s.client.(*redis.ClusterClient)
	note := func(said map[string]string) {
		if err := misfit(said, cluster); err != nil {
			problems = append(problems, fmt.Errorf("%w: port %s: %w", ErrServerConfig, said["tcp_port"], err))
		}
	}
	if err := s.ask(ctx, "default", note); err != nil {
		return err
	}
	return errors.Join(problems...)
}

// ErrServerConfig is a Redis that is set up so that answers could be wrong.
var ErrServerConfig = errors.New("redis is not set up for Pnyx")

func misfit(said map[string]string, cluster bool) error {
	limited := said["maxmemory"] != "" && said["maxmemory"] != "0"
	switch mode := said["redis_mode"]; {
	case mode == "sentinel":
		return errIsSentinel
	case mode == "cluster" && !cluster:
		return errIsCluster
	case mode == "standalone" && cluster:
		return errNoCluster
	case said["role"] == "slave":
		return errIsReplica
	case limited && strings.HasPrefix(said["maxmemory_policy"], "allkeys-"):
		return errEvicts
	}
	return nil
}
