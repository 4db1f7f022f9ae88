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
