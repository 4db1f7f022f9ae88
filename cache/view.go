package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// View is one precomputed response.
type View struct {
	// Revision is the publication that wrote the view, in microseconds since 1970.
	Revision uint64               `msgpack:"-"`
	DataAsOf governance.Timestamp `msgpack:"a"` // when the data was read from its source
	// Readiness is governance.Ready, or the reason why the data is incomplete.
	Readiness governance.Readiness `msgpack:"r"`
	// VoteCoverage says how many of the upstream ballots the view is made of; empty for one without ballots.
	VoteCoverage governance.VoteCoverage `msgpack:"c,omitempty"`
	// FreshUntil is when the passing of time makes the view wrong; nil for never.
	FreshUntil *governance.Timestamp `msgpack:"f"`
	// Absent means that the subject does not exist. The view has no payload then.
	Absent  bool               `msgpack:"n,omitempty"`
	Payload msgpack.RawMessage `msgpack:"p"`
}

// NewView returns v with an encoded payload.
func NewView(v View, payload any) (View, error) {
	encoded, err := msgpack.Marshal(payload)
	if err != nil {
		return View{}, fmt.Errorf("encode a view: %w", err)
	}
	v.Payload = encoded
	return v, nil
}

// ErrWithheld means that the subject exists, but its numbers are inconsistent and not published yet.
var ErrWithheld = errors.New("the numbers are not consistent yet")

// withheld is the payload of a withheld view. It is text, which no resource decodes from.
const withheld = "withheld"

// Withheld returns a view for which Decode returns ErrWithheld.
func Withheld(v View) (View, error) { return NewView(v, withheld) }

// IsWithheld reports whether Withheld has made the view.
func (v View) IsWithheld() bool {
	var text string
	return msgpack.Unmarshal(v.Payload, &text) == nil && text == withheld
}

// Decode decodes the payload, without nil lists. The error is ErrMiss, and ErrWithheld for a withheld view.
func (v View) Decode(payload any) error {
	if v.IsWithheld() {
		return fmt.Errorf("%w: %w", ErrMiss, ErrWithheld)
	}
	if err := msgpack.Unmarshal(v.Payload, payload); err != nil {
		return fmt.Errorf("%w: decode a view: %w", ErrMiss, err)
	}
	emptyLists(reflect.ValueOf(payload))
	return nil
}

// IsFresh reports whether the view contains everything up to a version, 0 for none, and has not expired.
func (v View) IsFresh(version uint64) bool {
	return v.Revision >= version && (v.FreshUntil == nil || time.Now().Before(v.FreshUntil.Time()))
}

// Encode returns the msgpack encoding of a value. It panics without one: it is for types that always have one.
func Encode(value any) []byte {
	encoded, err := msgpack.Marshal(value)
	if err != nil {
		panic(err) // a mistake in the type
	}
	return encoded
}

// encode returns the value as stored: the revision, then the view, possibly compressed.
func (v View) encode() []byte { return append(EncodeRevision(v.Revision), compress(Encode(&v))...) }

// decodeView decodes a stored value. A value that does not decode is a miss.
func decodeView(value []byte) (View, error) {
	revision, err := DecodeRevision(value)
	if err != nil {
		return View{}, err
	}
	if len(value) == RevisionDigits { // only the revision of a removal
		return View{}, fmt.Errorf("%w: removed at revision %d", ErrMiss, revision)
	}
	content, err := decompress(value[RevisionDigits:])
	if err != nil {
		return View{}, fmt.Errorf("%w: %w", ErrMiss, err)
	}
	var v View
	if err := msgpack.Unmarshal(content, &v); err != nil {
		return View{}, fmt.Errorf("%w: %w: %w", ErrMiss, ErrCorrupt, err)
	}
	v.Revision = revision
	return v, nil
}

// View returns a view. The error is ErrMiss or ErrUnavailable.
func (s *Store) View(ctx context.Context, key Key) (View, error) {
	value, err := Get(ctx, s.conn, key).Bytes()
	if err != nil {
		return View{}, readError(err)
	}
	return decodeView(value)
}

// tombstoneTTL is how long a removal is kept: longer than a paused worker may take for its last writes.
const tombstoneTTL = time.Hour

// setNewer stores a value unless a newer revision is stored. A stored value without a revision is replaced.
// KEYS: any. ARGV: revision, value.
var setNewer = redis.NewScript(revisionGuard + `
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

// setNewerTTL is setNewer for a value that expires. KEYS: any. ARGV: revision, value, TTL.
var setNewerTTL = redis.NewScript(revisionGuard + `
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`)
