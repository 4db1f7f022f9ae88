package api

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressMinBytes is the size of a body from which compressing saves more than it
// costs: below, everything fits one packet anyway.
const compressMinBytes = 1200

// compressWindow is how far back an encoder looks: most bodies are shorter, and
// every encoder keeps as much.
const compressWindow = 128 << 10

// brotliLevel costs about as much as the fastest levels of the others.
const brotliLevel = 1

// encoder compresses one body after the other.
type encoder interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// compressor compresses answers for those who can read them.
type compressor struct {
	encoders map[string]*sync.Pool // by content encoding
}

// newCompressor knows every encoding at the level that costs least. Only options
// that contradict each other would be refused.
func newCompressor() *compressor {
	return &compressor{encoders: map[string]*sync.Pool{
		"gzip": {New: func() any {
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

// compress is the last thing that is done to an answer.
func (p *compressor) compress(c *fiber.Ctx) error {
	if err := c.Next(); err != nil {
		return err
	}
	answer := c.Response()
	if len(answer.Body()) < compressMinBytes || len(answer.Header.ContentEncoding()) > 0 {
		return nil
	}
	c.Vary(fiber.HeaderAcceptEncoding)
	encoding := negotiateEncoding(c)
	pool, known := p.encoders[encoding]
	if !known {
		return nil
	}
	e, _ := pool.Get().(encoder)
	defer pool.Put(e)
	body, err := encode(e, answer.Body())
	if err != nil {
		return fmt.Errorf("compress an answer: %w", err)
	}
	answer.SetBodyRaw(body)
	answer.Header.SetContentEncoding(encoding)
	return nil
}

func encode(e encoder, text []byte) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(len(text) / 4)
	e.Reset(&body)
	if _, err := e.Write(text); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// negotiateEncoding is the encoding that the caller likes best. Without a wish, nothing is
// encoded.
func negotiateEncoding(c *fiber.Ctx) string {
	if c.Get(fiber.HeaderAcceptEncoding) == "" {
		return ""
	}
	return c.AcceptsEncodings("gzip", "zstd", "br", "identity")
}
