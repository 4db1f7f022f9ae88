package reference_test

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pnyx/access/x402"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/reference"
	"pnyx/test/check"
	"pnyx/test/facilitator"
)

// termsOf returns the terms of a path of a route over HTTP, and the length of their header.
func termsOf(t *testing.T, publicURL string, route routes.Route, path string) (described any, size int) {
	t.Helper()
	terms := facilitator.Terms(map[string]string{route.ID: "0.005"})
	terms.PublicURL, terms.Discovery = publicURL, reference.Discovery(publicURL)
	gate := check.Must(x402.New(x402.Options{
		Terms: terms, FacilitatorURL: "https://facilitator.example.org",
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}))(t)
	t.Cleanup(gate.Close)
	header := gate.Challenge(x402.Request{RouteID: route.ID, URL: path, Description: route.Summary}).Challenge.Header()
	text := check.Must(base64.StdEncoding.DecodeString(header))(t)
	var challenge struct{ Extensions map[string]any }
	check.MustDo(t, json.Unmarshal(text, &challenge))
	return challenge.Extensions["bazaar"], len(header)
}

// at returns the member of nested objects at a path of names; nil if there is none.
func at(value any, names ...string) any {
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func TestEveryPaidRouteIsDescribedToIndexes(t *testing.T) {
	t.Parallel()
	for _, route := range routes.All() {
		if !route.Paid() || route.Media != nil {
			continue
		}
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			path := route.Path
			for _, one := range route.Params {
				value := cmp.Or(one.Example, strings.Repeat("x", 42)) // as long as the address of a voter
				path = strings.Replace(path, ":"+one.Name, value, 1)
			}
			described, size := termsOf(t, "https://api.example.org/pnyx/", route, path)
			if size > 3<<10 {
				t.Errorf("the terms take %d bytes, want at most 3 KiB", size)
			}
			compiler := jsonschema.NewCompiler()
			check.MustDo(t, compiler.AddResource("schema.json", at(described, "schema")))
			check.WantError(t, nil, check.Must(compiler.Compile("schema.json"))(t).Validate(at(described, "info")))
			wantTemplate := any(nil)
			if strings.Contains(route.Path, ":") {
				wantTemplate = "/pnyx" + route.Path
			}
			check.Want(t, wantTemplate, at(described, "routeTemplate"), "template")
			input := []string{"schema", "properties", "input", "properties"}
			for _, one := range route.Params {
				where, given := "queryParams", one.Required || one.Sample
				if one.In == param.InPath {
					where, given = "pathParams", true
				}
				if at(described, slices.Concat(input, []string{where, "properties", one.Name})...) == nil {
					t.Errorf("%s has no schema", one.Name)
				}
				if got := at(described, "info", "input", where, one.Name); (got != nil) != given {
					t.Errorf("example of %s: got %v, want one: %t", one.Name, got, given)
				}
			}
		})
	}
}

func TestSchemaForIndexesHasBoundsAndEnumerations(t *testing.T) {
	t.Parallel()
	all := routes.All()
	route := all[slices.IndexFunc(all, func(r routes.Route) bool { return r.ID == "daos.timeline" })]
	described, _ := termsOf(t, "https://api.example.org", route, "/v2/daos/uniswap/timeline")
	check.Want(t, "uniswap", at(described, "info", "input", "pathParams", "daoId"), "daoId", "the request's")
	metric := []string{"schema", "properties", "input", "properties", "queryParams", "properties", "metric"}
	if got := at(described, append(metric, "enum")...); got == nil {
		t.Errorf("metric: got %v, want an enumeration", at(described, metric...))
	}
}

func TestPathThatIsTooLongIsNotDescribedToIndexes(t *testing.T) {
	t.Parallel()
	all := routes.All()
	route := all[slices.IndexFunc(all, func(r routes.Route) bool { return r.ID == "voters.votes" })]
	if got, _ := termsOf(t, "https://api.example.org", route, "/v2/voters/"+strings.Repeat("x", 400)+"/votes"); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
	prefix, suffix := "/v2/voters/", "/votes"
	longest := prefix + strings.Repeat("x", 256-len(prefix)-len(suffix)) + suffix
	got, size := termsOf(t, "https://api.example.org", route, longest)
	if got == nil || size > 3500 {
		t.Errorf("got terms of %d bytes, want at most 3500 with a description", size)
	}
}
