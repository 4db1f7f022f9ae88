package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/governance"
)

// HeaderRequestID carries the id of the request, both ways.
const HeaderRequestID = "X-Request-Id"

// maxRequestID bounds the length of a caller's request id, which consists of
// requestIDCharacters. The dash comes last, so that they are a character class of a
// regular expression too.
const (
	maxRequestID        = 64
	requestIDCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// RequestIDPattern returns a regular expression that matches well-formed request ids.
func RequestIDPattern() string {
	return fmt.Sprintf("^[%s]{1,%d}$", requestIDCharacters, maxRequestID)
}

// answer is what a handler returns.
type answer struct {
	// data becomes the member data of the envelope.
	data any
	// file is sent instead of an envelope; nil for none.
	file *file
	// view is the view that the data was read from. meta contains its time and readiness.
	view cache.View
	// page is set for lists.
	page *Page
	// source is where the view was found.
	source httpcache.Source
	// nodeLocal says that the data comes from the node's settings, which no publication
	// changes.
	nodeLocal bool
	// dated says that the answer changes as time passes, from view.FreshUntil on.
	dated bool
	// live says that the next request may get more, so that no cache keeps the answer, and
	// empty that it has no rows and costs nothing.
	live, empty bool
	// hint is Meta.Hint.
	hint string
}

// Page describes which part of a list an answer is.
type Page struct {
	// Limit is the number of rows that was requested.
	Limit int `json:"limit"`
	// HasMore says that there is a next page.
	HasMore bool `json:"hasMore"`
	// NextCursor is the cursor of the next page; null on the last one.
	NextCursor *string `json:"nextCursor"`
}

// Meta is the member meta of an answer with data.
type Meta struct {
	// RequestID is the id of the request.
	RequestID string `json:"requestId"`
	// GeneratedAt is when the answer was made.
	GeneratedAt governance.Timestamp `json:"generatedAt"`
	// DataAsOf is when the data was computed: everything imported by then is in it.
	DataAsOf governance.Timestamp `json:"dataAsOf"`
	// Readiness is the data readiness.
	Readiness ReadinessState `json:"readiness"`
	// VoteCoverageStatus is set for what is made of ballots: how many of the upstream ballots
	// are held.
	VoteCoverageStatus governance.VoteCoverage `json:"voteCoverageStatus,omitempty"`
	// Page is set for lists.
	Page *Page `json:"page,omitempty"`
	// Hint says in words why there may be fewer rows than expected; empty for nothing.
	Hint string `json:"hint,omitempty"`
}

// ReadinessState is the data readiness of an answer.
type ReadinessState struct {
	// Status is one of governance.Readinesses.
	Status governance.Readiness `json:"status"`
}

// writeAnswer sends an answer in its envelope. Only meta is encoded here: data is JSON
// already, and compressed already where it was requested so before.
func writeAnswer(c *fiber.Ctx, s *requestState, found *rendered) error {
	if found.link != "" {
		setHeader(c, fiber.HeaderLink, found.link)
	}
	response := c.Response()
	response.Header.SetContentType(fiber.MIMEApplicationJSONCharsetUTF8)
	response.SetStatusCode(fiber.StatusOK)
	s.requestID(c)
	// What a payment buys is kept, and compressed each time.
	if found.compresses(s) && s.charge == nil && httpcache.NegotiateEncoding(c) == httpcache.Gzip {
		p, err := found.packed()
		if err != nil {
			return err
		}
		response.Header.SetContentEncoding(httpcache.Gzip)
		setBody(response, p.Head, p.AppendRest(make([]byte, 0, typicalMetaBytes), s.appendMeta))
		return nil
	}
	var room [typicalMetaBytes]byte
	setBody(response, []byte(envelopeStart), found.data, found.appendTail(room[:0], s))
	return nil
}

// compresses reports whether the node has a copy of the answer whose compressed form can be
// sent.
func (r *rendered) compresses(s *requestState) bool {
	return r.packed != nil && s.readiness == r.view.Readiness && r.bodyBytes >= httpcache.MinCompressed
}

// metaStart is what precedes meta in the envelope, and envelopeEnd what follows it.
const (
	metaStart   = `,"meta":`
	envelopeEnd = "}\n"
)

// appendTail appends what follows data in the envelope.
func (r *rendered) appendTail(text []byte, s *requestState) []byte {
	text = s.appendMeta(append(text, metaStart...))
	if r.metaTail != nil && s.readiness == r.view.Readiness {
		text = append(text, r.metaTail...)
	} else {
		text = r.meta(s.readiness).appendData(text)
	}
	return append(text, envelopeEnd...)
}

// meta returns the members that do not differ between requests for the answer.
func (r *rendered) meta(readiness governance.Readiness) Meta {
	return Meta{
		DataAsOf: r.view.DataAsOf, Readiness: ReadinessState{readiness}, VoteCoverageStatus: r.view.VoteCoverage, Page: r.page, Hint: r.hint,
	}
}

// appendMeta appends the members of meta that differ between requests for an answer.
func (s *requestState) appendMeta(text []byte) []byte {
	meta := Meta{RequestID: s.id, GeneratedAt: governance.TimestampOf(s.now)}
	return meta.appendRequest(text)
}

// typicalMetaBytes holds the meta of most answers, so that it is encoded on the stack.
const typicalMetaBytes = 512

// maxBufferedData bounds the body that is copied into the buffer of the connection. The
// connection keeps the buffer at the size of its largest answer.
const maxBufferedData = 16 << 10

// envelopeStart is what precedes data in the envelope.
const envelopeStart = `{"data":`

// setBody makes the parts of a body the body of a response.
func setBody(response *fasthttp.Response, parts ...[]byte) {
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	if length > maxBufferedData {
		response.SetBodyRaw(slices.Concat(parts...))
		return
	}
	response.ResetBody()
	for _, part := range parts {
		response.AppendBody(part)
	}
}

// appendRequest appends the members that differ between requests for an answer. It and
// appendData append the same text as encoding/json, which would take longer for it than
// the rest of a cache hit. Only the hint needs escapes: ids are validated, cursors are
// base64, and everything else is ours.
func (m Meta) appendRequest(text []byte) []byte {
	text = append(text, `{"requestId":"`...)
	text = append(text, m.RequestID...)
	text = append(text, `","generatedAt":"`...)
	return append(m.GeneratedAt.Append(text), '"')
}

// Append appends the JSON of the meta: the same text as encoding/json, whose page may have a
// cursor of characters that need no escapes.
func (m Meta) Append(text []byte) []byte { return m.appendData(m.appendRequest(text)) }

// appendData appends the members after the ones of appendRequest, to the end of meta.
func (m Meta) appendData(text []byte) []byte {
	text = append(text, `,"dataAsOf":"`...)
	text = m.DataAsOf.Append(text)
	text = append(text, `","readiness":{"status":"`...)
	text = append(text, m.Readiness.Status...)
	text = append(text, `"}`...)
	if m.VoteCoverageStatus != "" {
		text = append(text, `,"voteCoverageStatus":"`...)
		text = append(text, m.VoteCoverageStatus...)
		text = append(text, '"')
	}
	if m.Page != nil {
		text = m.Page.append(append(text, `,"page":`...))
	}
	if m.Hint != "" {
		hint, _ := json.Marshal(m.Hint) // a text has JSON
		text = append(append(text, `,"hint":`...), hint...)
	}
	return append(text, '}')
}

// append appends the same text as encoding/json.
func (p *Page) append(text []byte) []byte {
	text = append(text, `{"limit":`...)
	text = strconv.AppendInt(text, int64(p.Limit), 10)
	text = append(text, `,"hasMore":`...)
	text = strconv.AppendBool(text, p.HasMore)
	text = append(text, `,"nextCursor":`...)
	if p.NextCursor == nil {
		return append(text, `null}`...)
	}
	text = append(text, '"')
	text = append(text, *p.NextCursor...)
	return append(text, `"}`...)
}

// writeJSON sends a value as JSON.
func writeJSON(c *fiber.Ctx, status int, body any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	setJSONHeaders(c, stateOf(c))
	return c.Status(status).Send(text.Bytes())
}

// setJSONHeaders sets the headers of every JSON answer.
func setJSONHeaders(c *fiber.Ctx, s *requestState) {
	setCommonHeaders(c, s)
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSONCharsetUTF8)
}

// idAlphabet is the alphabet of base 32.
const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// requestIDBytes is the length of the ids that newRequestID makes.
const requestIDBytes = 26

// newRequestID fills id with random letters and digits. Ids must be unique and fast to
// make; they are not secret.
func newRequestID(id *[requestIDBytes]byte) {
	for half := range 2 {
		random := rand.Uint64()      //nolint:gosec // not secret
		for i := range len(id) / 2 { // 13 characters of 5 bits, the last one of 4
			id[half*len(id)/2+i] = idAlphabet[random%uint64(len(idAlphabet))]
			random >>= 5
		}
	}
}

// validRequestID reports whether RequestIDPattern matches.
func validRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	return strings.Trim(id, requestIDCharacters) == ""
}
