package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/test/env"
	stored "pnyx/warehouse/accounts"
	"pnyx/worker/account"
)

// startAccounts runs the accounts of a worker, and returns how to stop them.
func (h *harness) startAccounts() (stop func()) {
	return h.run(account.New(account.Options{
		Warehouse: h.warehouse, Store: h.store, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}).Run)
}

// putToken stores a new token, and returns it with its secret.
func (h *harness) putToken(name string) (t stored.Token, raw string) {
	h.t.Helper()
	t = stored.Token{ID: access.NewTokenID(), Name: name, Plan: "business", Scopes: []string{"v2:paid:*"}, CreatedAt: time.Now()}
	raw = access.GenerateToken(t.ID)
	t.Hash = access.HashToken(raw)
	env.MustDo(h.t, stored.NewAccounts(h.warehouse).PutToken(h.t.Context(), t))
	return t, raw
}

// startTokenCache runs an API node's copy of the tokens until the end of the test.
func (h *harness) startTokenCache() *access.TokenCache {
	h.t.Helper()
	tokens := access.NewTokenCache(accounts.New(h.store), time.Time{})
	h.run(tokens.Run)
	return tokens
}

func (h *harness) authenticates(tokens *access.TokenCache, raw string, want error) func() error {
	return func() error {
		if _, err := tokens.Authenticate(raw, time.Now()); !errors.Is(err, want) {
			return fmt.Errorf("got %w, want %w", err, want)
		}
		return nil
	}
}

func TestRevocationSurvivesALaterVersionOfTheToken(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.startAccounts()
	h.startAccounts() // two workers at once
	tokens := h.startTokenCache()
	token, raw := h.putToken("a")
	env.Until(h.t, h.authenticates(tokens, raw, nil))
	env.MustDo(t, stored.NewAccounts(h.warehouse).RevokeToken(t.Context(), token.ID))
	env.Until(h.t, h.authenticates(tokens, raw, access.ErrUnauthorized))
	// A rotation that read the token before it was revoked.
	after := access.GenerateToken(token.ID)
	token.Hash = access.HashToken(after)
	env.MustDo(t, stored.NewAccounts(h.warehouse).PutToken(t.Context(), token))
	_, marker := h.putToken("b") // published after the rotation
	env.Until(h.t, h.authenticates(tokens, marker, nil))
	for _, dead := range []string{raw, after} {
		env.WantError(t, nil, h.authenticates(tokens, dead, access.ErrUnauthorized)())
	}
}

func TestUsageIsStoredOnceWhenSentTwice(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stop := h.startAccounts()
	token, _ := h.putToken("a")
	now := time.Now()
	// Two nodes count requests, and send their counters when they stop.
	for _, answers := range []int{3, 4} {
		meter := access.NewMeter(accounts.New(h.store), slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		for range answers {
			meter.Count(access.Response{TokenID: token.ID, Route: "a", Status: http.StatusOK, Bytes: 10, Charged: true}, now)
			meter.Count(access.Response{TokenID: token.ID, Route: "a", Status: http.StatusNotModified}, now)
			meter.Count(access.Response{TokenID: token.ID, Route: "b", Status: http.StatusNotFound, Bytes: 1}, now)
		}
		cancel()
		meter.Run(ctx)
	}
	counts, _, err := accounts.New(h.store).Counters(t.Context(), 0, 100)
	if err != nil || len(counts) == 0 {
		t.Fatalf("got %v, %v, want counters", counts, err)
	}
	day := now.UTC().Truncate(24 * time.Hour)
	want := []stored.Usage{
		{TokenID: token.ID, Day: day, Route: "a", UsageCounts: governance.UsageCounts{Requests: 14, OK: 7, NotModified: 7, Charged: 7, Bytes: 70}},
		{TokenID: token.ID, Day: day, Route: "b", UsageCounts: governance.UsageCounts{Requests: 7, Refused: 7, Bytes: 7}},
	}
	env.Until(h.t, func() error { return h.checkUsage(day, want) })
	// The counters that a worker leaves which dies before it deletes them.
	env.MustDo(t, accounts.New(h.store).WriteCounters(t.Context(), counts))
	env.Until(h.t, func() error {
		left, _, err := accounts.New(h.store).Counters(t.Context(), 0, 100)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("got %d counters left, want none", len(left))
		}
		return err
	})
	stop()
	env.WantError(t, nil, h.checkUsage(day, want))
	env.Want(t, 7, env.Must(accounts.New(h.store).QuotaUsed(t.Context(), token.ID, ratelimit.MonthOf(now).String()))(t), "quota", "used")
	h.checkUsageView(token.ID, now)
}

func (h *harness) checkUsage(day time.Time, want []stored.Usage) error {
	got, err := stored.NewAccounts(h.warehouse).UsageBetween(h.t.Context(), day, day, nil)
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		err = fmt.Errorf("usage (-want +got):\n%s", diff)
	}
	return err
}

// checkUsageView checks the usage that a token's owner can read.
func (h *harness) checkUsageView(tokenID string, now time.Time) {
	h.t.Helper()
	month, _, err := read[access.MonthUsage](h, cache.UsageKey(tokenID))
	if err != nil || month.Month != now.UTC().Format("2006-01") || len(month.Days) != 2 || month.Days[0].Charged != 7 {
		h.t.Errorf("published usage: got %+v, %v", month, err)
	}
}

// Thirty nodes that serve four hundred tokens have 12,000 counters, and each request
// writes its counter again.
func TestAttackMoreCountersThanOneBatchAreAllWritten(t *testing.T) {
	t.Parallel()
	env.OnEachRedis(t, func(t *testing.T, url string) {
		t.Helper()
		newHarnessOn(t, url).countersReachTheWarehouse()
	})
}

func (h *harness) countersReachTheWarehouse() {
	h.t.Helper()
	const nodes, tokens = 30, 400
	store := accounts.New(h.store)
	day := time.Now().UTC().Truncate(24 * time.Hour)
	var written uint64
	// write is what the nodes do once a second: every total has grown since.
	write := func() {
		h.t.Helper()
		written++
		for node := range nodes {
			counters := make([]accounts.UsageCounter, tokens)
			for token := range counters {
				usage := access.Usage{
					Session: fmt.Sprintf("node%d", node), TokenID: fmt.Sprintf("token%d", token),
					Day: day.Format(time.DateOnly), Route: fmt.Sprintf("route%d", node),
					UsageCounts: governance.UsageCounts{Requests: written, OK: written, Charged: written},
				}
				value := env.Must(msgpack.Marshal(usage))(h.t)
				counters[token] = accounts.UsageCounter{Field: usage.Session + "|" + usage.TokenID, Value: string(value)}
			}
			env.MustDo(h.t, store.WriteCounters(h.t.Context(), counters))
		}
	}
	check := func(want func(charged uint64) bool) error {
		usage, err := stored.NewAccounts(h.warehouse).UsageBetween(h.t.Context(), day, day, nil)
		if err != nil {
			return err
		}
		right := 0
		for _, u := range usage {
			if want(u.Charged) {
				right++
			}
		}
		if right != nodes*tokens {
			err = fmt.Errorf("got %d of %d counters written", right, nodes*tokens)
		}
		return err
	}
	stop := h.startAccounts()
	// Every total of every node arrives at some value, although all change all the time.
	env.Until(h.t, func() error {
		write()
		return check(func(charged uint64) bool { return charged > 0 })
	})
	// A worker that dies in between loses nothing: the next one writes the rest.
	stop()
	write()
	h.startAccounts()
	env.Until(h.t, func() error {
		return check(func(charged uint64) bool { return charged == written })
	})
}
