package governance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
	"pnyx/test/check"
)

// lastMoment is the last millisecond that is a Timestamp.
const lastMoment = "2261-12-31T23:59:59.999Z"

func TestParseTimestampReadsRFC3339Alone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1970-01-01T00:00:00Z":                "1970-01-01T00:00:00.000Z",
		"2024-02-29T12:34:56Z":                "2024-02-29T12:34:56.000Z",
		"2024-02-29T12:34:56.7Z":              "2024-02-29T12:34:56.700Z",
		"2024-02-29T12:34:56.789Z":            "2024-02-29T12:34:56.789Z",
		"2024-02-29T12:34:56.789999999Z":      "2024-02-29T12:34:56.789Z",
		"2024-02-29T12:34:56+00:00":           "2024-02-29T12:34:56.000Z",
		"2024-02-29T12:34:56.5+05:30":         "2024-02-29T07:04:56.500Z",
		"2024-02-29T23:34:56-08:00":           "2024-03-01T07:34:56.000Z",
		"2024-02-29":                          "2024-02-29T00:00:00.000Z",
		lastMoment:                            lastMoment,
		"2261-12-31T23:59:59.999999999Z":      lastMoment,
		"1969-12-31T23:30:00-00:30":           "1970-01-01T00:00:00.000Z",
		"2024-01-01T00:00:00.000000000000Z":   "2024-01-01T00:00:00.000Z",
		"1970-01-01T00:00:00.001000000+00:00": "1970-01-01T00:00:00.001Z",
	} {
		check.Want(t, want, check.Must(governance.ParseTimestamp(text))(t).String(), text)
	}
	for _, text := range []string{
		"", " ", "0", "1700000000", "1700000000000", "now", "2024", "2024-02", "2024-2-9", "2024-02-30", "2023-02-29",
		"2024-13-01", "2024-02-29T", "2024-02-29T12:34Z", "2024-02-29T12:34:56", "2024-02-29 12:34:56Z",
		"2024-02-29T24:00:00Z", "2024-02-29T12:60:00Z", "2024-02-29T12:34:60Z", "2024-02-29T12:34:56.Z",
		"2024-02-29T12:34:56Z ", " 2024-02-29", "2024-02-29Z", "20240229T123456Z", "2024-02-29T12:34:56 UTC",
		"1969-12-31", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00+00:01", "0000-01-01T00:00:00Z",
		"2262-01-01", "2262-01-01T00:00:00Z", "9999-12-31", "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
	} {
		if got, err := governance.ParseTimestamp(text); err == nil || got != 0 {
			t.Errorf("%q: got %s, %v, want an error", text, got, err)
		}
	}
}

func TestAMomentBetweenMillisecondsBoundsWhatIsBeforeIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-02-29":                     "2024-02-29T00:00:00.000Z",
		"2024-02-29T12:34:56.789Z":       "2024-02-29T12:34:56.789Z",
		"2024-02-29T12:34:56.789000001Z": "2024-02-29T12:34:56.790Z",
		"2024-02-29T12:34:56.999999999Z": "2024-02-29T12:34:57.000Z",
	} {
		check.Want(t, want, check.Must(governance.ParseBound(text))(t).String(), text)
	}
}

func TestTimestampOfUnixKeepsToItsBounds(t *testing.T) {
	t.Parallel()
	last := check.Must(governance.ParseTimestamp(lastMoment))(t)
	for seconds, want := range map[int64]governance.Timestamp{
		0: 0, 1: 1000, int64(last) / 1000: last - 999,
		-1: -1, int64(last)/1000 + 1: -1, int64(last): -1, -1 << 63: -1, 1<<63 - 1: -1, // refused
	} {
		if got, err := governance.TimestampOfUnix(seconds); (err != nil) != (want < 0) || got != max(want, 0) {
			t.Errorf("%d: got %d, %v, want %d", seconds, got, err, want)
		}
	}
}

func TestTimestampOfCutsToMilliseconds(t *testing.T) {
	t.Parallel()
	moment := time.Date(2024, 2, 29, 12, 34, 56, 789_999_999, time.FixedZone("", 3600))
	got := governance.TimestampOf(moment)
	check.Want(t, "2024-02-29T11:34:56.789Z", got.String())
	if back := got.Time(); !back.Equal(moment.Truncate(time.Millisecond)) || back.Location() != time.UTC {
		t.Errorf("got %s back, want %s in UTC", back, moment.Truncate(time.Millisecond))
	}
}

