package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/vmihailenco/msgpack/v5"
)

// Payload is a resource as msgpack has it. Unlike msgpack.RawMessage, whose memory grows as it
// is read, it is copied once: a page of 500 ballots has 100 KB.
type Payload []byte

// EncodeMsgpack implements msgpack.CustomEncoder.
func (p Payload) EncodeMsgpack(to *msgpack.Encoder) error {
	if err := to.Encode(msgpack.RawMessage(p)); err != nil {
		return fmt.Errorf("encode a payload: %w", err)
	}
	return nil
}

// DecodeMsgpack implements msgpack.CustomDecoder, for values that are decoded from memory.
func (p *Payload) DecodeMsgpack(from *msgpack.Decoder) error {
	text, is := from.Buffered().(*bytes.Reader)
	if !is {
		return errors.New("a payload is decoded from memory only")
	}
	begin, before := text.Size()-int64(text.Len()), text.Len()
	if err := from.Skip(); err != nil {
		return fmt.Errorf("read a payload: %w", err)
	}
	payload := make(Payload, before-text.Len())
	if _, err := text.ReadAt(payload, begin); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("copy a payload: %w", err)
	}
	*p = payload
	return nil
}
