package mcp

import "slices"

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
