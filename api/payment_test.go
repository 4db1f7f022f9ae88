package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/ratelimit"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// paidPath costs something.
const paidPath = "/v2/proposals/" + string(countedKey)

// till is a node that takes payments, with the other end of them.
type till struct {
	*node

	ledger *facilitator.Ledger
	wallet *facilitator.Wallet
}

func newTill(t *testing.T) *till {
	t.Helper()
	return newTillAt(t, env.EmbeddedRedis(t), facilitator.NewLedger(t))
}

func newTillAt(t *testing.T, redisURL string, ledger *facilitator.Ledger) *till {
	t.Helper()
	return &till{
		node:   startNode(t, settings{payments: ledger, redisURL: redisURL}),
		ledger: ledger, wallet: facilitator.NewWallet(t),
	}
}

// with asks for a path with a payment.
func (t *till) with(payment, path string) answer {
	t.Helper()
	return t.askAs(http.MethodGet, path, http.Header{x402.HeaderPayment: {payment}})
}

// challenge asks for a path without a payment, and returns what is wanted for it.
func (t *till) challenge(path string) string {
	t.Helper()
	got := t.askAs(http.MethodGet, path, nil)
	t.wantFailure(got, http.StatusPaymentRequired, apierror.CodePaymentRequired)
	return got.header.Get(x402.HeaderRequired)
}

// sign pays for a path, without sending it.
func (t *till) sign(path string, spoil ...func(*facilitator.Authorization)) string {
	t.Helper()
	return t.wallet.Pay(t.challenge(path), spoil...).Header()
}

// wantCharged holds the money that moved against a number of payments.
func (t *till) wantCharged(payments int) {
	t.Helper()
	env.Want(t, payments, len(t.ledger.Transfers()), "transfers")
}

// wantUnsold refuses an answer: no data, no receipt of a success.
func (t *till) wantUnsold(got answer, status int, code apierror.Code) failure {
	t.Helper()
	refusal := t.wantFailure(got, status, code)
	if strings.Contains(got.body, "bodyText") || got.header.Get("Etag") != "" || got.header.Get("Link") != "" {
		t.Errorf("something of the answer leaks: %v %s", got.header, got.body)
	}
	env.Want(t, status == http.StatusPaymentRequired, got.header.Get(x402.HeaderRequired) != "", status, "a challenge is sent")
	return refusal
}

func TestPaidRouteSendsPaymentTerms(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	got := n.askAs(http.MethodGet, paidPath, nil)
	refusal := n.wantUnsold(got, http.StatusPaymentRequired, apierror.CodePaymentRequired)
	terms := env.Must(base64.StdEncoding.DecodeString(got.header.Get(x402.HeaderRequired)))(t)
	want := `{"x402Version":2,"error":"Payment required","resource":{"url":"https://api.example.org` + paidPath +
		`","description":"One proposal with its full text.","mimeType":"application/json"},"accepts":[{"scheme":"exact",` +
		`"network":"eip155:84532","amount":"5000","asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","payTo":"` + facilitator.PayTo +
		`","maxTimeoutSeconds":120,"extra":{"name":"USDC","version":"2"}}]}`
	env.WantSame(t, "challenge", want, string(terms))
	for _, part := range []string{`"amount":"5000"`, facilitator.PayTo, `"x402Version":2`, `"scope":"v2:paid:plus"`} {
		env.WantPart(t, part, string(refusal.Error.Details), "details")
	}
	env.WantPart(t, x402.HeaderPayment, got.header.Get("Vary"), "vary")
	file := n.wantUnsold(n.askAs(http.MethodGet, partPath+"?format=parquet", nil), http.StatusPaymentRequired, apierror.CodePaymentRequired)
	env.WantPart(t, `"mimeType":"application/vnd.apache.parquet"`, string(file.Error.Details), "a part of an export", "its media type")
	former := n.wantUnsold(n.askAs(http.MethodGet, paidPath, http.Header{"X-Payment": {"e30="}}), http.StatusPaymentRequired, apierror.CodePaymentRequired)
	env.WantPart(t, "version 2 is spoken here", former.Error.Message, "a payment of version 1")
}

func TestHEADIsChallengedAndNeverCharged(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	got := n.askAs(http.MethodHead, paidPath, http.Header{x402.HeaderPayment: {n.sign(paidPath)}})
	if got.status != http.StatusPaymentRequired || got.header.Get(x402.HeaderRequired) == "" || got.body != "" {
		t.Errorf("got %d %q, want the challenge of GET without a body", got.status, got.body)
	}
	n.wantCharged(0)
}

