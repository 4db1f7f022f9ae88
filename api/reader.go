package api

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/telemetry"
)

// Reader reads routes in the process, for the caller of a request to a mounted path, each Read as a GET of its
// own: parsed, authorized, limited, counted and logged. It is for one goroutine, which calls End before it
// answers.
type Reader struct {
	api   *API
	outer *fiber.Ctx
	reads []*Read
	// purchase is what is paid for, and charge its payment; nil for none.
	purchase Purchase
	charge   *x402.Charge
}

// Purchase is what one payment buys: all reads of a Reader that are not free.
type Purchase struct {
	// Resource and Description name it in the terms of the payment.
	Resource, Description string
	// Canonical identifies it: a payment buys one answer to that.
	Canonical string
	// Payment is the payment in the form of the PAYMENT-SIGNATURE header; empty for none.
	Payment string
}

// NewReader returns a reader for the caller of a request.
func (a *API) NewReader(c *fiber.Ctx) *Reader {
	return &Reader{api: a, outer: c}
}

// RequestID returns the id of the request, which all reads share.
func (r *Reader) RequestID() string { return stateOf(r.outer).requestID(r.outer) }

// Read is one GET of a route by a Reader.
type Read struct {
	reader *Reader
	c      *fiber.Ctx
	state  *requestState
	// texts are the parameters by name, and request is what they mean.
	texts   map[string]string
	request *routes.Request
	// answered says that the route answered with data.
	answered bool
	began    time.Time
}

// Answer is what a route answers a Read with.
type Answer struct {
	// Data is the JSON of the member data of the route's envelope.
	Data []byte
	Meta Meta
}

// Read begins a read of a route by its id. The caller is authenticated, and nothing else is done.
func (r *Reader) Read(routeID string) *Read {
	a, ctx := r.api, &fasthttp.RequestCtx{}
	ctx.Init(&fasthttp.Request{}, nil, nil)
	route := a.routes[routeID]
	ctx.SetRemoteAddr(r.outer.Context().RemoteAddr()) //nolint:forbidigo // fasthttp knows the connection
	ctx.Request.SetRequestURI(route.Path)             // logs have no ids of a path from here
	copyCredentials(&r.outer.Request().Header, &ctx.Request.Header)
	s := newState(ctx)
	read := &Read{reader: r, c: a.app.AcquireCtx(ctx), state: s, began: time.Now()}
	read.c.SetUserContext(r.outer.UserContext())
	s.id = r.RequestID()
	s.reader = r
	s.route, s.metrics, s.now = route, a.metrics.routes[route.Path], a.now()
	a.admission.authenticate(read.c, s)
	r.reads = append(r.reads, read)
	return read
}

// ReadForEveryone is Read for a page that shows a part of the answer to everyone: the read is neither charged nor
// limited, and its last answer is held as of a free route. Another read of the page has to limit the visitor's
// address.
func (r *Reader) ReadForEveryone(routeID string) *Read {
	read := r.Read(routeID)
	read.state.forEveryone, read.state.internal, read.state.caller, read.state.credentialErr = true, true, nil, nil
	return read
}

// copyCredentials copies the headers that say who the caller is, and how long an edge waits. A partner token may also
// come as Authorization: Bearer, the only header that some programs can send.
func copyCredentials(from, to *fasthttp.RequestHeader) {
	for _, name := range []string{access.HeaderToken, access.HeaderInternal, HeaderTimeout} {
		if value := from.Peek(name); len(value) > 0 {
			to.SetBytesV(name, value)
		}
	}
	const scheme = "Bearer "
	if bearer := from.Peek(fiber.HeaderAuthorization); len(to.Peek(access.HeaderToken)) == 0 &&
		len(bearer) > len(scheme) && strings.EqualFold(string(bearer[:len(scheme)]), scheme) {
		to.SetBytesV(access.HeaderToken, bearer[len(scheme):])
	}
	for _, value := range from.PeekAll(fiber.HeaderXForwardedFor) {
		to.AddBytesV(fiber.HeaderXForwardedFor, value)
	}
}

// HasToken reports whether the caller sent a valid token.
func (r *Read) HasToken() bool { return r.state.caller != nil }

// Parse parses the parameters of the route, by name. The error is an *Error.
func (r *Read) Parse(texts map[string]string) error {
	parsed, err := r.state.route.ParseTexts(texts, nil, 0)
	if err != nil {
		return r.Refuse(err)
	}
	r.texts, r.request = texts, parsed
	return nil
}

// Refuse ends a read with an error, and returns the error to send: the given one, or a limit's that the read
// reached.
func (r *Read) Refuse(err error) *apierror.Error {
	if failed := r.reader.api.writeError(r.c, err); failed != nil {
		return apierror.Internal(failed)
	}
	return r.state.err
}

// Authorize decides whether the caller may have all reads, which were parsed, and applies its limits. Without a
// token, p says how it pays. The error is an *Error.
func (r *Reader) Authorize(p Purchase) error {
	r.purchase = p
	r.takeTogether()
	for _, read := range r.reads {
		if p.Payment != "" {
			read.c.Request().Header.Set(x402.HeaderPayment, p.Payment)
		}
		if err := r.api.admission.authorize(read.c, read.state, read.request); err != nil {
			return read.Refuse(err)
		}
	}
	return nil
}

// takeTogether has the first read of a bucket take the tokens of all. A caller that waits as Retry-After says has
// one token, which the first read would take, and never as many as all reads need.
func (r *Reader) takeTogether() {
	first := map[ratelimit.Bucket]*requestState{}
	for _, read := range r.reads {
		if !read.state.route.Paid() {
			continue
		}
		bucket := read.state.route.Bucket()
		if earlier := first[bucket]; earlier != nil {
			earlier.further++
			read.state.further = -1
		} else {
			first[bucket] = read.state
		}
	}
}

