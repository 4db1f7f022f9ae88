package sources

import (
	"fmt"
	"reflect"
	"strings"
)

// Markdown returns the table of all keys of a sources file, for its documentation.
func Markdown() string {
	var table strings.Builder
	table.WriteString("| Key | Meaning |\n| --- | --- |\n")
	addRows(&table, "", reflect.TypeFor[File]())
	return table.String()
}

func addRows(table *strings.Builder, path string, of reflect.Type) {
	for _, f := range fieldsOf(of) {
		at, needed := strings.TrimPrefix(path+"."+f.name, "."), ""
		if f.required {
			needed = " (required)"
		}
		fmt.Fprintf(table, "| `%s`%s | %s |\n", at, needed, f.doc)
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
