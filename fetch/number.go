package fetch

import (
	"bytes"
	"time"

	"pnyx/governance"
)

// Count is a whole number from 0 in an answer, in any notation. Another value is 0: it must not
// hide the fields beside it, such as the id, and the record that is read of the item refuses it.
type Count uint64

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(text []byte) error {
	n, _ := governance.ParseWhole(unquoted(text))
	*c = Count(n)
	return nil
}

// Seconds is a time in an answer, in whole seconds since 1970; 0 for another value, as Count.
type Seconds int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	at, _ := governance.ParseUnix(unquoted(text))
	*s = Seconds(at / 1000)
	return nil
}

// Time is a time in an answer in the form of RFC 3339; the zero time for another value, as Count.
type Time struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(text []byte) error {
	_ = t.Time.UnmarshalJSON(text)
	return nil
}

// unquoted returns the text of a number, which may be stated as a string.
func unquoted(text []byte) string { return string(bytes.Trim(text, `"`)) }
