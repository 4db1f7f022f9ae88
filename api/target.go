package api

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"pnyx/governance"
)

// canonical names a request: the route and every parameter, in the route's order,
// defaults filled in. Two spellings of one request have one.
func (v Values) canonical() string {
	var text strings.Builder
	text.WriteString(v.route.ID)
	for _, param := range v.route.Params {
		if value, given := v.parsed[param.Name]; given {
			fmt.Fprintf(&text, "\x00%s=%v", param.Name, value)
		}
	}
	return text.String()
}

// target is the canonical spelling of a request: parameters in the route's order,
// defaults left out, each value in the one form that it is read to. Caches in front
// go by it, whatever a caller has written.
func (v Values) target() string {
	return v.targetAt(v.text("cursor"))
}

// targetAt is the target of another page of the same list.
func (v Values) targetAt(cursor string) string {
	path, query := v.route.Path, ""
	for _, param := range v.route.Params {
		value := spelled(v.parsed[param.Name])
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

// spelled writes a parsed value; "" for none.
func spelled(value any) string {
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
