package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/access/x402"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// TestExportOfADAOThroughAnEdge downloads a DAO through an edge with a token and with payments.
func TestExportOfADAOThroughAnEdge(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	ledger := facilitator.NewLedger(t)
	i := startShared(t, append(ledger.Environ(), "REDIS_URL="+env.Redis(t).URL), "serve").ready()
	i.ImportLines(goodSpace)
	i.ImportLines(proposalLine("a.eth", "one"), proposalLine("a.eth", "two"))
	i.ImportLines(append(castBallots("one", 0, 3000), castBallots("two", 0, 30)...)...)
	i.AwaitPublished()
	direct := newExporter(t, i.URL)
	export, _ := direct.awaitExport(i, "a.eth")
	edge := startExportEdge(t, i)
	t.Run("with a token", func(t *testing.T) { checkExportByToken(t, edge, direct, export) })
	t.Run("with payments", func(t *testing.T) { checkExportByPayment(t, edge, direct, export, ledger) })
	edge.Stop()
	i.Stop()
}

// checkExportByToken counts one request a manifest and a whole part, none for a rest or what the caller has.
func checkExportByToken(t *testing.T, edge exportEdge, direct *exporter, want governance.DAOExport) {
	t.Helper()
	e := edge.exporter(t)
	used := 0
	wantUsed := func(charged int, what string) {
		t.Helper()
		used += charged
		env.Until(t, func() error {
			_, body := e.get("/v2/meta/usage", http.StatusOK)
			var usage struct{ Month struct{ Used string } }
			if err := json.Unmarshal(body, &struct{ Data any }{&usage}); err != nil {
				return err
			}
			if usage.Month.Used != strconv.Itoa(used) {
				return fmt.Errorf("after %s: %s answers are counted, want %d", what, usage.Month.Used, used)
			}
			return nil
		})
	}
	got := e.daoExport("a.eth", "")
	if diff := cmp.Diff(want.Parts, got.Parts); diff != "" || got.Rows != want.Rows || len(got.Parts) != 1 {
		t.Fatalf("the manifest differs through the edge (-want +got):\n%s", diff)
	}
	wantUsed(1, "a manifest")
	formats := got.Parts[0].Formats
	for _, path := range []string{formats.NDJSON, formats.CSV, formats.Parquet} {
		_, text := direct.get(path, http.StatusOK)
		answer, body := e.get(path, http.StatusOK)
		wantFile(t, answer, body, text)
		wantUsed(1, "a part")
		again, body := e.get(path, http.StatusOK)
		wantFile(t, again, body, text)
		wantUsed(1, "the same part again")
		etag := answer.Header.Get("Etag")
		e.get(path, http.StatusNotModified, "If-None-Match", etag)
		resumed := bytes.Clone(text[:100])
		for _, next := range []string{"100-999", "1000-"} {
			_, rest := e.get(path, http.StatusPartialContent, "Range", "bytes="+next, "If-Range", etag)
			resumed = append(resumed, rest...)
		}
		if !bytes.Equal(resumed, text) {
			t.Errorf("%s: got other bytes from a resumed download", path)
		}
		wantUsed(0, "a resumed download")
	}
}

// checkExportByPayment buys the manifest and a part, of which a payment gets any range.
func checkExportByPayment(t *testing.T, edge exportEdge, direct *exporter, export governance.DAOExport, ledger *facilitator.Ledger) {
	t.Helper()
	e := newExporter(t, edge.base)
	e.header = http.Header{}
	wallet := facilitator.NewWallet(t)
	_, body := e.get("/v2/meta/pricing", http.StatusOK)
	var pricing governance.Pricing
	env.Decode(t, body, &struct{ Data any }{&pricing})
	prices := map[string]governance.RoutePrice{}
	for _, route := range pricing.Routes {
		prices[route.RouteID] = route
	}
	plus := prices["proposals.detail"]
	buy := func(routeID, path string) (payment string, answer *exportAnswer, body []byte) {
		t.Helper()
		if got := prices[routeID]; got.Tier != plus.Tier || got.Price != plus.Price || !got.Paid {
			t.Errorf("%s: got the price %+v, want the price of %+v", routeID, got, plus)
		}
		before := ledger.Transfers()
		challenge, _ := e.get(path, http.StatusPaymentRequired)
		payment = wallet.Pay(challenge.Header.Get(x402.HeaderRequired)).Header()
		answer, body = e.get(path, http.StatusOK, x402.HeaderPayment, payment)
		after := ledger.Transfers()
		if len(after) != len(before)+1 || answer.Header.Get(x402.HeaderReceipt) == "" {
			t.Fatalf("%s: got %d payments, want one more than %d, with a receipt", routeID, len(after), len(before))
		}
		paid := decimal.RequireFromString(after[len(before)].Authorization.Value).Shift(-int32(facilitator.Terms(nil).Token.Decimals))
		if governance.DecimalOf(paid) != plus.Price {
			t.Errorf("%s: %s was paid, want %s", routeID, paid, plus.Price)
		}
		return payment, answer, body
	}
	path := export.Parts[0].Formats.NDJSON
	_, _, manifest := buy("daos.export", "/v2/daos/a.eth/export")
	var got governance.DAOExport
	if err := json.Unmarshal(manifest, &struct{ Data any }{&got}); err != nil || !cmp.Equal(got.Parts, export.Parts) {
		t.Errorf("got the manifest %s and %v, want %+v", manifest, err, export.Parts)
	}
	_, text := direct.get(path, http.StatusOK)
	payment, answer, body := buy("daos.export-part", path)
	wantFile(t, answer, body, text)
	charged := len(ledger.Transfers())
	_, rest := e.get(path, http.StatusPartialContent, x402.HeaderPayment, payment, "Range", "bytes=9-", "If-Range", answer.Header.Get("Etag"))
	_, whole := e.get(path, http.StatusOK, x402.HeaderPayment, payment)
	if !bytes.Equal(rest, text[9:]) || !bytes.Equal(whole, text) || len(ledger.Transfers()) != charged {
		t.Errorf("got %d and %d bytes for %d more payments, want the rest and the whole of %d for none",
			len(rest), len(whole), len(ledger.Transfers())-charged, len(text))
	}
	e.get(path, http.StatusPaymentRequired, "Range", "bytes=9-")
	e.get(export.Parts[0].Formats.CSV, http.StatusPaymentRequired, x402.HeaderPayment, payment)
}

// wantFile holds an answer against the bytes of a file and their digest.
func wantFile(t *testing.T, answer *exportAnswer, body, want []byte) {
	t.Helper()
	sum := sha256.Sum256(want)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	if !bytes.Equal(body, want) || answer.Header.Get("Repr-Digest") != digest || answer.Header.Get("Unencoded-Digest") != digest {
		t.Errorf("got %d bytes and %v, want %d with the digest %s", len(body), answer.Header, len(want), digest)
	}
}
