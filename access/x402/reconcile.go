package x402

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"pnyx/backoff"
	"pnyx/cache/accounts"
	"pnyx/governance"
)

const (
	// reconcileInterval is the time between checks of unresolved payments, reconcileBatchSize the most in one.
	reconcileInterval  = 2 * time.Second
	reconcileBatchSize = 20
)

// ask requests the settlement of a payment, and checks the chain where the facilitator's verdict is not final.
func (g *Gate) ask(ctx context.Context, p governance.Payment) evidence {
	e := evidence{blind: g.chain == nil}
	if p.Attempts > 1 {
		g.checkChain(ctx, p, &e)
	}
	if e.onChain == statusPaid || e.onChain == statusSpent || !g.now().Before(p.ValidBefore.Time()) {
		return e
	}
	e.asked = true
	e.reply, e.err = g.facilitator.settle(ctx, p)
	if errors.Is(e.err, errNoAnswer) || isUsed(e.reply.reason) || e.reply.submitted && !e.reply.yes {
		g.checkChain(ctx, p, &e)
	}
	return e
}

// probe collects evidence about an unresolved payment: only a repeated request of the payer charges it.
func (g *Gate) probe(ctx context.Context, p governance.Payment) evidence {
	e := evidence{blind: g.chain == nil}
	g.checkChain(ctx, p, &e)
	if !e.blind || !g.now().Before(p.ValidBefore.Time()) {
		return e
	}
	if reply, err := g.facilitator.verify(ctx, p, true); err == nil && isUsed(reply.reason) {
		e.asked, e.reply = true, reply
	}
	return e
}

func (g *Gate) checkChain(ctx context.Context, p governance.Payment, e *evidence) {
	var err error
	e.onChain, e.transaction, err = g.chain.status(ctx, p)
	if err != nil {
		g.Logger.LogAttrs(ctx, slog.LevelWarn, "payment status not read from the chain", slog.String("payment", p.ID), slog.Any("error", err))
	}
}

// Run checks unresolved payments until ctx ends.
func (g *Gate) Run(ctx context.Context) {
	g.checkFacilitator(ctx)
	for ctx.Err() == nil {
		g.Reconcile(ctx)
		backoff.Wait(ctx, reconcileInterval)
	}
}

// Reconcile checks the unresolved payments that are due, once.
func (g *Gate) Reconcile(ctx context.Context) {
	ids, err := g.Store.DuePayments(ctx, g.now(), reconcileBatchSize)
	if err != nil {
		g.Logger.LogAttrs(ctx, slog.LevelWarn, "unresolved payments not read", slog.Any("error", err))
		return
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			return
		}
		lease := accounts.PaymentLease{Owner: rand.Text(), TTL: g.lease}
		p, err := g.Store.LeasePayment(ctx, id, lease)
		if err != nil {
			continue // resolved, or leased by another process
		}
		p.Attempts++
		// A shutdown must not interrupt the check: the lease would stay until it expires.
		whole := context.WithoutCancel(ctx)
		_ = g.record(whole, decide(p, g.probe(whole, p), g.now()), lease) // it is logged
	}
}

// record stores the new state of a payment. After an error the payment is checked again.
func (g *Gate) record(ctx context.Context, p governance.Payment, lease accounts.PaymentLease) error {
	step := accounts.PaymentUpdate{Payment: p, Lease: lease}
	var err error
	switch p.State {
	case governance.PaymentRefused:
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		err = g.Store.DeleteRefusedPayment(ctx, p, lease)
	case governance.PaymentSettling:
		step.Due = new(nextCheck(p, g.now()))
		err = g.save(ctx, step)
	case governance.PaymentClaimed, governance.PaymentSettled, governance.PaymentUnknown:
		err = g.save(ctx, step)
	}
	g.metrics.payments.WithLabelValues(string(p.State)).Inc()
	level := slog.LevelInfo
	if err != nil || p.State == governance.PaymentUnknown {
		level = slog.LevelError
	}
	g.Logger.LogAttrs(ctx, level, "payment",
		slog.String("state", string(p.State)), slog.String("payment", p.ID), slog.String("route", p.RouteID),
		slog.String("amount", p.Amount), slog.String("transaction", p.Transaction),
		slog.String("reason", p.Reason), slog.Int("attempts", p.Attempts), slog.Any("error", err))
	return err
}

func (g *Gate) save(ctx context.Context, step accounts.PaymentUpdate) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return g.Store.SavePayment(ctx, step)
}

// checkFacilitator warns if the facilitator does not support the terms. It may only be unreachable: no error.
func (g *Gate) checkFacilitator(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, g.VerifyTimeout)
	defer cancel()
	if err := g.facilitator.supports(ctx, g.prices.terms.Token.Network); err != nil {
		g.Logger.LogAttrs(ctx, slog.LevelWarn, "facilitator may not support the configured payments", slog.Any("error", err))
	}
}

// supports returns why the facilitator may not support payments on a network; nil if it does.
func (f *facilitator) supports(ctx context.Context, network string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base.JoinPath("supported").String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("ask what is supported: %w", withoutURL(err))
	}
	response, err := f.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask what is supported: %w", withoutURL(err))
	}
	defer response.Body.Close()
	var reply struct {
		Kinds []struct {
			X402Version int    `json:"x402Version"`
			Scheme      string `json:"scheme"`
			Network     string `json:"network"`
		} `json:"kinds"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxVerdictBytes)).Decode(&reply); err != nil {
		return fmt.Errorf("ask what is supported: %s: %w", response.Status, err)
	}
	for _, kind := range reply.Kinds {
		if kind.X402Version == version && kind.Scheme == scheme && kind.Network == network {
			return nil
		}
	}
	return fmt.Errorf("it does not list version %d, scheme %s, network %s", version, scheme, network)
}
