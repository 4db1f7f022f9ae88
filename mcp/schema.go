package mcp

import (
	"encoding/json"
	"slices"

	"pnyx/api/param"
)

// listing is a tool as tools/list describes it.
type listing struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
}

func listTools(tools []*tool, payments bool) []byte {
	var all []listing
	for _, t := range tools {
		all = append(all, listing{
			Name: t.Name, Title: t.Title, Description: t.Description + " Tier: " + t.tier() + ".",
			InputSchema: t.inputSchema(), OutputSchema: t.outputSchema(payments),
			Annotations: map[string]any{
				"title": t.Title, "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true,
			},
		})
	}
	return membersOf(map[string]any{"tools": all})
}

// tier names the tiers of the routes that every call reads.
func (t *tool) tier() string {
	route := t.byRoute[t.Routes[0]]
	return string(route.Tier)
}

type property struct {
	Type        string    `json:"type"`
	Description string    `json:"description,omitempty"`
	Enum        []string  `json:"enum,omitempty"`
	Items       *property `json:"items,omitempty"`
	Minimum     *int      `json:"minimum,omitempty"`
	Maximum     *int      `json:"maximum,omitempty"`
	Default     any       `json:"default,omitempty"`
}

// inputSchema returns the schema of the arguments, in the order of the parameters.
func (t *tool) inputSchema() json.RawMessage {
	text, required := []byte(`{"type":"object","properties":{`), []string{}
	for i, param := range t.params {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(appendString(text, param.Name), ':'), encode(propertyOf(param))...)
		if param.Required {
			required = append(required, param.Name)
		}
	}
	text = append(text, '}')
	if len(required) > 0 {
		text = append(append(text, `,"required":`...), encode(required)...)
	}
	return append(text, `,"additionalProperties":false}`...)
}

func propertyOf(one param.Param) property {
	p := property{Type: "string", Description: one.Description}
	if one.Default != "" {
		p.Default = one.JSON(one.Default)
	}
	switch one.Kind {
	case param.Integer:
		p.Type, p.Minimum, p.Maximum = "integer", &one.Min, &one.Max
	case param.Boolean:
		p.Type = "boolean"
	case param.Enum:
		p.Enum = one.Enum
	case param.EnumList:
		p.Type, p.Items = "array", &property{Type: "string", Enum: one.Enum}
	case param.Instant:
		p.Description += " RFC 3339, or a date."
	case param.Month:
		p.Description += " YYYY-MM."
	case param.Text, param.Cursor, param.ProposalKey, param.TopicKey, param.Voter:
	}
	return p
}

// outputSchema returns the schema of structuredContent. Clients hold errors against it, too,
// so that it requires data, an error or, where payments are taken, the terms of one.
func (t *tool) outputSchema(payments bool) json.RawMessage {
	properties := map[string]any{
		"data": map[string]any{}, "meta": map[string]any{"type": "object"},
		"error": map[string]any{"type": []string{"object", "string"}},
	}
	kinds := []any{map[string]any{"required": []string{"data", "meta"}}, map[string]any{"required": []string{"error"}}}
	isPaid := slices.ContainsFunc(t.Routes, func(id string) bool { route := t.byRoute[id]; return route.Paid() })
	if payments && isPaid { // a call may cost something
		properties["x402Version"] = map[string]any{"type": "integer"}
		properties["accepts"] = map[string]any{"type": "array"}
		properties["resource"] = map[string]any{"type": "object"}
		kinds = append(kinds, map[string]any{"required": []string{"x402Version", "accepts"}})
	}
	return encode(map[string]any{"type": "object", "properties": properties, "anyOf": kinds})
}
