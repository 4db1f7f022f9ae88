package facilitator

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/governance/abi"
	"pnyx/test/check"
	"pnyx/test/upstream/chain"
)

// Ledger is a token contract with a facilitator and an RPC endpoint before it.
type Ledger struct {
	// Facilitator and RPC are the addresses of both.
	Facilitator, RPC string

	facilitator *httptest.Server

	mu        check.Mutex
	now       func() time.Time
	transfers []Transfer
	used      map[string]bool
	calls     map[string]int
	payments  map[string]map[string]any
	behaviour map[string]Behaviour
}

// Transfer is money that moved.
type Transfer struct {
	Authorization Authorization
	Hash          string // the transaction's
}

// Behaviour answers in place of the honest answer, for which it may ask. It may write nothing and wait.
type Behaviour func(w http.ResponseWriter, r *http.Request, honest func() any)

// NewLedger starts a ledger until the end of tb.
func NewLedger(tb testing.TB) *Ledger {
	tb.Helper()
	l := &Ledger{now: time.Now, used: map[string]bool{}, calls: map[string]int{}, payments: map[string]map[string]any{}, behaviour: map[string]Behaviour{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /verify", l.serve("verify", l.verify))
	mux.HandleFunc("POST /settle", l.serve("settle", l.settle))
	mux.HandleFunc("GET /supported", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:84532"}]}`)
	})
	facilitator := httptest.NewServer(mux)
	tb.Cleanup(facilitator.Close)
	rpc := httptest.NewServer(http.HandlerFunc(l.serveRPC))
	tb.Cleanup(rpc.Close)
	l.Facilitator, l.RPC, l.facilitator = facilitator.URL, rpc.URL, facilitator
	return l
}

// Environ returns the settings of a node that takes payments with Terms.
func (l *Ledger) Environ() []string {
	terms := Terms(nil)
	return []string{
		"PNYX_PUBLIC_URL=" + terms.PublicURL, "X402_PAY_TO=" + terms.PayTo, "X402_FACILITATOR_URL=" + l.Facilitator, "X402_RPC_URL=" + l.RPC,
		"X402_NETWORK=" + terms.Token.Network, "X402_ASSET=" + terms.Token.Asset, "X402_ASSET_NAME=" + terms.Token.Name,
	}
}

// Transfers returns the money that moved, in order.
func (l *Ledger) Transfers() []Transfer {
	return check.Locked(&l.mu, func() []Transfer { return slices.Clone(l.transfers) })
}

// Calls returns how often a call of the facilitator was made.
func (l *Ledger) Calls(call string) int {
	return check.Locked(&l.mu, func() int { return l.calls[call] })
}

// Payment returns the payment that a call of the facilitator got last.
func (l *Ledger) Payment(call string) map[string]any {
	return check.Locked(&l.mu, func() map[string]any { return l.payments[call] })
}

// Behave changes how "verify" or "settle" answers; nil makes it honest again.
func (l *Ledger) Behave(call string, how Behaviour) { l.mu.Do(func() { l.behaviour[call] = how }) }

// At stops the clock of the facilitator at a time.
func (l *Ledger) At(moment time.Time) {
	l.mu.Do(func() { l.now = func() time.Time { return moment } })
}

// HangUp breaks the connections to the facilitator.
func (l *Ledger) HangUp() { l.facilitator.CloseClientConnections() }

// Cancel uses an authorization up without a transfer.
func (l *Ledger) Cancel(a Authorization) { l.mu.Do(func() { l.used[a.Nonce] = true }) }

// Submit transfers the tokens of an authorization, as any account may.
func (l *Ledger) Submit(a Authorization) string {
	return check.Locked(&l.mu, func() string { return l.transfer(a) })
}

// request is the body of a request to the facilitator.
type request struct {
	PaymentPayload      Payment
	PaymentRequirements map[string]any // the terms that the payment has to meet
}

func (l *Ledger) serve(call string, honest func(request) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked request
		var sent struct{ PaymentPayload map[string]any }
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, json.Unmarshal(body, &asked), json.Unmarshal(body, &sent)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		l.mu.Lock()
		l.calls[call]++
		l.payments[call] = sent.PaymentPayload
		behave := l.behaviour[call]
		l.mu.Unlock()
		if behave != nil {
			behave(w, r, func() any { return honest(asked) })
			return
		}
		WriteJSON(w, honest(asked))
	}
}

// WriteJSON answers a call of the facilitator.
func WriteJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the caller may be gone
}

