package source_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// FuzzLine checks that a reader accepts or rejects every line, and that every accepted
// ballot is valid.
func FuzzLine(f *testing.F) {
	for i, format := range source.Formats() {
		f.Add(uint8(i), source.SampleLine(format))
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

// FuzzFields compares the JSON scanner with the standard library.
func FuzzFields(f *testing.F) {
	f.Add(`{}`)
	f.Add(` { "a" : 1 , "b\"" : [1, {"c":"]}"}] , "a":"\\" } `[1:])
	f.Add(`{"\ud800":null,"x":-1.5E+7,"y":true,"z":{"a":{}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var want map[string]json.RawMessage
		if !strings.HasPrefix(text, "{") || !utf8.ValidString(text) || json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		got := source.FieldsOf(text)
		if len(got) != len(want) {
			t.Fatalf("got fields %q, want %q", got, want)
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Errorf("field %q: got %q, want %q", name, got[name], value)
			}
		}
	})
}
