package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
)

// awaitChanges holds a request whose page has no rows until there is one, for as long as the request asks. A
// payment buys what there is now. A request of an edge is answered before the edge gives up.
func (a *API) awaitChanges(c *fiber.Ctx, s *requestState, r *routes.Request, found *rendered) (*rendered, error) {
	params, is := r.Params.(*routes.ChangeParams)
	if !is || params.Wait == 0 || s.charge != nil || a.draining.Load() || found.Page.HasMore {
		return found, nil
	}
	leave, err := a.changes.enter()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	// Nodes are added for requests that take long, not for those that ask to wait.
	a.metrics.inFlight.Dec()
	defer func() {
		a.metrics.inFlight.Inc()
		s.waited = time.Since(began)
		leave()
	}()
	deadline := time.NewTimer(a.admission.edgeBound(c, time.Duration(params.Wait)*time.Second))
	defer deadline.Stop()
	for {
		grown := a.changes.growth()
		// Each page begins where the one before it ended; without a cursor, where the first one began.
		found, err = a.loadHeld(c.UserContext(), r.After(*found.Page.NextCursor))
		s.now = a.now()
		if err == nil && !found.Empty && s.caller != nil { // the token may have ended meanwhile
			if _, ended := a.options.Tokens.Authenticate(c.Get(access.HeaderToken), s.now); ended != nil {
				return nil, credentialError(ended)
			}
		}
		if err != nil || !found.Empty {
			return found, err
		}
		select {
		case <-grown:
		case <-deadline.C:
			return found, nil
		case <-a.changes.draining:
			return found, nil
		}
	}
}

// loadHeld is loadAnswer for a request that waits for changes.
func (a *API) loadHeld(ctx context.Context, r *routes.Request) (*rendered, error) {
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	return a.loadAnswer(ctx, nil, r)
}

// MIMEEventStream is the media type of a stream of changes.
const MIMEEventStream = "text/event-stream"

// HeaderLastEventID holds the id of the last event that a caller has of a stream.
const HeaderLastEventID = "Last-Event-ID"

type streamTimes struct {
	// life is how long it lasts at most: the caller resumes at another node, perhaps.
	life time.Duration
	// quiet is the time between two keep-alives for intermediaries.
	quiet time.Duration
	// write is how long a write may take. A caller that reads more slowly is dropped.
	write time.Duration
}

// acceptsStream reports whether a request gets a stream. A payment buys one page.
func (s *requestState) acceptsStream(c *fiber.Ctx) bool {
	return s.route.Stream && s.charge == nil && c.Method() == fiber.MethodGet &&
		c.Accepts(fiber.MIMEApplicationJSON, MIMEEventStream) == MIMEEventStream
}

// streamChanges answers with a stream of what is added to a list: the pages that the caller would get one after
// the other, each as an event whose id is the cursor after it.
func (a *API) streamChanges(c *fiber.Ctx, s *requestState, r *routes.Request) error {
	const minQuiet = time.Second                // how often a stream sends a sign of life at most, however impatient an edge is
	const headerBuffering = "X-Accel-Buffering" // tells nginx not to keep what it is sent for later
	if last := c.Get(HeaderLastEventID); last != "" {
		r = r.After(strings.Clone(last))
	}
	leave, err := a.changes.enter()
	if err != nil {
		return err
	}
	s.queried = true
	found, err := a.loadHeld(c.UserContext(), r)
	if err != nil {
		leave()
		return err
	}
	s.now, s.layer, s.unmetered = a.now(), found.layer, true
	s.readiness = a.readiness(found, s.now)
	setCommonHeaders(c, s)
	setVary(c, s)
	setHeader(c, fiber.HeaderContentType, MIMEEventStream)
	setHeader(c, fiber.HeaderCacheControl, httpcache.PrivateNoStore)
	setHeader(c, headerBuffering, "no")
	stream := &changeStream{
		API: a, ctx: context.WithoutCancel(c.UserContext()), conn: c.Context().Conn(), //nolint:forbidigo // fasthttp knows the connection
		id: strings.Clone(s.requestID(c)), token: strings.Clone(c.Get(access.HeaderToken)), request: r,
		times: a.streamTimes, leave: leave, state: requestState{route: s.route, internal: s.internal},
	}
	if limit, stated := a.admission.edgeTimeout(c); stated {
		stream.times.quiet = min(stream.times.quiet, max(minQuiet, limit/3))
	}
	stream.ends = time.Now().Add(stream.times.life)
	stream.text = []byte("retry: 1000\n\n")
	if found.Empty { // where it begins
		stream.goOn(found)
		stream.keepAlive()
	}
	c.Response().ImmediateHeaderFlush = true
	c.Response().SetBodyStream(stream, -1)
	return nil
}

