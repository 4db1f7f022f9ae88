package sources

import (
	"fmt"
	"reflect"
	"strings"
)

// Markdown returns the table of all keys of a sources file, for its documentation.
func Markdown() string {
	var table strings.Builder
	table.WriteString("| Key | Value | Meaning |\n| --- | --- | --- |\n")
	addRows(&table, "", reflect.TypeFor[File]())
	return table.String()
}

func addRows(table *strings.Builder, path string, of reflect.Type) {
	for _, f := range fieldsOf(of) {
		at, needed := strings.TrimPrefix(path+"."+f.name, "."), ""
		if f.required {
			needed = " (required)"
		}
		fmt.Fprintf(table, "| `%s`%s | %s | %s |\n", at, needed, formOf(f.kind), f.doc)
		inner := f.kind
		switch inner.Kind() {
		case reflect.Map:
			at, inner = at+"."+strings.ToUpper(strings.TrimSuffix(inner.Key().Name(), "ID")), inner.Elem()
		case reflect.Slice:
			at, inner = at+"[]", inner.Elem()
		default:
		}
		if inner.Kind() == reflect.Struct {
			addRows(table, at, inner)
		}
	}
}

// formOf describes what values of a type may be.
func formOf(of reflect.Type) string {
	if text, ok := reflect.TypeAssert[scalar](reflect.New(of)); ok {
		return text.form()
	}
	switch of.Kind() {
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Struct {
			return "a list"
		}
		return "a list, each " + formOf(of.Elem())
	case reflect.Map:
		return "keys, each " + formOf(of.Key())
	default:
		return "keys"
	}
}
