package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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

// snapshotVote is a line of a file in snapshot/votes/.
type snapshotVote struct {
	ID         string      `json:"id"`
	Proposal   snapshotRef `json:"proposal"`
	Space      snapshotRef `json:"space"`
	Voter      string      `json:"voter"`
	Created    *int64      `json:"created"`
	Choice     any         `json:"choice"`
	Power      json.Number `json:"vp"`
	Reason     *string     `json:"reason"`
	CreatedDay string      `json:"created_day,omitempty"`
}

func (p *proposal) snapshotVote(b *ballot, reason *string) snapshotVote {
	line := snapshotVote{
		ID: hashText(b.id), Proposal: snapshotRef{p.id}, Space: snapshotRef{p.space}, Voter: b.voter.String(),
		Choice: b.choice(p.content.voteType), Power: b.power.number(), Reason: reason,
	}
	if b.lowerCase {
		line.Voter = b.voter.lower()
	}
	switch {
	case b.at == 0:
	case b.dayOnly:
		line.CreatedDay = formatDay(b.at)
	default:
		line.Created = &b.at
	}
	return line
}

// choice returns the choice as Snapshot writes it: a number from 1, or a list of them, or
// an object of weights.
func (b *ballot) choice(kind voteType) any {
	switch kind {
	case singleChoice, basic:
		return b.choices[0] + 1
	case weighted, quadratic:
		return b.weightsJSON()
	case approval, rankedChoice, copeland:
	}
	numbers := make([]int, b.choiceCount)
	for i := range numbers {
		numbers[i] = b.choices[i] + 1
	}
	return numbers
}

// weightsJSON returns the weights as a JSON object keyed by choice, counted from 1, in
// the order of the choices: a map would put 10 before 2.
func (b *ballot) weightsJSON() json.RawMessage {
	text := []byte{'{'}
	for i, choice := range b.choices[:b.choiceCount] {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `"%d":%d`, choice+1, b.weights[i])
	}
	return append(text, '}')
}

// tallyVote is a line of tally/votes.ndjson.gz.
type tallyVote struct {
	ID       string       `json:"id"`
	Proposal snapshotRef  `json:"proposal"`
	Type     string       `json:"type"`
	Voter    tallyAccount `json:"voter"`
	Amount   string       `json:"amount"`
	Reason   *string      `json:"reason"`
	TxHash   string       `json:"txHash"`
	Block    tallyBlock   `json:"block"`
}

func (p *proposal) tallyVote(b *ballot, reason *string) tallyVote {
	hash, voter := hashText(b.id), b.voter.lower()
	line := tallyVote{
		ID: hash + "-" + strconv.FormatUint(b.id[0]%400, 10), Proposal: snapshotRef{p.id},
		Type: governorChoices()[b.choices[0]], Voter: tallyAccount{&voter},
		Amount: b.power.rounded().baseUnitsText(), Reason: reason, TxHash: hash,
	}
	if b.at != 0 {
		line.Block = blockAt(b.at)
	}
	return line
}
