package client

import (
	"slices"
	"strconv"
	"strings"
)

func python() dialect {
	return dialect{
		text: "str", integer: "int", long: "int", boolean: "bool", object: "dict[str, Any]", anything: "Any",
		list:      func(of string) string { return "list[" + of + "]" },
		sequence:  func(of string) string { return "Sequence[" + of + "]" },
		orNull:    func(of string) string { return of + " | None" },
		open:      func(enum string) string { return enum + " | str" },
		field:     func(name string) string { return name },
		parameter: func(name string) string { return snakeCase(wordsOf(name)) },
		method:    snakeCase,
	}
}

// pyText is the beginning of a text after a declaration, without its end.
func pyText(indent, text string) string { return wrap(indent+`"""`, indent, text) }

func pyDoc(indent, text string) string {
	if line := indent + `"""` + text + `"""`; fits(line) {
		return line
	}
	return pyText(indent, text) + "\n" + indent + `"""`
}

func pyComment(indent, text string) string { return wrap(indent+"# ", indent+"# ", text) }

// pyIsKeyword reports whether a type has a field that a class cannot declare.
func pyIsKeyword(fields []field) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return snakeCase([]string{f.Name}) != f.Name })
}

// pySignature is the first line of a method, or its first lines.
func pySignature(c call) string {
	args := []string{"self"}
	for _, p := range c.Args {
		args = append(args, p.Name+": "+p.Type)
	}
	if len(c.Query) > 0 {
		args = append(args, "*")
	}
	for _, p := range c.Query {
		switch {
		case p.Required:
			args = append(args, p.Name+": "+p.Type)
		case c.MaxLimit > 0 && p.JSON == "limit":
			args = append(args, p.Name+": "+p.Type+" = "+strconv.Itoa(c.MaxLimit))
		default:
			args = append(args, p.Name+": "+p.Type+" | None = None")
		}
	}
	returns := "Answer[" + c.Type + "]"
	switch {
	case c.Media != "":
		returns = "bytes"
	case c.MaxLimit > 0:
		returns = "Rows[" + c.Type + "]"
	}
	begin, end := "    def "+c.Name+"(", ") -> "+returns+":"
	if line := begin + strings.Join(args, ", ") + end; fits(line) {
		return line
	}
	return begin + "\n        " + strings.Join(args, ",\n        ") + ",\n    " + end
}

// pyParams is the dictionary of query parameters, after a call that gets it.
func pyParams(c call) string {
	items := make([]string, len(c.Query))
	for i, p := range c.Query {
		items[i] = quoted(p.JSON) + ": " + p.Name
	}
	if line := "{" + strings.Join(items, ", ") + "}"; len(line) < maxWidth/2 {
		return line
	}
	for i := range items {
		items[i] += ","
	}
	return "{\n" + wrapWords("            ", "            ", items) + "\n        }"
}

func pyLiteral(e enum) string {
	all := quotedAll(e.Values)
	if line := e.Name + " = Literal[" + strings.Join(all, ", ") + "]"; fits(line) {
		return line
	}
	for i := range all {
		all[i] += ","
	}
	return e.Name + " = Literal[\n" + wrapWords("    ", "    ", all) + "\n]"
}

func pyPath(c call) string {
	return c.pathWith(func(field) string { return "{}" })
}
