package x402_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"pnyx/access/x402"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// queued returns the states of payments that were queued for the ledger, in order.
func (f *fixture) queued() []governance.Payment {
	f.tb.Helper()
	entries := env.Must(f.store.QueuedPayments(f.tb.Context(), 100))(f.tb)
	var payments []governance.Payment
	for _, entry := range entries {
		payments = append(payments, entry.Payment)
	}
	return payments
}

// flush loses everything in Redis, and restores what the ledger holds, as a worker does.
func (f *fixture) flush(ledger []governance.Payment) {
	f.tb.Helper()
	env.FlushRedis(f.tb, env.RedisClient(f.tb, f.redis))
	env.MustDo(f.tb, f.store.RestorePayments(f.tb.Context(), ledger))
}

// inSettlement runs during while a payment is charged, and returns the header and what Settle returned.
func inSettlement(t *testing.T, a *fixture, during func(header string)) (string, error) {
	t.Helper()
	header := a.pay().Header()
	charge := a.mustBegin(header)
	reached, answer := make(chan struct{}), make(chan struct{})
	a.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, honest func() any) {
		reply := honest()
		a.ledger.Behave("settle", nil)
		close(reached)
		<-answer
		facilitator.WriteJSON(w, reply)
	})
	ended := make(chan error, 1)
	go func() { ended <- charge.Settle(t.Context(), body("first")) }()
	<-reached
	during(header)
	close(answer)
	return header, <-ended
}

func TestAttackAFlushDuringASettlementKeepsTheTransaction(t *testing.T) {
	t.Parallel()
	for name, restored := range map[string]bool{"the ledger knows of it": true, "the ledger does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis, ledger := env.EmbeddedRedis(t), facilitator.NewLedger(t)
			a, b := newFixtureAt(t, redis, ledger), newFixtureAt(t, redis, ledger)
			header, err := inSettlement(t, a, func(header string) {
				written := a.queued()
				if !restored {
					written = nil
				}
				a.flush(written)
				if _, err := b.buy(header, request(), "second"); err == nil {
					t.Error("the retry was answered before the settlement was")
				}
			})
			if err != nil {
				t.Fatalf("the first request: got %v, want its answer", err)
			}
			hash := ledger.Transfers()[0].Hash
			env.Want(t, 1, ledger.Calls("settle"), "settlements")
			last := a.queued()[len(a.queued())-1]
			if last.State != governance.PaymentSettled || last.Transaction != hash {
				t.Errorf("ledger: got %s with transaction %q, want settled with %s", last.State, last.Transaction, hash)
			}
			charge := b.mustBegin(header)
			env.WantPart(t, hash, decoded(t, charge.Receipt()), "receipt", "does not name")
			charge.Release(t.Context())
			b.wantCharged(1)
		})
	}
}

// The lease of the first node has ended, so that another one settles as well.
func TestAttackALateVerdictWinsOverALaterAttempt(t *testing.T) {
	t.Parallel()
	redis, ledger := env.EmbeddedRedis(t), facilitator.NewLedger(t)
	a, b := newFixtureAt(t, redis, ledger), newFixtureAt(t, redis, ledger)
	header := env.Must(inSettlement(t, a, func(header string) {
		a.endLeases()
		env.Want(t, "first", env.Must(b.buy(header, request(), "second"))(t), "the answer that was prepared")
	}))(t)
	last := a.queued()[len(a.queued())-1]
	if hash := ledger.Transfers()[0].Hash; last.State != governance.PaymentSettled || last.Transaction != hash {
		t.Errorf("ledger: got %s with transaction %q, want settled with %s", last.State, last.Transaction, hash)
	}
	env.Want(t, last.Transaction, env.Must(b.store.Payment(t.Context(), last.ID))(t).Transaction, "stored", "transaction")
	b.wantBought(header, "third", "first")
	b.wantCharged(1)
}

func TestAttackARetryOnASlowerClockIsNewerThanTheRefusal(t *testing.T) {
	t.Parallel()
	redis, ledger := env.EmbeddedRedis(t), facilitator.NewLedger(t)
	fast, slow := newFixtureAt(t, redis, ledger), newFixtureAt(t, redis, ledger)
	fast.SetClock(func() time.Time { return time.Now().Add(time.Minute) })
	ledger.Behave("settle", refusesToSettle)
	header := fast.pay().Header()
	fast.wantUnsold(header, request(), "answer", x402.Required, "insufficient_funds")
	ledger.Behave("settle", nil)
	slow.wantBought(header, "answer", "answer")
	var revisions []uint64
	for _, p := range slow.queued() {
		revisions = append(revisions, p.Revision)
	}
	if len(revisions) != 4 || !slices.IsSorted(revisions) || len(slices.Compact(slices.Clone(revisions))) != 4 {
		t.Errorf("got revisions %d, want four that grow: the ledger keeps the highest", revisions)
	}
}

func TestAttackALostAnswerIsMadeOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	header := f.pay().Header()
	f.wantBought(header, "first", "first")
	client := env.RedisClient(t, f.redis)
	keys, err := client.Keys(t.Context(), "*:answer:*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("stored answers: got %q, %v, want one", keys, err)
	}
	// It lives as long as the payment is remembered: ten minutes after its end.
	if ttl, err := client.PTTL(t.Context(), keys[0]).Result(); err != nil || ttl < 10*time.Minute {
		t.Errorf("stored answer: got TTL %s, %v, want at least 10m", ttl, err)
	}
	env.MustDo(t, client.Del(t.Context(), keys[0]).Err())
	failed := env.Must(f.Begin(t.Context(), request(), header))(t)
	failed.Release(t.Context())

	var mu sync.Mutex
	var together sync.WaitGroup
	worked := 0
	for range 20 {
		together.Go(func() {
			charge, err := f.Begin(t.Context(), request(), header)
			if err != nil {
				f.wantRefused(err, x402.InProgress, "")
				return
			}
			if again, ok := charge.StoredResponse(); ok {
				if string(again.Body) != "again" {
					t.Errorf("got %q, want the answer that was made again", again.Body)
				}
				return
			}
			mu.Lock()
			worked++
			mu.Unlock()
			env.WantError(t, nil, charge.Settle(t.Context(), body("again")))
		})
	}
	together.Wait()
	env.Want(t, 1, worked, "times that the answer was made")
	f.wantBought(header, "and again", "again")
	f.wantCharged(1)
}

func TestAttackAFlushDuringAVerificationChargesOnce(t *testing.T) {
	t.Parallel()
	redis, ledger := env.EmbeddedRedis(t), facilitator.NewLedger(t)
	a, b := newFixtureAt(t, redis, ledger), newFixtureAt(t, redis, ledger)
	header := a.pay().Header()
	ledger.Behave("verify", func(w http.ResponseWriter, _ *http.Request, honest func() any) {
		ledger.Behave("verify", nil)
		reply := honest()
		a.flush(nil)
		env.Want(t, "second", env.Must(b.buy(header, request(), "second"))(t), "answer to the retry")
		facilitator.WriteJSON(w, reply)
	})
	a.wantUnsold(header, request(), "first", x402.InProgress, "")
	env.Want(t, 1, ledger.Calls("settle"), "settlements")
	a.wantBought(header, "third", "second")
	a.wantCharged(1)
}
