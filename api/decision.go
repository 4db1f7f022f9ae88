package api

import (
	"bytes"
	"fmt"
	"strings"
)

// decision answers a question that the contract leaves open.
type decision struct{ question, answer string }

// Decisions returns, as Markdown, what the contract leaves open and how it is
// answered, with every enumeration.
func Decisions() ([]byte, error) {
	schemas, err := newSchemas()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	text.WriteString("# What the contract leaves open\n\nMade by `make docs`.\n\n## Decisions\n\n| question | answer |\n|---|---|\n")
	for _, d := range decisions() {
		fmt.Fprintf(&text, "| %s | %s |\n", d.question, d.answer)
	}
	text.WriteString("\n## Error codes\n\n| status | code | when | what to do |\n|---|---|---|---|\n")
	for _, info := range Codes() {
		fmt.Fprintf(&text, "| %d | `%s` | %s | %s |\n", info.Status, info.Code, info.Description, info.Fix)
	}
	text.WriteString("\n## Enumerations of parameters\n\n| route | parameter | values | default |\n|---|---|---|---|\n")
	for _, route := range Routes() {
		for _, param := range route.Params {
			if len(param.Enum) > 0 {
				fmt.Fprintf(&text, "| `%s` | `%s` | %s | %s |\n", route.ID, param.Name, quoted(param.Enum), quoted(given(param.Default)))
			}
		}
		envelopeSchema(schemas, route)
	}
	text.WriteString("\n## Enumerations of answers\n\n| name | values | meaning |\n|---|---|---|\n")
	for _, component := range schemas.Components() {
		if len(component.Value.Enum) > 0 {
			fmt.Fprintf(&text, "| %s | %s | %s |\n", component.Name, quoted(component.Value.Enum), component.Value.Description)
		}
	}
	return text.Bytes(), nil
}

func quoted(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return "`" + strings.Join(values, "`, `") + "`"
}

func given(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
