package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pnyx/mcp"
	"pnyx/test/env"
)

func FuzzTextsAreWrittenAsJSON(f *testing.F) {
	f.Add("a\"b\\c\n\x00\x1f\u2028é🗳")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		var got string
		if err := json.Unmarshal(mcp.AppendString(text), &got); err != nil || got != text {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
	})
}

// A part fits its room, is cut between characters, and the parts are the text.
func FuzzPartsOfATextAreTheText(f *testing.F) {
	f.Add("aé界🗳\n\"\\\x01", 3, 300)
	f.Fuzz(func(t *testing.T, text string, limit, room int) {
		text, limit, room = strings.ToValidUTF8(text, ""), 1+abs(limit)%100, 150+abs(room)%500
		if len(text) > 10_000 {
			t.Skip()
		}
		whole := env.Must(json.Marshal(text))(t)
		var read strings.Builder
		for offset := 0; ; {
			written := mcp.AppendWindow(whole, offset, limit, room)
			var part struct {
				Text       string
				TotalChars int
				Truncated  bool
				NextOffset *int
			}
			if err := json.Unmarshal(written, &part); err != nil || len(written) > room {
				t.Fatalf("part at %d: %d bytes of %d, %v: %s", offset, len(written), room, err, written)
			}
			if part.TotalChars != utf8.RuneCountInString(text) || part.Truncated != (part.NextOffset != nil) {
				t.Fatalf("part at %d: %s", offset, written)
			}
			read.WriteString(part.Text)
			if part.NextOffset == nil {
				break
			}
			if *part.NextOffset <= offset {
				t.Fatalf("part at %d goes on at %d", offset, *part.NextOffset)
			}
			offset = *part.NextOffset
		}
		env.Want(t, text, read.String())
	})
}

func abs(number int) int {
	if number < 0 {
		return -(number + 1)
	}
	return number
}
