package source_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pnyx/test/check"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// FuzzLine checks that a reader accepts or rejects every line, and that every accepted
// ballot is valid.
func FuzzLine(f *testing.F) {
	for i, format := range source.Formats() {
		f.Add(uint8(i), source.SampleLine(format))
		for _, text := range env.Lacking(f, source.SampleLine(format)) {
			f.Add(uint8(i), text)
		}
	}
	votes := uint8(slices.Index(source.Formats(), "Snapshot vote"))
	for _, choice := range []string{`[2,1,2]`, `{"1":3,"2":0.5e1}`, `{"1":1,"1":2}`, `"0x"`, `{}`, `[]`, `null`, `-0`, `1e1`} {
		f.Add(votes, vote(choice, "1.5e-3"))
	}
	f.Add(votes, "{\"\\u0069d\":\"\\ud83d\",\"\":[[{}]]} ")
	f.Fuzz(func(t *testing.T, format uint8, text string) {
		formats := source.Formats()
		file := source.File{Format: formats[int(format)%len(formats)], Host: forum}
		read, reason := source.ParseLine(file, text)
		if (read == nil) != (reason != "") {
			t.Fatalf("got record %v and reason %q, want one of them", read, reason)
		}
		if ballot, ok := read.(*record.Ballot); ok {
			checkBallot(t, ballot)
			if !json.Valid([]byte(ballot.RawChoice)) {
				t.Errorf("raw choice: got %q, want JSON", ballot.RawChoice)
			}
		}
	})
}

// FuzzFields checks that the JSON scanner accepts the objects that the standard library does,
// and no other text, and finds the same fields.
func FuzzFields(f *testing.F) {
	f.Add(`{}`)
	f.Add(` { "a" : 1 , "b\"" : [1, {"c":"]}"}] , "a":"\\" } `[1:])
	f.Add(`{"\ud800":null,"x":-1.5E+7,"y":true,"z":{"a":{}}}`)
	for _, invalid := range invalidObjects() {
		f.Add(invalid)
	}
	f.Fuzz(checkFields)
}

// checkFields compares the fields of a text with those that the standard library finds.
func checkFields(t *testing.T, text string) {
	t.Helper()
	var want map[string]json.RawMessage
	valid := strings.HasPrefix(text, "{") && utf8.ValidString(text) && json.Unmarshal([]byte(text), &want) == nil
	got, twice, ok := source.FieldsOf(text)
	if ok != valid {
		t.Fatalf("%.200q: got an object: %v, want %v", text, ok, valid)
	}
	if !ok {
		return
	}
	if again := statesTwice(t, text); twice != again {
		t.Fatalf("got a field twice: %t, want %t", twice, again)
	}
	if len(got) != len(want) {
		t.Fatalf("got fields %q, want %q", got, want)
	}
	for name, value := range want {
		check.Want(t, string(value), got[name], "field", name)
	}
}

// statesTwice reports whether a JSON object has several fields with one name.
func statesTwice(t *testing.T, text string) bool {
	t.Helper()
	seen := map[string]bool{}
	decoder := json.NewDecoder(strings.NewReader(text))
	check.Must(decoder.Token())(t)
	for decoder.More() {
		name := check.Must(decoder.Token())(t)
		var value json.RawMessage
		check.MustDo(t, decoder.Decode(&value))
		field := fmt.Sprint(name)
		if seen[field] {
			return true
		}
		seen[field] = true
	}
	return false
}

// Objects and arrays nest as deeply as the standard library allows.
func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{10_000, 10_001, 1 << 20} {
		checkFields(t, strings.Repeat(`{"a":`, depth-1)+"{}"+strings.Repeat("}", depth-1))
		checkFields(t, `{"a":`+strings.Repeat("[", depth-1)+strings.Repeat("]", depth-1)+"}")
		checkFields(t, `{"a":`+strings.Repeat("[", depth))
	}
}

// Every byte that is lost or replaced is noticed where the standard library notices it.
func TestDamagedLines(t *testing.T) {
	t.Parallel()
	const line = `{ "a\"\u00e9" : [ -1.5e+7 , {"b":[],"c":{}} , true,false,null ] , "ü":"x\\", "d":0 } `
	for i := range line {
		checkFields(t, line[:i])
		checkFields(t, line[:i]+line[i+1:])
		for c := range 256 {
			checkFields(t, line[:i]+string([]byte{byte(c)})+line[i+1:])
			checkFields(t, line[:i]+string([]byte{byte(c)})+line[i:])
		}
	}
}

// invalidObjects are almost JSON objects: each has one mistake.
func invalidObjects() []string {
	all := []string{
		"", "{", "}", "[]", "{}x", "{} {}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1;"b":2}`,
		`{"a" 1}`, `{"a":1`, `{"a":`, `{"a"`, `{"a`, `{"\u00g0":1}`, `{1:2}`, "{\"a\n\":1}", "\ufeff{}", "{\"\xff\":1}",
	}
	for _, value := range []string{
		"tru", "True", "nul", "falsey", "01", "-", "-01", "+1", "1.", ".5", "1e", "1e+", "1E-", "0x1", "1_000", "NaN", "Infinity", "--1",
		"[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{]", `{"b":1]`,
		`"`, `"\`, `"\"`, `"\x"`, `"\u"`, `"\u12"`, `"\u123"`, `"\u12 4"`, `"\U1234"`, "\"\t\"", "\"\x00\"", "'a'", "/**/1", "",
	} {
		all = append(all, `{"a":`+value+"}", `{"a":[`+value+`],"b":"x"}`)
	}
	return all
}
