package x402_test

import (
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/crypto/sha3"

	"pnyx/access/x402"
	"pnyx/governance/abi"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// What the published packages put on the wire, for a price of 0.01.
const (
	goldenChallenge = "eyJ4NDAyVmVyc2lvbiI6MiwiZXJyb3IiOiJQYXltZW50IHJlcXVpcmVkIiwicmVzb3VyY2UiOnsidXJsIjoiaHR0cDovLzEyNy4wLjAuMToxODQwNC9wYWlkIiwiZGVzY3JpcHRpb24iOiJPbmUgcGFpZCByZWFkIiwibWltZVR5cGUiOiJhcHBsaWNhdGlvbi9qc29uIn0sImFjY2VwdHMiOlt7InNjaGVtZSI6ImV4YWN0IiwibmV0d29yayI6ImVpcDE1NTo4NDUzMiIsImFtb3VudCI6IjEwMDAwIiwiYXNzZXQiOiIweDAzNkNiRDUzODQyYzU0MjY2MzRlNzkyOTU0MWVDMjMxOGYzZENGN2UiLCJwYXlUbyI6IjB4M0M0NENkRGRCNmE5MDBmYTJiNTg1ZGQyOTllMDNkMTJGQTQyOTNCQyIsIm1heFRpbWVvdXRTZWNvbmRzIjoxMjAsImV4dHJhIjp7Im5hbWUiOiJVU0RDIiwidmVyc2lvbiI6IjIifX1dfQ=="
	goldenPayment   = "eyJ4NDAyVmVyc2lvbiI6MiwicGF5bG9hZCI6eyJhdXRob3JpemF0aW9uIjp7ImZyb20iOiIweDkwRjc5YmY2RUIyYzRmODcwMzY1RTc4NTk4MkUxZjEwMUU5M2I5MDYiLCJ0byI6IjB4M0M0NENkRGRCNmE5MDBmYTJiNTg1ZGQyOTllMDNkMTJGQTQyOTNCQyIsInZhbHVlIjoiMTAwMDAiLCJ2YWxpZEFmdGVyIjoiMCIsInZhbGlkQmVmb3JlIjoiMTc5NTIyMzk4OSIsIm5vbmNlIjoiMHgyODY4MWFiMWJkMmVmZDI3NmRmM2RlNzNkYTM5ODI4MGFjYTA5ZTY4ZjQwYmNjYjFjYjU2N2FiZGIxMTMwMDc0In0sInNpZ25hdHVyZSI6IjB4YmIwMjEzZTA1MGYyMjZjYzk0ZmNiZjUzNjlkNDFmNTljODQwZDExNzc1MDc5NDI3ZGZiYTUyMzQ2Zjk5MzZlYjJiNTUyYTVkOTQ0NjM3NzI4YjJiMDNiNDkyNjIyY2QxZjQ3NWNlYjYyOWIwZWYxMGQwZDY3ODBlYTI3YTI0ZTYxYyJ9LCJyZXNvdXJjZSI6eyJ1cmwiOiJodHRwOi8vMTI3LjAuMC4xOjE4NDA0L3BhaWQiLCJkZXNjcmlwdGlvbiI6Ik9uZSBwYWlkIHJlYWQiLCJtaW1lVHlwZSI6ImFwcGxpY2F0aW9uL2pzb24ifSwiYWNjZXB0ZWQiOnsic2NoZW1lIjoiZXhhY3QiLCJuZXR3b3JrIjoiZWlwMTU1Ojg0NTMyIiwiYW1vdW50IjoiMTAwMDAiLCJhc3NldCI6IjB4MDM2Q2JENTM4NDJjNTQyNjYzNGU3OTI5NTQxZUMyMzE4ZjNkQ0Y3ZSIsInBheVRvIjoiMHgzQzQ0Q2REZEI2YTkwMGZhMmI1ODVkZDI5OWUwM2QxMkZBNDI5M0JDIiwibWF4VGltZW91dFNlY29uZHMiOjEyMCwiZXh0cmEiOnsibmFtZSI6IlVTREMiLCJ2ZXJzaW9uIjoiMiJ9fX0="
	goldenDigest    = "90a317fbf376c7e0ba157420ccb00e3dc630a03b4a99a8ee8392843db8a7f213"
	goldenExpiry    = 1795223989
)

func goldenRequest() x402.Request {
	return x402.Request{RouteID: "paid", URL: "/paid", Description: "One paid read", Canonical: "paid"}
}

func withGoldenTerms(o *x402.Options) {
	o.Terms = facilitator.Terms(map[string]string{"paid": "0.01"})
	o.Terms.PublicURL = "http://127.0.0.1:18404"
}

func TestTheChallengeIsByteForByteThatOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, withGoldenTerms)
	env.WantSame(t, "challenge", decoded(t, goldenChallenge), decoded(t, f.Challenge(goldenRequest()).Challenge.Header()))
	env.Want(t, goldenChallenge, f.Challenge(goldenRequest()).Challenge.Header())
}

