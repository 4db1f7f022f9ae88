package x402

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache/accounts"
)

// Options says how payments are taken.
type Options struct {
	Terms Terms
	Store *accounts.Store
	// FacilitatorURL is who checks and submits payments.
	FacilitatorURL string
	// RPCURL is an endpoint of the network, to find out what became of payments
	// that the facilitator gave no answer about; empty for none.
	RPCURL string
	// VerifyTimeout and SettleTimeout bound the facilitator, WorkTimeout the work on
	// one answer.
	VerifyTimeout, SettleTimeout, WorkTimeout time.Duration
	Logger                                    *slog.Logger
	Metrics                                   prometheus.Registerer
}

// Gate takes payments. It is safe for concurrent use.
type Gate struct {
	tariff      *tariff
	store       *accounts.Store
	facilitator *facilitator
	chain       *chain
	lease       time.Duration
	logger      *slog.Logger
	metrics     metrics
	now         func() time.Time
}

// leaseMargin is what a lease lasts beyond all that is waited for in it.
const leaseMargin = 5 * time.Second

// storeTimeout bounds a conversation with Redis about a payment that was handed
// over: more than for an answer, since money depends on it.
const storeTimeout = 3 * time.Second

// New returns a gate, or everything that is wrong with the terms.
func New(o Options) (*Gate, error) {
	t, err := newTariff(o.Terms)
	err = errors.Join(err, checkURL("X402_FACILITATOR_URL", o.FacilitatorURL))
	if o.RPCURL != "" {
		err = errors.Join(err, checkURL("X402_RPC_URL", o.RPCURL))
	}
	if err != nil {
		return nil, err
	}
	g := &Gate{
		tariff: t, store: o.Store,
		lease:  o.VerifyTimeout + o.WorkTimeout + o.SettleTimeout + 2*chainTimeout + leaseMargin,
		logger: o.Logger, metrics: newMetrics(o.Metrics), now: time.Now,
	}
	g.facilitator = newFacilitator(o, g.metrics.observe)
	if o.RPCURL != "" {
		g.chain = newChain(o.RPCURL)
	}
	return g, nil
}

// checkURL does not quote an address: it may hold a password.
func checkURL(setting, address string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fmt.Errorf("%s: want a URL that begins with http:// or https://", setting)
	}
	return nil
}

// Request is what somebody wants to pay for.
type Request struct {
	RouteID string
	// Path and Description name the resource in the challenge.
	Path, Description string
	// Canonical is the one spelling of the route and its parameters.
	Canonical string
}

// fingerprint is the hash of what is paid for.
func (r Request) fingerprint() string {
	hash := sha256.Sum256([]byte(r.Canonical))
	return hex.EncodeToString(hash[:])
}

// Challenge is the refusal of a request that comes without a payment.
func (g *Gate) Challenge(r Request) *RefusedError {
	return g.require(r, reasonRequired)
}

// require asks for a payment, or another one.
func (g *Gate) require(r Request, reason string) *RefusedError {
	challenge := g.tariff.challenge(r, reason)
	return &RefusedError{Kind: Required, Reason: reason, Message: messageOf(reason), Challenge: &challenge}
}

// Begin takes the payment of a request, up to the point where the answer is to be
// worked out. The error is a RefusedError, as a rule. A Charge has to be ended by Settle
// or Release.
func (g *Gate) Begin(ctx context.Context, r Request, header string) (*Charge, error) {
	p, refusal := parsePayment(header)
	if refusal != nil {
		return nil, refusal
	}
	now := g.now()
	offered := g.tariff.byRoute[r.RouteID]
	c := &Charge{gate: g, request: r, lease: accounts.PaymentLease{Owner: rand.Text(), TTL: g.lease}}
	if reason := p.match(offered, now); reason != "" {
		return c.late(ctx, p.id(offered), p.fingerprint, reason)
	}
	claim, err := g.tariff.claimOf(p, r, now)
	if err != nil {
		return nil, err
	}
	known, mine, err := g.store.ClaimPayment(ctx, claim, c.lease)
	if err != nil {
		return nil, unavailable(err)
	}
	return c.enter(ctx, known, mine, p.fingerprint)
}

// Close ends the connections to facilitator and chain.
func (g *Gate) Close() {
	g.facilitator.client.CloseIdleConnections()
	if g.chain != nil {
		g.chain.client.CloseIdleConnections()
	}
}
