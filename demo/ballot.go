package demo

import (
	"slices"
	"strconv"
	"time"
)

// maxChoices is the maximum number of choices of a proposal.
const maxChoices = 12

type ballot struct {
	id    [4]uint64
	voter address
	// lowerCase is true if the voter's address is written in lower case.
	lowerCase bool
	// at is in Unix seconds; 0 if upstream states no time. If dayOnly is set, at is
	// the beginning of a day.
	at      int64
	dayOnly bool
	// choices holds choiceCount indexes: the choice made, those approved or those
	// ranked. weights belong to them if the vote type divides power.
	choices     [maxChoices]int
	weights     [maxChoices]int
	choiceCount int
	power       power
	// reason is an index of texts.reasons, noReason or emptyReason.
	reason int
}

// Values of ballot.reason that are not an index.
const (
	noReason    = -1
	emptyReason = -2
)

// supersedes reports whether b counts, and not other, if the same voter cast both. A
// dated ballot wins over an undated one, then the later one, then the greater id.
func (b *ballot) supersedes(other *ballot) bool {
	if b.at != other.at {
		return b.at > other.at
	}
	return slices.Compare(b.id[:], other.id[:]) > 0
}

type ballotWriter struct {
	// prefix is the text after the id that all lines share.
	prefix  string
	reasons []string
	// choices are the names of a Governor's choices.
	choices []string
	// voteType decides how Snapshot writes a choice.
	voteType voteType
}

// appendSnapshot appends a line of a file in snapshot/votes/.
func (w *ballotWriter) appendSnapshot(text []byte, b *ballot) []byte {
	text = appendHash(append(text, `{"id":"`...), b.id)
	text = append(text, w.prefix...)
	if b.lowerCase {
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

func (w *ballotWriter) appendChoice(text []byte, b *ballot) []byte {
	switch w.voteType {
	case singleChoice, basic:
		return strconv.AppendInt(text, int64(b.choices[0])+1, 10)
	case weighted, quadratic:
		return appendWeights(text, b)
	case approval, rankedChoice, copeland:
	}
	text = append(text, '[')
	for i, choice := range b.choices[:b.choiceCount] {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(choice)+1, 10)
	}
	return append(text, ']')
}

// appendWeights appends the weights as a JSON object keyed by choice, counted from 1.
func appendWeights(text []byte, b *ballot) []byte {
	text = append(text, '{')
	for i, choice := range b.choices[:b.choiceCount] {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '"'), int64(choice)+1, 10)
		text = strconv.AppendInt(append(text, `":`...), int64(b.weights[i]), 10)
	}
	return append(text, '}')
}

// appendReason appends the reason as a JSON string or null.
func (w *ballotWriter) appendReason(text []byte, b *ballot) []byte {
	switch b.reason {
	case noReason:
		return append(text, "null"...)
	case emptyReason:
		return append(text, `""`...)
	}
	return append(append(append(text, '"'), w.reasons[b.reason]...), '"')
}

// appendTally appends a line of tally/votes.ndjson.gz.
func (w *ballotWriter) appendTally(text []byte, b *ballot) []byte {
	text = appendHash(append(text, `{"id":"`...), b.id)
	text = strconv.AppendUint(append(text, '-'), b.id[0]%400, 10)
	text = append(text, w.prefix...)
	text = append(text, w.choices[b.choices[0]]...)
	text = b.voter.appendLower(append(text, `","voter":{"address":"`...))
	text = b.power.rounded().appendBaseUnits(append(text, `"},"amount":"`...))
	text = w.appendReason(append(text, `","reason":`...), b)
	text = appendHash(append(text, `,"txHash":"`...), b.id)
	if b.at == 0 {
		return append(text, `","block":{"timestamp":null}}`...)
	}
	text = append(text, `","block":{"timestamp":"`...)
	text = time.Unix(b.at, 0).UTC().AppendFormat(text, time.RFC3339)
	return append(text, `"}}`...)
}
