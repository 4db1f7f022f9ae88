package source

import (
	"fmt"
	"strings"
	"time"

	"pnyx/governance"
)

// time returns a time stated since 1970, or as an RFC 3339 string, or nil.
func (v value) time() *governance.Timestamp {
	const noTime = "0001-01-01T00:00:00Z" // how programs in Go, such as Tally's, write a time that they do not know
	if v.absent() {
		return nil
	}
	text := v.numberText()
	if text == noTime {
		return nil
	}
	at, err := governance.ParseUnix(text)
	if err != nil && typeOf(v.json) == typeString {
		at, err = governance.ParseTimestamp(text)
	}
	if err != nil {
		v.rejectUnlike(fmt.Sprintf(
			"seconds or milliseconds since 1970, or an RFC 3339 time, up to the year %d", governance.MaxYear))
		return nil
	}
	if at == 0 { // how others write it
		return nil
	}
	return &at
}

// endTime is time for the end of a vote. One after the last year is no end: contracts state it as the
// greatest number that they have.
func (v value) endTime() *governance.Timestamp {
	if v.isAfterLastYear() {
		return nil
	}
	return v.time()
}

func (v value) isAfterLastYear() bool {
	text := strings.Trim(string(v.json), `"`)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.Year() > governance.MaxYear
	}
	number, err := governance.ParseNumber(text)
	if err != nil || !number.IsPositive() {
		return false
	}
	_, err = governance.ParseUnix(text)
	return err != nil
}

// requiredTime is time for one that has to be stated.
func (v value) requiredTime() governance.Timestamp {
	if at := v.required(typeString).time(); at != nil {
		return *at
	}
	return 0
}

// day returns midnight UTC of a day stated as YYYY-MM-DD, or nil.
func (v value) day() *governance.Timestamp {
	if !v.is(typeString) {
		return nil
	}
	midnight, err := governance.ParseTimestamp(v.text())
	if err != nil || len(v.text()) != len(time.DateOnly) {
		v.rejectUnlike(fmt.Sprintf("a day between 1970 and %d as YYYY-MM-DD", governance.MaxYear))
		return nil
	}
	return &midnight
}

// timeOrDay returns a stated time or, with dayOnly, midnight UTC of the stated day.
func timeOrDay(time, day value) (at *governance.Timestamp, dayOnly bool) {
	if at = time.time(); at != nil { // a day may be stated as a time, too
		return at, typeOf(time.json) == typeString && len(time.text()) == len("2006-01-02") && strings.Contains(time.text(), "-")
	}
	at = day.day()
	return at, at != nil
}
