// Package api answers HTTP requests from what the cache holds. One table of
// routes feeds registration, parsing and validation; a handler reads a view, and
// one place turns answers and errors into envelopes.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	recovery "github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/cache"
	"pnyx/ratelimit"
	"pnyx/telemetry"
)

// Bounds of one request on the wire. A payment header alone may take several
// kilobytes, which is why requests get more than the usual four.
const (
	maxHeaderBytes = 32 << 10
	maxBodyBytes   = 4 << 10
	// writeBufferBytes are handed to the kernel at once: an answer of maxBufferedData in one call, which
	// takes a sixth less time than three.
	writeBufferBytes = maxBufferedData + 2<<10
	readTimeout      = 15 * time.Second
	writeTimeout     = 30 * time.Second
	idleTimeout      = 75 * time.Second
)

// Options says what an API node answers from.
type Options struct {
	Store *cache.Store
	// RequestTimeout bounds the work on one request.
	RequestTimeout time.Duration
	// StaleAfter is how long the worker may give no sign of life before answers are
	// marked stale.
	StaleAfter time.Duration
	// LocalBytes bounds the node's own copies of hot answers.
	LocalBytes uint64
	// Tokens, Internal, Limiter and Addresses say who may ask, and how much.
	Tokens    *access.TokenCache
	Internal  access.InternalTokens
	Limiter   *ratelimit.Limiter
	Addresses *ratelimit.IPLimiter
	// Meter counts what partners have asked.
	Meter *access.Meter
	// Payments takes payments for single requests; nil when none are taken.
	Payments *x402.Gate
	Logger   *slog.Logger
	Log      LogOptions
	Metrics  prometheus.Registerer
	// Tracer is nil when no traces are made.
	Tracer *telemetry.Tracer
	Prices Prices
	// Documents are what there is to read about the API; doc.Documents makes them.
	Documents []Document
	// PurgeEnabled says that each publication purges shared caches.
	PurgeEnabled bool
}

// API is one API node.
type API struct {
	app         *fiber.App
	store       *cache.Store
	publication *publicationWatcher
	pages       *pages
	local       *localCopies
	parseCache  *parseCache
	tokens      *access.TokenCache
	internal    access.InternalTokens
	limiter     *ratelimit.Limiter
	addresses   *ratelimit.IPLimiter
	// freePolicy is the policy of free routes, as a header has it; empty for none.
	freePolicy   string
	meter        *access.Meter
	payments     *x402.Gate
	prices       Prices
	purgeEnabled bool
	timeout      time.Duration
	logger       *slog.Logger
	log          *requestLog
	metrics      *metrics
	tracer       *telemetry.Tracer
	draining     atomic.Bool
	now          func() time.Time
}

// New returns a node that answers once Serve is called.
func New(o Options) *API {
	a := &API{
		store:        o.Store,
		publication:  newPublicationWatcher(o.Store, o.StaleAfter),
		tokens:       o.Tokens,
		internal:     o.Internal,
		limiter:      o.Limiter,
		addresses:    o.Addresses,
		meter:        o.Meter,
		payments:     o.Payments,
		prices:       o.Prices,
		purgeEnabled: o.PurgeEnabled,
		timeout:      o.RequestTimeout,
		logger:       o.Logger,
		log:          newRequestLog(o),
		tracer:       o.Tracer,
		metrics:      newMetrics(o.Metrics),
		now:          time.Now,
	}
	if rate, bounded := o.Addresses.Rate(); bounded {
		a.freePolicy = string(appendPolicy(nil, ratelimit.Free, rate))
	}
	a.local = newLocalCopies(o.LocalBytes)
	a.publication.changed = a.local.drop
	a.publication.republished = a.meter.RewriteAll
	a.parseCache = newParseCache()
	a.pages = newPages(o, a.publication)
	a.publication.measure(o.Metrics)
	a.app = fiber.New(fiber.Config{
		AppName:               "Pnyx",
		DisableStartupMessage: true,
		StrictRouting:         true,
		CaseSensitive:         true,
		ReadBufferSize:        maxHeaderBytes,
		WriteBufferSize:       writeBufferBytes,
		BodyLimit:             maxBodyBytes,
		ReadTimeout:           readTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		ErrorHandler:          a.handleError,
	})
	a.app.Use(a.observe, recovery.New(), newCompressor().compress, limitURL)
	for _, route := range Routes() {
		a.handleGet(route.Path, a.serve(route))
	}
	a.registerDocuments(o.Documents)
	server := a.app.Server()
	server.Handler = a.wrapHandler(server.Handler)
	return a
}

