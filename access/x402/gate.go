package x402

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache/accounts"
	"pnyx/governance"
)

// Options configures a Gate.
type Options struct {
	Terms          Terms
	Store          *accounts.Store
	FacilitatorURL string
	// RPCURL is an RPC endpoint of the network, to find the outcome of settlements that the facilitator did not
	// answer; empty for none.
	RPCURL string
	// VerifyTimeout and SettleTimeout bound calls of the facilitator, WorkTimeout the work on a response.
	VerifyTimeout, SettleTimeout, WorkTimeout time.Duration
	Logger                                    *slog.Logger
	Metrics                                   prometheus.Registerer
}

// Gate accepts payments. It is safe for concurrent use.
type Gate struct {
	Options

	prices      *priceTable
	facilitator *facilitator
	chain       *chain
	lease       time.Duration
	metrics     metrics
	now         func() time.Time
}

// leaseMargin is what the TTL of a lease adds to the timeouts: for writes, and for work without a timeout.
const leaseMargin = 2*storeTimeout + 2*time.Second

// MaxDuration returns how long the answer to a request with a payment may take, by the timeouts of Options.
func MaxDuration(verify, work, settle time.Duration) time.Duration {
	return verify + work + settle + 2*chainTimeout + leaseMargin
}

// storeTimeout bounds a write of the outcome of a settlement, which must not get lost.
const storeTimeout = 3 * time.Second

// New returns a gate, or an error with all problems of the terms. The forms of single settings are checked before.
func New(o Options) (*Gate, error) {
	t, err := newPriceTable(o.Terms)
	if err != nil {
		return nil, err
	}
	g := &Gate{
		Options: o, prices: t, lease: MaxDuration(o.VerifyTimeout, o.WorkTimeout, o.SettleTimeout),
		metrics: newMetrics(o.Metrics), now: time.Now,
	}
	if g.facilitator, err = newFacilitator(o, g.metrics.observe, func() time.Time { return g.now() }); err != nil {
		return nil, err
	}
	if o.RPCURL != "" {
		g.chain = newChain(o.RPCURL)
	}
	return g, nil
}

// Request is a request that is paid for.
type Request struct {
	// RouteID is the id of the route, or the ids of routes that are paid for together, joined by plus signs.
	RouteID string
	// URL is the resource in the challenge: a path of the service, or an address.
	URL string
	// Description says in the challenge what the resource is, and MIMEType its media type; empty for JSON.
	Description, MIMEType string
	// Canonical is the canonical form of what is requested, with its parameters.
	Canonical string
}

func (r Request) fingerprint() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(r.Canonical))) }

// Challenge returns the refusal of a request without a payment.
func (g *Gate) Challenge(r Request) *RefusedError { return g.require(r, reasonRequired) }

// require returns the refusal that asks for a payment, or for another one.
func (g *Gate) require(r Request, reason string) *RefusedError {
	return &RefusedError{Kind: Required, Reason: reason, Message: messageOf(reason), Challenge: new(g.prices.challenge(r, reason))}
}

func (g *Gate) mismatch(r Request, p Payment) *RefusedError {
	refusal := g.require(r, p.mismatch)
	if p.mismatch == reasonNoMatch {
		refusal.Message = strconv.Quote(governance.Shorten(strings.Join(p.differing, ", "), maxReasonBytes)) + " is not as offered; " + refusal.Message
	}
	return refusal
}

// Read returns the payment in a header. It sends no request. A RefusedError says that the header is malformed, or
// that the payer has not signed the payment.
func (g *Gate) Read(r Request, header string) (Payment, error) {
	p, refusal := parsePayment(header)
	if refusal != nil {
		return Payment{}, refusal
	}
	_, offered := g.prices.offer(r)
	p.match(offered, g.now())
	if !p.NeedsContract() && !p.payload.isSigned(offered) {
		if p.mismatch != "" {
			return Payment{}, g.mismatch(r, p)
		}
		return Payment{}, g.require(r, reasonSignature)
	}
	return p, nil
}

// Begin claims and verifies the payment of a request, before its response is built. The error is a
// RefusedError, except for internal errors. The caller must end the Charge with Settle or Release.
func (g *Gate) Begin(ctx context.Context, r Request, p Payment) (*Charge, error) {
	_, offered := g.prices.offer(r)
	c := &Charge{
		gate: g, request: r, vouched: !p.NeedsContract(),
		lease: accounts.PaymentLease{Owner: rand.Text(), TTL: g.lease},
	}
	if p.mismatch != "" {
		return c.resumeExpired(ctx, p, p.id(offered))
	}
	claim, err := g.prices.claimOf(p, r, g.now())
	if err != nil {
		return nil, err
	}
	known, mine, err := g.Store.ClaimPayment(ctx, claim, c.lease)
	if err != nil {
		return nil, unavailable(err)
	}
	return c.enter(ctx, known, mine, p.fingerprint)
}

// MaxDuration returns how long the answer to a request with a payment may take, which is the TTL of a lease.
func (g *Gate) MaxDuration() time.Duration { return g.lease }

// Close closes the idle connections to facilitator and chain.
func (g *Gate) Close() {
	g.facilitator.client.CloseIdleConnections()
	if g.chain != nil {
		g.chain.client.CloseIdleConnections()
	}
}
