package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

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

// emptyLists makes the nil lists of a value empty: a list without members is [] in answers, also
// where it was nil when it was stored, or has no value in a view of an earlier version. One that
// answers omit without members stays nil.
func emptyLists(v reflect.Value) {
	if !hasLists(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			emptyLists(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			left := strings.Contains(field.Tag.Get("json"), ",omitempty") && v.Field(i).IsZero()
			if field.IsExported() && !left {
				emptyLists(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		if !hasLists(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			emptyLists(v.Index(i))
		}
	default:
	}
}

var typesWithLists sync.Map //nolint:gochecknoglobals // facts of types

// hasLists reports whether values of a type have lists. Bytes are no list.
func hasLists(t reflect.Type) bool {
	if known, is := typesWithLists.Load(t); is {
		return known == true
	}
	has := false
	switch t.Kind() {
	case reflect.Pointer:
		has = hasLists(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			has = has || field.IsExported() && hasLists(field.Type)
		}
	case reflect.Slice:
		has = t.Elem().Kind() != reflect.Uint8
	default:
	}
	typesWithLists.Store(t, has)
	return has
}
