package client

import "strings"

func typeScript() dialect {
	same := func(name string) string { return name }
	return dialect{
		text: "string", integer: "number", long: "number", boolean: "boolean", object: "Record<string, unknown>", anything: "unknown",
		list:     func(of string) string { return of + "[]" },
		sequence: func(of string) string { return "readonly " + of + "[]" },
		orNull:   func(of string) string { return of + " | null" },
		open:     func(enum string) string { return "Open<" + enum + ">" },
		field:    same, parameter: same, method: camelCase,
	}
}

func tsDoc(indent, text string) string {
	if line := indent + "/** " + text + " */"; fits(line) {
		return line
	}
	return indent + "/**\n" + comment(indent+" * ", text) + "\n" + indent + " */"
}

func tsUnion(values []string) string {
	if line := strings.Join(quotedAll(values), " | "); len(line) < maxWidth/2 {
		return " " + line
	}
	all := quotedAll(values)
	for i := range all[1:] {
		all[i+1] = "| " + all[i+1]
	}
	return "\n" + wrapWords("  | ", "  ", all)
}

// tsPath is the path of a route in a template literal.
func tsPath(c call) string {
	return c.pathWith(func(p field) string { return "${" + p.Name + "}" })
}
