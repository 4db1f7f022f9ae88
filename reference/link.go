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
func links(route routes.Route) openapi.Members[*openapi.Link] {
	var all openapi.Members[*openapi.Link]
	same := pathParameters(route)
	if route.Paged() {
		all.Add("next", &openapi.Link{
			OperationID: route.ID, Parameters: append(slices.Clip(same), openapi.Member[string]{Name: "cursor", Value: "$response.body#/meta/page/nextCursor"}),
			Description: "The next page, while `meta.page.hasMore` is true. All other parameters stay as they are.",
		})
	}
	if len(same) == 0 {
		return all
	}
	for _, below := range routes.All() {
		if path.Dir(below.Path) == route.Path {
			all.Add(path.Base(below.Path), &openapi.Link{OperationID: below.ID, Parameters: same, Description: below.Summary})
		}
	}
	return all
}

// pathParameters are the parameters in the path of a request.
func pathParameters(route routes.Route) openapi.Members[string] {
	var all openapi.Members[string]
	for _, one := range route.Params {
		if one.In == param.InPath {
			all.Add(one.Name, "$request.path."+one.Name)
		}
	}
	return all
}
