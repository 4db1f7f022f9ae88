package sources

import (
	"fmt"
	"reflect"
	"strings"
)

// Markdown returns the list of all keys of a sources file, for its documentation.
func Markdown() string {
	var list strings.Builder
	addKeys(&list, "", reflect.TypeFor[File]())
	return list.String()
}

func addKeys(list *strings.Builder, path string, of reflect.Type) {
	for _, f := range fieldsOf(of) {
		at, needed := strings.TrimPrefix(path+"."+f.name, "."), ""
		if f.required {
			needed = " (required)"
		}
		fmt.Fprintf(list, "- `%s`%s: %s\n", at, needed, f.doc)
		inner := f.kind
		switch inner.Kind() {
		case reflect.Map:
			at, inner = at+"."+strings.ToUpper(strings.TrimSuffix(inner.Key().Name(), "ID")), inner.Elem()
		case reflect.Slice:
			at, inner = at+"[]", inner.Elem()
		default:
		}
		if inner.Kind() == reflect.Struct {
			addKeys(list, at, inner)
		}
	}
}
