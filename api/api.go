// Package api is the HTTP server of the governance API. It answers from what the cache
// holds, and never reads the warehouse.
//
// Routes is the table of routes; registration, parsing, validation, access control,
// caching and the documents of package reference follow from it. New returns a node, Watch
// keeps it up to date, and Serve answers connections. A handler returns an answer or an
// error; API.serve puts answers into envelopes, and API.writeError errors.
package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/api/wire"
	"pnyx/cache"
	"pnyx/panics"
	"pnyx/ratelimit"
	"pnyx/telemetry"
)

const (
	// maxHeaderBytes is more than the usual 4 KiB: a payment header alone may take as much.
	maxHeaderBytes = 32 << 10
	maxBodyBytes   = 4 << 10
	// writeBufferBytes holds an answer of maxBufferedData and its headers: one write takes a sixth less time than
	// three.
	writeBufferBytes = maxBufferedData + 2<<10
	readTimeout      = 15 * time.Second
	writeTimeout     = 30 * time.Second
	idleTimeout      = 75 * time.Second
)

// Options configures a node. Fields without a comment on nil are required.
type Options struct {
	Store          *cache.Store
	RequestTimeout time.Duration
	// StaleAfter is how old the worker's heartbeat may be before answers are marked stale.
	StaleAfter time.Duration
	// LocalBytes bounds the node's own copies of answers; zero for 8 MiB.
	LocalBytes uint64
	Tokens     *access.TokenCache
	// Internal authenticates internal callers, who are neither limited nor metered.
	Internal access.InternalTokens
	// Limiter holds the buckets and quotas of tokens and payers.
	Limiter *ratelimit.Limiter
	// Addresses holds the buckets of IP addresses on free routes.
	Addresses *ratelimit.IPLimiter
	Meter     *access.Meter
	// Payments takes payments for single requests; nil when none are taken.
	Payments *x402.Gate
	Logger   *slog.Logger
	Log      LogOptions
	Metrics  prometheus.Registerer
	// Tracer traces requests; nil when none are traced.
	Tracer *telemetry.Tracer
	Prices routes.Prices
	// Documents are what there is to read about the API; reference.Documents makes them.
	Documents []Document
	// PurgeEnabled says that each publication purges shared caches. Only then do they keep answers for longer, and
	// only then are the tags sent that they are purged by.
	PurgeEnabled bool
}

// API is one API node. Its methods may be called concurrently.
type API struct {
	app         *fiber.App
	options     Options
	publication *publicationWatcher
	backend     *routes.Backend
	local       *localCopies
	held        *heldCopies
	changes     *changeTail
	streamTimes streamTimes
	reads       singleflight.Group
	compressor  *httpcache.Compressor
	routes      map[string]*routes.Route
	parsed      *routes.Parsed
	// mounted holds the bounds of bodies to mounted paths, in bytes.
	mounted   map[string]int
	admission *admission
	log       *requestLog
	metrics   *metrics
	draining  atomic.Bool
	examples  *exampleCache
	now       func() time.Time
}

// New returns a node that answers once Serve is called.
func New(o Options) *API {
	a := &API{
		options:     o,
		publication: &publicationWatcher{store: o.Store, staleAfter: o.StaleAfter},
		log:         newRequestLog(o),
		metrics:     newMetrics(o.Metrics),
		now:         time.Now,
		routes:      map[string]*routes.Route{},
		parsed:      routes.NewParsed(),
		mounted:     map[string]int{},
	}
	now := func() time.Time { return a.now() }
	a.admission = newAdmission(o, now)
	localBytes := cmp.Or(o.LocalBytes, defaultLocalBytes)
	a.held = newHeldCopies(localBytes / heldShare)
	a.local = newLocalCopies(localBytes-localBytes/heldShare, httpcache.LocalTTL)
	a.publication.changed = a.local.drop
	a.changes = newChangeTail(o.Store, a.local.drop, o.Metrics)
	a.streamTimes = streamTimes{life: 5 * time.Minute, quiet: 10 * time.Second, write: 10 * time.Second}
	a.publication.polled = func(ctx context.Context) {
		o.Tokens.Refresh()
		a.changes.poll(ctx)
	}
	a.publication.republished = o.Meter.RewriteAll
	a.compressor = httpcache.NewCompressor()
	a.backend = &routes.Backend{
		Store: o.Store, Published: a.publication.latest.Load, HeldChanges: a.changes.read,
		Limiter: o.Limiter, Prices: o.Prices, Misses: a.metrics.misses, Now: now,
	}
	a.backend.Pages = routes.NewPages(o.Store, a.backend.Revision, o.RequestTimeout, o.Tracer, o.Metrics)
	a.examples = &exampleCache{backend: a.backend, routes: a.routes, now: now, timeout: min(examplesTimeout, o.RequestTimeout)}
	a.publication.registerMetrics(o.Metrics)
	a.app = fiber.New(fiber.Config{
		AppName:               "Pnyx",
		DisableStartupMessage: true,
		StrictRouting:         true,
		CaseSensitive:         true,
		ReadBufferSize:        maxHeaderBytes,
		WriteBufferSize:       writeBufferBytes,
		BodyLimit:             maxBodyBytes,
		// Anybody can send X-Forwarded-Host, and caches keep answers whatever it says.
		EnableTrustedProxyCheck: true,
		// A form is a body as any other: no part of it becomes a file.
		DisablePreParseMultipartForm: true,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		ErrorHandler:                 a.handleError,
	})
	a.app.Use(func(c *fiber.Ctx) error { return a.observe(c, (*fiber.Ctx).Next) })
	for _, route := range routes.All() {
		a.routes[route.ID] = &route
		a.handleGet(route.Path, a.serve(route))
	}
	a.registerDocuments(o.Documents)
	server := a.app.Server()
	server.Handler, server.HeaderReceived = a.wrapHandler(server.Handler), a.bodyLimit
	return a
}

