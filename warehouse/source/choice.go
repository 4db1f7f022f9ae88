package source

import (
	"maps"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// maxChoiceNumber is the highest number of a choice that a ballot can state.
const maxChoiceNumber = 1<<16 - 1

// wantChoiceNumber describes a valid choice in rejection reasons.
const wantChoiceNumber = "the number of a choice, 1 to 65535"

// readChoice sets the choices that a Snapshot ballot supports: one choice, a list of
// choices, or weights by choice. The ballot's power must be set before.
func readChoice(choice value, ballot *record.Ballot) {
	ballot.RawChoice = compactJSON(choice.json)
	switch typeOf(choice.json) {
	case typeNumber:
		ballot.ChoiceKey = choice.choiceNumber()
		ballot.Choices = []string{ballot.ChoiceKey}
	case typeArray:
		ballot.Choices = choiceNumbers(choice)
		if len(ballot.Choices) > 0 {
			ballot.ChoiceKey = ballot.Choices[0]
		}
	case typeObject:
		readWeights(choice, ballot)
	case typeString:
		choice.reject("is encrypted; import again after it is revealed")
	default:
		choice.reject("is %s; want a number, an array or an object", typeOf(choice.json))
	}
}

func (v value) choiceNumber() string {
	if !v.require(typeNumber) {
		return ""
	}
	if !isChoiceNumber(string(v.json)) {
		v.rejectUnlike(wantChoiceNumber)
	}
	return string(v.json)
}

// isChoiceNumber reports whether a key is a choice in canonical notation. It is false
// for "01" and "1.0": equal choices must have equal keys.
func isChoiceNumber(key string) bool {
	n, err := strconv.ParseUint(key, 10, 64)
	return err == nil && n >= 1 && n <= maxChoiceNumber && strconv.FormatUint(n, 10) == key
}

// choiceNumbers returns the keys of an array of choices. One that repeats a choice supports
// none, as upstream counts it.
func choiceNumbers(choice value) []string {
	var keys []string
	named := map[string]bool{}
	for element := range choice.elements() {
		key := element.choiceNumber()
		named[key] = true
		keys = append(keys, key)
	}
	if len(named) < len(keys) {
		return nil
	}
	return keys
}

// readWeights sets a ballot's weights by choice. Of repeated choices the last counts,
// as in any JSON object.
func readWeights(choice value, ballot *record.Ballot) {
	weights := map[string]decimal.Decimal{}
	for field := range choice.object().fields() {
		if !isChoiceNumber(field.name) {
			choice.reject("has a weight for %q; want %s", record.Clip(field.name, maxShownValue), wantChoiceNumber)
			return
		}
		if !field.require(typeNumber) {
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
		choice.reject("is refused: %v", err)
	}
}
