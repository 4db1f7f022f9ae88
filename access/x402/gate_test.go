package x402_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access/x402"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// testTimeout bounds every wait in tests.
const testTimeout = 20 * time.Second

// request is what tests pay for.
func request() x402.Request {
	return x402.Request{
		RouteID: "proposals.detail", URL: "/v2/proposals/p1_x", Description: "One proposal with its full text.",
		Canonical: "proposals.detail\x00proposalKey=p1_x",
	}
}

func anotherRequest() x402.Request {
	other := request()
	other.Canonical += "y"
	return other
}

// body is an answer that is paid for.
func body(text string) x402.Response {
	return x402.Response{Header: map[string]string{"Link": "<next>"}, Body: []byte(text)}
}

type fixture struct {
	*x402.Gate
	tb     testing.TB
	redis  string
	store  *accounts.Store
	ledger *facilitator.Ledger
	wallet *facilitator.Wallet
}

type setting func(*x402.Options)

func withChain(o *x402.Options)                 { o.RPCURL = "set" }
func withSettleTimeout(d time.Duration) setting { return func(o *x402.Options) { o.SettleTimeout = d } }

func withVerifyTimeout(d time.Duration) setting { return func(o *x402.Options) { o.VerifyTimeout = d } }

func newFixture(t *testing.T, settings ...setting) *fixture {
	t.Helper()
	return newFixtureAt(t, env.EmbeddedRedis(t), facilitator.NewLedger(t), settings...)
}

