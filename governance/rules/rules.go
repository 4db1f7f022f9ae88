// Package rules holds the tables that derived facts come from: the types of events
// and their importance, the rules of signals, the relevance of forum topics, quality
// flags, and the warnings of evidence. Its functions are pure: they get facts and
// return results.
//
// EventTypes, SignalRules, TopicRules, QualityFlags and WarningRules are the tables;
// Rulebook renders all of them as the document docs/rules.md.
package rules
