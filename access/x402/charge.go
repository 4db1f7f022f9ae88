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

// Response is what a payment is for, as it goes over the wire.
type Response struct {
	Header map[string]string `msgpack:"h"`
	Body   []byte            `msgpack:"b"`
}

// Charge is the payment of one request.
type Charge struct {
	gate    *Gate
	request Request
	payment governance.Payment
	lease   accounts.PaymentLease
	first   *Response
	// ended says that there is nothing left to let go of.
	ended bool
}

// Payer is who pays, in lower case.
func (c *Charge) Payer() string {
	return c.payment.Payer
}

// StoredResponse returns the answer that the payment was charged for already, if it is
// still there: it is what whoever asks again gets.
func (c *Charge) StoredResponse() (Response, bool) {
	if c.first == nil {
		return Response{}, false
	}
	return *c.first, true
}

// Receipt is the header that goes with the answer to a payment that is settled.
func (c *Charge) Receipt() string {
	return encodeHeader(receipt{
		Success: true, Payer: c.payment.Payer, Transaction: c.payment.Transaction, Network: c.payment.Network,
	})
}

// receipt is what became of a settlement.
type receipt struct {
	Success     bool   `json:"success"`
	ErrorReason string `json:"errorReason,omitempty"`
	Payer       string `json:"payer"`
	Transaction string `json:"transaction"`
	Network     string `json:"network"`
}

// enter goes on with a payment by what is known of it.
func (c *Charge) enter(ctx context.Context, known governance.Payment, mine bool, fingerprint string) (*Charge, error) {
	c.payment = known
	same := known.Header == fingerprint && known.Request == c.request.fingerprint()
	switch {
	case known.State == governance.PaymentClaimed && mine:
		return c.verify(ctx)
	case known.State == governance.PaymentClaimed:
		return nil, inProgress()
	case !same:
		if mine {
			c.Release(ctx)
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

// late looks for a payment that does not fit the terms any more, but did when it
// was sent first.
func (c *Charge) late(ctx context.Context, id, fingerprint, reason string) (*Charge, error) {
	known, err := c.gate.store.Payment(ctx, id)
	if errors.Is(err, cache.ErrUnavailable) {
		return nil, unavailable(err)
	}
	if err != nil || known.Header != fingerprint || known.State == governance.PaymentClaimed {
		return nil, c.gate.require(c.request, reason)
	}
	if known.State != governance.PaymentSettling {
		return c.enter(ctx, known, false, fingerprint)
	}
	taken, err := c.gate.store.LeasePayment(ctx, id, c.lease)
	switch {
	case err == nil:
		return c.enter(ctx, taken, true, fingerprint)
	case errors.Is(err, accounts.ErrPaymentLeased):
		return nil, inProgress()
	}
	return nil, unavailable(err)
}

// verify asks the facilitator about a payment that is new.
func (c *Charge) verify(ctx context.Context) (*Charge, error) {
	if !c.gate.facilitator.settling() {
		c.Release(ctx)
		return nil, unavailable(errNotSent)
	}
	said, err := c.gate.facilitator.verify(ctx, c.payment.Settlement)
	if err != nil {
		c.Release(ctx)
		return nil, unavailable(err)
	}
	if !said.yes {
		c.Release(ctx)
		return nil, c.gate.require(c.request, said.reason)
	}
	return c, nil
}

// replay answers for a payment that is settled.
func (c *Charge) replay(ctx context.Context) (*Charge, error) {
	c.gate.metrics.replays.Inc()
	kept, err := c.gate.store.PaidResponse(ctx, c.payment.ID)
	switch {
	case errors.Is(err, cache.ErrMiss):
		return c, nil // it is worked out again
	case err != nil:
		return nil, unavailable(err)
	}
	c.first, err = decodeAnswer(kept)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// resume goes on with a payment that was handed over without a known outcome.
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

// Release ends a charge for which there is no answer to pay for: the payment may
// be used again. After Settle it does nothing.
func (c *Charge) Release(ctx context.Context) {
	if c.ended || c.payment.State == governance.PaymentSettled {
		return
	}
	c.ended = true
	ctx = context.WithoutCancel(ctx)
	if err := c.gate.store.ReleasePayment(ctx, c.payment.ID, c.lease); err != nil {
		// It ends by itself, later.
		c.gate.logger.LogAttrs(ctx, slog.LevelWarn, "release a payment", slog.String("payment", c.payment.ID), slog.Any("error", err))
	}
}

// Settle has the payment charged for an answer, which may be sent when the error
// is nil. The error is a RefusedError.
func (c *Charge) Settle(ctx context.Context, answer Response) error {
	if c.payment.State == governance.PaymentSettled {
		return nil
	}
	// Whoever hangs up now has paid all the same.
	ctx = context.WithoutCancel(ctx)
	p := c.payment
	p.State, p.Attempts = governance.PaymentSettling, 1
	if err := c.prepare(ctx, p, answer); err != nil {
		return err
	}
	return c.conclude(ctx, p, c.gate.ask(ctx, p))
}

// prepare makes the answer outlive this process, before anything is charged. What
// is written says that the attempt has no answer: should the process die in it,
// that is how it is.
func (c *Charge) prepare(ctx context.Context, p governance.Payment, answer Response) error {
	kept, err := encodeAnswer(answer)
	if err != nil {
		c.Release(ctx)
		return err
	}
	now := c.gate.now()
	due := now.Add(c.gate.lease)
	p.Revision++
	p.ChangedAt, p.Unanswered = governance.TimestampOf(now), true
	err = c.gate.save(ctx, accounts.PaymentUpdate{Payment: p, Lease: c.lease, KeepLease: true, Due: &due, Response: kept})
	switch {
	case errors.Is(err, accounts.ErrPaymentLeased):
		return inProgress()
	case err != nil:
		return unavailable(err)
	}
	return nil
}

// conclude judges an attempt and says what the caller gets: nil for the answer.
func (c *Charge) conclude(ctx context.Context, p governance.Payment, e evidence) error {
	c.payment = judge(p, e, c.gate.now())
	c.gate.record(ctx, c.payment, c.lease)
	c.ended = true
	switch c.payment.State {
	case governance.PaymentSettled:
		return nil
	case governance.PaymentRefused:
		return c.refusal(e)
	case governance.PaymentClaimed, governance.PaymentSettling, governance.PaymentUnknown:
	}
	return pending(e.err)
}

// refusal is what a caller gets to know of a settlement that was refused.
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

func encodeAnswer(answer Response) ([]byte, error) {
	plain, err := msgpack.Marshal(&answer)
	if err != nil {
		return nil, fmt.Errorf("encode a paid answer: %w", err)
	}
	return s2.Encode(nil, plain), nil
}

func decodeAnswer(kept []byte) (*Response, error) {
	plain, err := s2.Decode(nil, kept)
	if err != nil {
		return nil, fmt.Errorf("decode a paid answer: %w", err)
	}
	var answer Response
	if err := msgpack.Unmarshal(plain, &answer); err != nil {
		return nil, fmt.Errorf("decode a paid answer: %w", err)
	}
	return &answer, nil
}
