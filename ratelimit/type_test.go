package ratelimit_test

import (
	"reflect"
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/ratelimit"
)

// A package that imports a type made of types of the Redis client takes five times as long to compile.
func TestTypesHideTheRedisClient(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, path string) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		if strings.Contains(typ.PkgPath(), "go-redis") {
			t.Errorf("%s is %s, a type of the Redis client", path, typ)
			return
		}
		for method := range typ.Methods() {
			walk(method.Type, path+"."+method.Name)
		}
		switch typ.Kind() { //nolint:exhaustive // the others are made of nothing
		case reflect.Array, reflect.Chan, reflect.Map, reflect.Pointer, reflect.Slice:
			if typ.Kind() == reflect.Map {
				walk(typ.Key(), path)
			}
			walk(typ.Elem(), path)
		case reflect.Func:
			for in := range typ.Ins() {
				walk(in, path)
			}
			for out := range typ.Outs() {
				walk(out, path)
			}
		case reflect.Struct:
			for field := range typ.Fields() {
				walk(field.Type, path+"."+field.Name)
			}
		}
	}
	for _, value := range []any{
		&cache.Store{}, &cache.Writer{}, &cache.Lease{}, &cache.Pipeline{},
		cache.CompletedFill{},
		&accounts.Store{}, &ratelimit.Limiter{},
	} {
		walk(reflect.TypeOf(value), reflect.TypeOf(value).String())
	}
}
