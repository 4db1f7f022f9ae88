package api

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// parse reads and checks every parameter of a request, and reports all that is
// wrong with them at once.
func (r *Route) parse(c *fiber.Ctx) (Values, error) {
	given, problems := r.given(c)
	values := Values{route: r, parsed: map[string]any{}}
	wrong := map[string]bool{}
	for _, problem := range problems {
		wrong[problem.Parameter] = true
	}
	together := r.check != nil
	for _, param := range r.Params {
		if wrong[param.Name] {
			together = together && param.Kind != Text
			continue
		}
		problem := param.read(given, values)
		if problem != nil {
			problems = append(problems, *problem)
			together = together && param.Kind != Text
		}
	}
	// A range is judged beside what else is wrong; what a text goes with is not, while
	// one of them cannot be read.
	if together {
		problems = append(problems, r.check(values)...)
	}
	if len(problems) > 0 {
		return Values{}, validationError(problems)
	}
	values.name = values.canonical()
	return values, nil
}

// handleGet reads one parameter into values, or says what is wrong with it.
func (p Param) read(given map[string]string, values Values) *Problem {
	text, found := given[p.Name]
	if !found {
		text = p.Default
	}
	if text == "" && !found {
		if !p.Required {
			return nil
		}
		return &Problem{Parameter: p.Name, Message: "is required", Allowed: p.Allowed(), Fix: "add " + p.sample()}
	}
	value, err := p.parse(text)
	if err != nil {
		return &Problem{Parameter: p.Name, Given: text, Message: err.Error(), Allowed: p.Allowed(), Fix: p.fix(text)}
	}
	values.parsed[p.Name] = value
	return nil
}

// given collects the texts of the parameters by name, and what is wrong with
// their names. Everything is copied out of the request, whose memory is reused.
func (r *Route) given(c *fiber.Ctx) (texts map[string]string, problems []Problem) {
	texts = map[string]string{}
	for _, param := range r.Params {
		if param.In == InPath {
			text, err := url.PathUnescape(strings.Clone(c.Params(param.Name)))
			if err != nil {
				problems = append(problems, Problem{Parameter: param.Name, Message: "is not properly escaped", Allowed: param.Allowed(), Fix: fixEscape})
				continue
			}
			texts[param.Name] = text
		}
	}
	query, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		problems = append(problems, Problem{Message: "the query is not properly escaped", Allowed: "name=value pairs joined by &", Fix: fixEscape})
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if problem := r.checkQuery(name, query[name]); problem != nil {
			problems = append(problems, *problem)
			continue
		}
		texts[name] = query[name][0]
	}
	return texts, problems
}

// checkQuery says what is wrong with a parameter whatever its kind.
func (r *Route) checkQuery(name string, values []string) *Problem {
	known := r.queryNames()
	switch {
	case !slices.Contains(known, name):
		return unknownParameter(name, values[0], known)
	case len(values) > 1:
		return &Problem{
			Parameter: name, Given: strings.Join(values, ", "), Message: "is given more than once", Allowed: "one value",
			Fix: r.fixRepeated(name),
		}
	case values[0] == "":
		return &Problem{
			Parameter: name, Message: "is empty", Allowed: "a value, or leave the parameter out",
			Fix: "leave " + name + " out, or give it a value",
		}
	}
	return nil
}

func (r *Route) queryNames() []string {
	var names []string
	for _, param := range r.Params {
		if param.In == InQuery {
			names = append(names, param.Name)
		}
	}
	return names
}

func allowedNames(names []string) string {
	if len(names) == 0 {
		return "no query parameters"
	}
	return strings.Join(names, ", ")
}
