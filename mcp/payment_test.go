package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pnyx/api/apierror"
	"pnyx/test/apinode"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// till is a node that takes payments, with the other end of them.
type till struct {
	*node

	ledger *facilitator.Ledger
	wallet *facilitator.Wallet
}

func newTill(t *testing.T) *till {
	t.Helper()
	ledger := facilitator.NewLedger(t)
	return &till{node: startNode(t, apinode.Settings{Payments: ledger}), ledger: ledger, wallet: facilitator.NewPayer(t)}
}

// paid calls a tool with a payment, which is JSON.
func (t *till) paid(tool, arguments, payment string) toolResult {
	t.Helper()
	got := t.post(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"x402/payment":%s}}}`, tool, arguments, payment))
	if got.Status != http.StatusOK {
		t.Fatalf("got %d %s, want 200", got.Status, got.Body)
	}
	return decode[toolResult](t, string(decode[rpc](t, got.Body).Result))
}

// sign pays for a proposal, without sending it. The result has the members of the payment in
// the order of the wallet.
func (t *till) sign(arguments string) string {
	t.Helper()
	terms := t.callAs("get_proposal", arguments)
	if !terms.IsError {
		t.Fatalf("got %+v, want the terms", terms)
	}
	signed := env.Must(json.Marshal(t.wallet.Pay(base64.StdEncoding.EncodeToString(terms.StructuredContent))))(t)
	return string(signed)
}

// wantRefused is an error with a code, and no data.
func (t *till) wantRefused(got toolResult, code apierror.Code) {
	t.Helper()
	if !got.IsError || !strings.Contains(got.Content[len(got.Content)-1].Text, string(code)) || strings.Contains(string(got.StructuredContent), `"data"`) {
		t.Errorf("got %s %s, want the error %s", got.Content[0].Text, got.StructuredContent, code)
	}
	env.Want(t, code == apierror.CodePaymentRequired, strings.Contains(string(got.StructuredContent), `"accepts"`), code, "terms are sent")
}

func (t *till) wantTransfers(want int) {
	t.Helper()
	env.Want(t, want, len(t.ledger.Transfers()), "transfers")
}

// oneProposal are the arguments of the calls that are paid for here.
const oneProposal = `{"proposalKey":"` + string(sampleKey) + `"}`

func TestTermsAreTheSumOfTheRoutesRead(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	for name, c := range map[string]struct{ tool, arguments, amount string }{
		"one route":          {"list_ballots", oneProposal, "5000"},
		"detail and summary": {"get_proposal", oneProposal, "10000"},
		"all of a proposal":  {"get_proposal", strings.Replace(oneProposal, "}", `,"include":["votes","evidence"]}`, 1), "15000"},
		"none of its parts":  {"get_proposal", strings.Replace(oneProposal, "}", `,"include":[]}`, 1), "5000"},
		"a free one beside":  {"get_dao", `{"daoId":"dao-000","timeline":"votes_cast"}`, "5000"},
		"profile and votes":  {"get_voter", `{"voterIdentity":"` + sampleVoter + `"}`, "10000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := n.with(t).callAs(c.tool, c.arguments)
			terms := decode[struct {
				X402Version int
				Resource    struct{ URL string }
				Accepts     []struct{ Amount string }
			}](t, string(got.StructuredContent))
			if terms.X402Version != 2 || terms.Resource.URL != "mcp://tool/"+c.tool || len(terms.Accepts) != 1 || terms.Accepts[0].Amount != c.amount {
				t.Errorf("got %s, want the amount %s", got.StructuredContent, c.amount)
			}
			if len(got.Content) != 2 || got.Content[0].Text != string(got.StructuredContent) || !strings.Contains(got.Content[1].Text, "x402/payment") {
				t.Errorf("got %+v, want the terms as text, and what to do in words", got.Content)
			}
		})
	}
}

func TestPaymentBuysOneAnswerToOneCall(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	payment := n.sign(oneProposal)
	first := n.paid("get_proposal", oneProposal, payment)
	if first.IsError || !strings.Contains(string(first.StructuredContent), `"bodyText"`) && !strings.Contains(string(first.StructuredContent), `"votes"`) {
		t.Fatalf("got %s, want the proposal", first.Content[0].Text)
	}
	if hash := n.ledger.Transfers()[0].Hash; !strings.Contains(string(first.Meta["x402/payment-response"]), hash) {
		t.Errorf("got the receipt %s, want it to name %s", first.Meta["x402/payment-response"], hash)
	}
	var reordered map[string]any
	env.Decode(t, []byte(payment), &reordered)
	spelled := env.Must(json.MarshalIndent(reordered, " ", "\t"))(t)
	explicit := strings.Replace(oneProposal, "{", `{"textOffset":0,"include":["votes","text"],`, 1)
	again := n.paid("get_proposal", explicit, string(spelled))
	if again.IsError || string(again.StructuredContent) != string(first.StructuredContent) {
		t.Errorf("the same payment for the same call in another spelling: got %s, want the first answer", again.Content[0].Text)
	}
	n.wantRefused(n.paid("list_ballots", oneProposal, payment), apierror.CodePaymentRequired)
	n.wantRefused(n.paid("get_proposal", strings.Replace(oneProposal, "}", `,"textOffset":1}`, 1), payment), apierror.CodePaymentRequired)
	n.wantTransfers(1)
}

func TestModernResultsNameTheServerBesideTheReceipt(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	meta := strings.TrimSuffix(modernMeta, "}") + `,"x402/payment":` + n.sign(oneProposal) + "}"
	got := n.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_proposal","arguments":`+oneProposal+","+meta+"}}",
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "get_proposal")
	paid := decode[toolResult](t, string(decode[rpc](t, got.Body).Result))
	for name, want := range map[string]string{
		"io.modelcontextprotocol/serverInfo": `"name":"pnyx"`, "x402/payment-response": n.ledger.Transfers()[0].Hash,
	} {
		env.WantPart(t, want, string(paid.Meta[name]), name)
	}
}

