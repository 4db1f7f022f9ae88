package x402

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"pnyx/cache/accounts"
	"pnyx/governance"
)

const (
	// reconcileEvery is how often open payments are looked for, and reconcileAtOnce
	// how many are taken at a time.
	reconcileEvery  = 2 * time.Second
	reconcileAtOnce = 20
)

// ask hands a payment over, and looks at the chain where the facilitator's word
// does not settle it.
func (g *Gate) ask(ctx context.Context, p governance.Payment) evidence {
	e := evidence{blind: g.chain == nil}
	if p.Attempts > 1 {
		g.look(ctx, p, &e)
	}
	if e.seen == paid || e.seen == spent || !g.now().Before(p.ValidBefore.Time()) {
		return e
	}
	e.asked = true
	e.said, e.err = g.facilitator.settle(ctx, p.Settlement)
	if errors.Is(e.err, errNoAnswer) || isUsed(e.said.reason) || e.said.reason == reasonPending {
		g.look(ctx, p, &e)
	}
	return e
}

// probe learns what it can about an open payment without having it charged: that
// is for the one who wants the answer to ask for.
func (g *Gate) probe(ctx context.Context, p governance.Payment) evidence {
	e := evidence{blind: g.chain == nil}
	g.look(ctx, p, &e)
	if !e.blind || !g.now().Before(p.ValidBefore.Time()) {
		return e
	}
	if said, err := g.facilitator.verify(ctx, p.Settlement); err == nil && isUsed(said.reason) {
		e.asked, e.said = true, said
	}
	return e
}

// look adds what the chain shows.
func (g *Gate) look(ctx context.Context, p governance.Payment, e *evidence) {
	var err error
	e.seen, e.transaction, err = g.chain.look(ctx, p)
	if err != nil {
		g.logger.LogAttrs(ctx, slog.LevelWarn, "look for a payment in the chain", slog.String("payment", p.ID), slog.Any("error", err))
	}
}

// Run looks into payments with an open outcome until ctx ends.
func (g *Gate) Run(ctx context.Context) {
	g.greet(ctx)
	ticker := time.NewTicker(reconcileEvery)
	defer ticker.Stop()
	for {
		g.Reconcile(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Reconcile looks once into the payments that are due.
func (g *Gate) Reconcile(ctx context.Context) {
	ids, err := g.store.DuePayments(ctx, g.now(), reconcileAtOnce)
	if err != nil {
		g.logger.LogAttrs(ctx, slog.LevelWarn, "look for open payments", slog.Any("error", err))
		return
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			return
		}
		lease := accounts.PaymentLease{Owner: rand.Text(), TTL: g.lease}
		p, err := g.store.LeasePayment(ctx, id, lease)
		if err != nil {
			continue // settled meanwhile, or somebody else is at it
		}
		p.Attempts++
		// What was taken is put back, whoever shuts down meanwhile.
		whole := context.WithoutCancel(ctx)
		g.record(whole, judge(p, g.probe(whole, p), g.now()), lease)
	}
}

// record writes what became of a payment. An error leaves it open: it is looked
// into again.
func (g *Gate) record(ctx context.Context, p governance.Payment, lease accounts.PaymentLease) {
	step := accounts.PaymentUpdate{Payment: p, Lease: lease}
	var err error
	switch p.State {
	case governance.PaymentRefused:
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		err = g.store.DeleteRefusedPayment(ctx, p, lease)
	case governance.PaymentSettling:
		due := nextLook(p, g.now())
		step.Due = &due
		err = g.save(ctx, step)
	case governance.PaymentClaimed, governance.PaymentSettled, governance.PaymentUnknown:
		err = g.save(ctx, step)
	}
	g.metrics.payments.WithLabelValues(string(p.State)).Inc()
	g.logger.LogAttrs(ctx, levelOf(p, err), "payment",
		slog.String("state", string(p.State)), slog.String("payment", p.ID), slog.String("route", p.RouteID),
		slog.String("amount", p.Amount), slog.String("transaction", p.Transaction),
		slog.String("reason", p.Reason), slog.Int("attempts", p.Attempts), slog.Any("error", err))
}

func levelOf(p governance.Payment, err error) slog.Level {
	if err != nil || p.State == governance.PaymentUnknown {
		return slog.LevelError
	}
	return slog.LevelInfo
}

func (g *Gate) save(ctx context.Context, step accounts.PaymentUpdate) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return g.store.SavePayment(ctx, step)
}

// greet asks the facilitator whether it serves our terms, and warns if not. It is
// no reason to refuse anybody: the facilitator may only be away.
func (g *Gate) greet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, g.facilitator.verifyTimeout)
	defer cancel()
	if err := g.facilitator.supports(ctx, g.tariff.terms.Token.Network); err != nil {
		g.logger.LogAttrs(ctx, slog.LevelWarn, "the facilitator may not take our payments", slog.Any("error", err))
	}
}

// supports says why payments on a network may not be taken.
func (f *facilitator) supports(ctx context.Context, network string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+"/supported", http.NoBody)
	if err != nil {
		return fmt.Errorf("ask what is supported: %w", err)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask what is supported: %w", err)
	}
	defer response.Body.Close()
	var said struct {
		Kinds []struct {
			X402Version int    `json:"x402Version"`
			Scheme      string `json:"scheme"`
			Network     string `json:"network"`
		} `json:"kinds"`
	}
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		return fmt.Errorf("ask what is supported: %s: %w", response.Status, err)
	}
	for _, kind := range said.Kinds {
		if kind.X402Version == version && kind.Scheme == scheme && kind.Network == network {
			return nil
		}
	}
	return fmt.Errorf("it does not list version %d, scheme %s, network %s", version, scheme, network)
}
