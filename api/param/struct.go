package param

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"pnyx/governance"
	"pnyx/governance/query"
)

// Field is the index of a parameter's field in the struct of the route's parameters.
type Field []int

// Of returns the parameters that a struct declares with the tags of package query, and their fields. It panics on a
// tag with an invalid value, which every start of the program would show.
func Of(params reflect.Type) (all []Param, fields []Field) {
	return appendParams(nil, nil, params, nil, "")
}

// appendParams appends the parameters of an embedded struct. tags, the embedding field's, apply where a field has none.
func appendParams(
	all []Param, fields []Field, params reflect.Type, index []int, tags reflect.StructTag,
) ([]Param, []Field) {
	for i := range params.NumField() {
		field := params.Field(i)
		at := append(slices.Clip(index), i)
		if field.Anonymous {
			all, fields = appendParams(all, fields, field.Type, at, field.Tag)
			continue
		}
		if name := field.Tag.Get("param"); name != "" {
			all = append(all, paramOf(name, field, tags))
			fields = append(fields, at)
		}
	}
	return all, fields
}

func paramOf(name string, field reflect.StructField, embedding reflect.StructTag) Param {
	kind, set := kindOf(field.Type)
	param := Param{
		Name: name, In: Location(field.Tag.Get("in")), Kind: kind, Set: set,
		Description: field.Tag.Get("doc"), Example: field.Tag.Get("example"),
		Required: field.Tag.Get("required") == "true", MustExist: field.Tag.Get("exists") == "true", Sample: field.Tag.Get("sample") == "true",
		Default: field.Tag.Get("default"), Unbound: field.Tag.Get("bound") == "false", Addition: field.Tag.Get("addition") == "true",
	}
	if set != nil {
		param.Enum = query.Values(set)
	}
	if kind == Integer {
		maximum := field.Tag.Get("max")
		if maximum == "" {
			param.Default, maximum = embedding.Get("default"), embedding.Get("max")
		}
		param.Min, param.Max = bound(name, field.Tag.Get("min")), bound(name, maximum)
	}
	return param
}

func bound(name, text string) int {
	if text == "" {
		return 0
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("parameter %s: bound %q is not a number", name, text))
	}
	return number
}

// kindOf returns the kind of a parameter by its field's type, and the type of an enumeration's values.
func kindOf(field reflect.Type) (kind Kind, set reflect.Type) {
	switch field {
	case reflect.TypeFor[governance.ProposalKey]():
		return ProposalKey, nil
	case reflect.TypeFor[governance.TopicKey]():
		return TopicKey, nil
	case reflect.TypeFor[*governance.Timestamp]():
		return Instant, nil
	case reflect.TypeFor[query.Voter]():
		return Voter, nil
	case reflect.TypeFor[query.Month]():
		return Month, nil
	case reflect.TypeFor[*bool]():
		return Boolean, nil
	case reflect.TypeFor[int]():
		return Integer, nil
	case reflect.TypeFor[string]():
		return Text, nil
	}
	switch field.Kind() {
	case reflect.Pointer:
		return Cursor, nil
	case reflect.Slice:
		return EnumList, field.Elem()
	default:
		return Enum, field
	}
}

// Set stores a parsed value in its field. It skips a cursor, which is decoded only after its signature is checked.
func (f Field) Set(params reflect.Value, value any) {
	field := params.FieldByIndex(f)
	switch value := value.(type) {
	case string:
		if field.Kind() == reflect.String {
			field.SetString(value)
		}
	case int:
		field.SetInt(int64(value))
	case bool:
		field.Set(reflect.ValueOf(&value))
	case governance.Timestamp:
		field.Set(reflect.ValueOf(&value))
	case []string:
		list := reflect.MakeSlice(field.Type(), len(value), len(value))
		for i, one := range value {
			list.Index(i).SetString(one)
		}
		field.Set(list)
	}
}
