package warehouse

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pnyx/test/check"
)

// statements returns the files with statements, of this package and of those below.
func statements(t *testing.T) []string {
	t.Helper()
	own := check.Must(filepath.Glob("sql/*.sql"))(t)
	below, err := filepath.Glob("*/sql/*.sql")
	if err != nil || len(below) == 0 {
		t.Fatalf("no statements below: %v", err)
	}
	return append(own, below...)
}

// literalsByFile returns the string literals of each Go source of these packages.
func literalsByFile(t *testing.T) map[string]map[string]bool {
	t.Helper()
	own := check.Must(filepath.Glob("*.go"))(t)
	below := check.Must(filepath.Glob("*/*.go"))(t)
	found := map[string]map[string]bool{}
	for _, source := range append(own, below...) {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file := check.Must(parser.ParseFile(token.NewFileSet(), source, nil, 0))(t)
		literals := map[string]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					literals[text] = true
				}
			}
			return true
		})
		found[strings.TrimSuffix(source, ".go")] = literals
	}
	return found
}

func TestEverySQLFileBelongsToAGoFile(t *testing.T) {
	t.Parallel()
	sources := literalsByFile(t)
	for _, file := range statements(t) {
		name := strings.TrimSuffix(path.Base(file), ".sql")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for source, literals := range sources {
				if filepath.Dir(source) != filepath.Dir(filepath.Dir(file)) {
					continue
				}
				source = filepath.Base(source)
				named := name == source || strings.HasPrefix(name, source+"_") || name == "proposal_title_by_ref"
				if literals[name] && named {
					return
				}
			}
			t.Errorf("no Go file whose name %s begins with reads it", name)
		})
	}
}

// TestValuesAreBoundNotFormatted allows only whole fragments of SQL to be formatted
// into a statement: a verb inside quotes would be a value.
func TestValuesAreBoundNotFormatted(t *testing.T) {
	t.Parallel()
	verbs, fragment := regexp.MustCompile(`%[^\s]`), regexp.MustCompile(`^%(s|\[)`)
	quoted := regexp.MustCompile(`'[^'\n]*%(s|\[\d\]s)[^'\n]*'`)
	for _, file := range statements(t) {
		text := check.Must(os.ReadFile(file))(t)
		for _, verb := range verbs.FindAllString(string(text), -1) {
			if !fragment.MatchString(verb) {
				t.Errorf("%s: got verb %q, want %%s or %%[n]s", file, verb)
			}
		}
		check.Want(t, "", quoted.FindString(string(text)), file, "formats a value into the statement")
	}
}

// TestSubqueriesOverTablesAreGlobal wants GLOBAL before each IN with a subquery over a table: on
// several shards both are distributed, and the engine refuses it otherwise.
func TestSubqueriesOverTablesAreGlobal(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, file := range statements(t) {
		text := check.Must(os.ReadFile(file))(t)
		texts[file] = string(text)
	}
	for source, literals := range literalsByFile(t) {
		for literal := range literals {
			texts[source+": "+literal] = literal
		}
	}
	in, table := regexp.MustCompile(`(GLOBAL )?(NOT )?\bIN \(\s*SELECT`), regexp.MustCompile(`FROM (\w+)`)
	// sentAlong are tables that are sent with the statement, or named by it.
	sentAlong := regexp.MustCompile(`^(wanted_\w+|batch_keys|first_voters|repeated_voters)$`)
	for name, text := range texts {
		for _, place := range in.FindAllStringIndex(text, -1) {
			if strings.HasPrefix(text[place[0]:], "GLOBAL") {
				continue
			}
			subquery := text[place[1]:]
			for i, depth := 0, 1; i < len(subquery); i++ {
				if depth += strings.Count(subquery[i:i+1], "(") - strings.Count(subquery[i:i+1], ")"); depth == 0 {
					subquery = subquery[:i]
				}
			}
			for _, found := range table.FindAllStringSubmatch(subquery, -1) {
				if !sentAlong.MatchString(found[1]) {
					t.Errorf("%s: IN without GLOBAL over the table %s", name, found[1])
				}
			}
		}
	}
}