// Watch follows the state of publication, and the fills that are done, until ctx
// ends.
func (a *API) Watch(ctx context.Context) {
	var watching sync.WaitGroup
	watching.Go(func() { a.publication.run(ctx) })
	watching.Go(func() { a.pages.run(ctx) })
	watching.Go(func() { a.tokens.Run(ctx) })
	watching.Go(func() { a.meter.Run(ctx) })
	if a.payments != nil {
		watching.Go(func() { a.payments.Run(ctx) })
	}
	watching.Wait()
}

// Ready says whether everything was published at least once, or why not.
func (a *API) Ready(ctx context.Context) error {
	if _, err := a.store.PublicationState(ctx); err != nil {
		return fmt.Errorf("nothing is published yet: %w", err)
	}
	if a.publication.latest.Load() == nil {
		return errors.New("what is published is not known here yet")
	}
	if err := a.tokens.Ready(); err != nil {
		return fmt.Errorf("nobody is known yet: %w", err)
	}
	return nil
}

// Serve answers connections until Shutdown.
func (a *API) Serve(listener net.Listener) error {
	if err := a.app.Listener(lazyListener{listener}); err != nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}

// Drain has every caller look for another node: an answer that is given from now
// on is the last on its connection.
func (a *API) Drain() {
	a.draining.Store(true)
}

// Shutdown stops taking connections, and waits for requests under way until ctx
// ends.
func (a *API) Shutdown(ctx context.Context) error {
	a.Drain()
	defer a.local.close()
	defer a.parseCache.close()
	if a.payments != nil {
		defer a.payments.Close()
	}
	if err := a.app.ShutdownWithContext(ctx); err != nil {
		return fmt.Errorf("shut the API down: %w", err)
	}
	return nil
}

// serve returns the Fiber handler of a route: parameters, then access and limits,
// then the answer, then the envelope. What an answer costs is settled after it.
func (a *API) serve(route Route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		pass := a.authenticate(c, &route)
		pass.setVary(c)
		values, err := a.parseCache.parse(c, &route)
		if err != nil {
			return err
		}
		defer a.releasePayment(c, pass)
		if err := a.authorize(c, pass, values); err != nil {
			return err
		}
		if first, paid := pass.purchasedAnswer(); paid {
			return a.replayAnswer(c, pass, first)
		}
		answer, err := a.getAnswer(c, pass, values)
		if err != nil {
			setMissingKeys(c, values, err)
			return err
		}
		readiness := a.readiness(answer, pass.now)
		pass.readiness = readiness
		etag := answer.etagFor(readiness)
		a.setCacheControl(c, pass, answer, readiness)
		if etag != "" {
			setValidators(c, answer, etag)
		}
		if etagMatches(c, etag) {
			setCommonHeaders(c)
			c.Status(fiber.StatusNotModified)
			return nil
		}
		if pass.delegatesToEdge(c) {
			return a.delegateToEdge(c, pass, values, answer, readiness)
		}
		a.setBodyExpiry(c, pass, values, answer, readiness)
		pass.writeAnswer(c, answer, readiness)
		return a.settlePayment(c, pass)
	}
}

// getAnswer returns the answer to a request, the node's own copy if there is one.
func (a *API) getAnswer(c *fiber.Ctx, p *requestState, values Values) (*rendered, error) {
	p.lookedUp, p.layer = true, layerRedis
	if copied, ok := a.local.get(values.name); ok {
		p.layer = layerLocal
		return copied, nil
	}
	// Only from here on does anything wait.
	ctx, cancel := context.WithTimeout(context.WithValue(c.UserContext(), requestStateKey{}, p), a.timeout)
	defer cancel()
	answer, err := a.loadAnswer(ctx, values)
	p.now = a.now()
	if err == nil {
		a.parseCache.remember(c, values)
	}
	return answer, err
}

// loadAnswer works the answer out, and keeps a copy of one that is not one caller's alone.
func (a *API) loadAnswer(ctx context.Context, values Values) (*rendered, error) {
	route := values.route
	begun := a.local.drops.Load()
	found, err := route.answer(a, ctx, values)
	if err != nil {
		return nil, err
	}
	if found.nodeLocal {
		requestStateOf(ctx).setLayer(layerLocal)
	}
	answer, err := render(found)
	if err != nil {
		return nil, err
	}
	if route.TokenOnly {
		return answer, nil
	}
	answer.etag, answer.target, answer.tags = etagOf(values, answer), values.target(), surrogateKeysOf(values)
	answer.control = route.defaultCacheControl()
	answer.modified = found.view.DataAsOf.Time().UTC().Format(http.TimeFormat)
	if answer.page != nil && answer.page.NextCursor != nil {
		answer.link = "<" + values.targetAt(*answer.page.NextCursor) + `>; rel="next"`
	}
	answer.status = found.source.status(found.view, a.now())
	a.local.set(values.name, *answer, begun)
	return answer, nil
}
