package governance

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// OptionalText returns text, or nil when it is empty: upstream does not state it.
func OptionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// NormalizeTitle returns a title as it is compared with others: without regard to case,
// to how characters are composed, and to the amount of white space.
func NormalizeTitle(title string) string {
	// Folding may take apart what was composed.
	folded := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(title)))
	return strings.Join(strings.Fields(folded), " ")
}

// NormalizeExternalID returns an id as it is compared with others: hexadecimal ones in
// lower case; in others (Snapshot's older ones are base58) the case matters.
func NormalizeExternalID(id string) string {
	return VoterIdentity(strings.TrimSpace(id))
}
