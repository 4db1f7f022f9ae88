package mcp

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"pnyx/api/param"
	"pnyx/api/routes"
)

// tool is one tool. Its arguments are the parameters of the routes that it reads.
type tool struct {
	Name, Title string
	// Description says what the tool is for, and when another is better.
	Description string
	// Routes are the ids of the routes that the tool may read, the first one always.
	Routes []string
	// Without names parameters of the routes that the tool does not have.
	Without []string
	// Rows and MaxRows are the default and the maximum of limit; zero for the route's.
	Rows, MaxRows int
	// Concise is what a row keeps unless the call asks for all of it; nil for no choice.
	Concise shape
	// Extra are arguments that no route has. Text adds textParams, Timeline the metric of the timeline.
	Extra          []param.Param
	Text, Timeline bool
	// Window says that from and to may be left out: for the last seven days.
	Window bool
	// run answers a call with the JSON of the members data and meta.
	run func(*call) ([]byte, error)
	// params are all arguments, and byRoute the routes by id; allTools fills them in.
	params  []param.Param
	byRoute map[string]routes.Route
}

// Names of arguments that no route has.
const (
	argDetail     = "detail"
	argInclude    = "include"
	argName       = "name"
	argTextOffset = "textOffset"
	argTextLimit  = "textLimit"
	argTimeline   = "timeline"
	argDiscovered = "discovered"
)

const (
	concise = "concise"
	full    = "full"
)

// Parts of a proposal that a call may include.
const (
	partText     = "text"
	partVotes    = "votes"
	partEvidence = "evidence"
)

const (
	routeDAOs         = "daos.list"
	routeDAO          = "daos.detail"
	routeTimeline     = "daos.timeline"
	routeProposal     = "proposals.detail"
	routeSummary      = "proposals.vote-summary"
	routeEvidence     = "proposals.evidence"
	routeProfile      = "voters.profile"
	routeVoterVotes   = "voters.votes"
	routeTopic        = "forum-topics.detail"
	routeEvents       = "events.list"
	routeStatus       = "meta.data-status"
	routePricing      = "meta.pricing"
	routeUsage        = "meta.usage"
	defaultTextLength = "12000"
	maxTextLength     = 20_000
)

// toolRows are the tools in the order in which they are listed, without what they do.
//
//go:embed tools.json
var toolRows []byte

// runs has what answers the calls of each tool that does not list rows alone.
func runs() map[string]func(*call) ([]byte, error) {
	return map[string]func(*call) ([]byte, error){
		"find_daos": findDAOs, "get_dao": getDAO, "get_proposal": getProposal, "get_voter": getVoter, "get_topic": getTopic,
		"list_events": listEvents, "get_status": getStatus,
	}
}

// allTools returns the tools in the order of the list. Tests of this package find a row that cannot be read.
func allTools() (tools []*tool) {
	if err := json.Unmarshal(toolRows, &tools); err != nil {
		panic(fmt.Sprintf("tools.json: %v", err))
	}
	run, byRoute := runs(), map[string]routes.Route{}
	for _, route := range routes.All() {
		byRoute[route.ID] = route
	}
	for _, t := range tools {
		if t.run = run[t.Name]; t.run == nil {
			t.run = list
		}
		t.byRoute = byRoute
		t.params = t.allParams()
	}
	return tools
}

// timelineParam is the metric of the timeline route as an argument, which may be left out.
func timelineParam(route routes.Route) param.Param {
	one := route.Params[slices.IndexFunc(route.Params, func(p param.Param) bool { return p.Name == "metric" })]
	one.Name, one.Required = argTimeline, false
	one.Description = "Also this metric by month; fromMonth and toMonth choose the months."
	return one
}

// textParams are the arguments that choose a part of a long text.
func textParams() []param.Param {
	return []param.Param{
		{
			Name: argTextOffset, Kind: param.Integer, Default: "0", Max: 1 << 30,
			Description: "Where the text begins, in characters: text.nextOffset of the call before.",
		},
		{
			Name: argTextLimit, Kind: param.Integer, Default: defaultTextLength, Min: 1, Max: maxTextLength,
			Description: "Characters of the text at the most.",
		},
	}
}

// allParams returns the arguments: the parameters of all routes and what no route has.
func (t *tool) allParams() []param.Param {
	var all []param.Param
	for _, id := range t.Routes {
		for _, one := range t.byRoute[id].Params {
			known := slices.ContainsFunc(all, func(p param.Param) bool { return p.Name == one.Name })
			if known || slices.Contains(t.Without, one.Name) {
				continue
			}
			one.Required = one.Required || one.In == param.InPath
			one.In = param.InQuery // errors show name=value
			switch {
			case one.Name == "limit" && t.Rows > 0:
				one.Default, one.Max = strconv.Itoa(t.Rows), t.MaxRows
			case t.Window && (one.Name == "from" || one.Name == "to"):
				one.Required = false
			}
			all = append(all, one)
		}
	}
	all = append(all, t.Extra...)
	if t.Timeline {
		all = append(all, timelineParam(t.byRoute[routeTimeline]))
	}
	if t.Text {
		all = append(all, textParams()...)
	}
	if t.Concise != nil {
		all = append(all, param.Param{
			Name: argDetail, Kind: param.Enum, Enum: []string{concise, full}, Default: concise,
			Description: "concise: what tells rows apart; full: every field.",
		})
	}
	return all
}

// ExampleCall returns the name of the tool that reads a route, and the arguments of a call that reads it. values
// are texts as in the query, by the names of the route's parameters.
func ExampleCall(routeID string, values map[string]string) (name string, arguments map[string]any) {
	tools := allTools()
	at := slices.IndexFunc(tools, func(t *tool) bool { return slices.Contains(t.Routes, routeID) })
	if at < 0 {
		return "", nil
	}
	arguments = map[string]any{}
	for _, param := range tools[at].params {
		if text := values[param.Name]; text != "" {
			arguments[param.Name] = param.JSON(text)
		}
	}
	parts := map[string]string{routeProposal: partText, routeSummary: partVotes, routeEvidence: partEvidence}
	if part, has := parts[routeID]; has {
		arguments[argInclude] = []string{part}
	} else if routeID == routeTimeline {
		arguments[argTimeline] = values["metric"]
	}
	return tools[at].Name, arguments
}

// listing is a tool as tools/list describes it.
type listing struct {
	Name         string         `json:"name"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	InputSchema  map[string]any `json:"inputSchema"`
	OutputSchema map[string]any `json:"outputSchema"`
	Annotations  map[string]any `json:"annotations"`
}

func listTools(tools []*tool, payments bool) (all []listing) {
	for _, t := range tools {
		all = append(all, listing{
			Name: t.Name, Title: t.Title, Description: t.Description + " Tier: " + string(t.byRoute[t.Routes[0]].Tier) + ".", // every call reads it
			InputSchema: t.inputSchema(), OutputSchema: t.outputSchema(payments),
			Annotations: map[string]any{
				"title": t.Title, "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true,
			},
		})
	}
	return all
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
func (t *tool) inputSchema() map[string]any {
	properties, required := object{}, []string{}
	for _, param := range t.params {
		properties.add(param.Name, encode(propertyOf(param)))
		if param.Required {
			required = append(required, param.Name)
		}
	}
	schema := map[string]any{"type": "object", "properties": json.RawMessage(properties.end()), "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
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

// outputSchema returns the schema of structuredContent. Clients validate errors by it, too, so that it requires
// data, an error or, where payments are taken, the terms of one.
func (t *tool) outputSchema(payments bool) map[string]any {
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
	return map[string]any{"type": "object", "properties": properties, "anyOf": kinds}
}
