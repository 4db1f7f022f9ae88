package client

import "strings"

func golang() dialect {
	exported := func(name string) string { return goCase(wordsOf(name)) }
	slice := func(of string) string { return "[]" + of }
	return dialect{
		text: "string", integer: "int", long: "int64", boolean: "bool", object: "json.RawMessage", anything: "json.RawMessage",
		list: slice, sequence: slice, orNull: goPointer,
		open:  func(enum string) string { return enum },
		field: exported, parameter: exported, method: goCase,
	}
}

// goPointer returns the type for what may be null. json.RawMessage holds null itself.
func goPointer(of string) string {
	if of == "json.RawMessage" {
		return of
	}
	return "*" + of
}

// goDoc is the comment before the declaration of a type: a sentence about its name.
func goDoc(indent, name, text string) string {
	if text[1:2] == strings.ToLower(text[1:2]) {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	return comment(indent+"// ", name, " is ", text)
}

func goValue(value string) string { return goCase(valueWords(value)) }

func goArgument(p field) string {
	words := wordsOf(p.JSON)
	return words[0] + goCase(words[1:])
}
