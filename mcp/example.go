package mcp

import (
	"slices"
	"strconv"

	"pnyx/api/param"
)

// ExampleCall returns the name of the tool that reads a route, and the arguments of a call
// that reads it. values are texts as in the query, by the names of the route's parameters.
func ExampleCall(routeID string, values map[string]string) (name string, arguments map[string]any) {
	tools := allTools()
	at := slices.IndexFunc(tools, func(t *tool) bool { return slices.Contains(t.Routes, routeID) })
	if at < 0 {
		return "", nil
	}
	arguments = map[string]any{}
	for _, param := range tools[at].params {
		if text := values[param.Name]; text != "" {
			arguments[param.Name] = argument(param, text)
		}
	}
	switch routeID {
	case routeTimeline:
		arguments[argTimeline] = values["metric"]
	case routeProposal:
		arguments[argInclude] = []string{partText}
	case routeSummary:
		arguments[argInclude] = []string{partVotes}
	case routeEvidence:
		arguments[argInclude] = []string{partEvidence}
	}
	return tools[at].Name, arguments
}

// argument returns the value of an argument whose text in a query is given.
func argument(one param.Param, text string) any {
	switch one.Kind {
	case param.Integer:
		if number, err := strconv.Atoi(text); err == nil {
			return number
		}
	case param.Boolean:
		return text == "true"
	case param.EnumList:
		return splitList(text)
	case param.Text, param.Enum, param.Cursor, param.ProposalKey, param.TopicKey, param.Voter, param.Instant, param.Month:
	}
	return text
}
