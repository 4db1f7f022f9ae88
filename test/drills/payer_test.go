package drills

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"pnyx/access/x402"
	"pnyx/test/facilitator"
)

// payInterval keeps the rate below the limit of one payer.
const payInterval = 1500 * time.Millisecond

// payer buys answers, and sends a payment again until it is answered or turned down for good.
type payer struct {
	tb     testing.TB
	load   *load
	wallet *facilitator.Wallet
	ledger *facilitator.Ledger

	bought  int
	pending []*purchase
}

// purchase is a payment that was sent.
type purchase struct {
	question question
	header   string
	nonce    string
	refusal  string
}

func newPayer(tb testing.TB, l *load, ledger *facilitator.Ledger) *payer {
	tb.Helper()
	return &payer{tb: tb, load: l, wallet: facilitator.NewWallet(tb), ledger: ledger}
}

// run buys until ctx ends, and then sees to what is pending.
func (p *payer) run(ctx context.Context) {
	for n := 0; wait(ctx, payInterval); n++ {
		questions := p.load.world.priced
		p.buy(questions[n%len(questions)], p.load.bases[n%len(p.load.bases)])
		p.again(p.load.bases[n%len(p.load.bases)])
	}
}

// buy asks for the terms, pays, and sends the payment once.
func (p *payer) buy(q question, base string) {
	var challenge string
	p.load.sendChecked(base+q.path, nil, func(r *reply) error {
		if r.status != http.StatusPaymentRequired {
			return errors.New("it was not paid for")
		}
		challenge = r.header.Get(x402.HeaderRequired)
		return nil
	}, http.StatusPaymentRequired)
	if challenge == "" {
		return
	}
	signed := p.wallet.Pay(challenge)
	bought := &purchase{question: q, header: signed.Header(), nonce: signed.Payload.Authorization.Nonce}
	if !p.send(base, bought) {
		p.pending = append(p.pending, bought)
	}
}

// again sends what is pending once more.
func (p *payer) again(base string) {
	var left []*purchase
	for _, bought := range p.pending {
		if !p.send(base, bought) {
			left = append(left, bought)
		}
	}
	p.pending = left
}

// send sends a payment, and says whether it was answered, which must be charged by then.
func (p *payer) send(base string, bought *purchase) (answered bool) {
	headers := map[string]string{x402.HeaderPayment: bought.header}
	honest := []int{
		http.StatusPaymentRequired, http.StatusConflict, http.StatusGatewayTimeout, http.StatusTooManyRequests,
	}
	p.load.sendChecked(base+bought.question.path, headers, func(r *reply) error {
		if r.status != http.StatusOK {
			bought.refusal = r.text
			return errRefused
		}
		answered = true
		p.bought++
		if !charged(p.ledger, bought.nonce) {
			return fmt.Errorf("an answer that nobody was charged for (nonce %s)", bought.nonce)
		}
		if r.header.Get(x402.HeaderReceipt) == "" {
			return errors.New("an answer without a receipt")
		}
		return bought.question.check(r)
	}, honest...)
	return answered
}

// charged reports whether the money of a payment has moved.
func charged(ledger *facilitator.Ledger, nonce string) bool {
	return slices.ContainsFunc(ledger.Transfers(), func(t facilitator.Transfer) bool { return t.Authorization.Nonce == nonce })
}

// settle sees to it that everything that was charged is answered.
func (p *payer) settle(base string) {
	p.tb.Helper()
	deadline := time.Now().Add(45 * time.Second)
	for p.owed() != nil && time.Now().Before(deadline) {
		p.again(base)
		wait(p.tb.Context(), time.Second)
	}
	for _, bought := range p.owed() {
		p.tb.Errorf("charged, and never answered: nonce %s, last %s", bought.nonce, bought.refusal)
	}
	if p.bought == 0 {
		p.tb.Error("no answer was bought")
	}
}

// owed are the payments that were charged and not answered.
func (p *payer) owed() (owed []*purchase) {
	for _, bought := range p.pending {
		if charged(p.ledger, bought.nonce) {
			owed = append(owed, bought)
		}
	}
	return owed
}