// pay authorizes a read by the payment for all of them, which the first one begins.
func (r *Reader) pay(c *fiber.Ctx, s *requestState) error {
	if r.charge != nil {
		s.charge = r.charge
		return r.api.admission.limitCaller(c.UserContext(), s, ratelimit.PayPerRequest.Limits())
	}
	var paid []string
	for _, read := range r.reads {
		if read.state.route.Paid() {
			paid = append(paid, read.state.route.ID)
		}
	}
	err := r.api.admission.beginPayment(c, s, x402.Request{
		RouteID: strings.Join(paid, "+"), URL: r.purchase.Resource, Description: r.purchase.Description, Canonical: r.purchase.Canonical,
	})
	r.charge = s.charge
	return err
}

// Purchased returns what the payment bought before, if it did.
func (r *Reader) Purchased() ([]byte, bool) {
	if r.charge == nil {
		return nil, false
	}
	stored, repeated := r.charge.StoredResponse()
	return stored.Body, repeated
}

// Settle charges the payment, if any, for a body that costs something. After an error, an *Error, it may not be
// sent.
func (r *Reader) Settle(body []byte) error {
	if r.charge == nil {
		return nil
	}
	costs := func(read *Read) bool { return read.state.charge != nil && !read.state.unmetered }
	if !slices.ContainsFunc(r.reads, costs) {
		r.charge.Release(r.outer.UserContext())
		r.charge = nil
		return nil
	}
	if err := r.charge.Settle(r.outer.UserContext(), x402.Response{Body: body}); err != nil {
		at := slices.IndexFunc(r.reads, func(read *Read) bool { return read.state.charge != nil })
		return r.reads[at].Refuse(paymentError(*r.reads[at].state.route, err))
	}
	return nil
}

// Receipt returns the PAYMENT-RESPONSE header of a settled payment; empty without one.
func (r *Reader) Receipt() string {
	if r.charge == nil {
		return ""
	}
	return r.charge.Receipt()
}

// Get returns the answer to an authorized read. The error is an *Error.
func (r *Read) Get() (Answer, error) {
	a, s := r.reader.api, r.state
	found, err := a.getAnswer(r.c, s, r.request)
	if err != nil {
		return Answer{}, r.Refuse(err)
	}
	s.readiness, s.delegatedBytes, r.answered = a.readiness(found, s.now), len(found.data), true
	meta := Meta{RequestID: s.id, GeneratedAt: governance.TimestampOf(s.now), DataMeta: found.meta(s.readiness)}
	return Answer{Data: found.data, Meta: meta}, nil
}

// GetPage returns another page of the list, the first for an empty cursor, as part of the same read: neither limited
// nor counted again. The error is an *Error.
func (r *Read) GetPage(cursor string, limit int) (Answer, error) {
	texts := maps.Clone(r.texts)
	delete(texts, "cursor")
	if cursor != "" {
		texts["cursor"] = cursor
	}
	texts["limit"] = strconv.Itoa(limit)
	parsed, err := r.state.route.ParseTexts(texts, nil, 0)
	if err != nil {
		return Answer{}, r.Refuse(err)
	}
	r.request = parsed
	return r.Get()
}

// End counts, meters and logs the reads that failed and, if delivered is set, those whose data the caller gets.
// Other reads are as if not made, except that buckets are not refilled. A payment that was not settled may be used
// again.
func (r *Reader) End(delivered bool) {
	if r.charge != nil {
		r.charge.Release(r.outer.UserContext())
	}
	outer := stateOf(r.outer)
	for _, read := range r.reads {
		read.end(delivered)
		outer.limited = outer.limited || read.state.limited // one bucket is enough
		r.api.app.ReleaseCtx(read.c)
	}
	r.reads = nil
}

func (r *Read) end(delivered bool) {
	a, s := r.reader.api, r.state
	if s.err != nil || r.answered && delivered {
		a.admission.finishAccounting(r.c, s)
		a.record(r.c, s.metrics, telemetry.Span{}, time.Since(r.began))
		return
	}
	if s.decided && s.grant.Allowed() {
		a.options.Limiter.Refund(context.WithoutCancel(r.c.UserContext()), &s.grant)
	}
}

// ParseArguments parses texts by name with the parameters of several routes, before any is read. It returns the
// canonical texts, defaults included. problems concern texts that are not given because they are wrong already. The
// error lists all.
func ParseArguments(params []param.Param, given map[string]string, problems []param.Problem) (map[string]string, *apierror.Error) {
	texts, names, wrong, omitted := map[string]string{}, []string{}, map[string]bool{}, 0
	for _, problem := range problems {
		wrong[problem.Parameter] = true
	}
	for _, one := range params {
		names = append(names, one.Name)
		text, found := given[one.Name]
		switch {
		case wrong[one.Name]:
		case found && text == "" && one.Kind == param.EnumList && one.Default != "":
			texts[one.Name] = "" // a list of nothing
		case found && text == "":
			problems = append(problems, one.Empty())
		default:
			value, problem := one.Read(given)
			if problem != nil {
				problems = append(problems, *problem)
			} else if value != nil {
				texts[one.Name] = param.FormatValue(value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case slices.Contains(names, name):
		case len(problems) >= param.MaxProblems:
			omitted++
		default:
			problems = append(problems, *param.Unknown(name, given[name], names))
		}
	}
	if len(problems) > 0 {
		return nil, apierror.Validation(problems, omitted)
	}
	return texts, nil
}

// ArgumentError returns the error of wrong arguments.
func ArgumentError(problems ...param.Problem) *apierror.Error {
	return apierror.Validation(problems, 0)
}
