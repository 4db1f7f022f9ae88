package governance

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the candidate that is most similar to a text, ignoring case; empty when
// more than a third of the letters differ from every candidate.
func Nearest(text string, candidates []string) string {
	best, distance := "", 0
	for _, candidate := range candidates {
		d := levenshtein.ComputeDistance(strings.ToLower(text), strings.ToLower(candidate))
		if 3*d <= len(candidate)+1 && (best == "" || d < distance) {
			best, distance = candidate, d
		}
	}
	return best
}
