// Package rules holds the tables that derived facts come from: the types of events
// and their importance, the rules of signals, the relevance of forum topics, quality
// flags, and the warnings of evidence. Its functions are pure: they get facts and
// return results.
//
// EventTypes, SignalRules, FindingRules, TopicRules, QualityFlags and WarningRules are the
// tables; all but TopicRules are read from JSON files with the names of the rows' fields.
// Rulebook renders all of them as the document docs/rules.md.
package rules

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

//go:embed *.json
var tables embed.FS

// table returns a function that returns the rows of a file. A test finds files that cannot be read.
func table[Row any](file string) func() []Row {
	read := sync.OnceValue(func() (rows []Row) {
		text, err := tables.ReadFile(file)
		if err == nil {
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.DisallowUnknownFields()
			err = decoder.Decode(&rows)
		}
		if err != nil {
			panic(fmt.Sprintf("%s: %v", file, err))
		}
		return rows
	})
	return func() []Row { return slices.Clone(read()) }
}