func TestTimestampIsTextInJSONAndNothingElse(t *testing.T) {
	t.Parallel()
	type row struct {
		At    governance.Timestamp  `json:"at"`
		Known *governance.Timestamp `json:"known"`
		Never *governance.Timestamp `json:"never"`
	}
	at := governance.Timestamp(1709210096007)
	text := check.Must(json.Marshal(row{At: at, Known: &at}))(t)
	want := `{"at":"2024-02-29T12:34:56.007Z","known":"2024-02-29T12:34:56.007Z","never":null}`
	if string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var back row
	check.MustDo(t, json.Unmarshal(text, &back))
	if back.At != at || back.Known == nil || *back.Known != at || back.Never != nil {
		t.Errorf("got %+v back, want %s twice and nil", back, at)
	}
	for _, text := range []string{`1709210096007`, `null`, `""`, `"yesterday"`, `{}`, `["2024-02-29"]`, `true`} {
		got := governance.Timestamp(7)
		if err := json.Unmarshal([]byte(text), &got); err == nil || got != 7 {
			t.Errorf("%s: got %d, %v, want an error and nothing changed", text, got, err)
		}
	}
}

func TestTimestampIsTheIntegerInMsgpack(t *testing.T) {
	t.Parallel()
	for _, at := range []governance.Timestamp{0, 1, 1709210096007} {
		encoded := check.Must(msgpack.Marshal(at))(t)
		integer := check.Must(msgpack.Marshal(int64(at)))(t)
		if !bytes.Equal(encoded, integer) {
			t.Errorf("%d: got % x, want the integer, % x", at, encoded, integer)
		}
		var back governance.Timestamp
		if err := msgpack.Unmarshal(encoded, &back); err != nil || back != at {
			t.Errorf("got %d, %v back, want %d", back, err, at)
		}
	}
}

func TestAnUnknownTimestampIsNilInMsgpack(t *testing.T) {
	t.Parallel()
	at := governance.Timestamp(7)
	for _, sync := range []governance.LatestSync{{}, {GovernanceAt: &at}} {
		encoded := check.Must(msgpack.Marshal(sync))(t)
		back := governance.LatestSync{ForumAt: &at}
		check.MustDo(t, msgpack.Unmarshal(encoded, &back))
		if (back.GovernanceAt == nil) != (sync.GovernanceAt == nil) || back.ForumAt != nil {
			t.Errorf("got %+v back, want %+v", back, sync)
		}
	}
}

func TestLaterTakesAnUnknownMomentForEarlier(t *testing.T) {
	t.Parallel()
	early, late := governance.Timestamp(1), governance.Timestamp(2)
	for _, test := range []struct{ a, b, want *governance.Timestamp }{
		{nil, nil, nil},
		{&early, nil, &early},
		{nil, &early, &early},
		{&early, &late, &late},
		{&late, &early, &late},
		{&late, &late, &late},
	} {
		if got := governance.Later(test.a, test.b); got != test.want {
			t.Errorf("Later(%v, %v): got %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

func TestParseUnixRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "now", "-1", "-0.001", "9214646400", "9214646399.9999e1", "999999999999", "9214646400000", "999999999999999",
		"9214646400000000", "9214646400000000000", "1e999999999", "0x10", "1_000", "2024-02-29", "1700000000s", "NaN",
	} {
		if got, err := governance.ParseUnix(text); err == nil || got != 0 {
			t.Errorf("%q: got %s, %v, want an error", text, got, err)
		}
	}
}

func FuzzParseUnix(f *testing.F) {
	for _, text := range []string{"1700000000", "1700000000.5", "1.7e9", "1700000000123", "1700000000123456789", "-0", "1e-400", "9214646399.9999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := governance.ParseUnix(text)
		if err != nil {
			return
		}
		if printed := got.String(); printed < "1970" || printed > lastMoment {
			t.Fatalf("%q: got %s, want a moment from 1970 to %s", text, printed, lastMoment)
		}
		seconds := fmt.Sprintf("%d.%03d", got/1000, got%1000)
		if again, err := governance.ParseUnix(seconds); err != nil || again != got {
			t.Fatalf("%q: %s reads as %s, %v", text, seconds, again, err)
		}
	})
}

func FuzzParseTimestamp(f *testing.F) {
	for _, text := range []string{
		"2024-02-29T12:34:56.789Z", "2024-02-29T12:34:56+05:30", "2024-02-29", lastMoment, "1969-12-31", "",
		"2024-02-29T12:34:56,5Z", "2024-02-30T00:00:00Z", "2261-12-31T23:59:59-00:01", "1970-01-01T00:00:00+00:01",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := governance.ParseTimestamp(text)
		if err != nil {
			return
		}
		printed := got.String()
		if len(printed) != len(lastMoment) || printed < "1970" || printed > lastMoment {
			t.Fatalf("%q: got %s, want a moment from 1970 to %s", text, printed, lastMoment)
		}
		if again, err := governance.ParseTimestamp(printed); err != nil || again != got {
			t.Fatalf("%q: %s reads as %s, %v", text, printed, again, err)
		}
	})
}
