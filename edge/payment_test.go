package edge_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// paymentNode is a node that takes payments behind an edge, with a fake facilitator.
type paymentNode struct {
	*node

	ledger *facilitator.Ledger
	wallet *facilitator.Wallet
}

// newPaymentNode runs a node that takes payments, and an edge in front of it, until the end of
// the test.
func newPaymentNode(t *testing.T) *paymentNode {
	t.Helper()
	ledger := facilitator.NewLedger(t)
	return &paymentNode{node: startPaidNode(t, ledger), ledger: ledger, wallet: facilitator.NewWallet(t)}
}

// sign returns a payment for a path by the edge's challenge, without sending it.
func (t *paymentNode) sign(path string, spoil ...func(*facilitator.Authorization)) string {
	t.Helper()
	got := t.get(path)
	t.wantRefusal("who has not paid", got, http.StatusPaymentRequired, apierror.CodePaymentRequired)
	return t.wallet.Pay(got.header.Get(x402.HeaderRequired), spoil...).Header()
}

// with requests a path with a payment.
func (t *paymentNode) with(payment, path string) answer {
	t.Helper()
	return t.get(path, x402.HeaderPayment, payment)
}

// wantSold checks for a response of the node itself, paid by the latest charge, and for
// the total number of charges.
func (t *paymentNode) wantSold(got answer, charges int) {
	t.Helper()
	if got.status != http.StatusOK || titleIn(got.body) == "" || got.header.Get("Cache-Control") != "private, no-store" {
		t.Fatalf("got %d %v %.200s, want the answer, for this caller alone", got.status, got.header, got.body)
	}
	if by := got.header.Get("Cache-Status"); !strings.HasSuffix(by, "pnyx-edge; fwd=bypass") {
		t.Errorf("Cache-Status: got %s, want an answer that the edge has not kept", by)
	}
	moved := t.ledger.Transfers()
	if len(moved) != charges {
		t.Fatalf("got %d transfers, want %d", len(moved), charges)
	}
	receipt, _ := base64.StdEncoding.DecodeString(got.header.Get(x402.HeaderReceipt))
	if hash := moved[charges-1].Hash; !strings.Contains(string(receipt), hash) {
		t.Errorf("receipt %s does not name %s", receipt, hash)
	}
}

// wantUnchanged compares a response of the edge with the node's own to the same request.
func (t *paymentNode) wantUnchanged(path string, headers ...string) answer {
	t.Helper()
	headers = append(headers, "X-Request-Id", "the.same")
	byEdge, byNode := t.get(path, headers...), t.direct.get(path, headers...)
	for _, name := range []string{"Date", "Server", "Connection", "Cache-Status", "Server-Timing"} {
		byEdge.header.Del(name)
		byNode.header.Del(name)
	}
	env.WantSame(t, "GET "+path+" of the node, and of the edge", byNode, byEdge, cmp.AllowUnexported(answer{}))
	return byEdge
}

func TestPaymentThroughTheEdgeBuysOneResponse(t *testing.T) {
	t.Parallel()
	n := newPaymentNode(t)
	path := pathOf(0)
	n.wantUnchanged(path)
	n.wantUnchanged(path, api.HeaderFormerPayment, "of version 1")
	payment := n.sign(path)
	env.Want(t, http.StatusPaymentRequired, env.Must(n.try(http.MethodHead, path, x402.HeaderPayment, payment))(t).status, "HEAD", "the challenge")
	first := n.with(payment, path)
	n.wantSold(first, 1)

	// Without the payment, neither this caller nor another one gets the response.
	for who, headers := range map[string][]string{
		"nobody":                    nil,
		"who would have it kept":    {"If-None-Match", "*"},
		"who sends an empty one":    {x402.HeaderPayment, ""},
		"who says it is authorized": {access.HeaderInternal, internalToken, api.HeaderFill, "x"},
	} {
		n.wantRefusal(who, n.get(path, headers...), http.StatusPaymentRequired, apierror.CodePaymentRequired)
	}
	alice := n.issue(1000, access.V2All)
	n.wantBody(n.read(alice, path), "fwd=uri-miss")
	n.wantUsed(map[partner]int64{alice: 1})

	// The same payment gets the same bytes, although newer data was published since.
	n.publish(0)
	again := n.with(payment, path)
	n.wantSold(again, 1)
	if again.body != first.body || again.header.Get(x402.HeaderReceipt) != first.header.Get(x402.HeaderReceipt) {
		t.Errorf("the same payment again: got %s, want %s", again.body, first.body)
	}
	refused := n.wantUnchanged(pathOf(1), x402.HeaderPayment, payment)
	n.wantRefusal("a used payment, for another answer", refused, http.StatusPaymentRequired, apierror.CodePaymentRequired)
	if !strings.Contains(refused.body, "already used") || refused.header.Get(x402.HeaderRequired) == "" {
		t.Errorf("a used payment, for another answer: got %s, want a new challenge that says so", refused.body)
	}
	n.wantCharges(1)
}

// TestAttackCachedBodyStillRequiresPayment requests a response that the edge has cached for
// callers with tokens.
func TestAttackCachedBodyStillRequiresPayment(t *testing.T) {
	t.Parallel()
	n := newPaymentNode(t)
	path := pathOf(0)
	alice := n.issue(1000, access.V2All)
	n.wantHeld(alice, path)

	spoiled := n.sign(path, func(a *facilitator.Authorization) { a.Value = "1" })
	n.wantRefusal("too small a payment", n.wantUnchanged(path, x402.HeaderPayment, spoiled), http.StatusPaymentRequired, apierror.CodePaymentRequired)
	n.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
		fmt.Fprint(w, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:84532"}`)
	})
	poor := n.with(n.sign(path), path)
	n.wantRefusal("an empty purse", poor, http.StatusPaymentRequired, apierror.CodePaymentRequired)
	if poor.header.Get(x402.HeaderReceipt) == "" || poor.header.Get(x402.HeaderRequired) == "" {
		t.Errorf("an empty purse: got %v, want the receipt of a failure and a new challenge", poor.header)
	}
	n.wantCharges(0)
	n.ledger.Behave("settle", nil)

	payment := n.sign(path)
	const atOnce = 8
	var bought [atOnce]string
	env.Concurrently(t, atOnce, atOnce, func(i int) error {
		got, err := n.try(http.MethodGet, path, x402.HeaderPayment, payment)
		switch {
		case err != nil:
			return err
		case got.status == http.StatusOK:
			bought[i] = got.body
		case got.status != http.StatusConflict && got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "":
			return fmt.Errorf("one of many at once: got %d %v %s, want when to try again", got.status, got.header, got.body)
		}
		return nil
	})
	slices.Sort(bought[:])
	env.Want(t, 1, len(slices.DeleteFunc(slices.Compact(bought[:]), func(body string) bool { return body == "" })), "one payment, sent", atOnce, "times at once, got the answers")
	n.wantCharges(1)
	n.wantHeld(alice, path)
}

// wantHeld waits until the edge has cached the body of a paid response.
func (t *paymentNode) wantHeld(p partner, path string) {
	t.Helper()
	env.Until(t, func() error {
		got := t.read(p, path)
		if by := got.header.Get("Cache-Status"); got.status != http.StatusOK || !strings.HasSuffix(by, "pnyx-edge; hit") {
			return fmt.Errorf("GET %s: got %d, %s, want the body that the edge holds", path, got.status, by)
		}
		return nil
	})
}

// wantCharges checks how many transfers the ledger has.
func (t *paymentNode) wantCharges(payments int) {
	t.Helper()
	env.Want(t, payments, len(t.ledger.Transfers()), "transfers")
}
