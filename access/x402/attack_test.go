package x402_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"pnyx/access/x402"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// payAs returns a payment of a payer of its own.
func (f *fixture) payAs(payer *facilitator.Wallet) facilitator.Payment {
	return payer.Pay(f.Challenge(request()).Challenge.Header())
}

func TestAttackASignatureOfAnotherAccountAsksNobody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, spoil := range map[string]func(*facilitator.Payment){
		"another payer": func(p *facilitator.Payment) { p.Payload.Authorization.From = facilitator.NewPayer(t).Address() },
		"another nonce": func(p *facilitator.Payment) {
			p.Payload.Authorization.Nonce = f.pay().Payload.Authorization.Nonce
		},
		"zeros":         func(p *facilitator.Payment) { p.Payload.Signature = "0x" + strings.Repeat("0", 130) },
		"recovery code": func(p *facilitator.Payment) { p.Payload.Signature = p.Payload.Signature[:130] + "ff" },
	} {
		payment := f.pay()
		spoil(&payment)
		_, err := f.buy(payment.Header(), request(), "answer")
		if refusal := f.wantRefused(err, x402.Required, "invalid_exact_evm_signature"); refusal.Challenge == nil {
			t.Errorf("%s: no challenge", name)
		}
	}
	env.Want(t, 0, f.ledger.Calls("verify"), "calls of the facilitator")
}

func TestAttackAClaimLeavesNothingWithoutAnExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	env.Must(f.Begin(t.Context(), request(), f.pay().Header()))(t) // its node dies here
	client := env.RedisClient(t, f.redis)
	keys := env.Must(client.Keys(t.Context(), "*").Result())(t)
	for _, key := range keys {
		if strings.HasSuffix(key, ":restored") {
			continue
		}
		if ttl, err := client.PTTL(t.Context(), key).Result(); err != nil || ttl <= 0 {
			t.Errorf("%s: got TTL %s, %v, want one", key, ttl, err)
		}
	}
}

func TestAttackOnePayersFailuresLeaveTheFacilitatorToOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ledger.Behave("verify", fails)
	for range 20 {
		f.wantUnsold(f.pay().Header(), request(), "answer", x402.Unavailable, "")
	}
	f.ledger.Behave("verify", nil)
	got, err := f.buy(f.payAs(facilitator.NewPayer(t)).Header(), request(), "answer")
	if err != nil || got != "answer" {
		t.Fatalf("another payer: got %q, %v, want the answer", got, err)
	}
}

func TestAttackContractSignaturesDoNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ledger.Behave("verify", fails)
	for range 20 {
		payment := f.payAs(facilitator.NewPayer(t))
		payment.Payload.Signature += strings.Repeat("00", 32)
		f.wantUnsold(payment.Header(), request(), "answer", x402.Unavailable, "")
	}
	f.ledger.Behave("verify", nil)
	f.wantBought(f.pay().Header(), "answer", "answer")
}

func TestAttackABusyFacilitatorIsLeftAloneForRetryAfter(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"verify", "settle"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			now := time.Now()
			f.SetClock(func() time.Time { return now })
			f.ledger.Behave(call, func(w http.ResponseWriter, _ *http.Request, _ func() any) {
				w.Header().Set("Retry-After", "20")
				http.Error(w, "slow down", http.StatusTooManyRequests)
			})
			for range 8 {
				_, err := f.buy(f.payAs(facilitator.NewPayer(t)).Header(), request(), "answer")
				env.Want(t, 20*time.Second, f.wantRefused(err, x402.Unavailable, "").RetryAfter, "Retry-After", "the facilitator's")
			}
			env.Want(t, 1, f.ledger.Calls(call), "calls within Retry-After")
			f.ledger.Behave(call, nil)
			now = now.Add(21 * time.Second)
			f.wantBought(f.pay().Header(), "answer", "answer")
		})
	}
}

// A plain account's payment with a recovery code of 0 or 1 is signed all the same.
func TestRecoveryCodesOfBothFormsAreAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ledger.Behave("verify", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
		fmt.Fprint(w, `{"isValid":true}`)
	})
	payment := f.pay()
	code := map[string]string{"1b": "00", "1c": "01"}[payment.Payload.Signature[130:]]
	payment.Payload.Signature = payment.Payload.Signature[:130] + code
	if _, err := f.Begin(t.Context(), request(), payment.Header()); err != nil {
		t.Errorf("got %v, want the payment to be verified", err)
	}
}

func TestAttackTheKeyInTheFacilitatorsAddressIsNeverLogged(t *testing.T) {
	t.Parallel()
	var log env.Buffer
	f := newFixture(t, func(o *x402.Options) {
		o.FacilitatorURL = "http://127.0.0.1:1/hunter2"
		o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	f.Run(ctx) // checks the facilitator once
	_, err := f.buy(f.pay().Header(), request(), "answer")
	refusal := f.wantRefused(err, x402.Unavailable, "")
	if text := log.String() + refusal.Error(); strings.Contains(text, "hunter2") || !strings.Contains(text, "may not support") {
		t.Errorf("got %s, want a warning without the key", text)
	}
}
