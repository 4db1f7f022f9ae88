// Package routes is the table of routes with their handlers: which requests there are, and how they are answered from
// the cache. It knows no caller, limit or payment; package api serves it.
package routes

import (
	"context"
	"reflect"
	"slices"
	"time"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/ratelimit"
)

// Route is everything there is to know of an endpoint.
type Route struct {
	// ID names the route in prices, metrics and cursors.
	ID string
	// Path is the path of the endpoint; a part that begins with a colon is a parameter.
	Path string
	Tier governance.Tier
	// Title names the route in menus, in at most 40 characters.
	Title string
	// Summary describes the answer in one sentence, as documents show it.
	Summary string
	// Params are the parameters in the order of documents; nil for none.
	Params []param.Param
	// Addition marks a route that the API contract does not define.
	Addition bool
	// TokenOnly says that the answer is about the token of the request. Such a route requires a token and is free.
	TokenOnly bool
	// Stream says that rows are only added to the list: a cursor is refused with 410 once rows after it are gone,
	// and a request with Accept: text/event-stream gets those that come.
	Stream bool
	// Expires says that the changes since a revision are refused with 410 once some are gone.
	Expires bool
	// Returns is a value of the type of the member data.
	Returns any
	// Media lists the media types of a file, whose rows are of the type of Returns; nil for a JSON envelope.
	Media []string
	// Fresh is how long caches may reuse an answer. It does not apply to TokenOnly routes.
	Fresh httpcache.Freshness
	// fields are the fields for the values of Params in the struct that newParams returns.
	fields    []param.Field
	newParams func() any
	// kind is the kind of pages that the route answers with; empty for views.
	kind query.Kind
	// tag is on answers without a subject in their parameters; empty for pages, whose scope has a tag, and for
	// none.
	tag cache.Tag
	// check and Answer belong to the route's handler.
	check  func(params any) []param.Problem
	Answer func(*Backend, context.Context, *Request) (Answer, error)
	// Account answers requests about a token instead; it is set for TokenOnly routes.
	Account func(*Backend, context.Context, *access.Caller) (Answer, error)
}

// handler answers requests to a route, whose parameters are the tagged fields of Params.
type handler[Params any] = func(*Backend, context.Context, *Request, Params) (Answer, error)

func handle[Params any](route Route, answer handler[Params]) Route {
	return handleChecked(route, answer, func(Params) []param.Problem { return nil })
}

// handleChecked is handle with a check of parameters together, in which invalid ones are zero.
func handleChecked[Params any](route Route, answer handler[Params], check func(Params) []param.Problem) Route {
	route.Params, route.fields = param.Of(reflect.TypeFor[Params]())
	route.newParams = func() any { return new(Params) }
	if page, is := any(*new(Params)).(query.Page); is {
		route.kind = page.Kind()
	}
	route.check = func(params any) []param.Problem { return check(valueOf[Params](params)) }
	route.Answer = func(b *Backend, ctx context.Context, r *Request) (Answer, error) {
		return answer(b, ctx, r, valueOf[Params](r.Params))
	}
	return route
}

// valueOf returns what params points to: the route's newParams made it.
func valueOf[Params any](params any) Params {
	typed, _ := params.(*Params)
	return *typed
}

type noParams struct{}

// Paid says whether a request has to be paid for.
func (r *Route) Paid() bool { return r.Tier != governance.Free }

// Bucket returns the limiter that counts the requests of the route.
func (r *Route) Bucket() ratelimit.Bucket {
	switch r.Tier {
	case governance.Standard:
		return ratelimit.Standard
	case governance.Plus:
		return ratelimit.Detail
	case governance.Free:
	}
	return ratelimit.Free
}

// Paged says whether the route answers with one page of a list.
func (r *Route) Paged() bool {
	return slices.ContainsFunc(r.Params, func(p param.Param) bool { return p.Kind == param.Cursor })
}

// Codes lists the errors that the route may answer with.
func (r *Route) Codes() []apierror.Code {
	named := slices.ContainsFunc(r.Params, func(p param.Param) bool { return p.MustExist || p.In == param.InPath })
	var codes []apierror.Code
	for _, one := range []struct {
		code apierror.Code
		may  bool
	}{
		{apierror.CodeValidation, true},
		{apierror.CodeUnauthorized, r.TokenOnly || r.Paid()},
		{apierror.CodePaymentRequired, r.Paid()},
		{apierror.CodeForbidden, r.Paid()},
		{apierror.CodeNotFound, named},
		{apierror.CodePaymentInProgress, r.Paid()},
		{apierror.CodeExportGone, r.Media != nil},
		{apierror.CodeCursorExpired, r.Stream || r.Expires},
		{apierror.CodeRateLimited, true},
		{apierror.CodeQuotaExceeded, r.Paid()},
		{apierror.CodeInternal, true},
		{apierror.CodeUnavailable, true},
		{apierror.CodeSettlementPending, r.Paid()},
	} {
		if one.may {
			codes = append(codes, one.code)
		}
	}
	return codes
}

// All is the table of routes. Order matters: a path with a fixed part comes before one whose parameter would match
// it, and documents list routes in this order.
func All() []Route {
	return slices.Concat(
		metaRoutes(), daoRoutes(), timelineRoutes(), rankingRoutes(), delegateRoutes(),
		proposalRoutes(), ballotRoutes(), exportRoutes(), daoExportRoutes(), evidenceRoutes(),
		topicRoutes(), voterRoutes(), eventRoutes(), signalRoutes(), changeRoutes(),
	)
}

// PageKinds lists the kinds of pages that routes answer with.
func PageKinds() []query.Kind {
	var kinds []query.Kind
	for _, route := range All() {
		if route.kind != "" {
			kinds = append(kinds, route.kind)
		}
	}
	return kinds
}

// MaxPurgedAge returns the longest time for which a shared cache that is purged serves an answer.
func MaxPurgedAge() time.Duration {
	var age time.Duration
	for _, route := range All() {
		age = max(age, route.Fresh.PurgedSMaxAge+route.Fresh.StaleWhileRevalidate)
	}
	return age
}

// Scope returns the narrowest scope that opens a paid route.
func (r *Route) Scope() access.Scope {
	if r.Tier == governance.Plus {
		return access.V2Plus
	}
	return access.V2Standard
}

// Answer is what a handler returns.
type Answer struct {
	// Data becomes the member data of the envelope.
	Data any
	// File is sent instead of an envelope; nil for none.
	File *File
	// View is the view that the data was read from. meta contains its time and readiness.
	View   cache.View
	Page   *Page
	Source httpcache.Source
	// NodeLocal says that the data comes from the node's settings, which no publication changes.
	NodeLocal bool
	// Dated says that the answer changes as time passes, from view.FreshUntil on.
	Dated bool
	// ByContent says that answers of one revision may differ: a dossier is pending before it is there, and rests
	// on more than its own proposal; a DAO consists of two views; lags grow.
	ByContent bool
	// Live says that the next request may get more: no cache keeps the answer. Empty says that it has no rows and
	// costs nothing.
	Live, Empty bool
	Hint        string
}

// File is an answer without an envelope, the same for all callers and for as long as its path exists.
type File struct {
	cache.File

	Media string
}

// Page describes which part of a list an answer is.
type Page struct {
	// Limit is the number of rows that was requested.
	Limit int `json:"limit"`
	// HasMore says that there is a next page.
	HasMore bool `json:"hasMore"`
	// NextCursor is the cursor of the next page; null on the last one.
	NextCursor *string `json:"nextCursor"`
}
