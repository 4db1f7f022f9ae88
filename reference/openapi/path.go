package openapi

import "strings"

// PathTemplate returns the path of a route, such as /v2/daos/:daoId, with its parameters
// in braces, as OpenAPI has them.
func PathTemplate(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, is := strings.CutPrefix(part, ":"); is {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}
