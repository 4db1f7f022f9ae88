package api

import (
	"net/url"
	"strconv"
	"strings"

	"pnyx/governance"
)

// canonical returns the request in canonical form: the route and every parameter, in the
// route's order, defaults filled in. ETags, payments and the node's copies of answers go
// by it.
func (r *request) canonical() string {
	var text strings.Builder
	text.WriteString(r.route.ID)
	for i, param := range r.route.Params {
		value := r.values[i]
		if value == "" {
			continue
		}
		if param.Kind == EnumList {
			value = "[" + strings.ReplaceAll(value, ",", " ") + "]"
		}
		text.WriteString("\x00" + param.Name + "=" + value)
	}
	return text.String()
}

// target returns the canonical address of the request: parameters in the route's order,
// defaults left out, each value in its one form. Caches in front go by it, whatever a
// caller has written.
func (r *request) target() string {
	return r.targetAt(r.cursor())
}

// targetAt returns the canonical address of another page of the same list.
func (r *request) targetAt(cursor string) string {
	path, query := r.route.Path, ""
	for i, param := range r.route.Params {
		value := r.values[i]
		if param.Kind == Cursor {
			value = cursor
		}
		switch {
		case param.In == InPath:
			path = strings.Replace(path, ":"+param.Name, escaped(value), 1)
		case value != "" && value != param.Default:
			query += "&" + param.Name + "=" + escaped(value)
		}
	}
	if query == "" {
		return path
	}
	return path + "?" + query[1:]
}

// formatValue writes a parsed value in its canonical form.
func formatValue(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case int:
		return strconv.Itoa(value)
	case bool:
		return strconv.FormatBool(value)
	case []string:
		return strings.Join(value, ",")
	case governance.Timestamp:
		return value.String()
	}
	return ""
}

// escaped leaves letters, digits and -._~,: as they are, in paths and queries alike.
func escaped(value string) string {
	return strings.NewReplacer("+", "%20", "%2C", ",", "%3A", ":").Replace(url.QueryEscape(value))
}
