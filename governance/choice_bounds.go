package governance

import "slices"

// ChoiceBounds says how many choices a valid ballot names, beside that each of them exists and
// that it names none twice. Without Most, upstream states no choices, and all ballots are valid.
type ChoiceBounds struct {
	// Least and Most are the least and the largest number.
	Least int `json:"least" msgpack:"least"`
	Most  int `json:"most" msgpack:"most"`
}

// ChoiceBounds returns the bounds of a vote with some stated choices. On Snapshot, a ballot for
// one choice names one, and a ranking names all; on a Governor every ballot is valid.
func (p Provider) ChoiceBounds(v VoteType, choices int) ChoiceBounds {
	switch {
	case p == Snapshot && choices > 0 && slices.Contains([]VoteType{SingleChoice, Basic}, v):
		return ChoiceBounds{Most: 1}
	case p == Snapshot && slices.Contains([]VoteType{RankedChoice, Copeland}, v):
		return ChoiceBounds{Least: choices, Most: choices}
	}
	return ChoiceBounds{Most: choices}
}

// Allow reports whether a ballot that names some choices is valid.
func (b ChoiceBounds) Allow(choices int) bool {
	return b.Most == 0 || choices >= b.Least && choices <= b.Most
}
