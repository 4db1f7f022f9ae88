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

func (h *harness) startAccounts() (stop func()) {
	return h.run(account.New(account.Options{
		Warehouse: h.warehouse, Store: h.store, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}).Run)
}

func (h *harness) putToken(name string) (t stored.Token, raw string) {
	h.t.Helper()
	t = stored.Token{ID: access.NewTokenID(), Name: name, Plan: "business", Scopes: []string{"v2:paid:*"}, CreatedAt: time.Now()}
	raw = access.GenerateToken(t.ID)
	t.Hash = access.HashToken(raw)
	env.MustDo(h.t, stored.NewAccounts(h.warehouse).PutToken(h.t.Context(), t))
	return t, raw
}

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

func paid(nonce string, state governance.PaymentState) governance.Payment {
	at := governance.TimestampOf(time.Now())
	p := governance.Payment{
		ID: "eip155:84532/0xasset/0xpayer/" + nonce, State: state, Revision: uint64(time.Now().UnixMicro()),
		RouteID: "proposals.detail", Request: "r", Header: "h", Payer: "0xpayer", PayTo: "0xPayee", Nonce: nonce,
		Network: "eip155:84532", Asset: "0xAsset", Symbol: "USDC", Amount: "0.005", Units: "5000",
		ValidBefore: at + 120_000, ClaimedAt: at + governance.Timestamp(nonce[2]), ChangedAt: at, Attempts: 1,
	}
	switch state {
	case governance.PaymentSettled:
		p.SettledAt, p.Transaction = &at, "0xhash"
	case governance.PaymentSettling:
		p.Unanswered, p.Settlement = true, []byte("{}")
	default:
		p.Reason = "insufficient_funds"
	}
	return p
}

func (h *harness) payments(filter stored.PaymentFilter) []governance.Payment {
	h.t.Helper()
	return env.Must(stored.NewAccounts(h.warehouse).Payments(h.t.Context(), filter))(h.t)
}

func (h *harness) writePayments(payments ...governance.Payment) {
	h.t.Helper()
	env.MustDo(h.t, stored.NewAccounts(h.warehouse).WritePayments(h.t.Context(), payments))
}

func TestPaymentsAreRestoredFromTheLedgerAfterAFlush(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.startAccounts()
	ctx := t.Context()
	lease := accounts.PaymentLease{Owner: "test", TTL: time.Minute}
	settled, open, refused := paid("0x1", governance.PaymentSettled), paid("0x2", governance.PaymentSettling), paid("0x3", governance.PaymentRefused)
	for _, p := range []governance.Payment{settled, open, refused} {
		env.MustDo(t, accounts.New(h.store).SavePayment(ctx, accounts.PaymentUpdate{Payment: p, Lease: lease}))
	}
	ledger := func() []governance.Payment { return h.payments(stored.PaymentFilter{}) }
	env.Until(h.t, func() error {
		queued, err := accounts.New(h.store).QueuedPayments(ctx, 10)
		if err == nil && len(ledger()) == 3 && len(queued) == 0 {
			return nil
		}
		return errors.New("payments are not in the ledger yet")
	})
	env.WantSame(t, "ledger", []governance.Payment{refused, open, settled}, ledger())

	env.MustDo(t, h.redis.FlushAll(ctx).Err())
	env.Until(h.t, func() error {
		restored, err := accounts.New(h.store).PaymentsRestored(ctx)
		if err == nil && !restored {
			err = errors.New("payments are not restored yet")
		}
		return err
	})
	for _, p := range []governance.Payment{settled, open} {
		got, err := accounts.New(h.store).Payment(ctx, p.ID)
		if diff := cmp.Diff(p, got); diff != "" || err != nil {
			t.Errorf("restored: %v (-want +got):\n%s", err, diff)
		}
	}
	if _, err := accounts.New(h.store).Payment(ctx, refused.ID); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("got %v for a refused payment, want a miss", err)
	}
	due, err := accounts.New(h.store).DuePayments(ctx, time.Now(), 10)
	if diff := cmp.Diff([]string{open.ID}, due); diff != "" || err != nil {
		t.Errorf("due: %v (-want +got):\n%s", err, diff)
	}
}

