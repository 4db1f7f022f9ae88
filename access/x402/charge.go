package x402

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/klauspost/compress/s2"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
)

// Response is the HTTP response that a payment is for.
type Response struct {
	Header map[string]string `msgpack:"h"`
	Body   []byte            `msgpack:"b"`
}

// Charge is the payment of one request. It is for one goroutine.
type Charge struct {
	gate    *Gate
	request Request
	payment governance.Payment
	lease   accounts.PaymentLease
	first   *Response
	// vouched means that the payer is known to have signed the payment.
	vouched bool
	// ended means that there is no lease to release.
	ended bool
}

// Payer returns the address of the payer, in lower case.
func (c *Charge) Payer() string { return c.payment.Payer }

// StoredResponse returns the response that the payment was already charged for. It returns false for a new
// payment, and when the response is lost: Settle stores it again.
func (c *Charge) StoredResponse() (Response, bool) {
	if c.first == nil {
		return Response{}, false
	}
	return *c.first, true
}

// Receipt returns the value of the PAYMENT-RESPONSE header of a settled payment.
func (c *Charge) Receipt() string {
	return encodeHeader(receipt{
		Success: true, Payer: c.payment.Payer, Transaction: c.payment.Transaction, Network: c.payment.Network,
	})
}

// receipt is the result of a settlement, in the form of the protocol.
type receipt struct {
	Success     bool   `json:"success"`
	ErrorReason string `json:"errorReason,omitempty"`
	Payer       string `json:"payer"`
	// Transaction is the hash of the transfer; it is empty when there is none or it is not known.
	Transaction string `json:"transaction"`
	Network     string `json:"network"` // eip155:<chain id>
}

func (c *Charge) enter(ctx context.Context, known governance.Payment, mine bool, fingerprint string) (*Charge, error) {
	c.payment = known
	asked := known.Request == c.request.fingerprint()
	switch {
	case known.State == governance.PaymentClaimed && mine:
		return c.verify(ctx)
	case known.State == governance.PaymentClaimed:
		return nil, inProgress()
	case !asked || known.Header != fingerprint:
		if mine {
			c.Release(ctx)
		}
		if asked && known.State != governance.PaymentSettled {
			return nil, pending(nil) // the same payment in another spelling: nobody pays again for an unknown outcome
		}
		return nil, c.gate.require(c.request, reasonUsed)
	case known.State == governance.PaymentSettled:
		return c.replay(ctx)
	case known.State == governance.PaymentSettling && mine:
		return c.resume(ctx)
	case known.State == governance.PaymentSettling:
		return nil, inProgress()
	}
	return nil, pending(nil)
}

// resumeExpired continues a payment that no longer matches the terms, but did when it was first sent.
func (c *Charge) resumeExpired(ctx context.Context, p Payment, id string) (*Charge, error) {
	known, err := c.gate.Store.Payment(ctx, id)
	if errors.Is(err, cache.ErrUnavailable) {
		return nil, unavailable(err)
	}
	if err != nil || known.State == governance.PaymentClaimed {
		return nil, c.gate.mismatch(c.request, p)
	}
	if known.State != governance.PaymentSettling || known.Header != p.fingerprint {
		return c.enter(ctx, known, false, p.fingerprint)
	}
	taken, err := c.gate.Store.LeasePayment(ctx, id, c.lease)
	switch {
	case err == nil:
		return c.enter(ctx, taken, true, p.fingerprint)
	case errors.Is(err, accounts.ErrPaymentLeased):
		return nil, inProgress()
	}
	return nil, unavailable(err)
}

func (c *Charge) verify(ctx context.Context) (*Charge, error) {
	// While settlements fail, no response is built that could not be charged.
	err := c.gate.facilitator.settles.ready()
	var reply verdict
	if err == nil {
		reply, err = c.gate.facilitator.verify(ctx, c.payment, c.vouched)
	}
	if err != nil {
		c.Release(ctx)
		return nil, unavailable(err)
	}
	if reply.yes {
		return c, nil
	}
	c.Release(ctx)
	if isUsed(reply.reason) {
		// A node that worked on the payment before a flush of Redis may have used it.
		stored, err := c.gate.Store.Payment(ctx, c.payment.ID)
		if err == nil {
			c.ended = false
			return c.enter(ctx, stored, false, c.payment.Header)
		}
	}
	return nil, c.gate.require(c.request, reply.reason)
}