// objection returns the first reason to refuse a payment, in the order of facilitators; empty for none.
func (l *Ledger) objection(asked request) string {
	a, terms := asked.PaymentPayload.Payload.Authorization, asked.PaymentRequirements
	signer, err := recoverSigner(asked.PaymentPayload.Payload.Signature, Digest(a, terms))
	before, _ := strconv.ParseInt(a.ValidBefore, 10, 64)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil || signer != strings.ToLower(a.From):
		return "invalid_exact_evm_signature"
	case !strings.EqualFold(a.To, text(terms, "payTo")):
		return "invalid_exact_evm_recipient_mismatch"
	case before < l.now().Unix()+6:
		return "invalid_exact_evm_payload_authorization_valid_before"
	case a.Value != terms["amount"]:
		return "invalid_exact_evm_payload_authorization_value_mismatch"
	case l.used[a.Nonce]:
		return "invalid_exact_evm_nonce_already_used"
	}
	return ""
}

func (l *Ledger) verify(asked request) any {
	payer := asked.PaymentPayload.Payload.Authorization.From
	if objection := l.objection(asked); objection != "" {
		return map[string]any{"isValid": false, "invalidReason": objection, "payer": payer}
	}
	return map[string]any{"isValid": true, "payer": payer}
}

func (l *Ledger) settle(asked request) any {
	a := asked.PaymentPayload.Payload.Authorization
	network := asked.PaymentRequirements["network"]
	if objection := l.objection(asked); objection != "" {
		return map[string]any{"success": false, "errorReason": objection, "transaction": "", "network": network, "payer": a.From}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used[a.Nonce] { // another was quicker
		return map[string]any{"success": false, "errorReason": "invalid_exact_evm_transaction_failed", "transaction": "", "network": network}
	}
	return map[string]any{"success": true, "transaction": l.transfer(a), "network": network, "payer": a.From}
}

func (l *Ledger) transfer(a Authorization) string {
	hash := "0x" + hex.EncodeToString(abi.Keccak([]byte(a.From), []byte(a.Nonce)))
	l.used[a.Nonce] = true
	l.transfers = append(l.transfers, Transfer{Authorization: a, Hash: hash})
	return hash
}

// serveRPC answers the RPC calls about an authorization.
func (l *Ledger) serveRPC(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var result any
	switch asked.Method {
	case "eth_blockNumber":
		result = "0x20000"
	case "eth_call":
		var call struct{ Data string }
		_ = json.Unmarshal(asked.Params[0], &call)
		result = fmt.Sprintf("0x%064x", map[bool]int{true: 1}[l.used["0x"+call.Data[len(call.Data)-64:]]])
	case "eth_getLogs":
		result = l.events(string(asked.Params[0]))
	case "eth_getTransactionReceipt":
		result = map[string]any{"status": "0x1", "logs": l.receipt(string(asked.Params[0]))}
	}
	WriteJSON(w, map[string]any{"jsonrpc": "2.0", "id": 1, "result": result})
}

// events returns the use of the authorization whose nonce the filter holds.
func (l *Ledger) events(filter string) []any {
	for _, t := range l.transfers {
		if strings.Contains(filter, t.Authorization.Nonce) {
			return l.logs(t)[:1]
		}
	}
	for nonce := range l.used {
		if strings.Contains(filter, nonce) {
			return []any{map[string]any{
				"topics": []string{chain.Keccak("AuthorizationCanceled(address,bytes32)")}, "transactionHash": nonce, "logIndex": "0x0",
			}}
		}
	}
	return []any{}
}

func (l *Ledger) receipt(hash string) []any {
	for _, t := range l.transfers {
		if strings.Contains(hash, t.Hash) {
			return l.logs(t)
		}
	}
	return nil
}

func (l *Ledger) logs(t Transfer) []any {
	a, log := t.Authorization, func(index, event string, indexed int, values ...any) any {
		l := chain.Emit("0x036CbD53842c5426634e7929541eC2318f3dCF7e", event, indexed, values...)
		return map[string]any{"address": l.Address, "topics": l.Topics, "data": l.Data, "logIndex": index, "transactionHash": t.Hash}
	}
	from, value := chain.Hex(a.From), new(big.Int)
	_, _ = value.SetString(a.Value, 10) // the facilitator has checked it
	return []any{
		log("0x3", "AuthorizationUsed(address,bytes32)", 2, from, chain.Hex(a.Nonce)),
		log("0x4", "Transfer(address,address,uint256)", 2, from, chain.Hex(a.To), value),
	}
}
