package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"pnyx/access"
	"pnyx/config"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/warehouse"
	"pnyx/worker/account"
)

// office makes and changes tokens.
type office struct {
	warehouse *warehouse.Warehouse
	cfg       config.Config
	logger    *slog.Logger
}

// issue writes a token down, and returns it raw: the only time that it is seen.
func (o office) issue(ctx context.Context, t *warehouse.Token) (raw string, err error) {
	t.ID, t.CreatedAt = access.NewTokenID(), time.Now().UTC().Truncate(time.Millisecond)
	raw = access.GenerateToken(t.ID)
	t.Hash = access.HashToken(raw)
	if err := o.warehouse.PutToken(ctx, *t); err != nil {
		return "", err
	}
	o.publish(ctx)
	return raw, nil
}

// rotate replaces a token, and returns the new one raw.
func (o office) rotate(ctx context.Context, t *warehouse.Token, overlap time.Duration) (raw string, err error) {
	if t.RevokedAt != nil {
		return "", fmt.Errorf("token %s is revoked", t.ID)
	}
	raw = access.GenerateToken(t.ID)
	t.PreviousHash, t.PreviousUntil = t.Hash, time.Now().Add(max(0, overlap))
	t.Hash = access.HashToken(raw)
	if err := o.warehouse.PutToken(ctx, *t); err != nil {
		return "", err
	}
	o.publish(ctx)
	return raw, nil
}

// find returns a token by its id.
func (o office) find(ctx context.Context, id string) (warehouse.Token, error) {
	tokens, err := o.warehouse.Tokens(ctx)
	if err != nil {
		return warehouse.Token{}, err
	}
	i := slices.IndexFunc(tokens, func(t warehouse.Token) bool { return t.ID == id })
	if i < 0 {
		return warehouse.Token{}, fmt.Errorf("no token has the id %q", id)
	}
	return tokens[i], nil
}

// publish tells the API nodes at once, where they share a Redis. The worker would
// do so a moment later; without it, this is the only way.
func (o office) publish(ctx context.Context) {
	if o.cfg.Cache.URL == "" {
		return
	}
	var undo cleanups
	store, err := openCache(string(o.cfg.Cache.URL), workerPatience, &undo)
	if err == nil {
		err = account.PublishTokens(ctx, o.warehouse, store)
	}
	if err := errors.Join(err, undo.run()); err != nil {
		o.logger.LogAttrs(ctx, slog.LevelWarn, "API nodes learn of it from the worker", slog.Any("error", err))
	}
}

// newTokenRecord reads what an operator wants of a token.
func newTokenRecord(name, plan, scopes, expires, limits string) (warehouse.Token, error) {
	t := warehouse.Token{Name: strings.TrimSpace(name), Plan: plan}
	if t.Name == "" {
		return t, errors.New("--name: want whose token it is")
	}
	if _, err := ratelimit.ParsePlan(plan); err != nil {
		return t, fmt.Errorf("--plan: %w", err)
	}
	parsed, err := access.ParseScopes(scopes)
	if err != nil {
		return t, fmt.Errorf("--scopes: %w", err)
	}
	for _, scope := range parsed {
		t.Scopes = append(t.Scopes, string(scope))
	}
	if t.ExpiresAt, err = parseExpiry(expires); err != nil {
		return t, err
	}
	if t.Limits, err = parseLimits(limits, plan); err != nil {
		return t, err
	}
	return t, nil
}

func parseExpiry(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no end
	}
	stamp, err := governance.ParseTimestamp(text)
	if err != nil || !stamp.Time().After(time.Now()) {
		return nil, errors.New("--expires: want a date or RFC 3339 time that is to come")
	}
	moment := stamp.Time()
	return &moment, nil
}

func parseLimits(text, plan string) ([]uint32, error) {
	if text == "" {
		return nil, nil
	}
	if ratelimit.Plan(plan) != ratelimit.Custom {
		return nil, errors.New("--limits: only the plan custom has limits of its own")
	}
	var row []uint32
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.ParseUint(strings.TrimSpace(part), 10, 32)
		if err != nil || number == 0 {
			return nil, fmt.Errorf("--limits: %q is no number above 0", part)
		}
		row = append(row, uint32(number))
	}
	if ratelimit.LimitsFromRow(row) == nil {
		return nil, errors.New("--limits: want five numbers: a month, standard a minute, at once, detail a minute, at once")
	}
	return row, nil
}