func TestPaymentBuysOneAnswer(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	payment := n.sign(paidPath)
	first := n.with(payment, paidPath)
	if first.status != http.StatusOK {
		t.Fatalf("got %d %s, want 200", first.status, first.body)
	}
	env.Want(t, "private, no-store", first.header.Get("Cache-Control"), "cache control")
	receipt, _ := base64.StdEncoding.DecodeString(first.header.Get(x402.HeaderReceipt))
	if hash := n.ledger.Transfers()[0].Hash; !strings.Contains(string(receipt), hash) {
		t.Errorf("receipt %s does not name %s", receipt, hash)
	}
	verified := n.ledger.Calls("verify")
	again := n.with(payment, paidPath)
	env.Want(t, verified, n.ledger.Calls("verify"), "a replay asked the facilitator")
	if again.status != http.StatusOK || again.body != first.body || again.header.Get(x402.HeaderReceipt) != first.header.Get(x402.HeaderReceipt) {
		t.Errorf("again: got %d %s, want the first answer", again.status, again.body)
	}
	refusal := n.wantUnsold(n.with(payment, paidPath+"/votes/summary"), http.StatusPaymentRequired, apierror.CodePaymentRequired)
	env.WantPart(t, "already used", refusal.Error.Message, "it to say that the payment was used")
	n.wantCharged(1)
}

func TestConcurrentReplaysOnTwoNodesGetOneAnswer(t *testing.T) {
	t.Parallel()
	redisURL, ledger := env.EmbeddedRedis(t), facilitator.NewLedger(t)
	nodes := []*till{newTillAt(t, redisURL, ledger), newTillAt(t, redisURL, ledger)}
	payment := nodes[0].sign(paidPath)
	var mu sync.Mutex
	var asking sync.WaitGroup
	bodies := map[string]bool{}
	for i := range 12 {
		asking.Go(func() {
			got := nodes[i%2].with(payment, paidPath)
			mu.Lock()
			defer mu.Unlock()
			switch got.status {
			case http.StatusOK:
				bodies[got.body] = true
			case http.StatusTooManyRequests:
			default:
				refusal := nodes[0].wantUnsold(got, http.StatusConflict, apierror.CodePaymentInProgress)
				if got.header.Get("Retry-After") == "" {
					t.Errorf("no Retry-After: %v", refusal)
				}
			}
		})
	}
	asking.Wait()
	env.Want(t, 1, len(bodies), "different answers")
	nodes[0].wantCharged(1)
}

func TestRequestsThatFailAreNotCharged(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.write(9, cache.View{}, map[cache.Key]any{cache.ProposalDetailKey(uncountedKey): "no detail"})
	for path, want := range map[string]struct {
		status int
		code   apierror.Code
		asked  bool
	}{
		paidPath + "?limt=3":                    {http.StatusBadRequest, apierror.CodeValidation, false},
		"/v2/proposals/" + string(unknownKey):   {http.StatusNotFound, apierror.CodeNotFound, true},
		"/v2/proposals/" + string(uncountedKey): {http.StatusServiceUnavailable, apierror.CodeUnavailable, true},
	} {
		signed, _, _ := strings.Cut(path, "?")
		payment, before := n.sign(signed), n.ledger.Calls("verify")
		n.wantUnsold(n.with(payment, path), want.status, want.code)
		if asked := n.ledger.Calls("verify") > before; asked != want.asked {
			t.Errorf("%s: the facilitator was asked: %t, want %t", path, asked, want.asked)
		}
		charged := len(n.ledger.Transfers())
		env.Want(t, http.StatusOK, n.with(payment, paidPath).status, path, "the payment is lost")
		n.wantCharged(charged + 1)
	}
}

func TestRefusedPaymentsStateTheReason(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	for name, c := range map[string]struct {
		payment string
		status  int
		code    apierror.Code
		says    string
	}{
		"garbage":   {"!!", http.StatusBadRequest, apierror.CodeValidation, "base64"},
		"oversized": {strings.Repeat("A", 17<<10), http.StatusBadRequest, apierror.CodeValidation, "16384 bytes"},
		"less": {
			n.sign(paidPath, func(a *facilitator.Authorization) { a.Value = "4999" }),
			http.StatusPaymentRequired, apierror.CodePaymentRequired, "value must equal amount",
		},
		"not yet": {
			n.sign(paidPath, func(a *facilitator.Authorization) { a.ValidAfter = "99999999999" }),
			http.StatusPaymentRequired, apierror.CodePaymentRequired, "not valid yet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			env.WantPart(t, c.says, n.wantUnsold(n.with(c.payment, paidPath), c.status, c.code).Error.Message, name)
		})
	}
	n.wantCharged(0)
}

func TestNothingIsChargedWithoutTheFacilitator(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.ledger.Behave("verify", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
		w.WriteHeader(http.StatusBadGateway)
	})
	got := n.with(n.sign(paidPath), paidPath)
	n.wantUnsold(got, http.StatusServiceUnavailable, apierror.CodeUnavailable)
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestRefusedSettlementSendsNoData(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
		fmt.Fprint(w, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:84532"}`)
	})
	got := n.with(n.sign(paidPath), paidPath)
	n.wantUnsold(got, http.StatusPaymentRequired, apierror.CodePaymentRequired)
	receipt, _ := base64.StdEncoding.DecodeString(got.header.Get(x402.HeaderReceipt))
	if !strings.HasPrefix(string(receipt), `{"success":false,"errorReason":"insufficient_funds"`) {
		t.Errorf("receipt: got %s", receipt)
	}
}

