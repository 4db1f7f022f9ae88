package cache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// revisionDigits is the width of the revision that begins every value, as decimal
// text: scripts compare it without decoding the rest, and a microsecond clock fits
// it until the year 2286.
const revisionDigits = 16

// View is one precomputed answer.
type View struct {
	// Revision is the publication that wrote it, a count of microseconds.
	Revision uint64 `msgpack:"-"`
	// DataAsOf is when the data it was worked out from was seen upstream.
	DataAsOf governance.Timestamp `msgpack:"a"`
	// Readiness is governance.Ready, or why not.
	Readiness governance.Readiness `msgpack:"r"`
	// FreshUntil is when time alone makes it wrong; nil for never.
	FreshUntil *governance.Timestamp `msgpack:"f"`
	// Absent says that there is nothing of this name; it has no payload.
	Absent bool `msgpack:"n,omitempty"`
	// Payload is the answer itself, encoded.
	Payload msgpack.RawMessage `msgpack:"p"`
}

// NewView encodes a payload.
func NewView(v View, payload any) (View, error) {
	encoded, err := msgpack.Marshal(payload)
	if err != nil {
		return View{}, fmt.Errorf("encode a view: %w", err)
	}
	v.Payload = encoded
	return v, nil
}

// ErrWithheld is a view of something that is there, and of which nothing can be told
// yet.
var ErrWithheld = errors.New("the numbers do not agree yet")

// withheld is the payload of such a view, from which no resource shape is decoded.
const withheld = "withheld"

// Withheld returns a view that says ErrWithheld to whoever decodes it.
func Withheld(v View) (View, error) {
	return NewView(v, withheld)
}

// Decode reads the payload into a resource shape.
func (v View) Decode(payload any) error {
	var text string
	if msgpack.Unmarshal(v.Payload, &text) == nil && text == withheld {
		return fmt.Errorf("%w: %w", ErrMiss, ErrWithheld)
	}
	if err := msgpack.Unmarshal(v.Payload, payload); err != nil {
		return fmt.Errorf("%w: decode a view: %w", ErrMiss, err)
	}
	return nil
}

// encode returns the value as Redis keeps it.
func (v View) encode() ([]byte, error) {
	content, err := msgpack.Marshal(&v)
	if err != nil {
		return nil, fmt.Errorf("encode a view: %w", err)
	}
	return append(revisionText(v.Revision), compress(content)...), nil
}

func revisionText(revision uint64) []byte {
	return fmt.Appendf(nil, "%0*d", revisionDigits, revision)
}

// decodeView is the reverse of encode. A value it cannot read is a miss.
func decodeView(value []byte) (View, error) {
	if len(value) < revisionDigits {
		return View{}, fmt.Errorf("%w: %w: %d bytes", ErrMiss, ErrCorrupt, len(value))
	}
	revision, err := strconv.ParseUint(string(value[:revisionDigits]), 10, 64)
	if err != nil {
		return View{}, fmt.Errorf("%w: %w: no revision", ErrMiss, ErrCorrupt)
	}
	if isTombstone(value) {
		return View{}, fmt.Errorf("%w: it was removed at %d", ErrMiss, revision)
	}
	content, err := decompress(value[revisionDigits:])
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

// View reads a view. The error is ErrMiss or ErrUnavailable.
func (s *Store) View(ctx context.Context, key Key) (View, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	value, err := s.client.Get(ctx, string(key)).Bytes()
	if err != nil {
		return View{}, readError(err)
	}
	return decodeView(value)
}

// setNewer writes a value unless a newer revision stands there. A value without a
// revision is broken, and older than any.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var setNewer = redis.NewScript(`
local held = tonumber(redis.call('GETRANGE', KEYS[1], 0, ` + strconv.Itoa(revisionDigits-1) + `))
if not held or held <= tonumber(ARGV[1]) then
	redis.call('SET', KEYS[1], ARGV[2])
	return 1
end
return 0`)

// tombstoneTTL is how long it is remembered that something was removed: longer than
// a worker that was paused, and has lost its lease, may be late.
const tombstoneTTL = time.Hour

// isTombstone says whether a value is the revision alone of what was removed.
func isTombstone(value []byte) bool {
	return len(value) == revisionDigits
}
