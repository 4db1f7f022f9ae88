package governance

import (
	"maps"
	"slices"
	"strings"
	"unicode"
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
	// Name is the name as its source states it.
	Name string `json:"name" msgpack:"name"`
	// Source says who states it.
	Source NameSource `json:"source" msgpack:"source"`
	// Verified is true for a primary name whose own record leads to the voter.
	Verified bool `json:"verified" msgpack:"verified"`
	// Suspect is true for a name that may look like another: see IsSuspectName.
	Suspect bool `json:"suspect" msgpack:"suspect"`
}

// PreferredName returns the name of the first source that states one; nil for none. A primary name
// counts only if it is verified.
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
// seen or that reverse the text, letters of scripts that no language mixes, or the form of an address.
func IsSuspectName(name string) bool {
	if address := strings.ToLower(strings.TrimSpace(name)); strings.HasPrefix(address, "0x") {
		return true
	}
	scripts := map[string]bool{}
	for _, r := range name {
		if r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zs, r) && r != ' ' || r == unicode.ReplacementChar {
			return true
		}
		if unicode.IsLetter(r) {
			scripts[scriptOf(r)] = true
		}
	}
	return !isWritten(scripts)
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
