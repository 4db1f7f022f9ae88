package routes

import (
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/governance"
)

// Request is a request to a route, with parsed parameters. It is immutable, so that all
// requests with the same URL can share one.
type Request struct {
	Route *Route
	// Params points to the struct that the route's parameters are parsed into.
	Params any
	// values are the canonical texts of the parameters, in the order of the route's Params.
	// A parameter that is not given has its default, or "".
	values []string
	// Name is the request in canonical form. Requests that differ only in spelling have the
	// same name.
	Name string
	// held says that the request waits for changes: the node's own rows will do.
	held bool
}

// Parse parses and validates every parameter of a request. The error lists all problems.
func (r *Route) Parse(c *fiber.Ctx) (*Request, error) {
	given, problems, omitted := r.given(c)
	return r.ParseTexts(given, problems, omitted)
}

// ParseTexts parses the texts of parameters by name. The error lists the problems that were
// found before, and its own.
func (r *Route) ParseTexts(given map[string]string, problems []param.Problem, omitted int) (*Request, error) {
	wrong := map[string]bool{}
	for _, problem := range problems {
		wrong[problem.Parameter] = true
	}
	parsed := &Request{Route: r, Params: r.newParams(), values: make([]string, len(r.Params))}
	params := reflect.ValueOf(parsed.Params).Elem()
	// The check across parameters is skipped when a text is invalid: it would report the
	// text as missing. Invalid parameters of other kinds do not disturb it.
	checkable := true
	for i, one := range r.Params {
		problem := (*param.Problem)(nil)
		if !wrong[one.Name] {
			problem = parsed.set(i, given, params)
		}
		if problem != nil {
			problems = append(problems, *problem)
		}
		if problem != nil || wrong[one.Name] {
			checkable = checkable && one.Kind != param.Text
		}
	}
	if checkable {
		problems = append(problems, r.check(parsed.Params)...)
	}
	if len(problems) > 0 {
		return nil, apierror.Validation(problems, omitted)
	}
	parsed.Name = parsed.Canonical()
	return parsed, nil
}

// set parses one parameter and stores it in its field, or returns the problem with it.
func (r *Request) set(i int, given map[string]string, params reflect.Value) *param.Problem {
	value, problem := r.Route.Params[i].Read(given)
	if value != nil {
		r.values[i] = param.FormatValue(value)
		r.Route.fields[i].Set(params, value)
	}
	return problem
}

// Cursor returns the cursor of the request; empty for none.
func (r *Request) Cursor() string {
	return r.valueOf(func(p param.Param) bool { return p.Kind == param.Cursor })
}

// Media returns the media type of the file that the request is for; empty for a JSON envelope.
func (r *Request) Media() string {
	if r.Route.Media == nil {
		return ""
	}
	return governance.ExportFormat(r.valueOf(func(p param.Param) bool { return p.Name == "format" })).Media()
}

// daoFilter returns the DAO that rows are selected by; empty for none.
func (r *Request) daoFilter() string {
	return r.valueOf(func(p param.Param) bool { return p.Name == "daoId" && p.In != param.InPath && !p.MustExist })
}

// valueOf returns the text of a parameter; empty where there is none.
func (r *Request) valueOf(is func(param.Param) bool) string {
	if i := slices.IndexFunc(r.Route.Params, is); i >= 0 {
		return r.values[i]
	}
	return ""
}

// After returns a request for the page at a cursor.
func (r *Request) After(cursor string) *Request {
	next := *r
	next.values = slices.Clone(r.values)
	for i, one := range r.Route.Params {
		if one.Kind == param.Cursor {
			next.values[i] = cursor
		}
	}
	next.Name, next.held = next.Canonical(), true
	return &next
}

