package reference

import (
	"path"
	"slices"

	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/reference/openapi"
)

// links describes the requests that can follow an answer of a route: for the next page,
// and for routes below its path.
func links(route routes.Route) (all openapi.Members[any]) {
	same := pathParameters(route)
	if route.Paged() {
		next := slices.Clone(same)
		next.Add("cursor", "$response.body#/meta/page/nextCursor")
		all.Add("next", openapi.Object(
			"operationId", route.ID, "parameters", next,
			"description", "The next page, while `meta.page.hasMore` is true. All other parameters stay as they are.",
		))
	}
	if len(same) == 0 {
		return all
	}
	for _, below := range routes.All() {
		if path.Dir(below.Path) == route.Path {
			all.Add(path.Base(below.Path), openapi.Object("operationId", below.ID, "parameters", same, "description", below.Summary))
		}
	}
	return all
}

func pathParameters(route routes.Route) openapi.Members[string] {
	var all openapi.Members[string]
	for _, one := range route.Params {
		if one.In == param.InPath {
			all.Add(one.Name, "$request.path."+one.Name)
		}
	}
	return all
}
