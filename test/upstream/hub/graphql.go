package hub

import (
	"strconv"
	"strings"
	"text/scanner"
)

// selection is a field of a query.
type selection struct {
	alias, name string
	args        map[string]any
	fields      []selection
}

// parser reads one GraphQL query: fields, aliases, arguments, variables.
type parser struct {
	scan      scanner.Scanner
	token     rune
	variables map[string]any
	err       error
}

// parse returns the root fields of a query, with the values of its variables.
func parse(text string, variables map[string]any) ([]selection, error) {
	p := &parser{variables: variables}
	p.scan.Init(strings.NewReader(text))
	p.scan.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanStrings
	p.scan.Error = func(_ *scanner.Scanner, message string) { p.fail(message) }
	p.next()
	if p.token == scanner.Ident && p.scan.TokenText() == "query" {
		p.next()
		if p.token == scanner.Ident {
			p.next()
		}
		if p.accept('(') {
			for p.err == nil && !p.accept(')') {
				p.next() // declarations of variables say nothing that matters here
			}
		}
	}
	roots := p.selections(1)
	if p.err == nil && p.token != scanner.EOF {
		p.fail("unexpected " + p.scan.TokenText())
	}
	return roots, p.err
}

func (p *parser) next() {
	if p.token = p.scan.Scan(); p.token == scanner.EOF && p.scan.Pos().Offset == 0 {
		p.fail("empty query")
	}
}

func (p *parser) fail(message string) {
	if p.err == nil {
		p.err = invalid("Syntax Error: %s", message)
	}
}

func (p *parser) accept(token rune) bool {
	if p.err == nil && p.token == scanner.EOF {
		p.fail("unexpected <EOF>")
	}
	if p.token != token {
		return false
	}
	p.next()
	return true
}

func (p *parser) name() string {
	name := p.scan.TokenText()
	if p.token != scanner.Ident {
		p.fail("expected a name, found " + name)
	}
	p.next()
	return name
}

func (p *parser) selections(depth int) (fields []selection) {
	if depth > maxDepth {
		p.fail("the query exceeds the maximum depth")
	}
	if !p.accept('{') {
		p.fail("expected {")
	}
	for p.err == nil && !p.accept('}') {
		field := selection{name: p.name()}
		if p.accept(':') {
			field.alias, field.name = field.name, p.name()
		}
		if p.token == '(' {
			p.next()
			field.args = p.members(')')
		}
		if p.token == '{' {
			field.fields = p.selections(depth + 1)
		}
		fields = append(fields, field)
	}
	return fields
}

// members reads named values up to the closing token, without those whose variable has no value.
func (p *parser) members(end rune) map[string]any {
	values := map[string]any{}
	for p.err == nil && !p.accept(end) {
		name := p.name()
		if !p.accept(':') {
			p.fail("expected :")
		}
		if value := p.value(); value != nil {
			values[name] = value
		}
		p.accept(',')
	}
	return values
}

func (p *parser) value() any {
	text := p.scan.TokenText()
	switch {
	case p.accept('$'):
		return p.variables[p.name()]
	case p.accept('{'):
		return p.members('}')
	case p.accept('['):
		list := []any{}
		for p.err == nil && !p.accept(']') {
			list = append(list, p.value())
			p.accept(',')
		}
		return list
	case p.accept('-'):
		number, _ := p.value().(float64)
		return -number
	case p.accept(scanner.Int), p.accept(scanner.Float):
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			p.fail(err.Error())
		}
		return number
	case p.accept(scanner.String):
		unquoted, err := strconv.Unquote(text)
		if err != nil {
			p.fail(err.Error())
		}
		return unquoted
	}
	switch name := p.name(); name {
	case "true", "false":
		return name == "true"
	case "null":
		return nil
	default:
		return enum(name)
	}
}

// enum is a value without quotes.
type enum string
