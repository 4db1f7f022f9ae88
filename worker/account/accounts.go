// Package account publishes partner tokens to API nodes, and moves usage and payments
// from Redis to the warehouse.
package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/warehouse"
	"pnyx/worker/backoff"
)

const (
	// tokensEvery is how often tokens are looked at: a revocation has to reach every
	// node within a second.
	tokensEvery = 250 * time.Millisecond
	// drainEvery is how often usage is moved to the warehouse, and so how much of it
	// a flush of Redis may cost.
	drainEvery = time.Second
	// drainAtOnce is how many counts are moved together.
	drainAtOnce = 5000
	// lastDrain bounds the one when a worker ends.
	lastDrain = 2 * time.Second
)

// Options says whose accounts are kept, and where.
type Options struct {
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	Logger    *slog.Logger
	Metrics   prometheus.Registerer
}

// Accounts publishes partner tokens to API nodes, and brings home what these have
// counted. Any number of workers may do so at once.
type Accounts struct {
	warehouse *warehouse.Warehouse
	store     *cache.Store
	logger    *slog.Logger
	metrics   accountMetrics
	// tokens is what this worker last saw to be published, at revision.
	tokens   []byte
	revision uint64
}

// New returns accounts that are not kept until Run.
func New(o Options) *Accounts {
	return &Accounts{
		warehouse: o.Warehouse, store: o.Store, logger: o.Logger, metrics: newAccountMetrics(o.Metrics),
	}
}

// Run keeps the accounts until ctx ends.
func (a *Accounts) Run(ctx context.Context) {
	drained := time.Now()
	for ctx.Err() == nil {
		err := a.publishTokens(ctx)
		if now := time.Now(); err == nil && now.Sub(drained) >= drainEvery {
			drained = now
			err = a.drain(ctx)
		}
		pause := tokensEvery
		if err != nil && ctx.Err() == nil {
			a.metrics.errors.Inc()
			a.logger.LogAttrs(ctx, slog.LevelWarn, "accounts are behind", slog.Any("error", err))
			pause = backoff.Jitter(4 * tokensEvery)
		}
		backoff.Wait(ctx, pause)
	}
	// What API nodes of this process wrote down at their end.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastDrain)
	defer cancel()
	if err := a.drain(last); err != nil {
		a.logger.LogAttrs(last, slog.LevelWarn, "usage is moved later", slog.Any("error", err))
	}
}

// PublishTokens publishes the tokens as the warehouse has them, in place of what is
// published. After a flush of Redis the worker comes first.
func PublishTokens(ctx context.Context, w *warehouse.Warehouse, store *cache.Store) error {
	now, err := w.Now(ctx)
	if err != nil {
		return err
	}
	tokens, err := encodedTokens(ctx, w)
	if err != nil {
		return err
	}
	return store.ReplaceTokens(ctx, uint64(now.UnixMicro()), tokens)
}

// publishTokens publishes the tokens when they are not what is published.
func (a *Accounts) publishTokens(ctx context.Context) error {
	// Read before the tokens are, so that the later reading has the later revision.
	now, err := a.warehouse.Now(ctx)
	if err != nil {
		return err
	}
	tokens, err := encodedTokens(ctx, a.warehouse)
	if err != nil {
		return err
	}
	published, err := a.store.TokensRevision(ctx)
	switch {
	case errors.Is(err, cache.ErrMiss):
		err = a.restore(ctx, now, tokens)
	case err == nil && (published != a.revision || !bytes.Equal(tokens, a.tokens)):
		err = a.replace(ctx, now, tokens)
	}
	return err
}

// restore publishes tokens where none are. Usage comes first: nobody is let in
// before it counts.
func (a *Accounts) restore(ctx context.Context, now time.Time, tokens []byte) error {
	if err := a.showUsage(ctx, now, nil); err != nil {
		return err
	}
	return a.store.SetTokens(ctx, uint64(now.UnixMicro()), tokens)
}