// newFixtureAt is another node beside the first.
func newFixtureAt(t *testing.T, redis string, ledger *facilitator.Ledger, settings ...setting) *fixture {
	t.Helper()
	opened := env.Store(t, redis)
	store := accounts.New(opened)
	env.MustDo(t, store.RestorePayments(t.Context(), nil))
	options := x402.Options{
		Terms: facilitator.Terms(map[string]string{"proposals.detail": "0.005", "proposals.list": "0.001"}),
		Store: store, FacilitatorURL: ledger.Facilitator,
		VerifyTimeout: testTimeout, SettleTimeout: testTimeout, WorkTimeout: testTimeout,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
	for _, set := range settings {
		set(&options)
	}
	if options.RPCURL != "" {
		options.RPCURL = ledger.RPC
	}
	gate := env.Must(x402.New(options))(t)
	t.Cleanup(gate.Close)
	return &fixture{Gate: gate, tb: t, redis: redis, store: store, ledger: ledger, wallet: facilitator.NewWallet(t)}
}

// Begin reads and begins a payment.
func (f *fixture) Begin(ctx context.Context, r x402.Request, header string) (*x402.Charge, error) {
	payment, err := f.Read(r, header)
	if err != nil {
		return nil, err
	}
	return f.Gate.Begin(ctx, r, payment)
}

// mustBegin is Begin for a payment of the request of tests that is right.
func (f *fixture) mustBegin(header string) *x402.Charge {
	f.tb.Helper()
	return env.Must(f.Begin(f.tb.Context(), request(), header))(f.tb)
}

// pay returns a header for the request of tests.
func (f *fixture) pay() facilitator.Payment {
	return f.wallet.Pay(f.Challenge(request()).Challenge.Header())
}

// buy pays for an answer, and returns what the caller gets.
func (f *fixture) buy(header string, r x402.Request, answer string) (string, error) {
	charge, err := f.Begin(f.tb.Context(), r, header)
	if err != nil {
		return "", err
	}
	if first, ok := charge.StoredResponse(); ok {
		return string(first.Body), nil
	}
	if err := charge.Settle(f.tb.Context(), body(answer)); err != nil {
		return "", err
	}
	return answer, nil
}

// wantUnsold checks that a payment for an answer is refused, with a kind and a reason.
func (f *fixture) wantUnsold(header string, r x402.Request, answer string, kind x402.Kind, reason string) {
	f.tb.Helper()
	_, err := f.buy(header, r, answer)
	f.wantRefused(err, kind, reason)
}

func (f *fixture) wantBought(header, answer, want string) {
	f.tb.Helper()
	got, err := f.buy(header, request(), answer)
	if err != nil || got != want {
		f.tb.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// wantRefused is refused with a kind and a reason.
func (f *fixture) wantRefused(err error, kind x402.Kind, reason string) x402.RefusedError {
	f.tb.Helper()
	refusal, is := errors.AsType[*x402.RefusedError](err)
	if !is {
		f.tb.Fatalf("got %v, want a refusal", err)
	}
	if refusal.Kind != kind || refusal.Reason != reason {
		f.tb.Fatalf("got %s %q (%v), want %s %q", refusal.Kind, refusal.Reason, refusal, kind, reason)
	}
	if refusal.Message == "" || kind != x402.Required && refusal.Challenge != nil || kind == x402.Required && refusal.Challenge == nil {
		f.tb.Fatalf("refusal %+v: want a message, and a challenge only where another payment helps", refusal)
	}
	return *refusal
}

// wantCharged holds the money that moved against a number of payments.
func (f *fixture) wantCharged(payments int) {
	f.tb.Helper()
	if got := f.ledger.Transfers(); len(got) != payments {
		f.tb.Fatalf("got %d transfers, want %d: %v", len(got), payments, got)
	}
}

// ledgerStates returns the states that were queued for the ledger, in order.
func (f *fixture) ledgerStates() []governance.PaymentState {
	f.tb.Helper()
	entries := env.Must(f.store.QueuedPayments(f.tb.Context(), 100))(f.tb)
	var states []governance.PaymentState
	for _, entry := range entries {
		states = append(states, entry.Payment.State)
	}
	return states
}

func TestAPaymentBuysOneAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	charge := f.mustBegin(f.pay().Header())
	f.wantCharged(0)
	env.Want(t, f.wallet.Address(), charge.Payer(), "payer")
	env.MustDo(t, charge.Settle(t.Context(), body("answer")))
	f.wantCharged(1)
	transfer := f.ledger.Transfers()[0]
	if transfer.Authorization.Value != "5000" || transfer.Authorization.To != facilitator.PayTo {
		t.Errorf("got %+v, want 5000 units to %s", transfer, facilitator.PayTo)
	}
	want := `{"success":true,"payer":"` + f.wallet.Address() + `","transaction":"` + transfer.Hash + `","network":"eip155:84532"}`
	if got, _ := base64.StdEncoding.DecodeString(charge.Receipt()); string(got) != want {
		t.Errorf("receipt: got %s, want %s", got, want)
	}
	env.WantSame(t, "ledger", []governance.PaymentState{governance.PaymentSettling, governance.PaymentSettled}, f.ledgerStates())
}

func TestAPaymentBuysNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	payment := f.pay()
	f.wantBought(payment.Header(), "first", "first")
	f.wantUnsold(payment.Header(), anotherRequest(), "other", x402.Required, "invalid_exact_evm_nonce_already_used")

	payment.Payload.Signature = strings.ToUpper(payment.Payload.Signature[2:])
	payment.Payload.Signature = "0x" + payment.Payload.Signature
	f.wantUnsold(payment.Header(), request(), "other", x402.Required, "invalid_exact_evm_nonce_already_used")
	f.wantCharged(1)
}

func TestPaymentsThatDoNotFitTheTermsAreRefusedWithoutAskingAnybody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seconds := func(after time.Duration) string {
		text, _ := json.Marshal(time.Now().Add(after).Unix())
		return string(text)
	}
	for name, c := range map[string]struct {
		spoil  func(*facilitator.Payment)
		reason string
	}{
		"amount":    {func(p *facilitator.Payment) { p.Accepted["amount"] = "1" }, "No matching payment requirements"},
		"number":    {func(p *facilitator.Payment) { p.Accepted["amount"] = 5000 }, "No matching payment requirements"},
		"asset":     {func(p *facilitator.Payment) { p.Accepted["asset"] = facilitator.PayTo }, "No matching payment requirements"},
		"recipient": {func(p *facilitator.Payment) { p.Accepted["payTo"] = f.wallet.Address() }, "No matching payment requirements"},
		"case":      {func(p *facilitator.Payment) { p.Accepted["payTo"] = strings.ToLower(facilitator.PayTo) }, "No matching payment requirements"},
		"network":   {func(p *facilitator.Payment) { p.Accepted["network"] = "eip155:8453" }, "No matching payment requirements"},
		"scheme":    {func(p *facilitator.Payment) { p.Accepted["scheme"] = "upto" }, "No matching payment requirements"},
		"window":    {func(p *facilitator.Payment) { p.Accepted["maxTimeoutSeconds"] = 3600 }, "No matching payment requirements"},
		"addition":  {func(p *facilitator.Payment) { p.Accepted["more"] = "x" }, "No matching payment requirements"},
		"domain": {func(p *facilitator.Payment) {
			p.Accepted["extra"] = map[string]any{"name": "USD Coin", "version": "1"}
		}, "No matching payment requirements"},
		"to":       {func(p *facilitator.Payment) { p.Payload.Authorization.To = f.wallet.Address() }, "invalid_exact_evm_recipient_mismatch"},
		"less":     {func(p *facilitator.Payment) { p.Payload.Authorization.Value = "4999" }, "invalid_exact_evm_payload_authorization_value_mismatch"},
		"more":     {func(p *facilitator.Payment) { p.Payload.Authorization.Value = "5001" }, "invalid_exact_evm_payload_authorization_value_mismatch"},
		"expired":  {func(p *facilitator.Payment) { p.Payload.Authorization.ValidBefore = seconds(0) }, "invalid_exact_evm_payload_authorization_valid_before"},
		"for ever": {func(p *facilitator.Payment) { p.Payload.Authorization.ValidBefore = seconds(24 * time.Hour) }, "invalid_exact_evm_payload_authorization_valid_before"},
		"too soon": {func(p *facilitator.Payment) { p.Payload.Authorization.ValidAfter = seconds(time.Minute) }, "invalid_exact_evm_payload_authorization_valid_after"},
	} {
		t.Run(name, func(t *testing.T) {
			payment := f.pay()
			c.spoil(&payment)
			_, err := f.buy(payment.Header(), request(), "answer")
			refusal, is := errors.AsType[*x402.RefusedError](err)
			if !is || refusal.Kind != x402.Required || refusal.Reason != c.reason || strings.HasPrefix(c.reason, "No ") != strings.HasPrefix(refusal.Message, `"accepted.`) {
				t.Errorf("%s: got %v, want %s", name, err, c.reason)
			} else if name == "domain" && !strings.HasPrefix(refusal.Message, `"accepted.extra.name, accepted.extra.version" is not`) {
				t.Errorf("the message names not each field that differs: %s", refusal.Message)
			}
		})
	}
	if f.ledger.Calls("verify")+f.ledger.Calls("settle") > 0 {
		t.Error("the facilitator was asked")
	}
}

func TestAdditionsToExtraAreAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	payment := f.pay()
	payment.X402Version = json.RawMessage("2.0") // the same number
	payment.Accepted["extra"] = map[string]any{"name": "USDC", "version": "2", "note": "mine"}
	f.wantBought(payment.Header(), "answer", "answer")
}

func TestWhatIsNoPaymentIsMalformed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	spoiled := func(spoil func(*facilitator.Payment)) string {
		payment := f.pay()
		spoil(&payment)
		return payment.Header()
	}
	for name, header := range map[string]string{
		"empty":      "",
		"garbage":    "!!",
		"text":       base64.StdEncoding.EncodeToString([]byte("hello")),
		"base64url":  strings.ReplaceAll(f.pay().Header(), "e", "_"),
		"padding":    base64.StdEncoding.EncodeToString([]byte("{}")) + "==",
		"oversized":  base64.StdEncoding.EncodeToString(make([]byte, 16<<10)),
		"version 1":  spoiled(func(p *facilitator.Payment) { p.X402Version = 1 }),
		"version ''": spoiled(func(p *facilitator.Payment) { p.X402Version = "2" }),
		"terms":      spoiled(func(p *facilitator.Payment) { p.Accepted = nil }),
		"signature":  spoiled(func(p *facilitator.Payment) { p.Payload.Signature = "0x00" }),
		"huge":       spoiled(func(p *facilitator.Payment) { p.Payload.Signature = "0x" + strings.Repeat("ab", 7000) }),
		"from":       spoiled(func(p *facilitator.Payment) { p.Payload.Authorization.From = "me" }),
		"nonce":      spoiled(func(p *facilitator.Payment) { p.Payload.Authorization.Nonce = "0x01" }),
		"value":      spoiled(func(p *facilitator.Payment) { p.Payload.Authorization.Value = "0x1388" }),
		"zero":       spoiled(func(p *facilitator.Payment) { p.Payload.Authorization.Value = "05000" }),
		"time":       spoiled(func(p *facilitator.Payment) { p.Payload.Authorization.ValidBefore = "soon" }),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.buy(header, request(), "answer")
			refusal, is := errors.AsType[*x402.RefusedError](err)
			if !is || refusal.Kind != x402.Malformed || refusal.Message == "" {
				t.Errorf("%s: got %v, want it to be malformed", name, err)
			}
		})
	}
}

func TestATamperedSignatureIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	payment := f.pay()
	payment.Payload.Authorization.ValidAfter = "1" // was signed as 0
	f.wantUnsold(payment.Header(), request(), "answer", x402.Required, "invalid_exact_evm_signature")
	f.wantCharged(0)
}

func TestAnAuthorizationThatWasUsedElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	payment := f.pay()
	f.ledger.Submit(payment.Payload.Authorization)
	f.wantUnsold(payment.Header(), request(), "answer", x402.Required, "invalid_exact_evm_nonce_already_used")
}

func TestNothingIsTakenBeforeThePaymentsAreRestored(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	f := newFixtureAt(t, server.URL, facilitator.NewLedger(t))
	header := f.pay().Header()
	f.wantBought(header, "first", "first")
	states := env.Must(f.store.QueuedPayments(t.Context(), 10))(t)
	server.Restart() // empty
	f.wantUnsold(header, request(), "second", x402.Unavailable, "")
	f.wantCharged(1)

	// As a worker does, from the ledger.
	restored := states[len(states)-1].Payment
	env.MustDo(t, f.store.RestorePayments(context.WithoutCancel(t.Context()), []governance.Payment{restored}))
	f.wantBought(header, "made again", "made again")
	f.wantUnsold(header, anotherRequest(), "other", x402.Required, "invalid_exact_evm_nonce_already_used")
	f.wantCharged(1)
}

// endLeases makes every lease end, as a dead process's leases do after a while.
func (f *fixture) endLeases() {
	f.tb.Helper()
	client := env.RedisClient(f.tb, f.redis)
	keys, err := client.Keys(f.tb.Context(), "*lease:*").Result()
	if err != nil || len(keys) == 0 {
		f.tb.Fatalf("no leases: %v", err)
	}
	env.MustDo(f.tb, client.Del(f.tb.Context(), keys...).Err())
}

func decoded(tb testing.TB, header string) string {
	tb.Helper()
	text := env.Must(base64.StdEncoding.DecodeString(header))(tb)
	return string(text)
}
