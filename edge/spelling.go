package edge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pnyx/api"
)

// spelling is how the addresses of one free answer are recognised, whatever the
// order of their parameters, and what they share: the key under which the answer is
// kept. An address that is not recognised, be it wrong or only escaped in some odd
// way, is passed on and its answer is not kept.
type spelling struct {
	// Path matches the path, Pattern the whole address as it was sent.
	Path, Pattern string
	Key           string
}

// parameter is a parameter of a free route in a key: nothing when its default was
// given, or nothing was.
type parameter struct {
	Variable, Argument, Default, Text string
}

// spellings are those of all that is free and the same for everyone.
func spellings(routes []api.Route, documents []string) (all []spelling, parameters []parameter) {
	for _, path := range documents {
		all = append(all, spellingOf(api.Route{Path: path}))
	}
	for i := range routes {
		if routes[i].Paid() || routes[i].TokenOnly {
			continue
		}
		all = append(all, spellingOf(routes[i]))
		parameters = append(parameters, parametersOf(routes[i])...)
	}
	return all, parameters
}

func spellingOf(route api.Route) spelling {
	path := pathPattern(route, plain)
	one := spelling{Path: path, Key: "$path?"}
	for _, parameter := range parametersOf(route) {
		one.Key += parameter.Variable
	}
	one.Pattern = "^(?<path>" + path + `)` + queryPattern(route) + "$"
	return one
}

// plain is a text without escapes, of which there is only one spelling.
const plain = `[A-Za-z0-9._~-]+`

// pathPattern matches the path of a route, with some pattern for what a parameter
// may be.
func pathPattern(route api.Route, parameter string) string {
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

// queryPattern matches a query of known parameters, each given once at most, in any
// order.
func queryPattern(route api.Route) string {
	var known []string
	for _, param := range route.Params {
		if param.In == api.InQuery {
			known = append(known, regexp.QuoteMeta(param.Name)+"="+valuePattern(param))
		}
	}
	if len(known) == 0 {
		return `\??`
	}
	const twice = `(?!.*[?&]([^=&]+)=.*&\g{-1}=)`
	return `(?:` + twice + `\?(?:(?:` + strings.Join(known, "|") + `)(?:&(?=.)|$))*)?`
}

// valuePattern matches values in their canonical spelling.
func valuePattern(param api.Param) string {
	switch param.Kind {
	case api.Integer:
		return `(?:0|[1-9][0-9]{0,9})`
	case api.Boolean:
		return "(?:true|false)"
	case api.Enum:
		return "(?:" + strings.Join(param.Enum, "|") + ")"
	default:
		return plain
	}
}

// parametersOf are the parameters in the query of a route, in its order.
func parametersOf(route api.Route) []parameter {
	var all []parameter
	for _, param := range route.Params {
		if param.In != api.InQuery {
			continue
		}
		argument := "$arg_" + param.Name
		all = append(all, parameter{
			Variable: "$" + strings.NewReplacer(".", "_", "-", "_").Replace(route.ID) + "_" + param.Name,
			Argument: argument, Default: param.Default, Text: param.Name + "=" + argument + "&",
		})
	}
	return all
}

// freePattern matches the paths of all that is free and the same for everyone.
func freePattern(all []spelling) string {
	var paths []string
	for _, one := range all {
		paths = append(paths, one.Path)
	}
	return fmt.Sprintf("^(?:%s)$", strings.Join(paths, "|"))
}

// paidPattern matches the paths of all paid routes.
func paidPattern(routes []api.Route) string {
	var paths []string
	for _, route := range routes {
		if route.Paid() {
			paths = append(paths, pathPattern(route, "[^/]+"))
		}
	}
	slices.Sort(paths)
	return fmt.Sprintf("^(?:%s)$", strings.Join(paths, "|"))
}