// replay loads the stored response of a settled payment. If it is lost, one request builds it again.
func (c *Charge) replay(ctx context.Context) (*Charge, error) {
	c.gate.metrics.replays.Inc()
	kept, err := c.gate.Store.LeasePaidResponse(ctx, c.payment.ID, c.lease)
	c.ended = !errors.Is(err, cache.ErrMiss)
	switch {
	case errors.Is(err, cache.ErrMiss):
		return c, nil // the caller builds the response again
	case errors.Is(err, accounts.ErrPaymentLeased):
		return nil, inProgress()
	case err != nil:
		return nil, pending(err)
	}
	c.first, err = decodeAnswer(kept)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// resume continues a payment whose settlement has no known outcome.
func (c *Charge) resume(ctx context.Context) (*Charge, error) {
	ctx = context.WithoutCancel(ctx)
	p := c.payment
	p.Attempts++
	evidence := c.gate.ask(ctx, p)
	if err := c.conclude(ctx, p, evidence); err != nil {
		return nil, err
	}
	return c.replay(ctx)
}

// Release ends a charge without a response to pay for: the payment is free again. After Settle it does nothing.
func (c *Charge) Release(ctx context.Context) {
	if c.ended {
		return
	}
	c.ended = true
	ctx = context.WithoutCancel(ctx)
	if err := c.gate.Store.ReleasePayment(ctx, c.payment.ID, c.lease); err != nil {
		c.gate.Logger.LogAttrs(ctx, slog.LevelWarn, "payment lease not released, it expires by itself", slog.String("payment", c.payment.ID), slog.Any("error", err))
	}
}

// Settle charges the payment for a response, which may be sent if the error is nil. The error is a RefusedError.
func (c *Charge) Settle(ctx context.Context, answer Response) error {
	// The payment is charged even if the client disconnects now.
	ctx = context.WithoutCancel(ctx)
	if c.payment.State == governance.PaymentSettled {
		return c.keepAgain(ctx, answer)
	}
	p := c.payment
	p.State, p.Attempts = governance.PaymentSettling, 1
	p.Revision++
	if err := c.prepare(ctx, p, answer); err != nil {
		return err
	}
	return c.conclude(ctx, p, c.gate.ask(ctx, p))
}

// keepAgain stores the response of a settled payment whose first one is lost.
func (c *Charge) keepAgain(ctx context.Context, answer Response) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := c.gate.Store.SavePaidResponse(ctx, c.payment, c.lease, encodeAnswer(answer)); err != nil {
		return pending(err)
	}
	c.ended = true
	return nil
}

// prepare stores the response before anything is charged, so that it outlives this process. The stored state
// says that the attempt is unanswered, which is true if the process dies during it.
func (c *Charge) prepare(ctx context.Context, p governance.Payment, answer Response) error {
	now := c.gate.now()
	p.ChangedAt, p.Unanswered = governance.TimestampOf(now), true
	err := c.gate.save(ctx, accounts.PaymentUpdate{
		Payment: p, Lease: c.lease, KeepLease: true, Due: new(now.Add(c.gate.lease)), Response: encodeAnswer(answer),
	})
	switch {
	case errors.Is(err, accounts.ErrPaymentLeased):
		return inProgress()
	case err != nil:
		return unavailable(err)
	}
	return nil
}

// conclude stores the outcome of an attempt. It returns nil if the response may be sent.
func (c *Charge) conclude(ctx context.Context, p governance.Payment, e evidence) error {
	c.payment = decide(p, e, c.gate.now())
	err := c.gate.record(ctx, c.payment, c.lease)
	c.ended = true
	if errors.Is(err, accounts.ErrPaymentLeased) {
		// Another node has the payment. What it knows for certain holds here too.
		if stored, err := c.gate.Store.Payment(ctx, p.ID); err == nil && stored.State == governance.PaymentSettled {
			c.payment = stored
		}
	}
	switch c.payment.State {
	case governance.PaymentSettled:
		return nil
	case governance.PaymentRefused:
		return c.refusal(e)
	case governance.PaymentClaimed, governance.PaymentSettling, governance.PaymentUnknown:
	}
	return pending(e.err)
}

func (c *Charge) refusal(e evidence) error {
	if c.payment.Reason == reasonUnreachable {
		return unavailable(e.err)
	}
	refusal := c.gate.require(c.request, c.payment.Reason)
	refusal.Receipt = encodeHeader(receipt{
		ErrorReason: c.payment.Reason, Payer: c.payment.Payer, Network: c.payment.Network,
	})
	return refusal
}

func encodeAnswer(answer Response) []byte { return s2.Encode(nil, cache.Encode(&answer)) }

func decodeAnswer(kept []byte) (*Response, error) {
	var answer Response
	plain, err := s2.Decode(nil, kept)
	if err == nil {
		err = msgpack.Unmarshal(plain, &answer)
	}
	if err != nil {
		return nil, fmt.Errorf("decode a paid answer: %w", err)
	}
	return &answer, nil
}
