package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"pnyx/access/x402"
	pnyx "pnyx/clients"
	"pnyx/reference/client"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// payer is a transport that pays by x402, with a wallet.
type payer struct{ wallet *facilitator.Wallet }

// RoundTrip sends a request, and again with a payment where that is asked for.
func (p payer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusPaymentRequired {
		return response, err
	}
	response.Body.Close()
	paid := r.Clone(r.Context())
	paid.Header.Set(x402.HeaderPayment, p.wallet.Pay(response.Header.Get(x402.HeaderRequired)).Header())
	return http.DefaultTransport.RoundTrip(paid)
}

// Each client reads a paid route without a token, over a transport that pays, and pays once.
func TestLongClientsPayPerRequest(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	ledger := facilitator.NewLedger(t)
	i := startShared(t, append(ledger.Environ(), "X402_VERIFY_TIMEOUT=30s", "X402_SETTLE_TIMEOUT=30s"), "serve", "--demo").ready()
	i.AwaitPublished()
	var daos []struct{ DAOID string }
	i.Get("/v2/daos?limit=1", &daos)
	var want json.RawMessage
	i.Get("/v2/daos/"+daos[0].DAOID+"/timeline?metric=votes_cast", &want)
	wallet := facilitator.NewWallet(t)
	signer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		challenge, _ := io.ReadAll(r.Body) // what cannot be read cannot be signed
		fmt.Fprint(w, wallet.Pay(string(challenge)).Header())
	}))
	t.Cleanup(signer.Close)
	for _, language := range client.Languages() {
		t.Run(string(language), func(t *testing.T) {
			requireClient(t, language)
			before := len(ledger.Transfers())
			got := json.RawMessage(payWith(t, language, wallet, i.URL, signer.URL, daos[0].DAOID))
			if !env.SameJSON(got, want) {
				t.Errorf("got other data (-want +got):\n%s", env.DiffJSON(want, got))
			}
			env.Want(t, 1, len(ledger.Transfers())-before, "payments")
		})
	}
}

// payWith reads a timeline with a client, and returns it.
func payWith(t *testing.T, language client.Language, wallet *facilitator.Wallet, url, signer, dao string) string {
	t.Helper()
	if language == client.Go {
		answer := env.Must(pnyx.New(url, pnyx.WithTransport(payer{wallet})).Timeline(t.Context(), dao, &pnyx.TimelineParams{Metric: pnyx.TimelineMetricVotesCast}))(t)
		text := env.Must(json.Marshal(answer.Data))(t)
		return string(text)
	}
	return newPrograms(t, language).runOne(t, "testdata", "pay", "", url, signer, dao)
}
