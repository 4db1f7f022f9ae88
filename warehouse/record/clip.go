package record

import (
	"strings"
	"unicode/utf8"
)

// Clip returns at most limit bytes of a text, as valid UTF-8 and without a part of a character.
func Clip(text string, limit int) string {
	cut := strings.ToValidUTF8(text[:min(len(text), limit+utf8.UTFMax)], "\uFFFD")
	if len(cut) <= limit {
		return cut
	}
	for !utf8.RuneStart(cut[limit]) {
		limit--
	}
	return cut[:limit]
}
