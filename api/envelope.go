package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/governance"
)

// HeaderRequestID carries the id of the request, both ways.
const HeaderRequestID = "X-Request-Id"

// maxRequestID bounds the length of a caller's request id, which consists of requestIDCharacters. The dash comes
// last, so that they are a character class of a regular expression, too.
const (
	maxRequestID        = 64
	requestIDCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// RequestIDPattern returns a regular expression that matches well-formed request ids.
func RequestIDPattern() string {
	return fmt.Sprintf("^[%s]{1,%d}$", requestIDCharacters, maxRequestID)
}

// Meta is the member meta of an answer with data.
type Meta struct {
	RequestID   string               `json:"requestId"`
	GeneratedAt governance.Timestamp `json:"generatedAt"`
	DataMeta
}

// DataMeta are the members of meta that do not differ between requests for an answer.
type DataMeta struct {
	DataAsOf           governance.Timestamp    `json:"dataAsOf"`
	Readiness          ReadinessState          `json:"readiness"`
	VoteCoverageStatus governance.VoteCoverage `json:"voteCoverageStatus,omitempty"`
	Page               *routes.Page            `json:"page,omitempty"`
	Hint               string                  `json:"hint,omitempty"`
}

// ReadinessState is the data readiness of an answer.
type ReadinessState struct {
	// Status is one of governance.Readinesses.
	Status governance.Readiness `json:"status"`
}

// writeAnswer sends an answer in its envelope. Only meta is encoded here: data is encoded, or compressed, before.
func writeAnswer(c *fiber.Ctx, s *requestState, found *rendered) error {
	const typicalMetaBytes = 512 // holds the meta of most answers, so that it is encoded on the stack
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

// compresses reports whether the node has a copy of the answer whose compressed form can be sent.
func (r *rendered) compresses(s *requestState) bool {
	return r.packed != nil && s.readiness == r.View.Readiness && r.bodyBytes >= httpcache.MinCompressed
}

// metaStart is what precedes meta in the envelope, and envelopeEnd what follows it.
const (
	metaStart   = `,"meta":`
	envelopeEnd = "}\n"
)

func (r *rendered) appendTail(text []byte, s *requestState) []byte {
	text = s.appendMeta(append(text, metaStart...))
	if r.metaTail != nil && s.readiness == r.View.Readiness {
		text = append(text, r.metaTail...)
	} else {
		text = r.meta(s.readiness).append(text)
	}
	return append(text, envelopeEnd...)
}

func (r *rendered) meta(readiness governance.Readiness) DataMeta {
	return DataMeta{
		DataAsOf: r.View.DataAsOf, Readiness: ReadinessState{readiness}, VoteCoverageStatus: r.View.VoteCoverage, Page: r.Page, Hint: r.Hint,
	}
}

// appendMeta appends the members of meta that differ between requests: the same text as encoding/json, which would
// take longer than the rest of a cache hit. Ids need no escapes: they are validated.
func (s *requestState) appendMeta(text []byte) []byte {
	text = append(append(text, `{"requestId":"`...), s.id...)
	text = append(text, `","generatedAt":"`...)
	return append(governance.TimestampOf(s.now).Append(text), '"')
}

// maxBufferedData bounds the body that is copied into the connection's buffer, which never shrinks.
const maxBufferedData = 16 << 10

const envelopeStart = `{"data":`

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

func (m DataMeta) append(text []byte) []byte {
	encoded, _ := json.Marshal(m) // texts, numbers and times have JSON
	encoded[0] = ','              // in place of the brace
	return append(text, encoded...)
}

func writeJSON(c *fiber.Ctx, status int, body any) error {
	text, err := governance.JSON(body)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	setJSONHeaders(c, stateOf(c))
	return c.Status(status).Send(append(text, '\n'))
}

func setJSONHeaders(c *fiber.Ctx, s *requestState) {
	setCommonHeaders(c, s)
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSONCharsetUTF8)
}

// validRequestID reports whether RequestIDPattern matches.
func validRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && strings.Trim(id, requestIDCharacters) == ""
}
