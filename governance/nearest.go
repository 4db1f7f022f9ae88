package governance

import (
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the candidate most similar to a text, ignoring case; empty if over a third of letters differ.
func Nearest(text string, candidates []string) string {
	best, distance, length := "", 0, utf8.RuneCountInString(text)
	for _, candidate := range candidates {
		differ := length - utf8.RuneCountInString(candidate) // as many letters as that differ
		if 3*max(differ, -differ) > len(candidate)+1 {
			continue // comparing takes the product of both lengths
		}
		d := levenshtein.ComputeDistance(strings.ToLower(text), strings.ToLower(candidate))
		if 3*d <= len(candidate)+1 && (best == "" || d < distance) {
			best, distance = candidate, d
		}
	}
	return best
}
