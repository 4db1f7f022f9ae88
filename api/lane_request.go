package api

import "bytes"

// laneRequest is a request as the fast lane reads it.
type laneRequest struct {
	// target is the request target of a plain request.
	target []byte
	// plain says that no header changes the answer to a free route, but for the encoding:
	// encodingGzip, encodingOther, or empty where the request has no Accept-Encoding.
	plain    bool
	encoding string
}

// laneHeader is the header of the last request on a connection, and what it means: callers
// send the same one with each request.
type laneHeader struct {
	text         []byte
	whole, plain bool
	encoding     string
}

// encodingOther is an Accept-Encoding of which negotiateEncoding makes what it makes.
const encodingOther = "other"

// maxLaneHeader bounds the headers that are remembered, in bytes: each connection holds one.
const maxLaneHeader = 512

// read reads what a connection has received. It is whole if it is one GET request without a
// body and nothing else, in the strictest form: what fasthttp could take for anything else
// is not whole.
func (h *laneHeader) read(text []byte) (r laneRequest, whole bool) {
	const method, version = "GET ", "HTTP/1.1\r\n"
	line, found := bytes.CutPrefix(text, []byte(method))
	if !found {
		return r, false
	}
	target, rest, _ := bytes.Cut(line, []byte(" "))
	header, found := bytes.CutPrefix(rest, []byte(version))
	if !found || len(target) == 0 || target[0] != '/' || bytes.ContainsAny(target, "\r\n") {
		return r, false
	}
	if !bytes.Equal(header, h.text) {
		*h = laneHeader{text: h.text[:0]}
		h.parse(header)
		if len(header) <= maxLaneHeader {
			h.text = append(h.text, header...)
		}
	}
	return laneRequest{target: target, plain: h.plain, encoding: h.encoding}, h.whole
}

// parse finds out what a header means.
func (h *laneHeader) parse(header []byte) {
	hosts, plain := 0, true
	for {
		line, rest, found := bytes.Cut(header, []byte("\r\n"))
		if !found {
			return
		}
		if len(line) == 0 {
			h.whole = len(rest) == 0
			h.plain = h.whole && plain && hosts == 1
			return
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || !isToken(name) || !isPrintable(value) {
			return
		}
		switch kind := laneHeaders[string(bytes.ToLower(name))]; kind {
		case headerFrames:
			return
		case headerHost:
			hosts++
			plain = plain && isPlainHost(bytes.Trim(value, " "))
		case headerEncoding:
			if h.encoding != "" || !prefersGzip(value) {
				h.encoding = encodingOther
				break
			}
			h.encoding = encodingGzip
		case headerConnection:
			plain = plain && bytes.EqualFold(bytes.Trim(value, " "), []byte("keep-alive"))
		case headerOther:
			plain = false
		case headerIgnored:
		}
		header = rest
	}
}

// headerKind is what a header means to the fast lane.
type headerKind int

// The kinds of headers: those that may change an answer, that change no answer of a free
// route, that say where a request ends, and three with a meaning of their own.
const (
	headerOther headerKind = iota
	headerIgnored
	headerFrames
	headerHost
	headerEncoding
	headerConnection
)

// laneHeaders are the headers that are not headerOther.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var laneHeaders = map[string]headerKind{
	"accept":            headerIgnored,
	"accept-language":   headerIgnored,
	"cache-control":     headerIgnored,
	"dnt":               headerIgnored,
	"origin":            headerIgnored,
	"pragma":            headerIgnored,
	"referer":           headerIgnored,
	"sec-fetch-dest":    headerIgnored,
	"sec-fetch-mode":    headerIgnored,
	"sec-fetch-site":    headerIgnored,
	"user-agent":        headerIgnored,
	"content-length":    headerFrames,
	"expect":            headerFrames,
	"transfer-encoding": headerFrames,
	"upgrade":           headerFrames,
	"host":              headerHost,
	"accept-encoding":   headerEncoding,
	"connection":        headerConnection,
}

// isToken reports whether a text consists of letters, digits and dashes, as all names of
// headers do that anyone sends.
func isToken(text []byte) bool {
	for _, char := range text {
		if !isTokenByte(char) {
			return false
		}
	}
	return len(text) > 0
}

// isTokenByte reports whether a byte is an ASCII letter, a digit or a dash.
func isTokenByte(char byte) bool {
	return char|0x20 >= 'a' && char|0x20 <= 'z' || char >= '0' && char <= '9' || char == '-'
}

// isPrintable reports whether a text has no control characters but tabs.
func isPrintable(text []byte) bool {
	for _, char := range text {
		if char < ' ' && char != '\t' || char == 0x7f {
			return false
		}
	}
	return true
}

// prefersGzip reports whether the value of an Accept-Encoding is a plain list that begins
// with gzip, which negotiateEncoding chooses then.
func prefersGzip(value []byte) bool {
	first := true
	for encoding := range bytes.SplitSeq(value, []byte(",")) {
		encoding = bytes.Trim(encoding, " ")
		if !isToken(encoding) || first && string(encoding) != encodingGzip {
			return false
		}
		first = false
	}
	return true
}
