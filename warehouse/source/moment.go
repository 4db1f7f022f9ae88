package source

import (
	"fmt"
	"strconv"
	"time"

	"pnyx/governance"
)

// unixTime returns a moment stated in whole seconds since 1970.
func (v value) unixTime() *governance.Timestamp {
	if !v.is(kindNumber) {
		return nil
	}
	var moment governance.Timestamp
	seconds, err := strconv.ParseInt(string(v.json), 10, 64)
	if err == nil {
		moment, err = governance.TimestampOfUnix(seconds)
	}
	if err != nil {
		v.refuseFor(fmt.Sprintf("whole seconds since 1970, up to the year %d", governance.LastYear))
		return nil
	}
	return &moment
}

// time returns a moment stated as an RFC 3339 text.
func (v value) time() *governance.Timestamp {
	if !v.is(kindText) {
		return nil
	}
	moment, err := governance.ParseTimestamp(v.text())
	if err != nil {
		v.refuseFor(fmt.Sprintf("an RFC 3339 time between 1970 and %d", governance.LastYear))
		return nil
	}
	return &moment
}

// knownTime returns a moment stated as an RFC 3339 text that has to be there.
func (v value) knownTime() governance.Timestamp {
	if !v.must(kindText) {
		return 0
	}
	if moment := v.time(); moment != nil {
		return *moment
	}
	return 0
}

// day returns midnight UTC of a day stated as YYYY-MM-DD.
func (v value) day() *governance.Timestamp {
	if !v.is(kindText) {
		return nil
	}
	midnight, err := governance.ParseTimestamp(v.text())
	if err != nil || len(v.text()) != len(time.DateOnly) {
		v.refuseFor(fmt.Sprintf("a day between 1970 and %d as YYYY-MM-DD", governance.LastYear))
		return nil
	}
	return &midnight
}

// momentOrDay returns a moment stated in seconds or, only where that is not
// known, midnight of the day, and which of the two it is.
func momentOrDay(moment, day value) (at *governance.Timestamp, dayOnly bool) {
	if at = moment.unixTime(); at != nil {
		return at, false
	}
	at = day.day()
	return at, at != nil
}