// changeStream is the body of a stream of changes. The goroutine of the connection reads it, and sends before it
// reads on: a stream costs no other goroutine, and has at most one page in memory.
type changeStream struct {
	*API

	ctx   context.Context
	conn  net.Conn
	id    string
	token string
	times streamTimes
	// leave is to be called once, at the end.
	leave func()
	// request is for the page after those that were sent.
	request *routes.Request
	// state is what limits know of the caller.
	state requestState
	// ends is when the stream ends, and spoke when something was last to be sent.
	ends, spoke time.Time
	// text is what is to be sent, and last says that nothing follows it.
	text []byte
	last bool
}

// Read implements io.Reader: it waits until there is something to send.
func (s *changeStream) Read(into []byte) (int, error) {
	for len(s.text) == 0 {
		if s.last {
			return 0, io.EOF
		}
		s.next()
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.times.write)); err != nil {
		return 0, fmt.Errorf("bound the next write of a stream: %w", err)
	}
	s.spoke = time.Now()
	count := copy(into, s.text)
	if s.text = s.text[count:]; len(s.text) == 0 {
		s.text = nil // a page is not kept while there is nothing to send
	}
	return count, nil
}

// Close implements io.Closer: fasthttp closes a stream at its end, and when its caller is gone.
func (s *changeStream) Close() error {
	s.leave()
	return nil
}

// next has the next page sent, or waits until there may be one.
func (s *changeStream) next() {
	grown := s.changes.growth()
	found, err := s.loadHeld(s.ctx, s.request)
	if err == nil && !found.Empty {
		err = s.charge(found)
	}
	limited, is := errors.AsType[*apierror.Error](err)
	switch {
	case is && limited.Code == apierror.CodeRateLimited: // rows that come meanwhile are in the same page
		s.pause(nil, limited.RetryAfter)
	case err != nil:
		s.fail(apierror.Of(err))
	case found.Empty:
		s.goOn(found)
		s.pause(grown, s.times.life)
	default:
		s.goOn(found)
		s.text = fmt.Appendf(s.text, "id: %s\ndata: %s\n\n", s.request.Cursor(), found.data)
	}
}

// goOn makes the next page the one after found.
func (s *changeStream) goOn(found *rendered) {
	if cursor := *found.Page.NextCursor; cursor != s.request.Cursor() {
		s.request = s.request.After(cursor)
	}
}

// charge counts a page as a request of its own. The token may be revoked, or have other limits than at the start.
func (s *changeStream) charge(found *rendered) (err error) {
	if s.state.internal {
		return nil
	}
	s.state.now = s.now()
	if s.state.caller, err = s.options.Tokens.Authenticate(s.token, s.state.now); err != nil {
		return credentialError(err)
	}
	if err := s.state.requireScope(); err != nil {
		return err
	}
	if err := s.admission.limitCaller(s.ctx, &s.state, s.state.caller.EffectiveLimits()); err != nil {
		return err
	}
	s.options.Meter.Count(access.Response{
		TokenID: s.state.caller.ID, Route: s.state.route.ID, Status: http.StatusOK, Charged: true, Bytes: len(found.data),
	}, s.state.now)
	return nil
}

// pause waits for further rows. It keeps a quiet stream alive, and ends one that is old or whose node drains.
func (s *changeStream) pause(grown <-chan struct{}, atMost time.Duration) {
	quiet := time.Until(s.spoke.Add(s.times.quiet))
	timer := time.NewTimer(min(atMost, quiet, time.Until(s.ends)))
	defer timer.Stop()
	select {
	case <-grown:
	case <-s.changes.draining:
		s.last = true
	case <-timer.C:
	}
	switch now := time.Now(); {
	case !now.Before(s.ends):
		s.last = true
	case now.Sub(s.spoke) >= s.times.quiet:
		s.keepAlive()
	}
}

// keepAlive sends a comment, and where to go on: callers know no event of it.
func (s *changeStream) keepAlive() {
	s.text = fmt.Appendf(s.text, ": \nid: %s\n\n", s.request.Cursor())
}

func (s *changeStream) fail(failed *apierror.Error) {
	body, err := json.Marshal(failed.Envelope(s.id))
	if err != nil {
		body = []byte("{}")
	}
	s.text, s.last = fmt.Appendf(s.text, "event: failure\ndata: %s\n\n", body), true
}
