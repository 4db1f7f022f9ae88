package cache

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// previousNamespace started the keys of the format before. Package accounts still uses
// it for keys whose format has not changed.
const previousNamespace = "pnyx:3:"

// Keys of the format before that decide when its values are removed.
const (
	previousLeaseKey = previousNamespace + "{worker}:lease"
	previousStateKey = previousNamespace + "{worker}:published"
)

// previousFormatTTL is how long values of the format before are kept once no worker
// writes them: time to replace the API nodes that still read them.
const previousFormatTTL = 2 * 24 * time.Hour

// previousStateTTL ends before previousFormatTTL: an API node of the version before
// answers 503 without the state of publication, but 404 for a view that is missing.
const previousStateTTL = previousFormatTTL - 24*time.Hour

// scanBatch is how many keys one SCAN visits.
const scanBatch = 1000

// isPreviousFormat reports whether this package stored a key in the format before.
func isPreviousFormat(key string) bool {
	name, found := strings.CutPrefix(key, previousNamespace)
	if !found {
		return false
	}
	for _, prefix := range []string{"view:", "mark:", "{worker}:", "{daos}:", "{fills}:", "{tokens}:"} {
		if strings.HasPrefix(name, prefix) {
			return key != previousStateKey
		}
	}
	return false
}

// ExpirePreviousFormat sets a lifetime on everything that the version before has
// stored, which would otherwise stay forever. It leaves the keys of package accounts
// that outlive an upgrade. done is false while a worker of that version still holds
// its lease: call again later. Calling it again, or concurrently, is harmless.
func (s *Store) ExpirePreviousFormat(ctx context.Context) (done bool, err error) {
	working, err := s.conn.Client.Exists(ctx, previousLeaseKey).Result()
	if err != nil || working > 0 {
		return false, WrapError(err)
	}
	ttl, err := s.conn.Client.TTL(ctx, previousStateKey).Result()
	switch {
	case err != nil:
		return false, WrapError(err)
	case ttl == -2: // there is no such key: this Redis holds no previous format
		return true, nil
	case ttl < 0: // the key has no lifetime yet
		if err := s.conn.Client.Expire(ctx, previousStateKey, previousStateTTL).Err(); err != nil {
			return false, WrapError(err)
		}
	}
	err = s.eachPrimary(ctx, expirePrevious)
	return err == nil, WrapError(err)
}

func expirePrevious(ctx context.Context, server *redis.Client) error {
	var cursor uint64
	for {
		keys, next, err := server.Scan(ctx, cursor, previousNamespace+"*", scanBatch).Result()
		if err != nil {
			return err
		}
		_, err = server.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range keys {
				if isPreviousFormat(key) {
					pipe.Expire(ctx, key, previousFormatTTL)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
