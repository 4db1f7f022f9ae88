package worker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/test/env"
	stored "pnyx/warehouse/accounts"
)

// paid returns a payment in a state.
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

// payments returns what the ledger has.
func (h *harness) payments(filter stored.PaymentFilter) []governance.Payment {
	h.t.Helper()
	return env.Must(stored.NewAccounts(h.warehouse).Payments(h.t.Context(), filter))(h.t)
}

// writePayments writes payments to the ledger.
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
