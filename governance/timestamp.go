package governance

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/shopspring/decimal"
)

// timestampLayout is ISO 8601 in UTC with millisecond precision.
const timestampLayout = "2006-01-02T15:04:05.000Z"

// MaxYear is the last year of which times are known.
const MaxYear = 2261

// maxTimestamp is the last millisecond of MaxYear, the last that fits the nanoseconds of the warehouse's driver.
const maxTimestamp Timestamp = 9214646399999

// Timestamp is a moment in milliseconds since 1970 UTC. Its JSON form is an ISO
// 8601 string in UTC with milliseconds; its msgpack form is the integer. An
// unknown moment is a nil *Timestamp, and null.
type Timestamp int64

// TimestampOf returns t cut to milliseconds.
func TimestampOf(t time.Time) Timestamp { return Timestamp(t.UnixMilli()) }

// TimestampOfRevision returns the time of a revision, which counts microseconds of the warehouse's clock.
func TimestampOfRevision(revision uint64) Timestamp {
	return TimestampOf(time.UnixMicro(int64(revision))) //nolint:gosec // a time
}

// OptionalTimestamp returns a time as a Timestamp; nil stays nil.
func OptionalTimestamp(t *time.Time) *Timestamp {
	if t == nil {
		return nil
	}
	return new(TimestampOf(*t))
}

// TimestampOfUnix returns the moment some whole seconds after 1970 UTC; an error before 1970 and after MaxYear.
func TimestampOfUnix(seconds int64) (Timestamp, error) {
	if seconds < 0 || seconds > int64(maxTimestamp)/1000 {
		return 0, fmt.Errorf("%d seconds is not a time between 1970 and %d", seconds, MaxYear)
	}
	return Timestamp(seconds * 1000), nil
}

// leastMillis is the least number that ParseUnix reads in another unit than seconds: in
// milliseconds it is a time of 2001, in seconds none.
const leastMillis = 1_000_000_000_000

// ParseUnix reads a time since 1970 in seconds with or without decimals, or in milliseconds, microseconds or
// nanoseconds, whose numbers are larger than seconds can be. It is cut to milliseconds.
func ParseUnix(text string) (Timestamp, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds < leastMillis {
		return TimestampOfUnix(seconds)
	}
	number, err := ParseNumber(text)
	if err != nil {
		return 0, err
	}
	first, last := decimal.NewFromInt(leastMillis), decimal.NewFromInt(int64(maxTimestamp))
	millis := number.Shift(3)
	for unit := range int32(3) {
		if in := number.Shift(-3 * unit); in.GreaterThanOrEqual(first) && in.LessThanOrEqual(last) {
			millis = in
		}
	}
	if millis.IsNegative() || millis.Truncate(0).GreaterThan(last) {
		return 0, fmt.Errorf("%q is not a time between 1970 and %d", clip(text), MaxYear)
	}
	return Timestamp(millis.IntPart()), nil
}

// ParseTimestamp reads an RFC 3339 time at any offset, cut to milliseconds, or a date, which means midnight UTC.
func ParseTimestamp(text string) (Timestamp, error) { return parseTimestamp(text, 0) }

// ParseBound is ParseTimestamp for an end of a range. Of a moment between two milliseconds it returns the
// later one: what happened before the moment is before the end.
func ParseBound(text string) (Timestamp, error) {
	return parseTimestamp(text, time.Millisecond-time.Nanosecond)
}

func parseTimestamp(text string, added time.Duration) (Timestamp, error) {
	moment, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		moment, err = time.Parse(time.DateOnly, text)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is neither an RFC 3339 time nor a YYYY-MM-DD date", clip(text))
	}
	stamp := TimestampOf(moment.Add(added))
	if stamp < 0 || stamp > maxTimestamp {
		return 0, fmt.Errorf("%q is not between 1970 and %d", clip(text), MaxYear)
	}
	return stamp, nil
}

// Time returns the moment in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// String returns the ISO 8601 form.
func (t Timestamp) String() string { return t.Time().Format(timestampLayout) }

// Append appends the ISO 8601 form to a text.
func (t Timestamp) Append(text []byte) []byte { return t.Time().AppendFormat(text, timestampLayout) }

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	text := make([]byte, 0, len(timestampLayout)+2)
	return append(t.Append(append(text, '"')), '"'), nil
}

// UnmarshalJSON implements json.Unmarshaler; see ParseTimestamp.
func (t *Timestamp) UnmarshalJSON(text []byte) error {
	unquoted, err := strconv.Unquote(string(text))
	if err != nil {
		return fmt.Errorf("timestamp %s is not a string", clip(string(text)))
	}
	parsed, err := ParseTimestamp(unquoted)
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// FirstKnown returns the first of some moments that is known, or nil.
func FirstKnown(stamps ...*Timestamp) *Timestamp { return cmp.Or(stamps...) }

// Later returns the later of two moments. An unknown moment is earlier than any.
func Later(a, b *Timestamp) *Timestamp {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