// replace publishes tokens unless they are what another worker, or a command, has
// published. That may have been an older reading.
func (a *Accounts) replace(ctx context.Context, now time.Time, tokens []byte) error {
	revision, held, err := a.store.Tokens(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(held, tokens) {
		revision = max(uint64(now.UnixMicro()), revision+1)
		if err := a.store.ReplaceTokens(ctx, revision, tokens); err != nil {
			return err
		}
	}
	a.tokens, a.revision = tokens, revision
	return nil
}

// encodedTokens reads the tokens that may be valid, as nodes need them.
func encodedTokens(ctx context.Context, w *warehouse.Warehouse) ([]byte, error) {
	tokens, err := w.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	records := []access.Token{}
	for _, token := range tokens {
		if token.RevokedAt == nil {
			records = append(records, tokenRecord(token))
		}
	}
	return access.EncodeTokens(records)
}

func tokenRecord(t warehouse.Token) access.Token {
	r := access.Token{
		ID: t.ID, Plan: ratelimit.Plan(t.Plan), Limits: ratelimit.LimitsFromRow(t.Limits),
		Hash: t.Hash, PreviousHash: t.PreviousHash, PreviousUntil: t.PreviousUntil,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
	}
	for _, scope := range t.Scopes {
		r.Scopes = append(r.Scopes, access.Scope(scope))
	}
	return r
}

// drain moves counts to the warehouse. They are written before they are taken away,
// and writing them again changes nothing.
func (a *Accounts) drain(ctx context.Context) error {
	counts, err := a.store.Counters(ctx, drainAtOnce)
	if err != nil || len(counts) == 0 {
		return err
	}
	usage, tokenIDs := a.decode(ctx, counts)
	if err := a.warehouse.PutUsage(ctx, usage); err != nil {
		return err
	}
	if err := a.store.DeleteCounters(ctx, counts); err != nil {
		return err
	}
	a.metrics.drained.Add(float64(len(counts)))
	now, err := a.warehouse.Now(ctx)
	if err != nil || len(tokenIDs) == 0 {
		return err
	}
	return a.showUsage(ctx, now, tokenIDs)
}

// decode reads counts, and returns whose they are besides. One that cannot be read
// is dropped with the others: it would stand in their way for ever.
func (a *Accounts) decode(
	ctx context.Context, counts []cache.UsageCounter,
) (usage []warehouse.Usage, tokenIDs []string) {
	seen := map[string]bool{"": true}
	for _, count := range counts {
		u, err := access.DecodeUsage(count.Value)
		day, dayErr := time.Parse(time.DateOnly, u.Day)
		if err := errors.Join(err, dayErr); err != nil {
			a.metrics.errors.Inc()
			a.logger.LogAttrs(ctx, slog.LevelError, "a count is lost", slog.Any("error", err))
			continue
		}
		usage = append(usage, warehouse.Usage{
			TokenID: u.TokenID, Day: day, Route: u.Route, Session: u.Session,
			Requests: u.Requests, OK: u.OK, NotModified: u.NotModified, Refused: u.Refused, Failed: u.Failed,
			Charged: u.Charged, Bytes: u.Bytes, Payments: u.Payments,
		})
		if !seen[u.TokenID] {
			seen[u.TokenID] = true
			tokenIDs = append(tokenIDs, u.TokenID)
		}
	}
	return usage, tokenIDs
}

// showUsage publishes the month's usage of some tokens, or of all when none are
// named, and lifts their quotas to it.
func (a *Accounts) showUsage(ctx context.Context, now time.Time, tokenIDs []string) error {
	month := ratelimit.MonthOf(now)
	rows, err := a.warehouse.UsageBetween(ctx, month.Begin, month.End().AddDate(0, 0, -1), tokenIDs)
	if err != nil {
		return err
	}
	used, views := map[string]int64{}, map[string]*access.MonthUsage{}
	for _, u := range rows {
		if u.TokenID == "" {
			continue
		}
		if views[u.TokenID] == nil {
			views[u.TokenID] = &access.MonthUsage{Month: month.String()}
		}
		used[u.TokenID] += int64(u.Charged) //nolint:gosec // a count
		views[u.TokenID].Days = append(views[u.TokenID].Days, dayOf(u))
	}
	if err := a.store.RaiseQuotas(ctx, month.String(), used); err != nil {
		return err
	}
	writer := a.store.NewWriter(uint64(now.UnixMicro()))
	for tokenID, usage := range views {
		head := cache.View{DataAsOf: governance.TimestampOf(now), Readiness: governance.Ready}
		view, err := cache.NewView(head, usage)
		if err != nil {
			return err
		}
		if err := writer.SetView(ctx, cache.UsageKey(tokenID), view); err != nil {
			return fmt.Errorf("publish usage: %w", err)
		}
	}
	return writer.Flush(ctx)
}

func dayOf(u warehouse.Usage) access.DayUsage {
	return access.DayUsage{
		Day: u.Day.Format(time.DateOnly), Route: u.Route,
		Counters: access.Counters{
			Requests: u.Requests, OK: u.OK, NotModified: u.NotModified, Refused: u.Refused, Failed: u.Failed,
			Charged: u.Charged, Bytes: u.Bytes, Payments: u.Payments,
		},
	}
}
