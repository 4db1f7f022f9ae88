package cache_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
)

func TestTheDocumentShowsThePresentKeys(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(recorded), string(cache.KeyTable())); diff != "" {
		t.Errorf("docs/keys.md is not the present one, run `make docs`:\n%s", diff)
	}
}

// TestTheTableHasEveryKey holds the table against the file in which all keys are made.
func TestTheTableHasEveryKey(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	ast.Inspect(parsed(t, "key_table.go"), func(node ast.Node) bool {
		if name, is := node.(*ast.Ident); is {
			named[name.Name] = true
		}
		return true
	})
	for _, made := range keysOf(parsed(t, "key.go")) {
		// A view is named by what it is of.
		if made != "viewKey" && !named[made] {
			t.Errorf("%s is in no family of keys: put it into key_table.go", made)
		}
	}
}

func parsed(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// keysOf are the names of the keys and channels that a file declares, and of the functions
// that make some.
func keysOf(file *ast.File) (keys []string) {
	var names []string
	for _, declared := range file.Decls {
		switch declared := declared.(type) {
		case *ast.FuncDecl:
			names = append(names, declared.Name.Name)
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				if value, is := spec.(*ast.ValueSpec); is {
					names = append(names, value.Names[0].Name)
				}
			}
		}
	}
	isKey := func(name string) bool { return strings.HasSuffix(name, "Key") || strings.HasSuffix(name, "Channel") }

	for _, name := range names {
		if isKey(name) {
			keys = append(keys, name)
		}
	}
	return keys
}
