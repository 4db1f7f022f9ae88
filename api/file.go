package api

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
)

// Headers with digests of a file as a whole.
const (
	// HeaderReprDigest holds the SHA-256 of a file as it is sent (RFC 9530).
	HeaderReprDigest = "Repr-Digest"
	// HeaderUnencodedDigest holds the SHA-256 without compression, for clients that do not see the bytes sent.
	HeaderUnencodedDigest = "Unencoded-Digest"
)

// representation is a file in the form that a request gets: as it is, or compressed.
type representation struct {
	*routes.File

	compressed bool
	size       int
	// etag is strong, and made of digest.
	etag   string
	digest []byte
	// part is what Range selects; nil for the whole.
	part *byteRange
}

// representationOf returns the form that a request gets. Range selects bytes of the text itself: a caller that was
// interrupted has the text, and no server has to compress to the same bytes again.
func representationOf(c *fiber.Ctx, f *routes.File) (*representation, error) {
	ranges := ""
	if c.Method() == fiber.MethodGet {
		ranges = c.Get(fiber.HeaderRange)
	}
	compressed := ranges == "" && httpcache.PreferredOf(c, httpcache.Gzip, "identity") == httpcache.Gzip
	r := &representation{File: f, compressed: compressed}
	r.size, r.digest = f.Size, f.Digest
	if r.compressed {
		r.size, r.digest = len(f.Gzip), f.GzipDigest
	}
	r.etag = `"` + base64.RawURLEncoding.EncodeToString(r.digest[:min(len(r.digest), 16)]) + `"`
	if condition := c.Get(fiber.HeaderIfRange); ranges == "" || condition != "" && condition != r.etag {
		return r, nil
	}
	part, err := parseRange(ranges, r.size)
	r.part = part
	return r, err
}

func (r *representation) setHeaders(c *fiber.Ctx) {
	setHeader(c, fiber.HeaderETag, r.etag)
	setHeader(c, fiber.HeaderAcceptRanges, "bytes")
	setHeader(c, HeaderReprDigest, digestText(r.digest))
	setHeader(c, HeaderUnencodedDigest, digestText(r.Digest))
}

func digestText(sum []byte) string { return "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":" }

// write writes the body and its headers. The text is not in memory as a whole.
func (r *representation) write(c *fiber.Ctx) error {
	response := c.Response()
	response.Header.SetContentType(r.Media)
	response.SetStatusCode(http.StatusOK)
	if r.compressed {
		response.Header.SetContentEncoding(httpcache.Gzip)
		response.SetBodyRaw(r.Gzip)
		return nil
	}
	text, err := gzip.NewReader(bytes.NewReader(r.Gzip))
	if err != nil {
		return apierror.Unavailable(fmt.Errorf("decompress a file: %w", err))
	}
	if r.part == nil {
		response.SetBodyStream(text, r.size)
		return nil
	}
	if _, err := io.CopyN(io.Discard, text, int64(r.part.first)); err != nil {
		return apierror.Unavailable(fmt.Errorf("decompress a file: %w", err))
	}
	response.SetStatusCode(http.StatusPartialContent)
	setHeader(c, fiber.HeaderContentRange, fmt.Sprintf("bytes %d-%d/%d", r.part.first, r.part.last, r.size))
	response.SetBodyStream(io.LimitReader(text, int64(r.part.length())), r.part.length())
	return nil
}

func (r *representation) length() int {
	if r.part != nil {
		return r.part.length()
	}
	return r.size
}

// sendFile sends a file as send sends answers, or the part of it that was requested.
func (a *API) sendFile(c *fiber.Ctx, s *requestState, r *routes.Request, answer *rendered) error {
	s.readiness = governance.Ready
	form, err := representationOf(c, answer.File)
	if err != nil {
		return err
	}
	a.setAnswerHeaders(c, s, answer, form.etag)
	form.setHeaders(c)
	switch {
	case httpcache.Matches(c, form.etag):
		c.Status(fiber.StatusNotModified)
		return nil
	case s.delegatesToEdge(c) && form.part != nil: // the edge cuts it from the whole
		delegateToEdge(c, s, r, answer, PathRange, form.length())
		return nil
	case s.delegatesToEdge(c):
		delegateToEdge(c, s, r, answer, PathBody, form.length())
		return nil
	}
	setBodyExpiry(c, s, r, answer)
	if err := form.write(c); err != nil || s.charge == nil {
		return err
	}
	// The payment buys the whole file, of which the same payment may get other parts.
	purchased, err := msgpack.Marshal(answer.File.File)
	if err != nil {
		return fmt.Errorf("encode a file that was paid for: %w", err)
	}
	return settlePayment(c, s, x402.Response{Body: purchased, Header: map[string]string{
		fiber.HeaderContentType: strings.Clone(answer.File.Media),
	}})
}

// replayFile sends the file, or another part of it, that the payment bought before.
func replayFile(c *fiber.Ctx, purchased x402.Response) error {
	f := &routes.File{Media: purchased.Header[fiber.HeaderContentType]}
	if err := msgpack.Unmarshal(purchased.Body, &f.File); err != nil {
		return fmt.Errorf("decode a file that was paid for: %w", err)
	}
	form, err := representationOf(c, f)
	if err != nil {
		return err
	}
	form.setHeaders(c)
	return form.write(c)
}

// byteRange is a range of bytes, the last one included.
type byteRange struct{ first, last int }

func (b *byteRange) length() int { return b.last - b.first + 1 }

// parseRange reads a Range header (RFC 9110) for a file of a size. It returns nil, for the whole file, if the
// header is malformed, has another unit or several ranges. The error says that a range is beyond the end.
func parseRange(header string, size int) (*byteRange, error) {
	text, inBytes := strings.CutPrefix(header, "bytes=")
	from, to, isRange := strings.Cut(text, "-")
	first, errFirst := strconv.ParseUint(from, 10, 63)
	last, errLast := strconv.ParseUint(to, 10, 63)
	end := uint64(size) - 1 //nolint:gosec // never negative
	switch {
	case !inBytes, !isRange, from == "" && to == "", from != "" && errFirst != nil, to != "" && errLast != nil,
		from != "" && to != "" && last < first:
		return nil, nil //nolint:nilerr,nilnil // RFC 9110: such a header is ignored
	case from == "" && last == 0, from != "" && first > end:
		return nil, rangeNotSatisfiable(size)
	case from == "":
		first, last = end+1-min(last, end+1), end
	case to == "":
		last = end
	}
	return &byteRange{int(first), int(min(last, end))}, nil
}

func rangeNotSatisfiable(size int) *apierror.Error {
	return &apierror.Error{
		Status: http.StatusRequestedRangeNotSatisfiable, Code: apierror.CodeValidation,
		Message: fmt.Sprintf("Range begins after the last of %d bytes", size),
		Details: apierror.ProblemDetails{Problems: []param.Problem{{
			Parameter: "Range", Message: "begins after the last byte", Allowed: fmt.Sprintf("bytes=FIRST-, with FIRST below %d", size),
			Fix: "the download is complete where it has as many bytes; without Range the file is sent as a whole",
		}}},
		Headers: map[string]string{fiber.HeaderContentRange: fmt.Sprintf("bytes */%d", size)},
	}
}

// bodyBytes returns the length of the body of an answer, also of one that is streamed; zero while it is unknown.
func bodyBytes(c *fiber.Ctx) int {
	if c.Response().IsBodyStream() {
		return max(0, c.Response().Header.ContentLength())
	}
	return len(c.Response().Body())
}
