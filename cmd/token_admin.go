package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/config"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/warehouse"
	stored "pnyx/warehouse/accounts"
	"pnyx/worker/account"
)

// tokenAdmin changes partner tokens in the warehouse, and publishes that to a Redis if there is one.
type tokenAdmin struct {
	warehouse *warehouse.Warehouse
	cfg       config.Config
	logger    *slog.Logger
}

// issue stores a new token and returns its plain text. It fills in the id, the time and the hash of t.
func (a tokenAdmin) issue(ctx context.Context, t *stored.Token) (raw string, err error) {
	t.ID, t.CreatedAt = access.NewTokenID(), time.Now().UTC().Truncate(time.Millisecond)
	return a.renew(ctx, t)
}

// rotate replaces a token and returns the new plain text. The old one stays valid for the overlap.
func (a tokenAdmin) rotate(ctx context.Context, t *stored.Token, overlap time.Duration) (raw string, err error) {
	if t.RevokedAt != nil {
		return "", fmt.Errorf("token %s is revoked", t.ID)
	}
	t.PreviousHash, t.PreviousUntil = t.Hash, time.Now().Add(overlap)
	return a.renew(ctx, t)
}

func (a tokenAdmin) renew(ctx context.Context, t *stored.Token) (raw string, err error) {
	raw = access.GenerateToken(t.ID)
	t.Hash = access.HashToken(raw)
	if err := stored.NewAccounts(a.warehouse).PutToken(ctx, *t); err != nil {
		return "", err
	}
	a.publish(ctx)
	return raw, nil
}

func (a tokenAdmin) find(ctx context.Context, id string) (stored.Token, error) {
	tokens, err := stored.NewAccounts(a.warehouse).Tokens(ctx)
	return only(tokens, err, func(t stored.Token) bool { return t.ID == id }, fmt.Errorf("no token has the id %q", id))
}

// only returns the one of all that is meant, or the error missing.
func only[T any](all []T, err error, isMeant func(T) bool, missing error) (one T, _ error) {
	if i := slices.IndexFunc(all, isMeant); err == nil && i >= 0 {
		return all[i], nil
	}
	return one, cmp.Or(err, missing)
}

// publish writes the tokens to Redis, as a worker does later. A failure is only logged: the change is stored.
func (a tokenAdmin) publish(ctx context.Context) {
	if err := a.publishToRedis(ctx); err != nil {
		a.logger.LogAttrs(ctx, slog.LevelWarn, "tokens not published to Redis, the worker publishes them", slog.Any("error", err))
	}
}

func (a tokenAdmin) publishToRedis(ctx context.Context) (err error) {
	url, err := findRedis(a.cfg)
	if url == "" || err != nil {
		return err
	}
	store, err := cache.Open(url, workerRedisTimeout)
	if err != nil {
		return fmt.Errorf("REDIS_URL: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return account.PublishTokens(ctx, a.warehouse, accounts.New(store))
}

func newTokenRecord(name, plan, scopes, expires, limits string) (stored.Token, error) {
	t := stored.Token{Name: strings.TrimSpace(name), Plan: plan}
	if t.Name == "" {
		return t, errors.New("--name: want the name of the partner")
	}
	parsed, err := access.ParseScopes(scopes)
	if err != nil {
		return t, fmt.Errorf("--scopes: %w", err)
	}
	t.Scopes = warehouse.NonNilTexts(parsed)
	if t.ExpiresAt, err = parseExpiry(expires); err != nil {
		return t, err
	}
	t.Limits, err = parseLimits(limits, plan)
	return t, err
}

// parseExpiry reads --expires; nil means that the token does not expire.
func parseExpiry(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // the token does not expire
	}
	stamp, err := governance.ParseTimestamp(text)
	if err != nil {
		return nil, fmt.Errorf("--expires: %w", err)
	}
	if !stamp.Time().After(time.Now()) {
		return nil, errors.New("--expires: want a date or RFC 3339 time in the future")
	}
	return new(stamp.Time()), nil
}

// parseLimits reads --limits, in the order of ratelimit.LimitsFromRow; nil means the plan's own limits.
func parseLimits(text, plan string) ([]uint32, error) {
	if text == "" {
		return nil, nil
	}
	if ratelimit.Plan(plan) != ratelimit.Custom {
		return nil, errors.New("--limits: is for the plan custom only")
	}
	var row []uint32
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.ParseUint(strings.TrimSpace(part), 10, 32)
		if err != nil || number == 0 {
			return nil, fmt.Errorf("--limits: %q is not a whole number from 1 to 4294967295", part)
		}
		row = append(row, uint32(number))
	}
	if ratelimit.LimitsFromRow(row) == nil {
		return nil, errors.New("--limits: want five numbers: per month, standard per minute, standard burst, detail per minute, detail burst")
	}
	return row, nil
}