// Watch follows publications, finished fills, tokens and payments, and writes usage counters, until ctx ends.
func (a *API) Watch(ctx context.Context) {
	var watching sync.WaitGroup
	watching.Go(func() { a.publication.run(ctx) })
	watching.Go(func() { a.backend.Pages.Run(ctx) })
	watching.Go(func() { a.options.Tokens.Run(ctx) })
	watching.Go(func() { a.options.Meter.Run(ctx) })
	if a.options.Payments != nil {
		watching.Go(func() { a.options.Payments.Run(ctx) })
	}
	watching.Wait()
}

// Ready returns nil once everything was published, and the node knows the publication and the tokens.
func (a *API) Ready(ctx context.Context) error {
	if _, err := a.options.Store.PublicationState(ctx); errors.Is(err, cache.ErrMiss) {
		return fmt.Errorf("nothing is published yet, workers publish to Redis: %w", err)
	} else if err != nil {
		return fmt.Errorf("the publication state is not read yet: %w", err)
	}
	if a.publication.latest.Load() == nil {
		return errors.New("the publication state is not read yet")
	}
	if err := a.options.Tokens.Ready(); err != nil {
		return fmt.Errorf("the tokens are not read yet: %w", err)
	}
	return nil
}

// Serve answers connections until Shutdown.
func (a *API) Serve(listener net.Listener) error {
	if err := a.app.Listener(wire.Bound(listener)); err != nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}

// Drain closes each connection after its next answer, so that callers reconnect to another node. Requests that
// wait for changes are answered.
func (a *API) Drain() {
	if !a.draining.Swap(true) {
		close(a.changes.draining)
	}
}

// Shutdown accepts no more connections, and waits for the requests in flight or until ctx ends.
func (a *API) Shutdown(ctx context.Context) error {
	a.Drain()
	defer a.local.close()
	defer a.held.close()
	if a.options.Payments != nil {
		defer a.options.Payments.Close()
	}
	if err := a.app.ShutdownWithContext(ctx); err != nil {
		return fmt.Errorf("shut down the API: %w", err)
	}
	return nil
}

// serve returns the handler of a route. The order of its steps is part of the contract:
// parameters are checked before access, and a payment is settled last.
func (a *API) serve(route routes.Route) fiber.Handler {
	series := a.metrics.routes[route.Path]
	return func(c *fiber.Ctx) error {
		s := stateOf(c)
		s.route, s.metrics, s.now = &route, series, a.now()
		a.admission.authenticate(c, s)
		r, err := a.parsed.Parse(&route, c)
		if err != nil {
			return err
		}
		defer s.releasePayment(c)
		if err := a.admission.authorize(c, s, r); err != nil {
			return err
		}
		if s.charge != nil {
			if purchased, repeated := s.charge.StoredResponse(); repeated {
				return replayAnswer(c, s, purchased)
			}
		}
		if s.acceptsStream(c) {
			return a.streamChanges(c, s, r)
		}
		answer, err := a.getAnswer(c, s, r)
		if err != nil {
			a.setMissingKeys(c, r, err)
			return err
		}
		return a.send(c, s, r, answer)
	}
}

// send sends an answer: as 304 to a caller that has it, as a permission to an edge, or whole.
func (a *API) send(c *fiber.Ctx, s *requestState, r *routes.Request, answer *rendered) error {
	if answer.File != nil {
		return a.sendFile(c, s, r, answer)
	}
	s.readiness = a.readiness(answer, s.now)
	etag := answer.etagFor(s.readiness)
	a.setAnswerHeaders(c, s, answer, etag)
	switch {
	case httpcache.Matches(c, etag):
		c.Status(fiber.StatusNotModified)
		return nil
	case s.delegatesToEdge(c) && !answer.Live && s.waited == 0:
		delegateToEdge(c, s, r, answer, PathBody, len(answer.data))
		return nil
	}
	setBodyExpiry(c, s, r, answer)
	if err := writeAnswer(c, s, answer); err != nil {
		return err
	}
	if s.charge == nil || s.unmetered {
		return nil
	}
	purchased := x402.Response{Body: bytes.Clone(c.Response().Body()), Header: map[string]string{}}
	if answer.link != "" {
		purchased.Header[fiber.HeaderLink] = strings.Clone(answer.link)
	}
	return settlePayment(c, s, purchased)
}

