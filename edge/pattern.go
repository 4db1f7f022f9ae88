package edge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pnyx/api"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/explore"
	"pnyx/mcp"
)

// urlPattern recognises the URLs of one free response, in any order of their parameters, and gives them one cache
// key. A URL that no pattern matches, because it is wrong or escaped unusually, is passed to a node, and not
// cached.
type urlPattern struct {
	// Path matches the path, Pattern the whole URL as it was sent, as regular expressions.
	Path, Pattern string
	// Key is the cache key, of nginx variables.
	Key string
}

// parameter maps a query parameter of a free route to its part of a cache key.
type parameter struct {
	// Variable is nginx's variable of the part, Argument the variable of the value.
	Variable, Argument string
	// Default is the value for which the part is empty, as for a missing parameter.
	Default string
	// Text is the part for any other value.
	Text string
}

// urlPatterns returns the patterns of free responses that all callers share, and the parameters in their keys.
func urlPatterns(table []routes.Route, documents []string) (all []urlPattern, parameters []parameter) {
	for _, path := range documents {
		all = append(all, urlPatternOf(routes.Route{Path: path}))
	}
	for i := range table {
		if table[i].Paid() || table[i].TokenOnly {
			continue
		}
		all = append(all, urlPatternOf(table[i]))
		parameters = append(parameters, parametersOf(table[i])...)
	}
	return all, parameters
}

func urlPatternOf(route routes.Route) urlPattern {
	path := pathPattern(route, plain)
	one := urlPattern{Path: path, Key: "$path?"}
	for _, parameter := range parametersOf(route) {
		one.Key += parameter.Variable
	}
	one.Pattern = "^(?<path>" + path + `)` + queryPattern(route) + "$"
	return one
}

// plain matches text that has one spelling, because it contains no escapes.
const plain = `[A-Za-z0-9._~-]+`

// pathPattern returns a pattern for a route's path, with parameter for its path parameters.
func pathPattern(route routes.Route, parameter string) string {
	parts := strings.Split(route.Path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i] = parameter
		} else {
			parts[i] = regexp.QuoteMeta(part)
		}
	}
	return strings.Join(parts, "/")
}

// queryPattern returns a pattern for known parameters in any order, each at most once.
func queryPattern(route routes.Route) string {
	var known []string
	for _, one := range route.Params {
		if one.In == param.InQuery {
			known = append(known, regexp.QuoteMeta(one.Name)+"="+valuePattern(one))
		}
	}
	if len(known) == 0 {
		return `\??`
	}
	const twice = `(?!.*[?&]([^=&]+)=.*&\g{-1}=)`
	return `(?:` + twice + `\?(?:(?:` + strings.Join(known, "|") + `)(?:&(?=.)|$))*)?`
}

// valuePattern matches values in their canonical spelling.
func valuePattern(one param.Param) string {
	switch one.Kind {
	case param.Integer:
		return `(?:0|[1-9][0-9]{0,9})`
	case param.Boolean:
		return "(?:true|false)"
	case param.Enum:
		return "(?:" + strings.Join(one.Enum, "|") + ")"
	default:
		return plain
	}
}

func parametersOf(route routes.Route) []parameter {
	var all []parameter
	for _, one := range route.Params {
		if one.In != param.InQuery {
			continue
		}
		argument := "$arg_" + one.Name
		all = append(all, parameter{
			Variable: "$" + strings.NewReplacer(".", "_", "-", "_").Replace(route.ID) + "_" + one.Name,
			Argument: argument, Default: one.Default, Text: one.Name + "=" + argument + "&",
		})
	}
	return all
}

func freePattern(all []urlPattern) string {
	var paths []string
	for _, one := range all {
		paths = append(paths, one.Path)
	}
	return fmt.Sprintf("^(?:%s)$", strings.Join(paths, "|"))
}

func paidPattern(all []routes.Route) string {
	var paths []string
	for _, route := range all {
		if route.Paid() {
			paths = append(paths, pathPattern(route, "[^/]+"))
		}
	}
	slices.Sort(paths)
	return fmt.Sprintf("^(?:%s)$", strings.Join(paths, "|"))
}

// routeLabel is the value of the metrics' label route for the requests of a path.
type routeLabel struct {
	// Path is the path, or a regular expression after a tilde, as nginx's map has it.
	Path string
	ID   string
}

func routeLabels(table []routes.Route, documents []string) (all []routeLabel) {
	for _, path := range append(documents, api.PathHome) {
		all = append(all, routeLabel{path, api.RouteDocuments})
	}
	all = append(all, routeLabel{"~^" + mcp.Path + "/?$", mcp.RouteName})
	for _, path := range explore.Patterns() {
		all = append(all, routeLabel{labelPath(path), explore.RouteName})
	}
	for _, route := range table {
		all = append(all, routeLabel{labelPath(route.Path), route.ID})
	}
	return all
}

func labelPath(path string) string {
	if strings.Contains(path, ":") {
		return "~^" + pathPattern(routes.Route{Path: path}, "[^/]+") + "$"
	}
	return path
}
