package query_test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance/query"
	"pnyx/test/check"
)

// queries holds every query by its name.
func queries() map[string]any {
	return map[string]any{
		"ballots": query.Ballots{}, "daos": query.DAOs{}, "events": query.Events{}, "profile": query.Profile{},
		"proposals": query.Proposals{}, "resolve": query.Resolve{}, "signals": query.Signals{},
		"timeline": query.Timeline{}, "topics": query.Topics{}, "voters": query.Voters{}, "voter votes": query.VoterVotes{},
	}
}

// param is a field of a query that a request can set.
type param struct {
	reflect.StructField

	// name is the parameter's name in requests.
	name string
	// embedding are the tags of the field that embeds the parameter's struct.
	embedding reflect.StructTag
}

// params returns the parameters of a query.
func params(q reflect.Type) []param {
	var all []param
	for _, field := range reflect.VisibleFields(q) {
		p := param{StructField: field, name: field.Tag.Get("param")}
		if len(field.Index) > 1 {
			p.embedding = q.Field(field.Index[0]).Tag
		}
		if p.name != "" {
			all = append(all, p)
		}
	}
	return all
}

// tag returns a tag of the field, or else of the one that embeds it.
func (p *param) tag(name string) string {
	if value, set := p.Tag.Lookup(name); set {
		return value
	}
	return p.embedding.Get(name)
}

// eachParam runs a subtest for every parameter of every query.
func eachParam(t *testing.T, test func(t *testing.T, p param)) {
	t.Helper()
	for name, q := range queries() {
		for _, p := range params(reflect.TypeOf(q)) {
			t.Run(name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				test(t, p)
			})
		}
	}
}

func TestEveryParameterIsDescribed(t *testing.T) {
	t.Parallel()
	eachParam(t, func(t *testing.T, p param) {
		t.Helper()
		if doc := p.Tag.Get("doc"); !strings.HasSuffix(doc, ".") {
			t.Errorf("doc: got %q, want a sentence", doc)
		}
		if in := p.Tag.Get("in"); in != "" && in != "path" {
			t.Errorf("in: got %q, want none or path", in)
		}
		for _, flag := range []string{"required", "exists"} {
			if value, set := p.Tag.Lookup(flag); set && value != "true" {
				t.Errorf("%s: got %q, want true or no tag", flag, value)
			}
		}
	})
}

func TestIntegersAreBounded(t *testing.T) {
	t.Parallel()
	eachParam(t, func(t *testing.T, p param) {
		t.Helper()
		if p.Type.Kind() != reflect.Int {
			return
		}
		lowest, bounds := 0, map[string]int{}
		for _, name := range []string{"min", "default", "max"} {
			text := p.tag(name)
			if text == "" && name != "max" {
				continue
			}
			number, err := strconv.Atoi(text)
			if err != nil || number < lowest {
				t.Errorf("%s: got %q after %v, want a number that is no smaller", name, text, bounds)
			}
			lowest, bounds[name] = number, number
		}
	})
}

// A text type without a closed set would let every value through, also one that no order or
// filter knows.
func TestEveryChoiceIsFromAClosedSet(t *testing.T) {
	t.Parallel()
	// These have a form, which the api package checks.
	formed := []string{"Month", "ProposalKey", "TopicKey", "Voter"}
	eachParam(t, func(t *testing.T, p param) {
		t.Helper()
		choice := p.Type
		if choice.Kind() == reflect.Slice {
			choice = choice.Elem()
		}
		values := query.Values(choice)
		isChoice := choice.Kind() == reflect.String && choice.PkgPath() != "" && !slices.Contains(formed, choice.Name())
		if isChoice != (len(values) > 0) {
			t.Fatalf("values of %s: got %v, want some: %t", choice, values, isChoice)
		}
		if sorted := slices.Sorted(slices.Values(values)); len(slices.Compact(sorted)) != len(values) || slices.Contains(values, "") {
			t.Errorf("values of %s: got %v, want texts, each once", choice, values)
		}
		if !isChoice {
			return
		}
		for _, given := range append(strings.Split(p.Tag.Get("example"), ","), p.Tag.Get("default")) {
			if given != "" && !slices.Contains(values, given) {
				t.Errorf("example or default %q is none of %v", given, values)
			}
		}
		if slices.Contains(values, "nonsense") {
			t.Errorf("values of %s: got %v with nonsense", choice, values)
		}
	})
}

func TestNamesAreUniqueInAQuery(t *testing.T) {
	t.Parallel()
	for name, q := range queries() {
		var names []string
		for _, p := range params(reflect.TypeOf(q)) {
			names = append(names, p.name)
		}
		slices.Sort(names)
		check.WantSame(t, name, slices.Compact(slices.Clone(names)), names)
	}
}

// A filter that the encoding of a query leaves out would let two pages share one key.
func TestEveryParameterIsEncoded(t *testing.T) {
	t.Parallel()
	for name, q := range queries() {
		zero := reflect.ValueOf(q)
		for _, p := range params(zero.Type()) {
			set := reflect.New(zero.Type()).Elem()
			setNonzero(set.FieldByIndex(p.Index))
			fields := decodeFields(t, set.Interface())
			if _, encoded := fields[p.name]; !encoded || len(fields) != 1 {
				t.Errorf("%s: got fields %v, want only %s", name, fields, p.name)
			}
		}
	}
}

// setNonzero sets a field to a value other than none.
func setNonzero(field reflect.Value) {
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case reflect.Int:
		field.SetInt(1)
	default:
		field.SetString("x")
	}
}

// decodeFields encodes a query as the cache package does, and returns the encoded fields.
func decodeFields(t *testing.T, q any) map[string]any {
	t.Helper()
	var text strings.Builder
	encoder := msgpack.NewEncoder(&text)
	encoder.SetCustomStructTag("param")
	encoder.SetOmitEmpty(true)
	check.MustDo(t, encoder.Encode(q))
	fields := map[string]any{}
	check.MustDo(t, msgpack.Unmarshal([]byte(text.String()), &fields))
	return fields
}