// The published client's signature passes a facilitator, which wants exactly the terms that were signed.
func TestThePaymentOfThePublishedClientIsTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, withGoldenTerms)
	f.SetClock(func() time.Time { return time.Unix(goldenExpiry-100, 0) })
	f.ledger.At(time.Unix(goldenExpiry-100, 0))
	got, err := f.buy(goldenPayment, goldenRequest(), "answer")
	if err != nil || got != "answer" {
		t.Fatalf("got %q, %v, want the answer", got, err)
	}
	f.wantCharged(1)
}

func TestTheDigestOfTheTestWalletIsThatOfTheChain(t *testing.T) {
	t.Parallel()
	var sent struct {
		Accepted map[string]any
		Payload  struct{ Authorization facilitator.Authorization }
	}
	env.MustDo(t, json.Unmarshal([]byte(decoded(t, goldenPayment)), &sent))
	env.Want(t, goldenDigest, hex.EncodeToString(facilitator.Digest(sent.Payload.Authorization, sent.Accepted)))
}

func TestNamesOfTheChainAreTheirHashes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"AuthorizationUsed(address,bytes32)":     x402.TopicAuthorizationUsed,
		"AuthorizationCanceled(address,bytes32)": x402.TopicAuthorizationVoid,
		"Transfer(address,address,uint256)":      x402.TopicTransfer,
		"authorizationState(address,bytes32)":    x402.CallAuthorizationState,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			hash := sha3.NewLegacyKeccak256()
			hash.Write([]byte(text))
			if got := "0x" + hex.EncodeToString(hash.Sum(nil)); !strings.HasPrefix(got, want) {
				t.Errorf("%s: got %s, want %s", text, got, want)
			}
		})
	}
}

func TestEIP55(t *testing.T) {
	t.Parallel()
	for _, address := range []string{ // the examples of the standard
		"0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
	} {
		env.Want(t, address, abi.Checksummed(strings.ToLower(address)))
	}
}

func TestWrongTermsAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*x402.Options)
		want  string
	}{
		"checksum":    {func(o *x402.Options) { o.Terms.PayTo = strings.ToLower(o.Terms.PayTo) }, "no valid EIP-55 checksum, which would be " + facilitator.PayTo},
		"window":      {func(o *x402.Options) { o.Terms.Window = time.Second }, "X402_WINDOW: is 1s, want at least 12s"},
		"burnt":       {func(o *x402.Options) { o.Terms.PayTo = o.Terms.Token.Asset }, "X402_PAY_TO: is the contract of the token itself"},
		"name":        {func(o *x402.Options) { o.Terms.Token.Name = "USD Coin" }, `has the name "USDC"`},
		"decimals":    {func(o *x402.Options) { o.Terms.Token.Decimals = 18 }, "and 6 decimals"},
		"wrong chain": {func(o *x402.Options) { o.Terms.Token.Network = "eip155:8453" }, "is a token of eip155:84532"},
		"free":        {func(o *x402.Options) { o.Terms.Prices["paid"] = "0" }, "price of paid: 0 is not a price above 0"},
		"fine":        {func(o *x402.Options) { o.Terms.Prices["paid"] = "0.0000001" }, "with at most 6 decimal places"},
		"no number":   {func(o *x402.Options) { o.Terms.Prices["paid"] = "cheap" }, `"cheap" is not a decimal number`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := x402.Options{
				Terms: facilitator.Terms(map[string]string{"paid": "0.01"}), FacilitatorURL: "http://localhost",
				Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
			}
			c.spoil(&options)
			if _, err := x402.New(options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A yes that goes with a bad status is none; a no counts whatever the status.
func TestOnlyAGoodStatusMakesAYes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		answer string
		kind   x402.Kind
	}{
		"yes with 500": {500, `{"isValid":true}`, x402.Unavailable},
		"no with 400":  {400, `{"isValid":false,"invalidReason":"insufficient_funds"}`, x402.Required},
		"half a no":    {200, `{"invalidReason":"insufficient_funds"}`, x402.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.ledger.Behave("verify", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			})
			_, err := f.buy(f.pay().Header(), request(), "answer")
			reason := ""
			if c.kind == x402.Required {
				reason = "insufficient_funds"
			}
			f.wantRefused(err, c.kind, reason)
		})
	}
}
