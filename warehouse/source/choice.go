package source

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// maxChoiceNumber is the highest number of a choice that a ballot can state.
const maxChoiceNumber = 1<<16 - 1

// readChoice sets the choices that a Snapshot ballot supports: one choice, a list of
// choices, or weights by choice. The ballot's power must be set before. One that names what
// can be no choice supports none, as upstream counts it.
func readChoice(choice value, ballot *record.Ballot) {
	ballot.RawChoice = compactJSON(choice.json)
	switch typeOf(choice.json) {
	case typeNumber, typeString:
		if key, exists := choice.choiceNumber(); exists {
			ballot.RawChoice, ballot.ChoiceKey, ballot.Choices = key, key, []string{key}
		} else if bytes.HasPrefix(choice.json, []byte(`"0x`)) {
			choice.reject("is encrypted; import again after it is revealed")
		} else if IsEncrypted(choice.json) {
			choice.rejectUnlike("a number, an array or an object")
		} else {
			ballot.RawChoice = choice.numberText()
		}
	case typeArray:
		readChoices(choice, ballot)
	case typeObject:
		if IsEncrypted(choice.json) {
			choice.reject("is encrypted for good; only the totals of the vote become known")
			return
		}
		readWeights(choice, ballot)
	default:
		choice.reject("is %s; want a number, an array or an object", typeOf(choice.json))
	}
}

// IsEncrypted reports whether a choice, in JSON, is encrypted: a text that is no number, or an object with
// the ciphertexts of a vote that stays private.
func IsEncrypted(choice []byte) bool {
	if typeOf(choice) == typeObject && bytes.Contains(choice, []byte(`"ciphertexts"`)) {
		return true
	}
	var text string
	if typeOf(choice) != typeString || json.Unmarshal(choice, &text) != nil {
		return false
	}
	_, err := governance.ParseNumber(text)
	return err != nil
}

// choiceNumber returns the key of a choice, and whether there can be such a choice. Equal
// choices have equal keys: 1.0 and "1" are 1.
func (v value) choiceNumber() (key string, exists bool) {
	n, err := governance.ParseWhole(strings.Trim(string(v.json), `" `))
	if err != nil || n < 1 || n > maxChoiceNumber {
		return "", false
	}
	return strconv.FormatUint(n, 10), true
}

// readChoices sets the choices of a list. One with a choice twice supports none, as upstream counts it.
func readChoices(choice value, ballot *record.Ballot) {
	var keys []string
	named := map[string]bool{}
	for element := range choice.elements() {
		key, exists := element.choiceNumber()
		if !exists {
			return
		}
		named[key] = true
		keys = append(keys, key)
	}
	if len(keys) > 0 {
		ballot.RawChoice = "[" + strings.Join(keys, ",") + "]"
	}
	if len(keys) > 0 && len(named) == len(keys) {
		ballot.Choices, ballot.ChoiceKey = keys, keys[0]
	}
}

func isChoiceNumber(key string) bool {
	n, err := strconv.ParseUint(key, 10, 64)
	return err == nil && n >= 1 && n <= maxChoiceNumber && strconv.FormatUint(n, 10) == key
}

// readWeights sets a ballot's weights by choice. One with a weight below zero, or one that is no
// number, supports none, as upstream counts it.
func readWeights(choice value, ballot *record.Ballot) {
	weights := map[string]decimal.Decimal{}
	for field := range choice.object().fields() {
		if !isChoiceNumber(field.name) {
			return
		}
		weight, err := governance.ParseNumber(strings.Trim(string(field.json), `"`))
		if err != nil || weight.IsNegative() {
			return
		}
		weights[field.name] = weight
	}
	keys := slices.SortedFunc(maps.Keys(weights), governance.CompareChoiceKeys)
	ordered := make([]decimal.Decimal, len(keys))
	for i, key := range keys {
		ordered[i] = weights[key]
	}
	ballot.SetWeights(keys, ordered)
}
