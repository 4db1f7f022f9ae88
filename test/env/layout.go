package env

import (
	"cmp"
	"encoding"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// WantLayout compares the msgpack layout of types with the file that records it: a line for each field, with type,
// name and type of the field, for values that processes of two versions exchange. A field that is missing,
// different or new fails the test until update rewrites the file.
func WantLayout(t *testing.T, path string, update *bool, types ...reflect.Type) {
	t.Helper()
	lines := map[string]bool{}
	for _, shape := range types {
		describeLayout(shape, lines)
	}
	present := slices.Sorted(maps.Keys(lines))
	if *update {
		MustDo(t, os.WriteFile(filepath.Clean(path), []byte(strings.Join(present, "\n")+"\n"), 0o600))
	}
	recorded, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatalf("%v: after raising formatVersion, run this test with -update-layout", err)
	}
	for line := range strings.Lines(string(recorded)) {
		if !lines[strings.TrimSpace(line)] {
			t.Errorf("%s: the field is gone or different, and the version before misreads it: raise formatVersion",
				strings.TrimSpace(line))
		}
	}
	if len(present) != strings.Count(string(recorded), "\n") && !t.Failed() {
		t.Error("a field was added, which older versions ignore: run this test with -update-layout")
	}
}

// LayoutFlag defines the flag that makes WantLayout rewrite its files.
func LayoutFlag() *bool {
	return flag.Bool("update-layout", false, "record the present layout of stored values")
}

func describeLayout(shape reflect.Type, lines map[string]bool) {
	switch shape.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		describeLayout(shape.Elem(), lines)
	case reflect.Struct:
		for field := range shape.Fields() {
			name, _, _ := strings.Cut(cmp.Or(field.Tag.Get("msgpack"), field.Tag.Get("param")), ",")
			line := fmt.Sprintf("%s %s %s", shape, name, layoutOf(field.Type))
			if !field.IsExported() || name == "-" || lines[line] {
				continue
			}
			lines[line] = true
			describeLayout(field.Type, lines)
		}
	default:
	}
}

// layoutOf returns the name of a type. Texts are all string, whatever they mean.
func layoutOf(t reflect.Type) string {
	if encodesItself(t) {
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + layoutOf(t.Elem())
	case reflect.Slice:
		return "[]" + layoutOf(t.Elem())
	case reflect.String:
		return "string"
	default:
		return t.String()
	}
}

// encodesItself reports whether a type has an encoding of its own.
func encodesItself(t reflect.Type) bool {
	for _, encoder := range []reflect.Type{
		reflect.TypeFor[msgpack.CustomEncoder](), reflect.TypeFor[msgpack.Marshaler](),
		reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
	} {
		if t.Implements(encoder) || reflect.PointerTo(t).Implements(encoder) {
			return true
		}
	}
	return false
}
