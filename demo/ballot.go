package demo

import (
	"slices"
	"strconv"
	"time"
)

// maxChoices is how many choices a proposal has at the most.
const maxChoices = 12

// ballot is a vote that somebody casts.
type ballot struct {
	id    [4]uint64
	voter address
	// lower says that the voter's address is written in lower case.
	lower bool
	// at is in unix seconds, 0 where no time is known. With dayOnly it is the
	// beginning of a day.
	at      int64
	dayOnly bool
	// picks holds size choices from 0: the one, those approved, or those ranked;
	// weights goes with them where power is divided.
	picks   [maxChoices]int
	weights [maxChoices]int
	size    int
	power   power
	// reason is an index into the reasons, with noReason and emptyReason.
	reason int
}

// Reasons that are not texts.
const (
	noReason    = -1
	emptyReason = -2
)

// supersedes says whether of two casts of a voter b counts and not other: a dated
// one before an undated, the later, then the one with the greater id.
func (b *ballot) supersedes(other *ballot) bool {
	if b.at != other.at {
		return b.at > other.at
	}
	return slices.Compare(b.id[:], other.id[:]) > 0
}

// ballotWriter writes the ballots of a proposal as lines.
type ballotWriter struct {
	// prefix and middle are what all lines have in common: from the end of the id
	// to the voter, whatever the provider.
	prefix  string
	reasons []string
	choices []string // of a Governor
	voteOf  voteType
}

// snapshot appends a line of a file in snapshot/votes.
func (w *ballotWriter) snapshot(text []byte, b *ballot) []byte {
	text = appendHash(append(text, `{"id":"`...), b.id)
	text = append(text, w.prefix...)
	if b.lower {
		text = b.voter.appendLower(text)
	} else {
		text = b.voter.append(text)
	}
	text = append(text, `","created":`...)
	if b.at == 0 || b.dayOnly {
		text = append(text, "null"...)
	} else {
		text = strconv.AppendInt(text, b.at, 10)
	}
	text = w.appendChoice(append(text, `,"choice":`...), b)
	text = b.power.append(append(text, `,"vp":`...))
	text = w.appendReason(append(text, `,"reason":`...), b)
	if b.dayOnly && b.at > 0 {
		text = append(text, `,"created_day":"`...)
		text = append(time.Unix(b.at, 0).UTC().AppendFormat(text, time.DateOnly), '"')
	}
	return append(text, '}')
}

// appendChoice appends a choice the way its vote type is written.
func (w *ballotWriter) appendChoice(text []byte, b *ballot) []byte {
	switch w.voteOf {
	case singleChoice, basic:
		return strconv.AppendInt(text, int64(b.picks[0])+1, 10)
	case weighted, quadratic:
		return appendWeights(text, b)
	case approval, rankedChoice, copeland:
	}
	text = append(text, '[')
	for i, choice := range b.picks[:b.size] {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(choice)+1, 10)
	}
	return append(text, ']')
}

func appendWeights(text []byte, b *ballot) []byte {
	text = append(text, '{')
	for i, choice := range b.picks[:b.size] {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '"'), int64(choice)+1, 10)
		text = strconv.AppendInt(append(text, `":`...), int64(b.weights[i]), 10)
	}
	return append(text, '}')
}

func (w *ballotWriter) appendReason(text []byte, b *ballot) []byte {
	switch b.reason {
	case noReason:
		return append(text, "null"...)
	case emptyReason:
		return append(text, `""`...)
	}
	return append(append(append(text, '"'), w.reasons[b.reason]...), '"')
}

// tally appends a line of Tally's votes.ndjson.gz.
func (w *ballotWriter) tally(text []byte, b *ballot) []byte {
	text = appendHash(append(text, `{"id":"`...), b.id)
	text = strconv.AppendUint(append(text, '-'), b.id[0]%400, 10)
	text = append(text, w.prefix...)
	text = append(text, w.choices[b.picks[0]]...)
	text = b.voter.appendLower(append(text, `","voter":{"address":"`...))
	text = b.power.counted().appendAtoms(append(text, `"},"amount":"`...))
	text = w.appendReason(append(text, `","reason":`...), b)
	text = appendHash(append(text, `,"txHash":"`...), b.id)
	if b.at == 0 {
		return append(text, `","block":{"timestamp":null}}`...)
	}
	text = append(text, `","block":{"timestamp":"`...)
	text = time.Unix(b.at, 0).UTC().AppendFormat(text, time.RFC3339)
	return append(text, `"}}`...)
}
