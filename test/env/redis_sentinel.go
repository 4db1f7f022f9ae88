package env

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	sentinelNodes = 3
	// sentinelMaster is the name by which RedisSentinelServers know the pair.
	sentinelMaster = "pnyx"
	// sentinelDown is after how many milliseconds a Sentinel takes a server for dead, while a failover is awaited,
	// which takes two seconds more. Before and after, a busy machine must not cause one.
	sentinelDown, sentinelDownBefore = 1000, 120_000
)

// RedisSentinelServers are a Redis, its replica, and three Sentinels that promote the replica when the Redis dies.
type RedisSentinelServers struct {
	// URL names every Sentinel.
	URL string

	tb        testing.TB
	servers   []*RedisServer
	sentinels []*RedisServer
}

// RedisSentinels starts them, until the end of tb, and waits until all know each other, or skips the test.
func RedisSentinels(tb testing.TB) *RedisSentinelServers {
	tb.Helper()
	path := redisServerPath(tb)
	s := &RedisSentinelServers{tb: tb}
	primary := newServer(tb, path, "--repl-diskless-sync-delay", "0")
	primary.start()
	host, port, _ := net.SplitHostPort(primary.Addr)
	replica := newServer(tb, path, "--repl-diskless-sync-delay", "0", "--replicaof", host+" "+port)
	replica.start()
	// A Sentinel asks a primary for its replicas at once, and then every ten seconds.
	Until(tb, func() error { return replica.role("slave") })
	s.servers = []*RedisServer{primary, replica}
	var addresses []string
	for range sentinelNodes {
		sentinel := newServer(tb, path)
		sentinel.file = filepath.Join(tb.TempDir(), "sentinel.conf")
		MustDo(tb, os.WriteFile(sentinel.file, nil, 0o600))
		sentinel.options = sentinel.options[:2] // an address to bind to, and nothing on keeping data
		sentinel.start()
		s.sentinels = append(s.sentinels, sentinel)
		s.watch(sentinel, host, port)
		addresses = append(addresses, sentinel.Addr)
	}
	s.URL = "redis+sentinel://" + strings.Join(addresses, ",") + "?master=" + sentinelMaster
	Until(tb, s.complete)
	return s
}

// Primary is the server that the RedisSentinelServers take for the primary.
func (s *RedisSentinelServers) Primary() *RedisServer {
	s.tb.Helper()
	var primary *RedisServer
	Until(s.tb, func() (err error) {
		primary, err = s.named()
		return err
	})
	return primary
}

// Replica is the other one.
func (s *RedisSentinelServers) Replica() *RedisServer {
	s.tb.Helper()
	return s.other(s.Primary())
}

// AwaitFailover returns when the other server has become the primary in place of a former one.
func (s *RedisSentinelServers) AwaitFailover(former *RedisServer) {
	s.tb.Helper()
	s.setDown(sentinelDown)
	Until(s.tb, func() error {
		primary, err := s.named()
		if err == nil && primary == former {
			err = fmt.Errorf("%s is still the primary", former.Addr)
		}
		if err != nil {
			return err
		}
		return primary.role("master")
	})
}

// AwaitReplica returns when there is a replica that is up to date.
func (s *RedisSentinelServers) AwaitReplica() {
	s.tb.Helper()
	Until(s.tb, func() error { return s.Replica().role("slave") })
	s.setDown(sentinelDownBefore)
}

func (s *RedisSentinelServers) other(server *RedisServer) *RedisServer {
	if server == s.servers[0] {
		return s.servers[1]
	}
	return s.servers[0]
}

// named returns the primary that a Sentinel names.
func (s *RedisSentinelServers) named() (*RedisServer, error) {
	address, err := s.sentinels[0].ask("sentinel", "get-master-addr-by-name", sentinelMaster).StringSlice()
	if err != nil {
		return nil, err
	}
	for _, server := range s.servers {
		if len(address) == 2 && server.Addr == net.JoinHostPort(address[0], address[1]) {
			return server, nil
		}
	}
	return nil, fmt.Errorf("a Sentinel names %v", address)
}

// watch has a Sentinel watch the pair.
func (s *RedisSentinelServers) watch(sentinel *RedisServer, host, port string) {
	s.tb.Helper()
	MustDo(s.tb, errors.Join(
		sentinel.ask("sentinel", "monitor", sentinelMaster, host, port, sentinelNodes/2+1).Err(),
		sentinel.ask("sentinel", "set", sentinelMaster, "down-after-milliseconds", sentinelDownBefore).Err(),
		sentinel.ask("sentinel", "set", sentinelMaster, "failover-timeout", 5*sentinelDown).Err(),
	))
}

// setDown sets after how many milliseconds the Sentinels take a server for dead.
func (s *RedisSentinelServers) setDown(milliseconds int) {
	s.tb.Helper()
	for _, sentinel := range s.sentinels {
		MustDo(s.tb, sentinel.ask("sentinel", "set", sentinelMaster, "down-after-milliseconds", milliseconds).Err())
	}
}

// complete checks that each Sentinel knows the others and the replica.
func (s *RedisSentinelServers) complete() error {
	for _, sentinel := range s.sentinels {
		said, err := sentinel.ask("info", "sentinel").Text()
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("slaves=1,sentinels=%d", sentinelNodes); !strings.Contains(said, want) {
			return fmt.Errorf("the Sentinel at %s says %s, want %s", sentinel.Addr, said, want)
		}
	}
	return nil
}

// role checks whether the server is a "master", or a "slave" that is up to date.
func (s *RedisServer) role(want string) error {
	said, err := s.ask("role").Slice()
	if err != nil {
		return err
	}
	if said[0] != want || want == "slave" && said[3] != "connected" {
		return fmt.Errorf("the role of %s: got %v, want %s", s.Addr, said, want)
	}
	return nil
}
