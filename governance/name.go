package governance

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// NameSource says who states the name of a voter.
type NameSource string

// The sources of names, in order of precedence.
const (
	// NameOfENS is a primary name of the Ethereum Name Service.
	NameOfENS NameSource = "ens"
	// NameOfFile is a name in the sources file, or of an import.
	NameOfFile NameSource = "sources"
	// NameOfTally is the name of a profile at Tally, and NameOfSnapshot at Snapshot.
	NameOfTally    NameSource = "tally"
	NameOfSnapshot NameSource = "snapshot"
	// NameOfForum is a user of a forum who is linked to the voter.
	NameOfForum NameSource = "forum"
)

// NameSources lists every NameSource in order of precedence.
func NameSources() []NameSource {
	return []NameSource{NameOfENS, NameOfFile, NameOfTally, NameOfSnapshot, NameOfForum}
}

// MaxName is the greatest length of a name in bytes.
const MaxName = 255

// VoterName is the name of a voter. It stands beside the identity, and replaces it nowhere.
type VoterName struct {
	Name     string     `json:"name" msgpack:"name"`
	Source   NameSource `json:"source" msgpack:"source"`
	Verified bool       `json:"verified" msgpack:"verified"`
	// Suspect is true for a name that may look like another: see IsSuspectName.
	Suspect bool `json:"suspect" msgpack:"suspect"`
}

// PreferredName returns the name of the first source that states one; nil for none. Names of ENS must be verified.
func PreferredName(names []VoterName) *VoterName {
	for _, source := range NameSources() {
		at := slices.IndexFunc(names, func(n VoterName) bool {
			return n.Source == source && n.Name != "" && (n.Verified || source != NameOfENS)
		})
		if at >= 0 {
			return &names[at]
		}
	}
	return nil
}

// IsSuspectName reports whether a name of a voter may look like another: it has characters that are not
// seen, that reverse the text or that stand for plain letters, letters of scripts that no language mixes, or
// the form of an address, whole or cut.
func IsSuspectName(name string) bool {
	const digits = "0123456789abcdef.\u2026*"
	if address := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), ".eth"); strings.HasPrefix(address, "0x") || strings.HasPrefix(address, "ox") {
		const shortest = 6
		if len(address) >= shortest && strings.Trim(address[2:], digits) == "" {
			return true
		}
	}
	scripts, before := map[string]bool{}, rune(0)
	for _, r := range WithoutJoiners(name) {
		if isUnseen(r, before) || isForm(r) {
			return true
		}
		if before = r; unicode.IsLetter(r) {
			scripts[scriptOf(r)] = true
		}
	}
	return !isWritten(scripts)
}

// isUnseen reports whether a character behind another is not seen, or not as what it is.
func isUnseen(r, before rune) bool {
	const blankBraille = '\u2800'
	switch {
	case r == ' ':
		return false
	case unicode.Is(unicode.Variation_Selector, r): // it chooses the form of an emoji
		return unicode.IsLetter(before)
	}
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zs, r) || r == unicode.ReplacementChar ||
		r == blankBraille || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// isForm reports whether a character is another form of a letter or digit of ASCII.
func isForm(r rune) bool {
	plain := norm.NFKC.String(string(r))
	return r > unicode.MaxASCII && strings.ContainsFunc(plain, func(p rune) bool {
		return p <= unicode.MaxASCII && (unicode.IsLetter(p) || unicode.IsDigit(p))
	})
}

// WithoutJoiners leaves out the joiners that make one emoji of several.
func WithoutJoiners(name string) string {
	const joiner = '\u200d'
	runes := []rune(name)
	var kept []rune
	for i, r := range runes {
		joins := r == joiner && i > 0 && i+1 < len(runes) && unicode.IsSymbol(runes[i+1]) &&
			(unicode.IsSymbol(runes[i-1]) || unicode.Is(unicode.Variation_Selector, runes[i-1]))
		if !joins {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

// scriptOf returns the script of a letter; "Common" for one of none.
func scriptOf(r rune) string {
	if r <= unicode.MaxLatin1 {
		return "Latin"
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return "Common"
}

// isWritten reports whether one language is written in some scripts: in one, or as Chinese, Japanese and
// Korean beside Latin letters. Common letters belong to each.
func isWritten(scripts map[string]bool) bool {
	for _, together := range []string{"Latin Han Hiragana Katakana", "Latin Han Bopomofo", "Latin Han Hangul"} {
		known := append(strings.Fields(together), "Common", "Inherited")
		if !slices.ContainsFunc(slices.Collect(maps.Keys(scripts)), func(script string) bool { return !slices.Contains(known, script) }) {
			return true
		}
	}
	delete(scripts, "Common")
	delete(scripts, "Inherited")
	return len(scripts) <= 1
}
