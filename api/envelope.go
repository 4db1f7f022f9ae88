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

	"pnyx/cache"
	"pnyx/governance"
)

// HeaderRequestID carries the request's id both ways.
const HeaderRequestID = "X-Request-Id"

// maxRequestID bounds an id that a caller brings, which is made of
// requestIDCharacters. The dash is the last one, so that they are a class of a
// regular expression as well.
const (
	maxRequestID        = 64
	requestIDCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// RequestIDPattern is a regular expression of the request ids that are taken over
// from callers.
func RequestIDPattern() string {
	return fmt.Sprintf("^[%s]{1,%d}$", requestIDCharacters, maxRequestID)
}

// answer is what a handler found.
type answer struct {
	data any
	// view is what the data was read from: its time and readiness go into meta.
	view cache.View
	// page is set for lists.
	page *Page
	// source says where the view was found.
	source source
	// nodeLocal is set for what the node knows by itself: nothing published can outdate it.
	nodeLocal bool
}

// Page says which part of a list an answer is.
type Page struct {
	// Limit is the number of rows that was asked for.
	Limit   int  `json:"limit"`
	HasMore bool `json:"hasMore"`
	// NextCursor is what to send as cursor for the next page; null on the last one.
	NextCursor *string `json:"nextCursor"`
}

// Meta says what an answer with data is.
type Meta struct {
	RequestID   string               `json:"requestId"`
	GeneratedAt governance.Timestamp `json:"generatedAt"`
	// DataAsOf is when the data was worked out: everything imported by then is in it.
	DataAsOf  governance.Timestamp `json:"dataAsOf"`
	Readiness ReadinessState       `json:"readiness"`
	Page      *Page                `json:"page,omitempty"`
}

// ReadinessState says how far an answer may be relied on.
type ReadinessState struct {
	Status governance.Readiness `json:"status"`
}

// ErrorEnvelope is the body of every answer without data.
type ErrorEnvelope struct {
	Error ErrorBody `json:"error"`
	Meta  ErrorMeta `json:"meta"`
}

// ErrorBody is what went wrong.
type ErrorBody struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// ErrorMeta says which request an error answers.
type ErrorMeta struct {
	RequestID string `json:"requestId"`
}

// writeAnswer sends an answer in its envelope. Only meta is encoded here: data is
// in bytes already.
func (p *requestState) writeAnswer(c *fiber.Ctx, found *rendered, readiness governance.Readiness) {
	if found.link != "" {
		setHeader(c, fiber.HeaderLink, found.link)
	}
	setJSONHeaders(c)
	c.Status(fiber.StatusOK)
	described := Meta{
		RequestID:   requestID(c),
		GeneratedAt: governance.TimestampOf(p.now),
		DataAsOf:    found.view.DataAsOf,
		Readiness:   ReadinessState{readiness},
		Page:        found.page,
	}
	writeEnvelope(c.Response(), found.data, described)
}

// metaRoom is the space that most metas need.
const metaRoom = 512

// maxBufferedData is the longest data that is written into the connection's own buffer. The
// connection keeps it, as large as its largest answer was.
const maxBufferedData = 16 << 10

// writeEnvelope makes data and meta a body.
func writeEnvelope(response *fasthttp.Response, data []byte, described Meta) {
	var room [metaRoom]byte
	tail := described.append(append(room[:0], `,"meta":`...))
	tail = append(tail, "}\n"...)
	if len(data) > maxBufferedData {
		response.SetBodyRaw(slices.Concat([]byte(`{"data":`), data, tail))
		return
	}
	response.ResetBody()
	response.AppendBodyString(`{"data":`)
	response.AppendBody(data)
	response.AppendBody(tail)
}

// append writes what encoding/json would, which would take longer for it than
// everything else about an answer that is at hand. Its texts need no escapes: ids
// are checked, cursors are base64, and the rest is ours.
func (m Meta) append(text []byte) []byte {
	text = append(text, `{"requestId":"`...)
	text = append(text, m.RequestID...)
	text = append(text, `","generatedAt":"`...)
	text = m.GeneratedAt.Append(text)
	text = append(text, `","dataAsOf":"`...)
	text = m.DataAsOf.Append(text)
	text = append(text, `","readiness":{"status":"`...)
	text = append(text, m.Readiness.Status...)
	text = append(text, `"}`...)
	if m.Page != nil {
		text = m.Page.append(append(text, `,"page":`...))
	}
	return append(text, '}')
}

// append writes what encoding/json would.
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

func writeJSON(c *fiber.Ctx, status int, body any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	setJSONHeaders(c)
	return c.Status(status).Send(text.Bytes())
}

func setJSONHeaders(c *fiber.Ctx) {
	setCommonHeaders(c)
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSONCharsetUTF8)
}

// requestID returns the id of the request: the caller's own if it is sane, or a
// fresh one, the same each time it is asked for.
func requestID(c *fiber.Ctx) string {
	type key struct{}
	if id, known := c.Locals(key{}).(string); known {
		return id
	}
	id := strings.Clone(c.Get(HeaderRequestID))
	if !isSaneID(id) {
		id = newRequestID()
	}
	c.Locals(key{}, id)
	return id
}

// idAlphabet is base 32's.
const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// newRequestID returns 26 letters and digits. Ids need to differ, and to be made
// quickly; they are no secrets.
func newRequestID() string {
	var id [26]byte
	for half := range 2 {
		random := rand.Uint64()      //nolint:gosec // no secret
		for i := range len(id) / 2 { // 13 of 5 bits, the last one of 4
			id[half*len(id)/2+i] = idAlphabet[random%uint64(len(idAlphabet))]
			random >>= 5
		}
	}
	return string(id[:])
}

func isSaneID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	return strings.Trim(id, requestIDCharacters) == ""
}
