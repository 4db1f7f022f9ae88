package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// PublicationState says what is published, from the first complete full publication to a flush of Redis.
type PublicationState struct {
	Revision uint64 `msgpack:"revision"` // the last complete publication
	// CommittedThrough is the commit time up to which every batch is published, in microseconds of the warehouse.
	CommittedThrough int64 `msgpack:"committedThrough"`
	// HeartbeatAt is when the worker last checked for changes: everything that it was told
	// of before is published, and an unannounced batch if it is a few seconds older.
	HeartbeatAt      governance.Timestamp `msgpack:"heartbeatAt"`
	LastFullRevision uint64               `msgpack:"lastFullRevision"` // the last of everything
	ChangesEpoch     uint64               `msgpack:"changesEpoch"`
	// ServerRunIDs identifies the Redis servers of the last full publication, see Standing, and the last restore
	// of the warehouse.
	ServerRunIDs string `msgpack:"serverRunIDs"`
	// LaggingDAOs are the DAOs whose numbers were inconsistent and are published later, for the next leader.
	LaggingDAOs []string `msgpack:"laggingDAOs,omitempty"`
	// CursorKey is the secret that every API node encrypts cursors with.
	CursorKey []byte `msgpack:"cursorKey"`
}

// PublicationState returns the state of publication; ErrMiss before the first full publication is complete.
func (s *Store) PublicationState(ctx context.Context) (PublicationState, error) {
	return decodePublicationState(Get(ctx, s.conn, publicationKey))
}

func decodePublicationState(reply *redis.StringCmd) (PublicationState, error) {
	value, err := reply.Bytes()
	if err != nil {
		return PublicationState{}, readError(err)
	}
	var p PublicationState
	if err := msgpack.Unmarshal(value, &p); err != nil {
		return PublicationState{}, fmt.Errorf("%w: decode the state of publication: %w", ErrMiss, err)
	}
	return p, nil
}

// Standing is what the leader finds in Redis before it publishes.
type Standing struct {
	// Published is the state of publication; nil before the first full publication is complete.
	Published *PublicationState
	// ServerRunIDs identifies the Redis servers: it changes when Redis may have lost writes.
	ServerRunIDs string
	// RepublishRequested says that a full publication is requested and not done.
	RepublishRequested bool
}

// Standing reads what the leader checks, in one round trip where Redis is one server.
func (s *Store) Standing(ctx context.Context) (found Standing, err error) {
	_, isOne := Client(s.conn).(*redis.Client)
	var ids []string
	if !isOne {
		if err := serverInfo(ctx, s, serverSection, func(info map[string]string) { ids = append(ids, info[runIDField]) }); err != nil {
			return Standing{}, err
		}
	}
	var info, state, request *redis.StringCmd
	_ = Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) {
		if isOne {
			info = pipe.Info(ctx, serverSection)
		}
		state, request = pipe.Get(ctx, string(publicationKey)), pipe.Get(ctx, string(republishKey))
	}) // each command has its error
	if isOne {
		fields, err := decodeInfo(info, serverSection)
		if err != nil {
			return Standing{}, err
		}
		ids = append(ids, fields[runIDField])
	}
	// They change when a primary restarts or is replaced, and when a node joins a Cluster. Replication and
	// persistence are asynchronous, so the last writes before may be lost, and nothing else reveals it. A Redis
	// without a run id, such as the one inside a process, always has the same result.
	slices.Sort(ids)
	found.ServerRunIDs = strings.Join(ids, ",")
	switch published, err := decodePublicationState(state); {
	case err == nil:
		found.Published = &published
	case !errors.Is(err, ErrMiss):
		return Standing{}, err
	}
	if err := request.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return Standing{}, WrapError(err)
	}
	found.RepublishRequested = request.Val() == republishRequested
	return found, nil
}

// CompletePublication returns the state of publication while Redis has all that is published: what is
// not there does not exist. The error is ErrUnavailable before the first full publication is complete,
// and from a restart or failover, which may lose writes, until the next one is.
func (s *Store) CompletePublication(ctx context.Context) (PublicationState, error) {
	found, err := s.Standing(ctx)
	if err != nil {
		return PublicationState{}, err
	}
	if found.Published != nil {
		ids, _, _ := strings.Cut(found.Published.ServerRunIDs, " ") // without a restore
		if found.ServerRunIDs == "" || ids == found.ServerRunIDs {
			return *found.Published, nil
		}
	}
	return PublicationState{}, fmt.Errorf("%w: not everything is published to the servers that run", ErrUnavailable)
}

// ErrFlushed means that Redis was flushed since the publication began.
var ErrFlushed = errors.New("redis was flushed during the publication")

// setState stores the state of publication. It returns 0 when the writer has lost the lease, and -1 when Redis
// was flushed: without ARGV[3] the state itself must still exist, with it the token must.
// KEYS: lease, state, token. ARGV: holder, state, token or "".
var setState = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '' then
	if redis.call('EXISTS', KEYS[2]) == 0 then return -1 end
elseif redis.call('GET', KEYS[3]) ~= ARGV[3] then
	return -1
end
redis.call('SET', KEYS[2], ARGV[2])
return 1`)

// setToken stores the token of a full publication. It returns 0 when the writer has lost the lease.
// KEYS: lease, token. ARGV: holder, token.
var setToken = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
return 1`)

// BeginFullPublication stores a new token, which SetPublicationState requires at the end: a flush of Redis in
// between deletes it together with the views. The error is ErrNotLeader or ErrUnavailable.
func (l *Lease) BeginFullPublication(ctx context.Context) (token string, err error) {
	token = rand.Text()
	return token, runScript(ctx, l, setToken, []string{string(leaseKey), string(fullPublicationKey)}, token)
}

// SetPublicationState stores the state of publication, with the token of BeginFullPublication after a full one, or
// with "" to replace an existing state. The error is ErrNotLeader, ErrFlushed or ErrUnavailable.
func (l *Lease) SetPublicationState(ctx context.Context, p PublicationState, token string) error {
	keys := []string{string(leaseKey), string(publicationKey), string(fullPublicationKey)}
	return runScript(ctx, l, setState, keys, Encode(&p), token)
}

// republishInterval is the least time between full publications that corrupt views cause.
const republishInterval = 10 * time.Minute

const (
	republishRequested = "requested"
	republishDone      = "done"
)

// RequestRepublish asks the leader for a full publication because a view does not decode, once in ten minutes.
func (s *Store) RequestRepublish(ctx context.Context) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	return WrapError(Client(s.conn).SetNX(ctx, string(republishKey), republishRequested, republishInterval).Err())
}

// CompleteRepublish records that the requested full publication is done.
func (s *Store) CompleteRepublish(ctx context.Context) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	return WrapError(Client(s.conn).Set(ctx, string(republishKey), republishDone, republishInterval).Err())
}
