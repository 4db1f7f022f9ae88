package accounts

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
)

// setTokens writes tokens unless a newer revision is stored, or ARGV[3] is "existing" and none is. DEL
// comes first because a Redis without memory refuses SET, and a revocation, only as the first write of a
// script. KEYS: tokens. ARGV: revision, value, "existing" or "".
var setTokens = redis.NewScript(cache.IsNewerFunction + `
local stored = redis.call('GETRANGE', KEYS[1], 0, ` + strconv.Itoa(cache.RevisionDigits-1) + `)
if not tonumber(stored) and ARGV[3] == 'existing' then return 0 end
if is_newer(stored, ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

// SetTokens publishes the encoded tokens at a revision, unless a newer revision is
// stored, and notifies API nodes. All tokens are one value, so an API node has all of them or none.
func (s *Store) SetTokens(ctx context.Context, revision uint64, tokens []byte) error {
	return s.setTokens(ctx, revision, tokens, "")
}

// ReplaceTokens is SetTokens that does nothing while no tokens are stored. It is for callers that do not restore
// quotas: after a flush of Redis the worker does that before it publishes tokens.
func (s *Store) ReplaceTokens(ctx context.Context, revision uint64, tokens []byte) error {
	return s.setTokens(ctx, revision, tokens, "existing")
}

func (s *Store) setTokens(ctx context.Context, revision uint64, tokens []byte, condition string) error {
	value := append(cache.EncodeRevision(revision), tokens...)
	written, err := setTokens.Run(ctx, cache.Client(s.conn), []string{string(tokensKey)}, revision, value, condition).Int()
	if err != nil {
		return fmt.Errorf("%w: publish tokens: %w", cache.ErrUnavailable, err)
	}
	if written == 1 {
		_ = s.cache.Notify(ctx, nil) // a node that is not told finds the revision when it polls
	}
	return nil
}

// tokensRevision reads the revision at the start of the tokens: GETRANGE returns "" for a missing key.
func tokensRevision(reply *redis.StringCmd) (uint64, error) {
	text, err := reply.Bytes()
	if err != nil {
		return 0, cache.WrapError(err)
	}
	return cache.DecodeRevision(text)
}

// TokensRevision returns the revision of the published tokens.
func (s *Store) TokensRevision(ctx context.Context) (uint64, error) {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	return tokensRevision(cache.Client(s.conn).GetRange(ctx, string(tokensKey), 0, cache.RevisionDigits-1))
}

// Tokens returns the published tokens, encoded, and their revision.
func (s *Store) Tokens(ctx context.Context) (revision uint64, tokens []byte, err error) {
	value, err := cache.Get(ctx, s.conn, tokensKey).Bytes()
	if err != nil {
		return 0, nil, cache.WrapError(err)
	}
	if revision, err = cache.DecodeRevision(value); err != nil {
		return 0, nil, err
	}
	return revision, value[cache.RevisionDigits:], nil
}
