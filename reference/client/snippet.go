package client

import (
	"go/format"
	"strconv"
	"strings"

	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
)

const (
	// GoModule is the import path of the client in snippets in Go: the folder of the file.
	GoModule = "example.org/app/pnyx"
	// exampleBase is the address of the node in snippets where none is known.
	exampleBase = "http://127.0.0.1:8080"
	// maxCall is the length of a call from which arguments are put on lines of their own.
	maxCall = 80
)

// Snippet returns a program that calls a route of the node at a base URL and prints what
// it answers; a list is walked to its end. It expects the file of the client in its own
// folder, for Go in the package GoModule.
//
// values are texts as in the query, by the names of parameters. Those that a request needs
// and that are not given have their examples. base may be empty for an example.
func Snippet(language Language, base string, route routes.Route, values map[string]string) (string, error) {
	path, params := arguments(route, values)
	data := struct {
		// Base is the node's address, Call the method's call, Row a row of a list; empty for others.
		Base, Call, Row, Module string
		// Token says that the call needs credentials, File that it reads a file.
		Token, File bool
	}{Base: quoted(strings.TrimSuffix(base, "/")), Module: GoModule, Token: route.Paid() || route.TokenOnly, File: route.Media != nil}
	if base == "" {
		data.Base = quoted(exampleBase)
	}
	if route.Paged() {
		words := methodWords(route)
		data.Row = singular(words[len(words)-1])
	}
	switch language {
	case TypeScript:
		data.Call = typeScriptCall(route, path, params)
	case Python:
		data.Call = pythonCall(route, path, params)
	case Go:
		data.Call = goCall(route, path, params)
	}
	text, err := Render(templates, functions(), "snippet"+language.extension()+".tmpl", data)
	if err != nil || language != Go {
		return string(text), err
	}
	text, err = format.Source(text)
	return string(text), err
}

// argument is a parameter with its value as in a query.
type argument struct {
	param.Param

	value string
}

// arguments returns the literals of the path's parameters, and the query's parameters.
func arguments(route routes.Route, values map[string]string) (path []string, params []argument) {
	sampled := len(values) == 0
	for _, one := range route.Params {
		value := values[one.Name]
		if value == "" && (one.In == param.InPath || one.Required || one.Sample && sampled) {
			value = one.Example
		}
		switch {
		case one.In == param.InPath:
			path = append(path, argument{one, value}.literal("", ""))
		case value != "":
			params = append(params, argument{one, value})
		}
	}
	return path, params
}

func typeScriptCall(route routes.Route, path []string, params []argument) string {
	name, given := "pnyx."+camelCase(methodWords(route)), make([]string, len(params))
	for i, a := range params {
		given[i] = a.Name + ": " + a.literal("[", "]")
	}
	if len(given) == 0 {
		return name + "(" + strings.Join(path, ", ") + ")"
	}
	call := name + "(" + strings.Join(append(path, "{ "+strings.Join(given, ", ")+" }"), ", ") + ")"
	if len(call) < maxCall {
		return call
	}
	return name + "(" + strings.Join(append(path, "{\n  "+strings.Join(given, ",\n  ")+",\n}"), ", ") + ")"
}

func pythonCall(route routes.Route, path []string, params []argument) string {
	name, given := "pnyx."+snakeCase(methodWords(route)), path
	for _, a := range params {
		literal := a.literal("[", "]")
		if a.Kind == param.Boolean {
			literal = strings.ToUpper(literal[:1]) + literal[1:]
		}
		given = append(given, snakeCase(wordsOf(a.Name))+"="+literal)
	}
	call := name + "(" + strings.Join(given, ", ") + ")"
	if len(call) < maxCall {
		return call
	}
	return name + "(\n    " + strings.Join(given, ",\n    ") + ",\n)"
}

func goCall(route routes.Route, path []string, params []argument) string {
	name, given := goCase(methodWords(route)), make([]string, len(params))
	for i, a := range params {
		open := ""
		if a.Kind == param.EnumList {
			open = "[]pnyx." + a.Set.Name() + "{"
		}
		literal := a.literal(open, "}")
		if a.Kind == param.Boolean {
			literal = "pnyx.Bool(" + literal + ")"
		}
		given[i] = goCase(wordsOf(a.Name)) + ": " + literal
	}
	all := append([]string{"ctx"}, path...)
	call := "client." + name + "(" + strings.Join(append(all, "&pnyx."+name+"Params{"+strings.Join(given, ", ")+"}"), ", ") + ")"
	switch {
	case len(path) == len(route.Params):
		return "client." + name + "(" + strings.Join(all, ", ") + ")"
	case len(given) == 0:
		return "client." + name + "(" + strings.Join(append(all, "nil"), ", ") + ")"
	case len(call) < maxCall:
		return call
	}
	return "client." + name + "(" + strings.Join(append(all, "&pnyx."+name+"Params{\n"+strings.Join(given, ",\n")+",\n}"), ", ") + ")"
}

// literal returns the value as code; a list is between open and end.
func (a argument) literal(open, end string) string {
	_, notNumber := strconv.Atoi(a.value)
	switch {
	case a.Kind == param.Integer && notNumber == nil, a.Kind == param.Boolean && (a.value == "true" || a.value == "false"):
		return a.value
	case a.Kind == param.EnumList:
		return open + strings.Join(quotedAll(strings.Split(a.value, ",")), ", ") + end
	}
	return quoted(a.value)
}

// quoted returns a text as a literal of JSON, which is one in all three languages.
func quoted(text string) string {
	literal, err := governance.JSON(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return string(literal)
}

func quotedAll(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = quoted(text)
	}
	return all
}
