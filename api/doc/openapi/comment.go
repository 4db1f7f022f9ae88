package openapi

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// comments is what Go source says of its types.
type comments struct {
	types  map[string]string   // by type
	fields map[string]string   // by type and field: "Ballot.VotedAt"
	enums  map[string][]string // the constants of a type, by type
}

// readComments reads the files of a package, tests apart.
func (c *comments) readComments(files fs.FS) error {
	names, err := fs.Glob(files, "*.go")
	if err != nil {
		return fmt.Errorf("list sources: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read a source: %w", err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("read the comments of a source: %w", err)
		}
		c.readFile(parsed)
	}
	return nil
}

func (c *comments) readFile(file *ast.File) {
	for _, declared := range file.Decls {
		group, is := declared.(*ast.GenDecl)
		if !is {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				c.readType(spec, group.Doc)
			case *ast.ValueSpec:
				c.readConstant(spec)
			}
		}
	}
}

func (c *comments) readType(spec *ast.TypeSpec, above *ast.CommentGroup) {
	name := spec.Name.Name
	described, is := spec.Type.(*ast.StructType)
	if !is {
		c.types[name] = sentence(above, nil)
		return
	}
	public := publicNames(described)
	c.types[name] = sentence(above, public)
	for _, field := range described.Fields.List {
		for _, goName := range field.Names {
			text := sentence(field.Doc, public)
			if text == "" {
				text = sentence(field.Comment, public)
			}
			c.fields[name+"."+goName.Name] = text
		}
	}
}

// readConstant keeps a constant of a named text type as one of its values.
func (c *comments) readConstant(spec *ast.ValueSpec) {
	named, is := spec.Type.(*ast.Ident)
	if !is {
		return
	}
	for _, value := range spec.Values {
		literal, is := value.(*ast.BasicLit)
		if !is || literal.Kind != token.STRING {
			continue
		}
		if text, err := strconv.Unquote(literal.Value); err == nil {
			c.enums[named.Name] = append(c.enums[named.Name], text)
		}
	}
}

// publicNames maps the fields of a struct to their names in JSON.
func publicNames(described *ast.StructType) map[string]string {
	names := map[string]string{}
	for _, field := range described.Fields.List {
		if field.Tag == nil {
			continue
		}
		tag := regexp.MustCompile(`json:"([^",]+)`).FindStringSubmatch(field.Tag.Value)
		if len(field.Names) == 1 && tag != nil {
			names[field.Names[0].Name] = tag[1]
		}
	}
	return names
}

// sentence is a comment as one line, with fields called by their public names.
func sentence(group *ast.CommentGroup, public map[string]string) string {
	if group == nil {
		return ""
	}
	line := strings.Join(strings.Fields(group.Text()), " ")
	return regexp.MustCompile(`\b[A-Z]\w*`).ReplaceAllStringFunc(line, func(word string) string {
		if name, is := public[word]; is {
			return name
		}
		return word
	})
}