func TestPendingSettlementIsAnsweredOnRetry(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, honest func() any) {
		honest()
		w.WriteHeader(http.StatusInternalServerError)
	})
	payment := n.sign(paidPath)
	got := n.with(payment, paidPath)
	n.wantUnsold(got, http.StatusGatewayTimeout, apierror.CodeSettlementPending)
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	n.ledger.Behave("settle", nil)
	env.Want(t, http.StatusOK, n.with(payment, paidPath).status, "the answer")
	n.wantCharged(1)
}

func TestRefusedPaymentsSayNothingOfTheFreeBucket(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{payments: facilitator.NewLedger(t), freeRate: 60})
	for payment, limit := range map[string]string{"": `"free";r=19;t=1`, "no payment": ""} {
		got := n.askAs(http.MethodGet, paidPath, http.Header{x402.HeaderPayment: {payment}})
		env.Want(t, limit, got.header.Get("RateLimit"), payment, "what is left of the free bucket")
	}
}

func TestPayersAreRateLimited(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	// A slow machine gives the bucket time to fill.
	const burst, enough = 8, 100
	sold, got := 0, n.with(n.sign(paidPath), paidPath)
	for ; got.status == http.StatusOK && sold < enough; got = n.with(n.sign(paidPath), paidPath) {
		sold++
	}
	n.wantUnsold(got, http.StatusTooManyRequests, apierror.CodeRateLimited)
	if sold < burst {
		t.Errorf("sold %d, want the %d that the plan lets through at once", sold, burst)
	}
	n.wantCharged(sold)
}

func TestPaidRoutesRequireATokenWithoutARecipient(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.askAs(http.MethodGet, paidPath, http.Header{x402.HeaderPayment: {"anything"}})
	refusal := n.wantFailure(got, http.StatusPaymentRequired, apierror.CodePaymentRequired)
	if !strings.Contains(refusal.Error.Message, "x-service-api-token") || got.header.Get(x402.HeaderRequired) != "" {
		t.Errorf("got %q with challenge %q, want the way by token alone", refusal.Error.Message, got.header.Get(x402.HeaderRequired))
	}
}

// paymentKeys returns the keys of payments in the till's Redis.
func (t *till) paymentKeys() []string {
	t.Helper()
	keys := env.Must(env.RedisClient(t, t.redisURL).Keys(t.Context(), "pnyx:*:{payments}:*").Result())(t)
	var left []string
	for _, key := range keys {
		if !strings.HasSuffix(key, ":restored") {
			left = append(left, key)
		}
	}
	return left
}

func TestAttackUnsignedPaymentsReachNeitherFacilitatorNorRedis(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	challenge := n.challenge(paidPath)
	statuses := map[int]int{}
	for range 300 {
		payment := facilitator.NewPayer(t).Pay(challenge)
		payment.Payload.Signature = "0x" + strings.Repeat("5a", 64) + "1b"
		statuses[n.with(payment.Header(), paidPath).status]++
	}
	env.Want(t, 0, n.ledger.Calls("verify"), "unsigned payments made", "calls of the facilitator")
	if left := n.paymentKeys(); len(left) > 0 {
		t.Errorf("unsigned payments left the keys %q, want none", left)
	}
	burst := ratelimit.PaymentRate(ratelimit.Payment).Burst
	if statuses[http.StatusPaymentRequired] != burst || statuses[http.StatusTooManyRequests] != 300-burst {
		t.Errorf("got statuses %v, want 402 for the %d that the bucket allows, then 429", statuses, burst)
	}
}

func TestAttackPaymentsOfManyPayersFromOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.ledger.Behave("verify", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
		fmt.Fprint(w, `{"isValid":false,"invalidReason":"insufficient_funds"}`)
	})
	challenge := n.challenge(paidPath)
	for contract, bucket := range map[bool]ratelimit.Bucket{false: ratelimit.Payment, true: ratelimit.ContractPayment} {
		n := newTillAt(t, n.redisURL, n.ledger) // its buckets are full
		before, burst := n.ledger.Calls("verify"), ratelimit.PaymentRate(bucket).Burst
		var last answer
		for range burst + 20 {
			payment := facilitator.NewPayer(t).Pay(challenge)
			if contract {
				payment.Payload.Signature += strings.Repeat("00", 32)
			}
			last = n.with(payment.Header(), paidPath)
		}
		refusal := n.wantFailure(last, http.StatusTooManyRequests, apierror.CodeRateLimited)
		if wait, err := strconv.Atoi(last.header.Get("Retry-After")); err != nil || wait < 1 {
			t.Errorf("%s: got Retry-After %q, want seconds", bucket, last.header.Get("Retry-After"))
		}
		env.WantPart(t, `"bucket":"`+string(bucket)+`"`, string(refusal.Error.Details), "details")
		env.Want(t, burst, n.ledger.Calls("verify")-before, bucket, "calls of the facilitator")
		if left := n.paymentKeys(); len(left) > 0 {
			t.Errorf("%s: refused payments left the keys %q, want none", bucket, left)
		}
	}
	env.Want(t, http.StatusPaymentRequired, n.askAs(http.MethodHead, paidPath, http.Header{x402.HeaderPayment: {"x"}}).status, "HEAD")
}