// given returns the texts of the parameters by name, problems with names, repetition and
// escaping, and the number of further problems. It copies every text: Fiber reuses the
// memory of the request.
func (r *Route) given(c *fiber.Ctx) (texts map[string]string, problems []param.Problem, omitted int) {
	texts = map[string]string{}
	for _, one := range r.Params {
		if one.In == param.InPath {
			text, err := url.PathUnescape(strings.Clone(c.Params(one.Name)))
			if err != nil {
				problems = append(problems, param.Problem{Parameter: one.Name, Message: "is not properly escaped", Allowed: one.Allowed(), Fix: param.FixEscape})
				continue
			}
			texts[one.Name] = text
		}
	}
	query, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		problems = append(problems, param.Problem{Message: "the query is not properly escaped", Allowed: "name=value pairs joined by &", Fix: param.FixEscape})
	}
	known := r.queryNames()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if len(problems) >= param.MaxProblems && !slices.Contains(known, name) {
			omitted++ // no name is looked for that is similar
			continue
		}
		if problem := r.checkQuery(name, query[name]); problem != nil {
			problems = append(problems, *problem)
			continue
		}
		texts[name] = strings.Join(query[name], ",") // several only of a list
	}
	return texts, problems, omitted
}

// checkQuery returns the problem with a query parameter that does not depend on its kind;
// nil for none.
func (r *Route) checkQuery(name string, values []string) *param.Problem {
	known := r.queryNames()
	at := slices.IndexFunc(r.Params, func(p param.Param) bool { return p.Name == name && p.In == param.InQuery })
	switch {
	case at < 0:
		return r.nameMeant(param.Unknown(name, values[0], known), name, values[0])
	case len(values) > 1 && r.Params[at].Kind != param.EnumList:
		return &param.Problem{
			Parameter: name, Given: strings.Join(values, ", "), Message: "is given more than once", Allowed: "one value",
			Fix: "give " + name + " once",
		}
	case slices.Contains(values, ""):
		return new(r.Params[at].Empty())
	}
	return nil
}

func (r *Route) queryNames() []string {
	var names []string
	for _, one := range r.Params {
		if one.In == param.InQuery {
			names = append(names, one.Name)
		}
	}
	return names
}

// plainValue matches a value that is shown to a caller as it came.
var plainValue = regexp.MustCompile(`^[\w.,:-]{1,100}$`)

// allRoutes is the table of routes, made once: anybody may send unknown parameters.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var allRoutes = sync.OnceValue(All)

// belongsTo says, after FixUnknown, where a parameter belongs that the route does not have: its own path, a path
// below its own, or one that callers mean. It is empty for nowhere.
func (r *Route) belongsTo(name string) string {
	named := func(p param.Param) bool { return p.Name == name }
	switch {
	case slices.ContainsFunc(r.Params, named):
		return ": the path has it"
	case param.IsOfPages(name):
		return ": this answer has no pages"
	}
	path := param.MeantPath(name)
	for _, below := range allRoutes() {
		if strings.HasPrefix(below.Path, r.Path+"/") && slices.ContainsFunc(below.Params, named) {
			path = below.Path
			break
		}
	}
	if path == "" {
		return ""
	}
	if manifest, _, part := strings.Cut(path, "/export/"); part {
		return " here: " + name + " belongs to " + path + ", and " + manifest + "/export lists the parts"
	}
	return " here, and use " + path
}

// nameMeant completes the problem with an unknown parameter whose meaning is known: it says
// which parameter to use, with the value that was given where that is one.
func (r *Route) nameMeant(problem *param.Problem, name, given string) *param.Problem {
	meant := param.MeantParameter(name, r.queryNames())
	if meant == "" {
		if problem.Fix == param.FixUnknown {
			problem.Fix += r.belongsTo(name)
		}
		return problem
	}
	problem.Message = param.NoParameter + ", did you mean " + meant + "?"
	problem.Fix = "use " + meant + " instead"
	i := slices.IndexFunc(r.Params, func(p param.Param) bool { return p.Name == meant })
	if one := r.Params[i]; one.Kind != param.Cursor && plainValue.MatchString(given) {
		if value := param.MeantValue(given, one.Enum); value != "" {
			given = value
		}
		if _, problem := one.Read(map[string]string{meant: given}); problem != nil {
			return &param.Problem{
				Parameter: name, Given: given, Message: param.NoParameter + ", did you mean " + meant + "?",
				Allowed: param.AllowedNames(r.queryNames()), Fix: "use " + meant + " instead, with " + one.Allowed(),
			}
		}
		problem.Fix = "use " + meant + "=" + given + " instead"
	}
	return problem
}
