package param_test

import (
	"strings"
	"testing"

	"pnyx/api/param"
	"pnyx/api/routes"
)

func TestValuesAreUnderstoodByMeaning(t *testing.T) {
	t.Parallel()
	status := param.Param{Name: "lifecycleStatus", Kind: param.EnumList, Enum: []string{"pending", "active", "closed"}}
	for given, want := range map[string]string{
		"open,upcoming": "did you mean lifecycleStatus=active,pending?", "Ended": "did you mean lifecycleStatus=closed?",
		"activ": "did you mean lifecycleStatus=active?", "red": "use ",
	} {
		if got := status.Fix(given); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
}

// TestEveryMeaningIsOfSomething holds every row of the tables against the routes.
func TestEveryMeaningIsOfSomething(t *testing.T) {
	t.Parallel()
	parameters, values, paths := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, route := range routes.All() {
		paths[route.Path] = true
		for _, one := range route.Params {
			parameters[one.Name] = true
			for _, value := range one.Enum {
				values[value] = true
			}
		}
	}
	for name, meant := range param.MeantParameters() {
		for _, parameter := range meant {
			if !parameters[parameter] || name != strings.ToLower(name) {
				t.Errorf("%s means %s, which no route has", name, parameter)
			}
		}
	}
	for name, path := range param.MeantPaths() {
		if path, _, _ := strings.Cut(path, "?"); !paths[path] || name != strings.ToLower(name) {
			t.Errorf("%s means %s, which is no route", name, path)
		}
	}
	for word, meant := range param.MeantValues() {
		for _, value := range meant {
			if !values[value] || values[word] {
				t.Errorf("%s means %s: want a word that is no value, and a value", word, value)
			}
		}
	}
}
