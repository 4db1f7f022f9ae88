package governance

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldTitle returns a title as it is compared with others: without regard to case,
// to how characters are composed, and to the amount of white space.
func FoldTitle(title string) string {
	// Folding may take apart what was composed.
	folded := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(title)))
	return strings.Join(strings.Fields(folded), " ")
}

// FoldExternalID returns an id as it is compared with others: hexadecimal ones in
// lower case; in others (Snapshot's older ones are base58) the case matters.
func FoldExternalID(id string) string {
	return VoterIdentity(strings.TrimSpace(id))
}
