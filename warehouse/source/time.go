package source

import (
	"fmt"
	"strconv"
	"time"

	"pnyx/governance"
)

// unixTime returns a time stated in whole seconds since 1970, or nil.
func (v value) unixTime() *governance.Timestamp {
	if !v.is(typeNumber) {
		return nil
	}
	var at governance.Timestamp
	seconds, err := strconv.ParseInt(string(v.json), 10, 64)
	if err == nil {
		at, err = governance.TimestampOfUnix(seconds)
	}
	if err != nil {
		v.rejectUnlike(fmt.Sprintf(
			"whole seconds since 1970, up to the year %d", governance.MaxYear))
		return nil
	}
	return &at
}

// time returns a time stated as an RFC 3339 string, or nil.
func (v value) time() *governance.Timestamp {
	if !v.is(typeString) {
		return nil
	}
	at, err := governance.ParseTimestamp(v.text())
	if err != nil {
		v.rejectUnlike(fmt.Sprintf("an RFC 3339 time between 1970 and %d", governance.MaxYear))
		return nil
	}
	return &at
}

// requiredTime returns a required time stated as an RFC 3339 string.
func (v value) requiredTime() governance.Timestamp {
	if !v.require(typeString) {
		return 0
	}
	if at := v.time(); at != nil {
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

// timeOrDay returns a time stated in seconds. If there is none it returns midnight UTC
// of the stated day, and dayOnly.
func timeOrDay(seconds, day value) (at *governance.Timestamp, dayOnly bool) {
	if at = seconds.unixTime(); at != nil {
		return at, false
	}
	at = day.day()
	return at, at != nil
}
