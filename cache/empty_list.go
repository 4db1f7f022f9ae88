package cache

import (
	"reflect"
	"strings"
	"sync"
)

// emptyLists makes the nil lists of a value empty: a list without members is [] in answers, also where a view
// of an earlier version has none. One that answers omit without members stays nil.
func emptyLists(v reflect.Value) {
	if !hasLists(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			emptyLists(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			left := strings.Contains(field.Tag.Get("json"), ",omitempty") && v.Field(i).IsZero()
			if field.IsExported() && !left {
				emptyLists(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		if !hasLists(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			emptyLists(v.Index(i))
		}
	default:
	}
}

var typesWithLists sync.Map //nolint:gochecknoglobals // facts of types

// hasLists reports whether values of a type have lists. Bytes are no list.
func hasLists(t reflect.Type) bool {
	if known, is := typesWithLists.Load(t); is {
		return known == true
	}
	has := false
	switch t.Kind() {
	case reflect.Pointer:
		has = hasLists(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			has = has || field.IsExported() && hasLists(field.Type)
		}
	case reflect.Slice:
		has = t.Elem().Kind() != reflect.Uint8
	default:
	}
	typesWithLists.Store(t, has)
	return has
}
