package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"pnyx/warehouse"
)

// Problem is one thing that is wrong with a sources file.
type Problem struct {
	// Line is the line of the file; 0 where the file as a whole is meant.
	Line int
	// Path names the value: daos[2].governors[0].
	Path string
	// Reason says what is wrong and what is allowed. It does not repeat the value.
	Reason string
}

// RefusedError lists everything that is wrong with a sources file.
type RefusedError struct {
	Path string
	// Problems are in order of lines.
	Problems []Problem
}

// Error implements error: one line for each problem.
func (e *RefusedError) Error() string {
	var text strings.Builder
	text.WriteString("sources file refused:")
	for _, p := range e.Problems {
		fmt.Fprintf(&text, "\n  %s:%d: ", e.Path, p.Line)
		if p.Path != "" {
			text.WriteString(p.Path + ": ")
		}
		text.WriteString(p.Reason)
	}
	return text.String()
}

// Parse parses a sources file. environ looks up environment variables. The error is a [*RefusedError] with all
// problems; path names the file in it.
func Parse(path string, text []byte, environ func(string) (string, bool)) (File, error) {
	p := parser{environ: environ, folder: filepath.Dir(path), lines: map[string]int{}}
	var file File
	if root := p.document(text); root != nil {
		p.read("", root, reflect.ValueOf(&file).Elem())
	}
	if len(p.problems) == 0 {
		p.crossCheck(file)
	}
	if len(p.problems) == 0 {
		return file, nil
	}
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return a.Line - b.Line })
	return File{}, &RefusedError{Path: path, Problems: p.problems}
}

type parser struct {
	environ  environ
	folder   string         // of the file
	lines    map[string]int // of each value, by path
	problems []Problem
}

func (p *parser) refuse(path, reason string, args ...any) {
	p.problems = append(p.problems, Problem{Line: p.lines[path], Path: path, Reason: fmt.Sprintf(reason, args...)})
}

// document returns the only document of a file; nil after a problem.
func (p *parser) document(text []byte) *yaml.Node {
	if len(text) > maxFileBytes {
		p.refuse("", "is larger than 1 MiB")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	switch {
	case errors.Is(err, io.EOF):
		p.refuse("", "is empty: want contact and daos")
	case err != nil:
		reason := strings.TrimPrefix(err.Error(), "yaml: ")
		var line int
		if _, scanErr := fmt.Sscanf(reason, "line %d: ", &line); scanErr == nil {
			_, reason, _ = strings.Cut(reason, ": ")
		}
		p.lines[""] = line
		p.refuse("", "is no YAML: %s; text with { } [ ] or : needs quotation marks", reason)
	case !errors.Is(decoder.Decode(&second), io.EOF):
		p.refuse("", "has more than one document")
	default:
		return first.Content[0]
	}
	return nil
}

func (p *parser) read(path string, node *yaml.Node, into reflect.Value) {
	p.lines[path] = node.Line
	if node.Kind == yaml.AliasNode {
		p.refuse(path, "aliases are not supported: repeat the value")
		return
	}
	if form, is := forms()[into.Type()]; is {
		p.scalar(path, node, into, form)
		return
	}
	switch into.Kind() {
	case reflect.Slice:
		p.list(path, node, into)
	case reflect.Map:
		p.table(path, node, into)
	default:
		p.object(path, node, into)
	}
}

func (p *parser) scalar(path string, node *yaml.Node, into reflect.Value, of form) {
	text := node.Value
	if node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null" {
		text = "" // which no form allows
	}
	switch value, err := of.read(text, p.environ); {
	case errors.Is(err, errForm):
		p.refuse(path, "want %s", of.want)
	case err != nil:
		p.refuse(path, "%s", err.Error())
	default:
		into.Set(reflect.ValueOf(value))
	}
}

func (p *parser) list(path string, node *yaml.Node, into reflect.Value) {
	if node.Kind != yaml.SequenceNode {
		p.refuse(path, "want a list, each item in a line that begins with - or all of them in [ ]")
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content)))
	for i, item := range node.Content {
		p.read(fmt.Sprintf("%s[%d]", path, i), item, into.Index(i))
	}
}

func (p *parser) table(path string, node *yaml.Node, into reflect.Value) {
	into.Set(reflect.MakeMap(into.Type()))
	for key, value := range p.pairs(path, node) {
		name, entry := reflect.New(into.Type().Key()).Elem(), reflect.New(into.Type().Elem()).Elem()
		at := path + "." + key.Value
		p.read(at, key, name)
		p.read(at, value, entry)
		if into.MapIndex(name).IsValid() {
			p.refuse(at, "is there in another spelling, too")
		}
		into.SetMapIndex(name, entry)
	}
}

// object sets the fields of a struct. Where one of them is enough, the value alone is accepted.
func (p *parser) object(path string, node *yaml.Node, into reflect.Value) {
	fields := fieldsOf(into.Type())
	for _, f := range fields {
		if f.alone && node.Kind == yaml.ScalarNode {
			p.read(path, node, into.FieldByIndex(f.index))
			return
		}
	}
	given := map[string]bool{}
	for key, value := range p.pairs(path, node) {
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if i < 0 {
			p.lines[at] = key.Line
			names := warehouse.Values(fields, func(f field) string { return f.name })
			p.refuse(at, "is not a key; want one of %s", strings.Join(names, ", "))
			continue
		}
		given[key.Value] = true
		p.read(at, value, into.FieldByIndex(fields[i].index))
	}
	for _, f := range fields {
		if f.required && !given[f.name] && node.Kind == yaml.MappingNode {
			p.refuse(path, "needs %s", f.name)
		}
	}
}

// pairs yields the keys and values of a mapping, each key once.
func (p *parser) pairs(path string, node *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if node.Kind != yaml.MappingNode {
			p.refuse(path, "want keys with values, each in a line of its own")
			return
		}
		first := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if line, again := first[key.Value]; again {
				at := strings.TrimPrefix(path+"."+key.Value, ".")
				p.lines[at] = key.Line
				p.refuse(at, "is a second time the key of line %d", line)
				continue
			}
			first[key.Value] = key.Line
			if !yield(key, node.Content[i+1]) {
				return
			}
		}
	}
}

type field struct {
	name, doc       string
	required, alone bool
	index           []int
	kind            reflect.Type
}

// fieldsOf returns the keys of a struct, in order of declaration.
func fieldsOf(of reflect.Type) (fields []field) {
	for member := range of.Fields() {
		name, options, _ := strings.Cut(member.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		fields = append(fields, field{
			name: name, doc: member.Tag.Get("doc"), index: member.Index, kind: member.Type,
			required: strings.Contains(options, "required"), alone: strings.Contains(options, "alone"),
		})
	}
	return fields
}