// stateOf names the state of a token at a time. A revoked token stays "revoked" after it expires.
func stateOf(t stored.Token, now time.Time) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked"
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return "expired"
	case now.Before(t.PreviousUntil):
		return "valid, the one before too"
	}
	return "valid"
}

func endOf(t stored.Token) string {
	if t.ExpiresAt == nil {
		return "never"
	}
	return t.ExpiresAt.UTC().Format(time.DateTime)
}

// shownToken is the printed form of a token. Scripts read it, so its JSON names must stay.
type shownToken struct {
	ID string `json:"id"`
	// Token is the plain text, only when it was just created.
	Token  string   `json:"token,omitempty"`
	Name   string   `json:"name"`
	Plan   string   `json:"plan"`
	Scopes []string `json:"scopes"`
	// Limits are the limits of a custom plan, in the order of ratelimit.LimitsFromRow.
	Limits    []uint32              `json:"limits,omitempty"`
	CreatedAt governance.Timestamp  `json:"createdAt"`
	ExpiresAt *governance.Timestamp `json:"expiresAt"` // nil for never
	// PreviousUntil is when the token before the last rotation ends; nil if it was never rotated.
	PreviousUntil *governance.Timestamp `json:"previousUntil"`
	RevokedAt     *governance.Timestamp `json:"revokedAt"`  // nil unless it is revoked
	LastUsedOn    *string               `json:"lastUsedOn"` // YYYY-MM-DD in UTC; nil for never
	State         string                `json:"state"`
}

// printNewToken prints the plain text alone, for TOKEN=$(pnyx token issue …), or all as one JSON object.
func printNewToken(out, errOut io.Writer, t stored.Token, raw string, asJSON bool) error {
	if asJSON {
		seen := shownTokenOf(t)
		seen.Token = raw
		return json.NewEncoder(out).Encode(seen)
	}
	fmt.Fprintf(errOut, "token %s of %s, plan %s, scopes %s, for the header %s; it is shown this once:\n",
		t.ID, printable(t.Name), t.Plan, strings.Join(t.Scopes, ","), strings.ToLower(access.HeaderToken))
	_, err := fmt.Fprintln(out, raw)
	return err
}

func lastUsedOn(used map[string]time.Time, tokenID string) string {
	if day, ever := used[tokenID]; ever {
		return day.Format(time.DateOnly)
	}
	return ""
}

func printTokensJSON(out io.Writer, used map[string]time.Time, tokens ...stored.Token) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, t := range tokens {
		seen := shownTokenOf(t)
		if day := lastUsedOn(used, t.ID); day != "" {
			seen.LastUsedOn = &day
		}
		if err := encoder.Encode(seen); err != nil {
			return err
		}
	}
	return nil
}

// shownTokenOf returns the printed form of a token, without its plain text.
func shownTokenOf(t stored.Token) shownToken {
	seen := shownToken{
		ID: t.ID, Name: t.Name, Plan: t.Plan, Scopes: t.Scopes, Limits: t.Limits, CreatedAt: governance.TimestampOf(t.CreatedAt),
		ExpiresAt: governance.OptionalTimestamp(t.ExpiresAt), RevokedAt: governance.OptionalTimestamp(t.RevokedAt), State: stateOf(t, time.Now()),
	}
	if t.PreviousUntil.Unix() > 0 {
		seen.PreviousUntil = governance.OptionalTimestamp(&t.PreviousUntil)
	}
	return seen
}
