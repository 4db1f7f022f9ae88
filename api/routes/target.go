package routes

import (
	"net/url"
	"strings"

	"pnyx/api/param"
)

// Canonical returns the request in canonical form: the route and every parameter, in the
// order of the route, with defaults. It is the key for ETags, payments and local copies.
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

// Target returns the canonical URL of the request: parameters in the order of the route,
// each in canonical form, without defaults. Shared caches use it as the key for all
// spellings of the request.
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