func TestCallsThatFailCostNothing(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	missing := `{"proposalKey":"` + string(unknownKey) + `"}`
	payment := n.sign(missing)
	n.wantRefused(n.paid("get_proposal", `{"proposalKey":"p1","limt":3}`, payment), apierror.CodeValidation)
	if n.ledger.Calls("verify") > 0 {
		t.Error("the facilitator was asked about a call with bad arguments")
	}
	n.wantRefused(n.paid("get_proposal", missing, payment), apierror.CodeNotFound)
	n.wantRefused(n.paid("get_proposal", `{"proposalKey":"`+string(hugeKey)+`"}`, payment), apierror.CodeValidation)
	n.wantRefused(n.paid("get_proposal", oneProposal, `"none"`), apierror.CodeValidation)
	n.wantTransfers(0)
	if got := n.paid("get_proposal", oneProposal, payment); got.IsError {
		t.Errorf("the payment is lost: %s", got.Content[0].Text)
	}
	n.wantTransfers(1)
}

func TestAnEmptyPageOfChangesSettlesNoPayment(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	const arguments = `{"limit":1}`
	terms := n.callAs("list_changes", arguments)
	payment := env.Must(json.Marshal(n.wallet.Pay(base64.StdEncoding.EncodeToString(terms.StructuredContent))))(t)
	for range 2 { // it may be used again
		got := n.paid("list_changes", arguments, string(payment))
		if got.IsError || len(decode[struct{ Data []any }](t, string(got.StructuredContent)).Data) > 0 || len(got.Meta) > 0 {
			t.Errorf("got %s with %v, want no rows and no receipt", got.StructuredContent, got.Meta)
		}
	}
	n.wantTransfers(0)
}

func TestUnknownSettlementAsksForTheSamePayment(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, honest func() any) {
		honest()
		w.WriteHeader(http.StatusInternalServerError)
	})
	payment := n.sign(oneProposal)
	got := n.paid("get_proposal", oneProposal, payment)
	n.wantRefused(got, apierror.CodeSettlementPending)
	env.WantPart(t, "send the same payment again", got.Content[0].Text, "it to say what to do")
	n.ledger.Behave("settle", nil)
	if got := n.paid("get_proposal", oneProposal, payment); got.IsError {
		t.Errorf("got %s, want the answer", got.Content[0].Text)
	}
	n.wantTransfers(1)
}

func TestRefusedSettlementSendsTheReason(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
		fmt.Fprint(w, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:84532"}`)
	})
	got := n.paid("get_proposal", oneProposal, n.sign(oneProposal))
	n.wantRefused(got, apierror.CodePaymentRequired)
	env.WantPart(t, `"errorReason":"insufficient_funds"`, string(got.Meta["x402/payment-response"]), "receipt")
}

// with returns the till for a subtest.
func (t *till) with(test *testing.T) *node { //nolint:thelper // the receiver is t
	test.Helper()
	return t.node.with(test)
}
