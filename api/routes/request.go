package routes

import (
	"cmp"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/maypok86/otter/v2"

	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

// Request is a request to a route, with parsed parameters. It is immutable, so that all requests with a URL share
// one.
type Request struct {
	Route *Route
	// Params points to the struct that the route's parameters are parsed into.
	Params any
	// values are the canonical texts of the route's Params, in order: given, default, or "".
	values []string
	// Name is the request in canonical form, the same for all spellings.
	Name string
	// held says that the request waits for changes: the node's own rows will do.
	held bool
}

// Parse parses and validates every parameter of a request. The error lists all problems.
func (r *Route) Parse(c *fiber.Ctx) (*Request, error) {
	given, problems, omitted := r.given(c)
	return r.ParseTexts(given, problems, omitted)
}

// ParseTexts parses the texts of parameters by name. The error lists the given problems, and problems of the texts.
func (r *Route) ParseTexts(given map[string]string, problems []param.Problem, omitted int) (*Request, error) {
	wrong := map[string]bool{}
	for _, problem := range problems {
		wrong[problem.Parameter] = true
	}
	parsed := &Request{Route: r, Params: r.newParams(), values: make([]string, len(r.Params))}
	params := reflect.ValueOf(parsed.Params).Elem()
	// The check across parameters is skipped when a text is invalid: it would report the text as missing.
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

// subject returns the parameter that names what has to exist, and its text; both are empty for a list of everything.
func (r *Request) subject() (name, text string) {
	for i, one := range r.Route.Params {
		if (one.In == param.InPath || one.MustExist) && r.values[i] != "" {
			return one.Name, r.values[i]
		}
	}
	return "", ""
}

// missing is the error of a subject that does not exist; nil for a request without a subject.
func (r *Request) missing() *apierror.Error {
	if name, text := r.subject(); name != "" {
		return apierror.NotFound(name, text)
	}
	return nil
}

// Tags returns the tags of answers: of the subject, the scope of the page, or the route; nil for no purge.
func (r *Request) Tags() []cache.Tag {
	switch name, text := r.subject(); name {
	case "daoId":
		return []cache.Tag{cache.DAOTag(text)}
	case "proposalKey":
		return []cache.Tag{cache.ProposalTag(governance.ProposalKey(text))}
	case "topicKey":
		return []cache.Tag{cache.TopicTag(governance.TopicKey(text))}
	case "voterIdentity":
		return []cache.Tag{cache.VoterTag(text)}
	}
	if page, is := r.Params.(query.Page); is {
		return []cache.Tag{cache.ScopeTag(query.ScopeOf(page))}
	}
	if r.Route.tag != "" {
		return []cache.Tag{r.Route.tag}
	}
	return nil
}

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

// given returns the texts of the parameters by name, problems with names, repetition and escaping, and the number of
// further ones. It copies every text: Fiber reuses the memory of the request.
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

// checkQuery returns the problem with a query parameter whatever its kind; nil for none.
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

// nameMeant completes the problem with an unknown parameter, which names the meant one: with the value if valid.
func (r *Route) nameMeant(problem *param.Problem, name, given string) *param.Problem {
	meant := param.MeantParameter(name, r.queryNames())
	if meant == "" {
		if problem.Fix == param.FixUnknown {
			problem.Fix += r.belongsTo(name)
		}
		return problem
	}
	i := slices.IndexFunc(r.Params, func(p param.Param) bool { return p.Name == meant })
	if one := r.Params[i]; one.Kind != param.Cursor && plainValue.MatchString(given) {
		given = cmp.Or(param.MeantValue(given, one.Enum), given)
		if _, wrong := one.Read(map[string]string{meant: given}); wrong != nil {
			problem.Given, problem.Fix = given, problem.Fix+", with "+one.Allowed()
		} else {
			problem.Fix = "use " + meant + "=" + given + " instead"
		}
	}
	return problem
}

// Canonical returns the request in canonical form: the route and every parameter, in the order of the route, with
// defaults. It is the key for ETags, payments and local copies.
func (r *Request) Canonical() string {
	var text strings.Builder
	text.WriteString(r.Route.ID)
	for i, one := range r.Route.Params {
		value := r.values[i]
		if value == "" {
			continue
		}
		if one.Kind == param.EnumList {
			value = "[" + strings.ReplaceAll(value, ",", " ") + "]"
		}
		text.WriteString("\x00" + one.Name + "=" + value)
	}
	return text.String()
}

// Target returns the canonical URL of the request: parameters in the order of the route, without defaults. Shared
// caches use it as the key for all spellings of the request.
func (r *Request) Target() string { return r.TargetAt(r.Cursor()) }

// TargetAt returns the canonical URL of another page of the same list.
func (r *Request) TargetAt(cursor string) string {
	path, query := r.Route.Path, ""
	for i, one := range r.Route.Params {
		value := r.values[i]
		if one.Kind == param.Cursor {
			value = cursor
		}
		switch {
		case one.In == param.InPath:
			path = strings.Replace(path, ":"+one.Name, escaped(value), 1)
		case value != "" && value != one.Default:
			query += "&" + one.Name + "=" + escaped(value)
		}
	}
	if query == "" {
		return path
	}
	return path + "?" + query[1:]
}

// escaped percent-encodes everything but letters, digits and -._~,: for use in a path or a query.
func escaped(value string) string {
	return strings.NewReplacer("+", "%20", "%2C", ",", "%3A", ":").Replace(url.QueryEscape(value))
}

// Bounds of Parsed: a megabyte.
const (
	maxParsed      = 1024
	maxParsedBytes = 256
)

// Parsed keeps parsed requests by their addresses: parsing takes almost half of the time of a handler whose answer
// the node has a copy of. It is safe for concurrent use.
type Parsed struct {
	requests *otter.Cache[string, *Request]
}

// NewParsed returns a Parsed that keeps none.
func NewParsed() *Parsed {
	return &Parsed{otter.Must(&otter.Options[string, *Request]{MaximumSize: maxParsed})}
}

// Parse is Route.Parse for a request to the route. What it returns is shared.
func (p *Parsed) Parse(r *Route, c *fiber.Ctx) (*Request, error) {
	address := c.Request().Header.RequestURI() // as it was sent: Request.RequestURI writes all forms of a path alike
	if len(address) > maxParsedBytes {
		return r.Parse(c)
	}
	if known, is := p.requests.GetIfPresent(utils.UnsafeString(address)); is && known.Route.ID == r.ID {
		return known, nil
	}
	parsed, err := r.Parse(c)
	if err == nil {
		p.requests.Set(string(address), parsed)
	}
	return parsed, err
}
