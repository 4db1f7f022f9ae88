package rules

import (
	"fmt"
	"pnyx/governance"
	"strings"
)

// Rulebook returns, as Markdown, every rule by which events, signals, relevance,
// quality flags and warnings are worked out.
func Rulebook() []byte {
	var text strings.Builder
	text.WriteString("# What is worked out, and by which rules\n\nMade by `make docs`.\n")
	writeEventRules(&text)
	writeSignalRules(&text)
	text.WriteString("\n## Topics\n\n" + TopicRulesMarkdown())
	text.WriteString("\n## Quality flags\n\n| flag | meaning |\n|---|---|\n")
	for _, rule := range QualityFlags() {
		fmt.Fprintf(&text, "| `%s` | %s |\n", rule.Flag, rule.Meaning)
	}
	text.WriteString("\n## Warnings of evidence\n\n| code | field | meaning | details |\n|---|---|---|---|\n")
	for _, rule := range WarningRules() {
		fmt.Fprintf(&text, "| `%s` | `%s` | %s | `%s` |\n", rule.Code, rule.Field, rule.Meaning, strings.Join(rule.Details, "`, `"))
	}
	return []byte(text.String())
}

func writeEventRules(text *strings.Builder) {
	text.WriteString("\n## Events\n\n| type | about | meaning | importance |\n|---|---|---|---|\n")
	for _, event := range EventTypes() {
		fmt.Fprintf(text, "| `%s` | %s | %s | %d |\n", event.Name, event.Item, event.Meaning, event.Importance)
	}
	fmt.Fprintf(text, "\nAn event scores what its type is worth, and %d more for each of 100, 1,000 and 10,000 ballots (of a topic: 10,\n"+
		"100 and 1,000 posts) that its item has; %d at the most where only the time of its discovery is known.\n", attentionStep, maxDiscoveredImportance)
}

func writeSignalRules(text *strings.Builder) {
	text.WriteString("\n## Signals\n\nWhat is imported wins over what a rule finds about the same thing. Rules look at the ballots that count in the\n" +
		"end, as far as they were cast by the time of detection: a window of the past answers the same at any time.\n\n" +
		"| type | condition | detected at | score | what to do | evidence |\n|---|---|---|---|---|---|\n")
	for _, rule := range SignalRules() {
		fmt.Fprintf(text, "| `%s` | %s | %s | %s | `%s` | `%s` |\n", rule.Type, rule.Condition, rule.DetectedAt, rule.Scoring,
			rule.Actionability, strings.Join(rule.Evidence, "`, `"))
	}
	text.WriteString("\n| band | score from |\n|---|---|\n")
	for _, band := range PriorityBands() {
		fmt.Fprintf(text, "| `%s` | %d |\n", band.Name, band.From)
	}
	fmt.Fprintf(text, "\n| surface | what it shows |\n|---|---|\n| `%s` | everything |\n| `%s` | scores from %d |\n| `%s` | scores from %d |\n"+
		"| `%s` | scores from %d with a deadline |\n",
		governance.AgentSurface, governance.AtlasLatest, latestFrom, governance.AtlasPriority, priorityFrom, governance.TelegramRealtime, realtimeFrom)
}
