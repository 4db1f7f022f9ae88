package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// PublicationState is the state of publication. It is there once everything was
// published, and gone when Redis is flushed.
type PublicationState struct {
	// Revision is the last publication that is complete.
	Revision uint64 `msgpack:"revision"`
	// CommittedThrough is up to when batches are published, microseconds by the
	// warehouse's clock.
	CommittedThrough int64 `msgpack:"sealedThrough"`
	// HeartbeatAt is when the worker last looked for what is to be published: nothing
	// before is missing.
	HeartbeatAt governance.Timestamp `msgpack:"heartbeatAt"`
	// LastFullRevision is the last revision at which everything was published.
	LastFullRevision uint64 `msgpack:"whole"`
	// ServerRunIDs is that of the Redis when everything was; see Store.Identity.
	ServerRunIDs string `msgpack:"identity"`
	// LaggingDAOs are the DAOs whose numbers did not agree, for a next leader to try again.
	LaggingDAOs []string `msgpack:"unsettled,omitempty"`
	// CursorKey signs the cursors of every API node.
	CursorKey []byte `msgpack:"cursorKey"`
}

// PublicationState reads the state of publication. The error is ErrMiss before the
// first publication is complete, or ErrUnavailable.
func (s *Store) PublicationState(ctx context.Context) (PublicationState, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	value, err := s.client.Get(ctx, string(publishedKey)).Bytes()
	if err != nil {
		return PublicationState{}, readError(err)
	}
	var p PublicationState
	if err := msgpack.Unmarshal(value, &p); err != nil {
		return PublicationState{}, fmt.Errorf("%w: state of publication does not decode: %w", ErrMiss, err)
	}
	return p, nil
}

// ErrFlushed is a Redis that lost what was published, or is being published.
var ErrFlushed = errors.New("redis was flushed meanwhile")

// setAsLeader writes a value if the lease is still the writer's (else 0), and if
// what proves that Redis was not flushed since is still there (else -1).
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var setAsLeader = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '' then
	if redis.call('EXISTS', KEYS[2]) == 0 then return -1 end
elseif redis.call('GET', KEYS[3]) ~= ARGV[3] then
	return -1
end
redis.call('SET', KEYS[2], ARGV[2])
return 1`)

// beginAsLeader leaves a token if the lease is still the writer's.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var beginAsLeader = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
return 1`)

// BeginFullPublication leaves a token before everything is published. SetPublicationState needs
// it at the end: a flush in between takes it away with what was written already.
func (l *Lease) BeginFullPublication(ctx context.Context) (token string, err error) {
	token = rand.Text()
	return token, l.guarded(ctx, beginAsLeader, []string{string(leaseKey), string(publishingKey)}, token)
}

// SetPublicationState writes the state of publication: with the token of BeginFullPublication
// when everything was published, with "" to go on from a state that is there. It
// fails with ErrNotLeader when the lease has passed to another, and with ErrFlushed.
func (l *Lease) SetPublicationState(ctx context.Context, p PublicationState, token string) error {
	value, err := msgpack.Marshal(&p)
	if err != nil {
		return fmt.Errorf("encode the state of publication: %w", err)
	}
	keys := []string{string(leaseKey), string(publishedKey), string(publishingKey)}
	return l.guarded(ctx, setAsLeader, keys, value, token)
}

// Notify tells API nodes that something was published. Those who do not hear it
// find out by themselves, a moment later.
func (s *Store) Notify(ctx context.Context) error {
	return readError(s.client.Publish(ctx, string(outdatedChannel), "").Err())
}

// Subscribe calls heard whenever something was published, until ctx ends. Messages
// may be lost while the connection is.
func (s *Store) Subscribe(ctx context.Context, heard func()) {
	subscription := s.client.Subscribe(ctx, string(outdatedChannel))
	defer subscription.Close()
	messages := subscription.Channel()
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-messages:
			if !open {
				return
			}
			heard()
		}
	}
}

// renewalEvery is how often everything is published again for views that do not
// decode, at the most: if that does not help, nothing will.
const renewalEvery = 10 * time.Minute

// Values of the key of renewals.
const (
	renewalAsked = "asked"
	renewalDone  = "done"
)

// RequestRepublish asks the worker to publish everything again, because a view does not
// decode. It does nothing where somebody has, in the last ten minutes.
func (s *Store) RequestRepublish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return readError(s.client.SetNX(ctx, string(renewalKey), renewalAsked, renewalEvery).Err())
}

// RepublishRequested says whether somebody has asked to publish everything again.
func (s *Store) RepublishRequested(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	said, err := s.client.Get(ctx, string(renewalKey)).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return said == renewalAsked, readError(err)
}

// CompleteRepublish says that everything was published again.
func (s *Store) CompleteRepublish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return readError(s.client.Set(ctx, string(renewalKey), renewalDone, renewalEvery).Err())
}
