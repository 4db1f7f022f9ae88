package accounts_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/test/env"
)

func paymentClaims() []claim {
	return []claim{
		{"one request claims a payment", oneRequestClaimsAPayment},
		{"a settlement is taken over once its lease is released", settlementIsTakenOver},
		{"a released payment can be claimed again", releasedPaymentCanBeClaimed},
		{"no payment is claimed before the ledger is restored", unrestoredPayments},
		{"the ledger restores only states that are further", ledgerRestoresFurtherStates},
		{"a payment is deleted when its retention ends, and never evicted", paymentIsDeletedAfterRetention},
	}
}

// newPayment returns a claimed payment whose authorization is valid for a minute.
func newPayment(nonce string) governance.Payment {
	return governance.Payment{
		ID: "eip155:1/0xa/0xb/" + nonce, State: governance.PaymentClaimed, Revision: 1,
		ValidBefore: governance.TimestampOf(time.Now().Add(time.Minute)),
	}
}

func leaseOf(owner string) accounts.PaymentLease {
	return accounts.PaymentLease{Owner: owner, TTL: time.Minute}
}

// restore records that Redis holds all payments of an empty ledger.
func (t *fixture) restore() {
	t.Helper()
	env.MustDo(t, t.store.RestorePayments(t.Context(), nil))
}

// wantClaim claims a payment and checks its state and whether the claimant got the lease.
func (t *fixture) wantClaim(p governance.Payment, owner string, state governance.PaymentState, leased bool) {
	t.Helper()
	stored, got, err := t.store.ClaimPayment(t.Context(), p, leaseOf(owner))
	if err != nil || stored.State != state || got != leased {
		t.Fatalf("claim by %s: got state %s, leased %t, %v, want %s, %t", owner, stored.State, got, err, state, leased)
	}
}

// wantDue checks how many payments are due for a check at a time.
func (t *fixture) wantDue(now time.Time, want int) {
	t.Helper()
	if ids, err := t.store.DuePayments(t.Context(), now, 10); err != nil || len(ids) != want {
		t.Errorf("due payments: got %v, %v, want %d", ids, err, want)
	}
}

func oneRequestClaimsAPayment(t *fixture) {
	t.restore()
	p := newPayment("1")
	t.wantClaim(p, "a", governance.PaymentClaimed, true)
	t.wantClaim(p, "a", governance.PaymentClaimed, true) // the client repeats what was not answered
	t.wantClaim(p, "b", governance.PaymentClaimed, false)
	p.State = governance.PaymentSettled
	update := accounts.PaymentUpdate{Payment: p, Lease: leaseOf("b"), Response: []byte("x")}
	if err := t.store.SavePayment(t.Context(), update); !errors.Is(err, accounts.ErrPaymentLeased) {
		t.Fatalf("save without the lease: got %v, want %v", err, accounts.ErrPaymentLeased)
	}
	update.Lease = leaseOf("a")
	env.MustDo(t, t.store.SavePayment(t.Context(), update))
	t.wantClaim(newPayment("1"), "b", governance.PaymentSettled, false)
	if response, err := t.store.LeasePaidResponse(t.Context(), p.ID, leaseOf("c")); err != nil || string(response) != "x" {
		t.Errorf("paid response: got %q, %v, want x", response, err)
	}
	entries, err := t.store.QueuedPayments(t.Context(), 10)
	if err != nil || len(entries) != 1 {
		t.Fatalf("ledger queue: got %v, %v, want one entry", entries, err)
	}
	env.WantSame(t, "ledger queue", p, entries[0].Payment)
}

func settlementIsTakenOver(t *fixture) {
	t.restore()
	p, due := newPayment("2"), time.Now().Add(-time.Second)
	t.wantClaim(p, "a", governance.PaymentClaimed, true)
	p.State = governance.PaymentSettling
	update := accounts.PaymentUpdate{Payment: p, Lease: leaseOf("a"), KeepLease: true, Due: &due}
	env.MustDo(t, t.store.SavePayment(t.Context(), update))
	if _, err := t.store.LeasePayment(t.Context(), p.ID, leaseOf("b")); !errors.Is(err, accounts.ErrPaymentLeased) {
		t.Fatalf("lease held by a: got %v, want %v", err, accounts.ErrPaymentLeased)
	}
	t.wantDue(time.Now(), 1)
	update.KeepLease = false
	env.MustDo(t, t.store.SavePayment(t.Context(), update))
	t.wantClaim(newPayment("2"), "b", governance.PaymentSettling, true)
	env.MustDo(t, t.store.DeleteRefusedPayment(t.Context(), p, leaseOf("b")))
	t.wantDue(time.Now(), 0)
	t.wantClaim(newPayment("2"), "c", governance.PaymentClaimed, true)
}

func releasedPaymentCanBeClaimed(t *fixture) {
	t.restore()
	p := newPayment("3")
	t.wantClaim(p, "a", governance.PaymentClaimed, true)
	env.MustDo(t, t.store.ReleasePayment(t.Context(), p.ID, leaseOf("b")))
	t.wantClaim(p, "b", governance.PaymentClaimed, false) // only a can release its lease
	env.MustDo(t, t.store.ReleasePayment(t.Context(), p.ID, leaseOf("a")))
	t.wantClaim(p, "b", governance.PaymentClaimed, true)
}