// getAnswer returns the node's own copy of an answer, or one made of what the cache holds.
func (a *API) getAnswer(c *fiber.Ctx, s *requestState, r *routes.Request) (*rendered, error) {
	s.queried, s.layer = true, httpcache.LayerLocal
	if copied, ok := a.local.get(r.Name); ok {
		return copied, nil
	}
	// Nothing waits before this line, so that a hit needs no deadline.
	ctx, cancel := context.WithTimeout(c.UserContext(), a.options.RequestTimeout)
	defer cancel()
	answer, err := a.loadOrHeld(ctx, s, r)
	if err != nil {
		return nil, err
	}
	if answer.Empty {
		if answer, err = a.awaitChanges(c, s, r, answer); err != nil {
			return nil, err
		}
	}
	s.layer, s.unmetered = answer.layer, answer.Empty
	return answer, nil
}

// loadAnswer returns the answer that the route's handler makes, for this request or for one like it that reads
// already. An answer about one token is made for each request.
func (a *API) loadAnswer(ctx context.Context, s *requestState, r *routes.Request) (*rendered, error) {
	if r.Route.Account == nil {
		begun := a.local.begin() // a request after a publication does not join a read that began before it
		return a.joinRead(ctx, r.Name+"\x00"+strconv.FormatUint(begun, 36), func(ctx context.Context) (*rendered, error) { return a.readAnswer(ctx, r, begun) })
	}
	found, err := r.Route.Account(a.backend, ctx, s.caller)
	if err != nil {
		return nil, err
	}
	return render(found)
}

// joinRead returns what read returns, which one request at a time calls for a key: a thousand callers of one page
// would take all connections to Redis. The read goes on when the request that began it gives up. A panic is an
// error.
func (a *API) joinRead(ctx context.Context, key string, read func(context.Context) (*rendered, error)) (*rendered, error) {
	leads := false
	flight := a.reads.DoChan(key, func() (_ any, err error) {
		leads = true
		defer panics.Caught(&err)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.options.RequestTimeout)
		defer cancel()
		return read(ctx)
	})
	select {
	case <-ctx.Done():
		return nil, apierror.Unavailable(ctx.Err())
	case result := <-flight:
		if !leads {
			a.metrics.joined.Inc()
		}
		answer, _ := result.Val.(*rendered)
		return answer, result.Err
	}
}

// expiresSoon reports whether an answer changes before a copy of it is dropped.
func (a *API) expiresSoon(r *rendered) bool {
	until := r.View.FreshUntil
	return until != nil && until.Time().Sub(a.now()) < httpcache.LocalTTL
}

// readAnswer has the handler make the answer, and keeps a copy. begun is from localCopies.begin before the read.
func (a *API) readAnswer(ctx context.Context, r *routes.Request, begun uint64) (*rendered, error) {
	route := r.Route
	found, err := route.Answer(a.backend, ctx, r)
	if err != nil {
		return nil, a.backend.NameNearestDAO(ctx, err)
	}
	if found.Hint, err = a.backend.HintOf(ctx, r, found); err != nil {
		return nil, err
	}
	answer, err := render(found)
	if err != nil {
		return nil, err
	}
	answer.target, answer.tags = r.Target(), r.Tags()
	if a.options.PurgeEnabled {
		answer.keys = httpcache.SurrogateKeysOf(answer.tags)
	}
	answer.setControl(route, a.sharedLifetime(route, answer, answer.View.Readiness))
	answer.status = found.Source.Status(found.View, a.now())
	if answer.File != nil { // a copy of one would evict hundreds of others
		answer.status = strings.TrimSuffix(answer.status, "; stored")
		return answer, nil
	}
	if answer.Live {
		answer.control, answer.status = httpcache.PrivateNoStore, strings.TrimSuffix(answer.status, "; stored")
	} else {
		answer.etag = etagOf(r, answer)
	}
	if !answer.NodeLocal {
		answer.modified = found.View.DataAsOf.Time().UTC().Format(http.TimeFormat)
	}
	if answer.Page != nil && answer.Page.HasMore {
		answer.link = "<" + r.TargetAt(*answer.Page.NextCursor) + `>; rel="next"`
	}
	if !answer.Live && (!answer.Dated || !a.expiresSoon(answer)) {
		kept := *answer
		kept.status = httpcache.NodeHit
		kept.prepare(route)
		a.local.set(r.Name, &kept, begun)
		if mayHold(route, false) && !answer.NodeLocal {
			a.held.set(r.Name, &kept, a.now())
		}
	}
	return answer, nil
}
