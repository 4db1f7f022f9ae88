package api_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/ratelimit"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// paymentKeys returns the keys of payments in the till's Redis.
func (t *till) paymentKeys() []string {
	t.Helper()
	keys, err := env.RedisClient(t, t.redisURL).Keys(t.Context(), "pnyx:*:{payments}:*").Result()
	if err != nil {
		t.Fatal(err)
	}
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
	if got := n.ledger.Calls("verify"); got != 0 {
		t.Errorf("unsigned payments made %d calls of the facilitator, want 0", got)
	}
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
		if !strings.Contains(string(refusal.Error.Details), `"bucket":"`+string(bucket)+`"`) {
			t.Errorf("got details %s, want the bucket %s", refusal.Error.Details, bucket)
		}
		if got := n.ledger.Calls("verify") - before; got != burst {
			t.Errorf("%s: got %d calls of the facilitator, want the %d that the bucket allows", bucket, got, burst)
		}
		if left := n.paymentKeys(); len(left) > 0 {
			t.Errorf("%s: refused payments left the keys %q, want none", bucket, left)
		}
	}
	if got := n.askAs(http.MethodHead, paidPath, http.Header{x402.HeaderPayment: {"x"}}); got.status != http.StatusPaymentRequired {
		t.Errorf("HEAD: got %d, want the challenge, which asks nobody", got.status)
	}
}