func unrestoredPayments(t *fixture) {
	_, _, err := t.store.ClaimPayment(t.Context(), newPayment("4"), leaseOf("a"))
	env.WantError(t, accounts.ErrNotRestored, err, "before the restore")
}

func ledgerRestoresFurtherStates(t *fixture) {
	t.restore()
	states := []governance.PaymentState{
		governance.PaymentClaimed, governance.PaymentSettling, governance.PaymentSettled,
	}
	for i, stored := range states {
		for j, restored := range states {
			p := newPayment(fmt.Sprint("r", i, j))
			want := states[max(i, j)]
			for _, p.State = range []governance.PaymentState{stored, restored} {
				env.MustDo(t, t.store.RestorePayments(t.Context(), []governance.Payment{p}))
			}
			env.Want(t, want, env.Must(t.store.Payment(t.Context(), p.ID))(t).State, restored, "restored over", stored)
		}
	}
	// Only a payment that ends up settling is due: claimed over settling, and settling over both.
	t.wantDue(time.Now().Add(time.Minute), 3)
}

func paymentIsDeletedAfterRetention(t *fixture) {
	t.restore()
	p := newPayment("5")
	t.wantClaim(p, "a", governance.PaymentClaimed, true)
	if ttl, err := t.raw.TTL(t.Context(), string(accounts.PaymentKey(p.ID))).Result(); err != nil || ttl <= 0 || ttl > time.Minute {
		t.Errorf("TTL of a claim: got %s, %v, want its lease's", ttl, err)
	}
	p.State = governance.PaymentSettling
	env.MustDo(t, t.store.SavePayment(t.Context(), accounts.PaymentUpdate{Payment: p, Lease: leaseOf("a")}))
	if ttl, err := t.raw.TTL(t.Context(), string(accounts.PaymentKey(p.ID))).Result(); err != nil || ttl > 0 {
		t.Errorf("TTL: got %s, %v, want none: a full Redis evicts keys with a TTL", ttl, err)
	}
	end := p.ValidBefore.Time().Add(10 * time.Minute)
	env.MustDo(t, t.store.DeleteExpiredPayments(t.Context(), end.Add(-time.Second), 10))
	if _, err := t.store.Payment(t.Context(), p.ID); err != nil {
		t.Errorf("a second before the end: got %v, want the payment", err)
	}
	env.MustDo(t, t.store.DeleteExpiredPayments(t.Context(), end.Add(time.Second), 10))
	if _, err := t.store.Payment(t.Context(), p.ID); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("a second after the end: got %v, want %v", err, cache.ErrMiss)
	}
}

func TestCorruptPaymentIsAMiss(t *testing.T) {
	t.Parallel()
	f := newFixture(t, env.EmbeddedRedis(t))
	env.MustDo(t, f.raw.Set(t.Context(), string(accounts.PaymentKey("x")), "c?", 0).Err())
	_, err := f.store.Payment(t.Context(), "x")
	if !errors.Is(err, cache.ErrCorrupt) || !errors.Is(err, cache.ErrMiss) {
		t.Errorf("got %v, want %v and %v", err, cache.ErrMiss, cache.ErrCorrupt)
	}
}

// A claim whose answer is late stays in Redis, but not in the way of the payer who repeats the payment.
func TestAttackALateAnswerToAClaimLeavesNoLease(t *testing.T) {
	t.Parallel()
	redis := env.EmbeddedRedis(t)
	f := newFixture(t, redis)
	f.restore()
	f.wantClaim(newPayment("7"), "a", governance.PaymentClaimed, true) // Redis knows the script from now on
	late := env.Must(cache.Open(silentOnce(t, redis, "lease"), 100*time.Millisecond))(t)
	t.Cleanup(func() { late.Close() })
	_, _, err := accounts.New(late).ClaimPayment(t.Context(), newPayment("6"), leaseOf("a"))
	env.WantError(t, cache.ErrUnavailable, err, "claim without an answer")
	f.wantClaim(newPayment("6"), "b", governance.PaymentClaimed, true)
}

// silentOnce is a relay to a Redis, without answers on the connection on which it first sees a text.
func silentOnce(t *testing.T, target, text string) string {
	t.Helper()
	listener := env.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	parsed := env.Must(url.Parse(target))(t)
	upstream := parsed.Host
	var once sync.Once
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				return
			}
			var silent atomic.Bool
			go func() {
				defer client.Close()
				buffer := make([]byte, 64<<10)
				for n, err := server.Read(buffer); err == nil; n, err = server.Read(buffer) {
					if !silent.Load() {
						_, _ = client.Write(buffer[:n])
					}
				}
			}()
			go func() {
				defer server.Close()
				buffer := make([]byte, 64<<10)
				for n, err := client.Read(buffer); err == nil; n, err = client.Read(buffer) {
					if bytes.Contains(buffer[:n], []byte(text)) {
						once.Do(func() { silent.Store(true) })
					}
					_, _ = server.Write(buffer[:n])
				}
			}()
		}
	}()
	parsed.Host = listener.Addr().String()
	return parsed.String()
}
