package cache

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"
)

const previousNamespace = "pnyx:4:"

// Keys of the format before that decide when its values are removed.
const (
	previousLeaseKey = previousNamespace + "{worker}:lease"
	previousStateKey = previousNamespace + "{worker}:publication"
)

// previousStateTTL is how long the state of the format before is kept once no worker writes it: time to replace
// the API nodes that read it. Without the state they answer 503; with it they would answer 404 for deleted views.
const previousStateTTL = 24 * time.Hour

// previousRunIDs is the field of the previous format's state that is PublicationState.ServerRunIDs in this one.
const previousRunIDs = "serverRunIDs"

func isPreviousFormat(key string) bool {
	name, found := strings.CutPrefix(key, previousNamespace)
	if !found {
		return false
	}
	for _, prefix := range []string{"view:", "version:", "{worker}:", "{daos}:", "{fills}:", "{tokens}:"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// HasPreviousFormat reports whether the version before has published: its API nodes may serve.
func (s *Store) HasPreviousFormat(ctx context.Context) (bool, error) {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	found, err := Client(s.conn).Exists(ctx, previousStateKey).Result()
	return found > 0, WrapError(err)
}

// EndedPreviousFormat returns the state of publication that workers of the version before have left; nil while
// one leads, and after RetirePreviousFormat. What became due by the clock while they led, they noted in the
// warehouse as published, and wrote it to their own values alone.
func (s *Store) EndedPreviousFormat(ctx context.Context) (state []byte, err error) {
	var leading *redis.IntCmd
	var ttl *redis.DurationCmd
	var value *redis.StringCmd
	err = Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) {
		leading, ttl, value = pipe.Exists(ctx, previousLeaseKey), pipe.TTL(ctx, previousStateKey), pipe.Get(ctx, previousStateKey)
	})
	const forever = -1 // of a key without a lifetime
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, WrapError(err)
	case leading.Val() > 0, ttl.Val() != forever:
		return nil, nil
	}
	return value.Bytes()
}

// retire replaces the state of the format before, unless a worker of it leads or has changed it, and marks
// its values for deletion. KEYS: lease, state, marker. ARGV: state as it was, new state, its TTL in ms.
var retire = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[3], '1')
return 1`)

// RetirePreviousFormat lets the values of the version before end in a day, unless a worker of it has led since
// EndedPreviousFormat returned this state. Its API nodes serve them until then. A worker that comes back finds
// the state of another Redis: it publishes everything again, and its state has no lifetime any more.
func (s *Store) RetirePreviousFormat(ctx context.Context, before []byte) error {
	// What does not decode makes a worker of that version publish everything, too.
	after := before
	var state map[string]msgpack.RawMessage
	if msgpack.Unmarshal(before, &state) == nil {
		state[previousRunIDs] = Encode("replaced by " + Namespace)
		after = Encode(state)
	}
	keys := []string{previousLeaseKey, previousStateKey, string(previousRetiredKey)}
	return WrapError(Run(ctx, s.conn, retire, keys, before, after, previousStateTTL.Milliseconds()).Err())
}

// DeletePreviousFormat deletes what the version before has stored, a day after RetirePreviousFormat, but for
// what outlives an upgrade. Calling it again, or concurrently, is harmless.
func (s *Store) DeletePreviousFormat(ctx context.Context) error {
	retired, err := Client(s.conn).Exists(ctx, string(previousRetiredKey)).Result()
	if err != nil || retired == 0 {
		return WrapError(err)
	}
	used, err := Client(s.conn).Exists(ctx, previousLeaseKey, previousStateKey).Result()
	if err != nil || used > 0 {
		return WrapError(err)
	}
	err = eachPrimary(ctx, s, func(ctx context.Context, server *redis.Client) error {
		return deletePrevious(ctx, s, server)
	})
	if errors.Is(err, errPreviousFormatLeads) {
		return nil
	}
	if err != nil {
		return WrapError(err)
	}
	return WrapError(Client(s.conn).Del(ctx, string(previousRetiredKey)).Err())
}

// errPreviousFormatLeads ends a deletion: a worker of that version has come back.
var errPreviousFormatLeads = errors.New("a worker of the previous cache format leads again")

func deletePrevious(ctx context.Context, s *Store, server *redis.Client) error {
	const scanBatch = 1000 // how many keys one SCAN visits
	var cursor uint64
	for {
		keys, next, err := server.Scan(ctx, cursor, previousNamespace+"*", scanBatch).Result()
		if err != nil {
			return err
		}
		leading, err := Client(s.conn).Exists(ctx, previousLeaseKey).Result()
		if err != nil {
			return err
		}
		if leading > 0 {
			return errPreviousFormatLeads
		}
		_, err = server.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range keys {
				if isPreviousFormat(key) {
					pipe.Unlink(ctx, key)
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
