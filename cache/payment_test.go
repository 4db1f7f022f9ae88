package cache_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
)

func paymentClaims() []claim {
	return []claim{
		{"a payment is claimed by one", onePaymentOneClaimant},
		{"a settlement is taken over once its lease has ended", takeOverOfASettlement},
		{"a released payment may be claimed again", releasedPayment},
		{"no payment is claimed before they are restored", unrestoredPayments},
		{"the ledger restores what is further than what is held", restoredOverEarlier},
		{"a payment is forgotten at its end, not before, and never evicted", forgottenAtTheEnd},
	}
}

func claimed(nonce string) governance.Payment {
	return governance.Payment{
		ID: "eip155:1/0xa/0xb/" + nonce, State: governance.PaymentClaimed, Revision: 1,
		ValidBefore: governance.TimestampOf(time.Now().Add(time.Minute)),
	}
}

func lease(owner string) cache.PaymentLease {
	return cache.PaymentLease{Owner: owner, TTL: time.Minute}
}

func (t *bench) restored() {
	t.Helper()
	if err := t.store.RestorePayments(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// wantClaim claims a payment, and finds it in a state.
func (t *bench) wantClaim(p governance.Payment, owner string, state governance.PaymentState, mine bool) {
	t.Helper()
	known, got, err := t.store.ClaimPayment(t.Context(), p, lease(owner))
	if err != nil || known.State != state || got != mine {
		t.Fatalf("%s claims: got %s, mine %t, %v, want %s, %t", owner, known.State, got, err, state, mine)
	}
}

func onePaymentOneClaimant(t *bench) {
	t.restored()
	p := claimed("1")
	t.wantClaim(p, "a", governance.PaymentClaimed, true)
	t.wantClaim(p, "b", governance.PaymentClaimed, false)
	p.State = governance.PaymentSettled
	if err := t.store.SavePayment(t.Context(), cache.PaymentUpdate{Payment: p, Lease: lease("b")}); !errors.Is(err, cache.ErrPaymentLeased) {
		t.Fatalf("b saves: got %v, want ErrNotHeld", err)
	}
	if err := t.store.SavePayment(t.Context(), cache.PaymentUpdate{Payment: p, Lease: lease("a"), Response: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	t.wantClaim(claimed("1"), "b", governance.PaymentSettled, false)
	if answer, err := t.store.PaidResponse(t.Context(), p.ID); err != nil || string(answer) != "x" {
		t.Errorf("answer: got %q, %v", answer, err)
	}
	entries, err := t.store.QueuedPayments(t.Context(), 10)
	if err != nil || len(entries) != 1 {
		t.Fatalf("queue: got %v, %v, want the one that was saved", entries, err)
	}
	if diff := cmp.Diff(p, entries[0].Payment); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
}

func takeOverOfASettlement(t *bench) {
	t.restored()
	p, due := claimed("2"), time.Now().Add(-time.Second)
	t.wantClaim(p, "a", governance.PaymentClaimed, true)
	p.State = governance.PaymentSettling
	step := cache.PaymentUpdate{Payment: p, Lease: lease("a"), KeepLease: true, Due: &due}
	if err := t.store.SavePayment(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	if _, err := t.store.LeasePayment(t.Context(), p.ID, lease("b")); !errors.Is(err, cache.ErrPaymentLeased) {
		t.Fatalf("b takes: got %v, want ErrNotHeld", err)
	}
	if ids, err := t.store.DuePayments(t.Context(), time.Now(), 10); err != nil || len(ids) != 1 {
		t.Fatalf("due: got %v, %v", ids, err)
	}
	step.KeepLease = false
	if err := t.store.SavePayment(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	t.wantClaim(claimed("2"), "b", governance.PaymentSettling, true)
	if err := t.store.DeleteRefusedPayment(t.Context(), p, lease("b")); err != nil {
		t.Fatal(err)
	}
	if ids, err := t.store.DuePayments(t.Context(), time.Now(), 10); err != nil || len(ids) != 0 {
		t.Errorf("due after it was forgotten: got %v, %v", ids, err)
	}
	t.wantClaim(claimed("2"), "c", governance.PaymentClaimed, true)
}

func releasedPayment(t *bench) {
	t.restored()
	t.wantClaim(claimed("3"), "a", governance.PaymentClaimed, true)
	if err := t.store.ReleasePayment(t.Context(), claimed("3").ID, lease("b")); err != nil { // not b's to free
		t.Fatal(err)
	}
	t.wantClaim(claimed("3"), "b", governance.PaymentClaimed, false)
	if err := t.store.ReleasePayment(t.Context(), claimed("3").ID, lease("a")); err != nil {
		t.Fatal(err)
	}
	t.wantClaim(claimed("3"), "b", governance.PaymentClaimed, true)
}

func unrestoredPayments(t *bench) {
	if _, _, err := t.store.ClaimPayment(t.Context(), claimed("4"), lease("a")); !errors.Is(err, cache.ErrNotRestored) {
		t.Errorf("got %v, want ErrNotRestored", err)
	}
}

func restoredOverEarlier(t *bench) {
	t.restored()
	states := []governance.PaymentState{governance.PaymentClaimed, governance.PaymentSettling, governance.PaymentSettled}
	for i, held := range states {
		for j, restored := range states {
			p := claimed(fmt.Sprint("r", i, j))
			want := states[max(i, j)]
			for _, p.State = range []governance.PaymentState{held, restored} {
				if err := t.store.RestorePayments(t.Context(), []governance.Payment{p}); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := t.store.Payment(t.Context(), p.ID); err != nil || got.State != want {
				t.Errorf("%s restored over %s: got %s, %v, want %s", restored, held, got.State, err, want)
			}
		}
	}
	// Claimed over settling, settling over both, and nothing of what is at its end.
	if ids, err := t.store.DuePayments(t.Context(), time.Now().Add(time.Minute), 10); err != nil || len(ids) != 3 {
		t.Errorf("due: got %v, %v, want 3", ids, err)
	}
}

func forgottenAtTheEnd(t *bench) {
	t.restored()
	p := claimed("5")
	t.wantClaim(p, "a", governance.PaymentClaimed, true)
	if ttl, err := t.raw.TTL(t.Context(), string(cache.PaymentKey(p.ID))).Result(); err != nil || ttl > 0 {
		t.Errorf("a payment may be evicted: it ends in %s, %v", ttl, err)
	}
	ends := p.ValidBefore.Time().Add(10 * time.Minute)
	if err := t.store.DeleteExpiredPayments(t.Context(), ends.Add(-time.Second), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := t.store.Payment(t.Context(), p.ID); err != nil {
		t.Errorf("just before the end: %v", err)
	}
	if err := t.store.DeleteExpiredPayments(t.Context(), ends.Add(time.Second), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := t.store.Payment(t.Context(), p.ID); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("after the end: got %v, want %v", err, cache.ErrMiss)
	}
}

func TestAPaymentThatDoesNotDecodeIsAMiss(t *testing.T) {
	t.Parallel()
	b := newBench(t, env.EmbeddedRedis(t), nil)
	b.set(cache.PaymentKey("x"), "c?")
	if _, err := b.store.Payment(t.Context(), "x"); !errors.Is(err, cache.ErrCorrupt) || !errors.Is(err, cache.ErrMiss) {
		t.Errorf("got %v, want %v", err, cache.ErrCorrupt)
	}
}