func TestLedgerKeepsTheLatestState(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first := paid("0x1", governance.PaymentSettling)
	last := first
	last.State, last.Revision = governance.PaymentSettled, first.Revision+1
	other := paid("0x2", governance.PaymentRefused)
	other.Payer = "0xother"
	// Neither the order of arrival nor repetition matters.
	for _, payments := range [][]governance.Payment{{last}, {first, other}, {last}} {
		h.writePayments(payments...)
	}
	for name, c := range map[string]struct {
		filter stored.PaymentFilter
		want   []string
	}{
		"all":     {stored.PaymentFilter{}, []string{other.ID, last.ID}},
		"state":   {stored.PaymentFilter{State: governance.PaymentSettled}, []string{last.ID}},
		"payer":   {stored.PaymentFilter{Payer: "0xOTHER"}, []string{other.ID}},
		"limit":   {stored.PaymentFilter{Limit: 1}, []string{other.ID}},
		"since":   {stored.PaymentFilter{Since: time.Now().Add(time.Hour)}, nil},
		"expired": {stored.PaymentFilter{ValidAfter: time.Now().Add(time.Hour)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range h.payments(c.filter) {
				got = append(got, p.ID)
			}
			env.WantSame(t, "payments", c.want, got)
		})
	}
}

// A node that was slow to learn the outcome writes it after another one has given up.
func TestAttackTheLedgerKeepsASettlementAndItsTransaction(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	known := paid("0x3", governance.PaymentSettled)
	known.Transaction = "0xhash"
	unnamed := known
	unnamed.Transaction, unnamed.Revision = "", known.Revision+5
	pending, refused, unknown := known, known, known
	pending.State, pending.Revision = governance.PaymentSettling, known.Revision+9
	refused.State, refused.Revision = governance.PaymentRefused, known.Revision+10
	unknown.State, unknown.Revision = governance.PaymentUnknown, known.Revision+11
	for _, p := range []governance.Payment{unnamed, known, pending, refused, unknown} {
		h.writePayments(p)
	}
	got := h.payments(stored.PaymentFilter{})
	if len(got) != 1 {
		t.Fatalf("got %v, want one payment", got)
	}
	if got[0].State != governance.PaymentSettled || got[0].Transaction != "0xhash" || got[0].Revision != known.Revision {
		t.Errorf("got %s, transaction %q, revision %d, want settled with 0xhash at %d",
			got[0].State, got[0].Transaction, got[0].Revision, known.Revision)
	}
}

// TestPaymentsThatARestoredLedgerLacksAreWrittenFromRedis takes payments out of the queue, as
// if they were in a ledger that was lost since.
func TestPaymentsThatARestoredLedgerLacksAreWrittenFromRedis(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ctx, store := t.Context(), accounts.New(h.store)
	lease := accounts.PaymentLease{Owner: "test", TTL: time.Minute}
	want := paid("0x1", governance.PaymentSettled)
	env.MustDo(t, store.SavePayment(ctx, accounts.PaymentUpdate{Payment: want, Lease: lease}))
	queued := env.Must(store.QueuedPayments(ctx, 10))(t)
	env.MustDo(t, errors.Join(store.DequeuePayments(ctx, queued), store.RequirePaymentRestore(ctx)))
	h.startAccounts()
	env.Until(t, func() error {
		if got := h.payments(stored.PaymentFilter{}); len(got) != 1 || got[0].ID != want.ID || got[0].State != governance.PaymentSettled {
			return fmt.Errorf("got %+v in the ledger, want %+v", got, want)
		}
		return nil
	})
}
