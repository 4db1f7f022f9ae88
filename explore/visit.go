package explore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
)

type visit struct {
	explorer *explorer
	c        *fiber.Ctx
	// known says that the visitor has credentials; for others, paid routes would be 402, and are not read.
	known bool
	reads []string
	// asOf is the oldest time of the data that was read; zero for none.
	asOf governance.Timestamp
	// stale says that some of the data was not ready.
	stale bool
}

// part is the answer of a route to a visitor.
type part[Data any] struct {
	// Data is the data; its zero value where Box is set.
	Data Data
	// Next is the cursor of the next page of a list; empty on the last page.
	Next string
	// VoteCoverage says how many of the ballots the data is made of; empty for data of none.
	VoteCoverage governance.VoteCoverage
	// Box says why there is no data; nil where there is.
	Box *box
}

// box stands where a visitor may not read a part of a page.
type box struct {
	Title string
	// Tier is the route's, Price and Token what one request costs; both empty without payments.
	Tier         governance.Tier
	Price, Token string
	// Code, Message and Fix come from the error; empty where no credentials were sent.
	Code, Message, Fix string

	err *apierror.Error
}

type texts = map[string]string

// load reads a route. The error concerns wrong parameters; any other is in the part.
func load[Data any](v *visit, routeID string, params texts) (part[Data], error) {
	route := v.explorer.routes[routeID]
	if route.Paid() && !v.known {
		return part[Data]{Box: v.boxOf(route, nil)}, v.parse(routeID, params)
	}
	reader := v.explorer.Node.NewReader(v.c)
	read, err := decode[Data](v, routeID, reader, reader.Read(routeID), params)
	if failed, is := errors.AsType[*apierror.Error](err); is && failed.Status != http.StatusBadRequest {
		return part[Data]{Box: v.boxOf(route, failed)}, nil
	}
	return read, err
}

// decode returns the answer to a read, which it ends. An error of the route is an *apierror.Error.
func decode[Data any](v *visit, routeID string, reader *api.Reader, began *api.Read, params texts) (part[Data], error) {
	v.reads = append(v.reads, routeID)
	answer, err := get(began, reader, params)
	reader.End(err == nil)
	if err != nil {
		return part[Data]{}, apierror.Of(err)
	}
	read := part[Data]{VoteCoverage: answer.Meta.VoteCoverageStatus}
	if err := json.Unmarshal(answer.Data, &read.Data); err != nil {
		return read, fmt.Errorf("decode %s: %w", routeID, err)
	}
	if next := answer.Meta.Page; next != nil && next.NextCursor != nil {
		read.Next = *next.NextCursor
	}
	v.stale = v.stale || answer.Meta.Readiness.Status != governance.Ready
	if v.asOf == 0 || answer.Meta.DataAsOf < v.asOf {
		v.asOf = answer.Meta.DataAsOf
	}
	return read, nil
}

func get(read *api.Read, reader *api.Reader, params texts) (api.Answer, error) {
	if err := read.Parse(params); err != nil {
		return api.Answer{}, err
	}
	if err := reader.Authorize(api.Purchase{}); err != nil {
		return api.Answer{}, err
	}
	return read.Get()
}

// parse checks the parameters of a route that is not read.
func (v *visit) parse(routeID string, params texts) error {
	reader := v.explorer.Node.NewReader(v.c)
	defer reader.End(false)
	return reader.Read(routeID).Parse(params)
}

// loadMain reads the route that a page is about. The error is the page's: a paid route that is closed has a box.
func loadMain[Data any](v *visit, routeID string, params texts) (part[Data], error) {
	read, err := load[Data](v, routeID, params)
	if err != nil || read.Box == nil || read.Box.err == nil {
		return read, err
	}
	refused := []int{http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusTooManyRequests}
	if route := v.explorer.routes[routeID]; route.Paid() && slices.Contains(refused, read.Box.err.Status) {
		return read, nil
	}
	return read, read.Box.err
}

// boxOf returns the box in place of a route that was not read, for an error or, if nil, for want of credentials.
func (v *visit) boxOf(route routes.Route, failed *apierror.Error) *box {
	b := &box{
		Title: route.Title, Tier: route.Tier, err: failed,
	}
	if prices := v.explorer.Prices; prices.PayPerRequest {
		b.Price, b.Token = string(prices.Of(route)), prices.Token
	}
	if failed != nil {
		b.Code, b.Message, b.Fix = string(failed.Code), apierror.Sentence(failed.Message), v.explorer.advice(failed)
	}
	return b
}

// advice says what a visitor can do about an error. Of some codes it names members of the JSON, which no page has.
func (x *explorer) advice(failed *apierror.Error) string {
	if failed.Code == apierror.CodeValidation || failed.Code == apierror.CodeNotFound {
		return failed.Advice()
	}
	return cmp.Or(failed.Advice(), api.InfoOf(failed.Code, x.Prices.PayPerRequest).Fix)
}

type footnote struct {
	// Reads counts the requests, and Routes names the routes, each with how often it was read if more than once.
	Reads  int
	Routes []string
	// AsOf is when the oldest of the data was computed; nil where none was read.
	AsOf *governance.Timestamp
	// Stale says that some of the data may be out of date.
	Stale bool
}

func (v *visit) footnote() footnote {
	f := footnote{Reads: len(v.reads), Stale: v.stale}
	if v.asOf != 0 {
		f.AsOf = &v.asOf
	}
	counts := map[string]int{}
	for _, id := range v.reads {
		counts[id]++
	}
	for _, id := range v.reads {
		name := id
		if counts[id] > 1 {
			name = strconv.Itoa(counts[id]) + " × " + id
		}
		if !slices.Contains(f.Routes, name) {
			f.Routes = append(f.Routes, name)
		}
	}
	return f
}

// query returns the parameters of the page's own address: those that it takes, each at most once.
func (v *visit) query(params ...param.Param) (texts, error) {
	given, problems := texts{}, []param.Problem(nil)
	values, err := url.ParseQuery(string(v.c.Request().URI().QueryString()))
	if err != nil {
		problems = append(problems, param.Problem{Message: "the query is not properly escaped", Allowed: "name=value pairs joined by &"})
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if given[name] = values[name][0]; len(values[name]) > 1 {
			problems = append(problems, param.Problem{Parameter: name, Message: "is given more than once", Allowed: "one value"})
		}
	}
	read, failed := api.ParseArguments(params, given, problems)
	if failed != nil {
		return nil, v.explorer.Node.Refuse(v.c, failed)
	}
	return read, nil
}

func (v *visit) param(name string) (string, error) {
	text, err := url.PathUnescape(strings.Clone(v.c.Params(name)))
	if err != nil {
		problem := param.Problem{Parameter: name, Message: "is not properly escaped", Allowed: "percent-encoded UTF-8"}
		return "", v.explorer.Node.Refuse(v.c, api.ArgumentError(problem))
	}
	return text, nil
}

// with returns parameters with the given ones, without those that are empty.
func with(params texts, pairs ...string) texts {
	all := texts{}
	maps.Copy(all, params)
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	return all
}

func address(path, id string, params texts) string {
	if id != "" {
		path = path[:strings.LastIndexByte(path, ':')] + url.PathEscape(id)
	}
	if len(params) == 0 {
		return path
	}
	values := url.Values{}
	for name, value := range params {
		values.Set(name, value)
	}
	return path + "?" + values.Encode()
}
