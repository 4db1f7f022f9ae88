package drills

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"pnyx/access/x402"
	"pnyx/test/env"
	"pnyx/test/facilitator"
	"pnyx/test/histories"
)

// buyThink bounds the time between two payments, below the limit of one payer.
const buyThink = 3 * time.Second

// buyer pays for answers, and sends a payment again until it is answered or worthless.
type buyer struct {
	wallet  *facilitator.Wallet
	pending []*historyPayment
	// done are payments that were answered, of which some are sent again.
	done []*historyPayment
}

// historyPayment is a payment for a path, to be sent in a header.
type historyPayment struct{ path, header, nonce string }

func newBuyer(r *historyRun) *buyer { return &buyer{wallet: facilitator.NewPayer(r.tb)} }

// buy makes a payment, sends it, and sends what is pending again.
func (b *buyer) buy(r *historyRun, random *rand.Rand, client int) {
	wait(r.ctx, time.Duration(random.Int64N(int64(buyThink))))
	path := r.poll.questions()[0].path
	_, base := r.choose(random)
	unpaid := r.pay(base, &historyPayment{path: path}, client)
	if challenge := unpaid.header.Get(x402.HeaderRequired); unpaid.status == http.StatusPaymentRequired && challenge != "" {
		signed := b.wallet.Pay(challenge)
		b.pending = append(b.pending, &historyPayment{path, signed.Header(), signed.Payload.Authorization.Nonce})
	}
	b.send(r, random, client)
	if len(b.done) > 0 && random.IntN(3) == 0 {
		_, base = r.choose(random)
		r.pay(base, b.done[random.IntN(len(b.done))], client)
	}
}

// send sends what is pending once more.
func (b *buyer) send(r *historyRun, random *rand.Rand, client int) {
	var left []*historyPayment
	for _, payment := range b.pending {
		_, base := r.choose(random)
		if a := r.pay(base, payment, client); a.transport == nil && a.status == http.StatusOK && a.err == nil {
			b.done = append(b.done, payment)
		} else {
			left = append(left, payment)
		}
	}
	b.pending = left
}

func (r *historyRun) pay(base string, payment *historyPayment, client int) reply {
	o := histories.Operation{Kind: histories.Pay, Client: client, Path: payment.path, Subject: payment.nonce}
	headers := map[string]string{}
	if payment.header != "" {
		headers[x402.HeaderPayment] = payment.header
	}
	q := r.poll.questions()[0]
	return r.request(o, base, headers, func(a *reply, o *histories.Operation) error {
		if !charged(r.ledger, payment.nonce) {
			return fmt.Errorf("an answer that nobody was charged for")
		}
		if a.header.Get(x402.HeaderReceipt) == "" {
			return fmt.Errorf("an answer without a receipt")
		}
		return r.ofVote(q)(a, o)
	}, http.StatusPaymentRequired, http.StatusConflict, http.StatusGatewayTimeout)
}

// settle sends what was charged and not answered until it is, and records all transfers.
func (b *buyer) settle(r *historyRun) {
	r.tb.Helper()
	random := histories.Client(r.seed, -1)
	env.Within(r.tb, recoveryTimeout, func() error {
		b.send(r, random, -1)
		for _, payment := range b.pending {
			if charged(r.ledger, payment.nonce) {
				return fmt.Errorf("payment %s was charged and is not answered", payment.nonce)
			}
		}
		return nil
	})
	for _, transfer := range r.ledger.Transfers() {
		// Each answer was compared with the ledger when it came.
		r.recorder.Add(histories.Operation{Kind: histories.Transfer, Subject: transfer.Authorization.Nonce})
	}
}
