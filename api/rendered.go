package api

import (
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
)

// HeaderRequestID carries the id of the request, both ways.
const HeaderRequestID = "X-Request-Id"

// maxRequestID bounds a caller's request id. The dash comes last, so that its characters are a class of a pattern, too.
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

// writeAnswer sends an answer in its envelope. Only meta is encoded here: data is JSON, and maybe compressed, already.
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

// appendMeta appends the members of meta that differ between requests, as encoding/json would in more time than the
// rest of a cache hit takes. Ids need no escapes: they are validated.
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

// requestIDBytes is the length of the ids that newRequestID makes: 16 bytes in base 32.
const requestIDBytes = 26

// newRequestID fills id with random letters and digits: unique and fast to make, but not secret.
func newRequestID(id *[requestIDBytes]byte) {
	var random [16]byte
	binary.NativeEndian.PutUint64(random[:8], rand.Uint64()) //nolint:gosec // not secret
	binary.NativeEndian.PutUint64(random[8:], rand.Uint64()) //nolint:gosec // not secret
	base32.StdEncoding.WithPadding(base32.NoPadding).Encode(id[:], random[:])
}

// validRequestID reports whether RequestIDPattern matches.
func validRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && strings.Trim(id, requestIDCharacters) == ""
}

// localOverhead is the estimated memory of an entry without its key and data, in bytes.
const localOverhead = 2 << 10

// rendered is an answer ready to be sent, without what differs between requests, such as the request id.
type rendered struct {
	// Answer is what the route answered, without Data and the payload of View.
	routes.Answer

	data []byte
	// etag is the ETag while the answer is not stale; empty for answers about one token.
	etag string
	// modified is the Last-Modified header; empty for an answer that no publication changes.
	modified string
	// control is the default Cache-Control, for lifetime in shared caches.
	control  string
	lifetime time.Duration
	// target is the canonical URL of the request, for Content-Location.
	target string
	// link is the Link header of the next page; empty for none.
	link string
	// keys are the surrogate keys of tags; empty where no cache is purged.
	keys   httpcache.SurrogateKeys
	tags   []cache.Tag
	status string
	layer  httpcache.Layer
	// head holds the headers of writeHead, and metaTail the text of DataMeta.append. Only local copies have them.
	head     *fasthttp.ResponseHeader
	metaTail []byte
	// bodyBytes is the length of a typical body, and packed returns the compressed answer. Only local copies have them.
	bodyBytes int
	packed    func() (*httpcache.Packed, error)
}

func render(found routes.Answer) (*rendered, error) {
	if found.File != nil {
		return &rendered{Answer: routes.Answer{File: found.File}, layer: found.Source.Layer()}, nil
	}
	data, err := governance.JSON(found.Data)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	r := &rendered{Answer: found, data: data, layer: found.Source.Layer()}
	r.Data, r.View.Payload = nil, nil
	if found.NodeLocal {
		r.layer = httpcache.LayerLocal
	}
	return r, nil
}

// prepare makes what only copies have, of an answer that is complete.
func (r *rendered) prepare(route *routes.Route) {
	r.head = new(fasthttp.ResponseHeader)
	r.writeHead(r.head, route)
	r.metaTail = r.meta(r.View.Readiness).append(nil)
	like := requestState{id: strings.Repeat("A", requestIDBytes), now: time.Unix(0, 0), readiness: r.View.Readiness}
	r.bodyBytes = len(envelopeStart) + len(r.data) + len(r.appendTail(nil, &like))
	data, metaTail := r.data, r.metaTail
	r.packed = sync.OnceValues(func() (*httpcache.Packed, error) {
		return httpcache.Pack(slices.Concat([]byte(envelopeStart), data, []byte(metaStart)), slices.Concat(metaTail, []byte(envelopeEnd)))
	})
}

// weight is the estimated memory of a copy, in bytes.
func (r *rendered) weight(key string) uint32 {
	return uint32(len(key) + len(r.data) + len(r.data)/2 + localOverhead) //nolint:gosec // bounded by the longest page
}

// isOutdated reports whether a publication of tags may have changed the answer: any one, if it is about a voter.
func (r *rendered) isOutdated(changed func(cache.Tag) bool) bool {
	return len(r.tags) == 0 || slices.ContainsFunc(r.tags, func(tag cache.Tag) bool { return !tag.IsNamed() || changed(tag) })
}

// etagOf returns the ETag of an answer: its revision and the canonical request. It is weak: the request's id and time
// in the body differ. Answers without a revision, of the node or of what is not published yet, and those that change
// within one, by time or as they say, are identified by their content.
func etagOf(r *routes.Request, found *rendered) string {
	revision := found.View.Revision
	if found.NodeLocal || found.Dated || found.ByContent || revision == 0 {
		content := xxhash.New()
		_, _ = content.Write(found.data) // it never fails
		if found.Page != nil && found.Page.NextCursor != nil {
			_, _ = content.WriteString(*found.Page.NextCursor)
		}
		if found.Dated || found.ByContent {
			_, _ = content.WriteString(strconv.FormatUint(revision, 36))
		}
		revision = content.Sum64()
	}
	requested := xxhash.Sum64String(SurfaceVersion + "\x00" + r.Canonical())
	return `W/"` + strconv.FormatUint(revision, 36) + "-" + strconv.FormatUint(requested, 36) + `"`
}

// etagFor returns the ETag for a readiness: of a stale answer another, so that the answer once ready is no 304.
func (r *rendered) etagFor(readiness governance.Readiness) string {
	if r.etag == "" || readiness != governance.Stale {
		return r.etag
	}
	return strings.TrimSuffix(r.etag, `"`) + `-stale"`
}
