package api

import (
	"crypto/rand"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// requestState is what is known of one request until after its answer. Every request has exactly one, which stateOf
// returns; functions below a handler get it as an argument. It must not outlive the request.
type requestState struct {
	// id is set by requestID. It may be part of the request's memory: what outlives the request must copy it.
	id string
	// fromEdge says that an edge requests permission to answer the request.
	fromEdge bool
	// err is the error that was sent; nil for an answer with data.
	err *apierror.Error

	// tool is the tool that the request called, and outcome the code of its error; empty for none.
	tool    string
	outcome apierror.Code

	// route is nil for documents and unknown paths. The fields below are set for routes only.
	route   *routes.Route
	metrics *routeMetrics
	// now is when the request, or the data that it waited for, arrived: to read the clock is expensive in a cache
	// hit.
	now time.Time
	// internal says that the caller sent an internal token, and is neither limited nor metered.
	internal bool
	// forEveryone is set by Reader.ReadForEveryone.
	forEveryone bool
	// caller is the owner of a valid token; nil for none.
	caller *access.Caller
	// credentialErr is what is wrong with the credentials; nil when none were sent.
	credentialErr error
	// limited says that a bucket was charged or found empty.
	limited bool
	// grant is the limiter's decision, if decided is set; else, if limited is, address is the one about the IP
	// address.
	grant   ratelimit.Grant
	decided bool
	// further is as in ratelimit.Request: reads of one call take their tokens together.
	further int
	address ratelimit.Decision
	// file names the file that a token requests. prepaid says that the token has paid for it: a part of it is
	// free.
	file    string
	prepaid bool
	// reader is the reader that the request belongs to; nil for one of its own.
	reader *Reader
	// charge is the payment for this request; nil for none.
	charge *x402.Charge
	// queried says that data was requested, layer where it was found, and readiness how complete it is.
	queried   bool
	layer     httpcache.Layer
	readiness governance.Readiness
	// unmetered says that the answer has no rows and is free, and waited how long the request waited for some.
	unmetered bool
	waited    time.Duration
	// delegatedBytes is the length of a body that an edge sends in our place.
	delegatedBytes int
}

type requestStateKey struct{}

func newState(request *fasthttp.RequestCtx) *requestState {
	s := &requestState{}
	request.SetUserValue(requestStateKey{}, s)
	return s
}

// stateOf returns the state of a request, or makes it for one that fasthttp could not read.
func stateOf(c *fiber.Ctx) *requestState {
	if s, known := c.Locals(requestStateKey{}).(*requestState); known {
		return s
	}
	s := &requestState{}
	c.Locals(requestStateKey{}, s)
	return s
}

// requestID returns the id of the request: the caller's own if it is well-formed, or a new one.
func (s *requestState) requestID(c *fiber.Ctx) string {
	if s.id == "" {
		s.id = c.Get(HeaderRequestID)
		if !validRequestID(s.id) {
			s.id = rand.Text()
		}
	}
	return s.id
}
