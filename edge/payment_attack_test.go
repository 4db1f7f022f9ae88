package edge_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/edge"
	"pnyx/test/env"
)

// A node that dies, or that takes longer than the edge waits, may have handed the payment
// over for settlement.
func TestAttackAnUnansweredPaymentIsNeverSaidToBeFree(t *testing.T) {
	t.Parallel()
	ends := map[string]http.HandlerFunc{
		"the node dies": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"the node is slow": func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		},
	}
	for name, end := range ends {
		for _, token := range []string{internalToken, ""} {
			t.Run(name+map[bool]string{true: ", no token"}[token == ""], func(t *testing.T) {
				t.Parallel()
				o := newOrigin(t, end)
				e := startEdge(t, o.URL, func(o *edge.Options) {
					o.Token, o.PaymentTimeout, o.AnswerTimeout = token, 500*time.Millisecond, 500*time.Millisecond
				})
				got := e.get(pathOf(0), x402.HeaderPayment, "a payment")
				e.wantPending(got)
				if got := e.get(pathOf(0)); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "payment") {
					t.Errorf("without a payment: got %d %s, want 503", got.status, got.body)
				}
				env.Want(t, http.StatusServiceUnavailable, e.get("/v2/daos", x402.HeaderPayment, "a payment").status, "a free route")
			})
		}
	}
}

func TestAttackATimeoutThatIsTooShortTakesNoPayment(t *testing.T) {
	t.Parallel()
	n := newPaymentNode(t)
	options := newOptions(t, n.direct.base)
	options.PaymentTimeout = time.Minute // the node may take longer
	err := edge.Run(t.Context(), options, io.Discard, io.Discard)
	if !errors.Is(err, edge.ErrTimeouts) || !strings.Contains(err.Error(), "X402_SETTLE_TIMEOUT") {
		t.Errorf("start: got %v, want the settings that differ", err)
	}

	// Without a token the edge cannot ask, and starts.
	options.Token = ""
	short := startEdgeWith(t, options)
	payment := n.sign(pathOf(0))
	got := short.get(pathOf(0), x402.HeaderPayment, payment)
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, string(apierror.CodeUnavailable)) {
		t.Errorf("a payment: got %d %s, want 503", got.status, got.body)
	}
	env.Want(t, 0, n.ledger.Calls("verify")+n.ledger.Calls("settle"), "calls of the facilitator")
	n.wantSold(n.with(payment, pathOf(0)), 1)
}

func TestAttackTheTokenOfTheEdgeFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	other := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	moved := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	t.Cleanup(moved.Close)
	startEdge(t, moved.URL)
	env.Want(t, 0, other.asked.Load(), "requests at another host")
}

// wantPending checks that the caller is told to send the same payment again.
func (e *nginx) wantPending(got answer) {
	e.Helper()
	if got.status != http.StatusGatewayTimeout || !strings.Contains(got.body, string(apierror.CodeSettlementPending)) ||
		strings.Contains(got.body, "nothing was charged") || got.header.Get("Retry-After") == "" ||
		got.header.Get("Cache-Control") != "no-store" {
		e.Errorf("with a payment: got %d %v %s, want 504 %s", got.status, got.header, got.body, apierror.CodeSettlementPending)
	}
}
