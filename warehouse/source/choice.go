package source

import (
	"maps"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// maxPosition is the highest choice that a ballot can name.
const maxPosition = 1<<16 - 1

const wantedPosition = "the number of a choice, 1 to 65535"

// readChoice fills in what a Snapshot ballot supports: one choice, a list of them,
// or weights by choice. The ballot's power has to be known.
func readChoice(choice value, ballot *record.Ballot) {
	ballot.RawChoice = compact(choice.json)
	switch kindOf(choice.json) {
	case kindNumber:
		ballot.ChoiceKey = choice.position()
		ballot.Choices = []string{ballot.ChoiceKey}
	case kindList:
		ballot.Choices = positions(choice)
		if len(ballot.Choices) > 0 {
			ballot.ChoiceKey = ballot.Choices[0]
		}
	case kindObject:
		readWeights(choice, ballot)
	case kindText:
		choice.refuse("is encrypted; import again after it is revealed")
	default:
		choice.refuse("is %s; want a number, a list or an object", kindOf(choice.json))
	}
}

// position returns the key of the choice at a position.
func (v value) position() string {
	if !v.must(kindNumber) {
		return ""
	}
	if !isPosition(string(v.json)) {
		v.refuseFor(wantedPosition)
	}
	return string(v.json)
}

// isPosition refuses other spellings of a number ("01", "1.0"): equal choices
// have equal keys.
func isPosition(key string) bool {
	n, err := strconv.ParseUint(key, 10, 64)
	return err == nil && n >= 1 && n <= maxPosition && strconv.FormatUint(n, 10) == key
}

// positions returns the keys of a list of choices; of repeats the first counts.
func positions(choice value) []string {
	var keys []string
	named := map[string]bool{}
	for element := range choice.list() {
		key := element.position()
		if !named[key] {
			named[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// readWeights reads weights by choice; of repeats the last counts, as in any
// JSON object.
func readWeights(choice value, ballot *record.Ballot) {
	weights := map[string]decimal.Decimal{}
	for field := range choice.object().fields() {
		if !isPosition(field.name) {
			choice.refuse("has a weight for %q; want %s", clip(field.name, maxShownValue), wantedPosition)
			return
		}
		if !field.must(kindNumber) {
			return
		}
		weight, _ := field.power()
		if weight == nil {
			return
		}
		weights[field.name] = *weight
	}
	keys := slices.SortedFunc(maps.Keys(weights), governance.CompareChoiceKeys)
	ordered := make([]decimal.Decimal, len(keys))
	for i, key := range keys {
		ordered[i] = weights[key]
	}
	if err := ballot.SetWeights(keys, ordered); err != nil {
		choice.refuse("is refused: %v", err)
	}
}
