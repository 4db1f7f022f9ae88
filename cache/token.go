package cache

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// SetTokens publishes what API nodes need to know of all tokens, at a revision,
// unless a newer one is there. It is one value: a node has all tokens or none.
func (s *Store) SetTokens(ctx context.Context, revision uint64, tokens []byte) error {
	value := append(revisionText(revision), tokens...)
	if err := setNewer.Run(ctx, s.client, []string{string(tokensKey)}, revision, value).Err(); err != nil {
		return fmt.Errorf("%w: publish tokens: %w", ErrUnavailable, err)
	}
	return nil
}

// replaceNewer is setNewer for a value that is there.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var replaceNewer = redis.NewScript(`
local held = tonumber(redis.call('GETRANGE', KEYS[1], 0, ` + strconv.Itoa(revisionDigits-1) + `))
if held and held <= tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[2]) end
return 0`)

// ReplaceTokens is SetTokens for whoever did not restore first what a flush of
// Redis took: where nothing is published, nothing is.
func (s *Store) ReplaceTokens(ctx context.Context, revision uint64, tokens []byte) error {
	value := append(revisionText(revision), tokens...)
	if err := replaceNewer.Run(ctx, s.client, []string{string(tokensKey)}, revision, value).Err(); err != nil {
		return fmt.Errorf("%w: publish tokens: %w", ErrUnavailable, err)
	}
	return nil
}

// TokensRevision returns at which revision tokens are published. The error is
// ErrMiss or ErrUnavailable.
func (s *Store) TokensRevision(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	text, err := s.client.GetRange(ctx, string(tokensKey), 0, revisionDigits-1).Result()
	if err != nil {
		return 0, readError(err)
	}
	return parseRevision(text)
}

// Tokens reads what is published of all tokens. The error is ErrMiss or
// ErrUnavailable.
func (s *Store) Tokens(ctx context.Context) (revision uint64, tokens []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	value, err := s.client.Get(ctx, string(tokensKey)).Bytes()
	if err != nil {
		return 0, nil, readError(err)
	}
	revision, err = parseRevision(string(value[:min(len(value), revisionDigits)]))
	if err != nil {
		return 0, nil, err
	}
	return revision, value[revisionDigits:], nil
}

func parseRevision(text string) (uint64, error) {
	if len(text) < revisionDigits {
		return 0, ErrMiss
	}
	revision, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %w: no revision", ErrMiss, ErrCorrupt)
	}
	return revision, nil
}
