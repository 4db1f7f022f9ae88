package httpcache

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// MinCompressed is the size of the smallest body that is compressed: smaller ones fit one packet.
const MinCompressed = 1200

// compressWindow is the window of zstd, in bytes, and the memory of every encoder. Most bodies are shorter.
const compressWindow = 128 << 10

// Gzip is the encoding that a node prefers among those that a caller accepts equally.
const Gzip = "gzip"

// encoder compresses bodies, one at a time.
type encoder interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// Compressor compresses answers in an encoding that the caller accepts.
type Compressor struct {
	encoders map[string]*sync.Pool // by content encoding
}

// NewCompressor returns a compressor with the fastest levels. Encoders fail for invalid options only.
func NewCompressor() *Compressor {
	const brotliLevel = 1 // takes about as long as the fastest levels of gzip and zstd
	return &Compressor{encoders: map[string]*sync.Pool{
		Gzip: {New: func() any {
			e, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
			return e
		}},
		"br": {New: func() any { return brotli.NewWriterLevel(nil, brotliLevel) }},
		"zstd": {New: func() any {
			e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
				zstd.WithEncoderCRC(false), zstd.WithWindowSize(compressWindow))
			return e
		}},
	}}
}

// Compress compresses an answer of at least MinCompressed.
func (p *Compressor) Compress(c *fiber.Ctx) error {
	answer := c.Response()
	if answer.IsBodyStream() || len(answer.Body()) < MinCompressed || len(answer.Header.ContentEncoding()) > 0 {
		return nil
	}
	c.Vary(fiber.HeaderAcceptEncoding)
	encoding := NegotiateEncoding(c)
	pool, known := p.encoders[encoding]
	if !known {
		return nil
	}
	e, _ := pool.Get().(encoder)
	defer pool.Put(e)
	body, err := Encode(e, answer.Body())
	if err != nil {
		return fmt.Errorf("compress an answer: %w", err)
	}
	answer.SetBodyRaw(body)
	answer.Header.SetContentEncoding(encoding)
	return nil
}

// Encode compresses a text.
func Encode(e encoder, text []byte) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(len(text) / 4)
	e.Reset(&body)
	_, err := e.Write(text)
	err = cmp.Or(err, e.Close())
	return body.Bytes(), err
}

// NegotiateEncoding returns the encoding that the caller prefers; empty where it accepts none.
func NegotiateEncoding(c *fiber.Ctx) string { return PreferredOf(c, Gzip, "zstd", "br", "identity") }

// PreferredOf returns which of some encodings the caller prefers, the first of equals; empty where it accepts
// none. Fiber would send gzip for "gzip;q=0, *".
func PreferredOf(c *fiber.Ctx, encodings ...string) (preferred string) {
	accepted, most := strings.ToLower(c.Get(fiber.HeaderAcceptEncoding)), 0.0
	for _, encoding := range encodings {
		if weight := weightOf(accepted, encoding); weight > most {
			preferred, most = encoding, weight
		}
	}
	return preferred
}

// weightOf returns the weight of an encoding in Accept-Encoding: its own, or else that of "*".
func weightOf(accepted, encoding string) (weight float64) {
	for item := range strings.SplitSeq(accepted, ",") {
		name, parameter, _ := strings.Cut(item, ";")
		if name = strings.TrimSpace(name); name != encoding && name != "*" {
			continue
		}
		stated, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(parameter), "q="), 64)
		if err != nil {
			stated = 1
		}
		if name == encoding {
			return stated
		}
		weight = stated
	}
	return weight
}
