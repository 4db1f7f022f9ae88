package wire

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"pnyx/api/param"
)

// FramingProblem says why a request may end elsewhere for a proxy in front than it does
// here; nil for none. What follows such a request on its connection is not read: it could
// be part of another caller's.
//
// fasthttp reads several lengths, both kinds of length, and headers that continue on another
// line; what is in front may read them differently. It takes trailers for headers, which
// no proxy in front has checked.
func FramingProblem(header *fasthttp.RequestHeader) *param.Problem {
	if bytes.ContainsFunc(header.RequestURI(), func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return &param.Problem{
			Message: "the address contains spaces or control characters", Allowed: "one address, percent-encoded", Fix: param.FixEscape,
		}
	}
	if len(header.PeekTrailerKeys()) > 0 {
		return &param.Problem{
			Message: "the request has trailers", Allowed: "headers before the body", Fix: "send nothing after the body",
		}
	}
	lengths, encodings := 0, 0
	for rest := header.RawHeaders(); len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			return &param.Problem{
				Message: "a header continues on a second line", Allowed: "one header a line", Fix: "put each header on one line",
			}
		}
		if bytes.IndexByte(line, '\r') >= 0 || bytes.IndexByte(line, 0) >= 0 {
			return &param.Problem{
				Message: "a header contains control characters", Allowed: "one header a line, without control characters",
				Fix: "remove carriage returns and zero bytes from the headers",
			}
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			lengths++
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			encodings++
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
				encodings++ // it is not one that is read here
			}
		}
	}
	if lengths+encodings <= 1 {
		return nil
	}
	return &param.Problem{
		Message: "the length of the body is stated in several ways", Allowed: "one Content-Length, or Transfer-Encoding: chunked",
		Fix: "send one of the two, or no body at all",
	}
}
