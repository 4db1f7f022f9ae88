package deps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"pnyx/test/check"
)

func TestNoPackageOnlyForwards(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs go list, which -short leaves out")
	}
	for _, p := range packages(t) {
		check.Want(t, "", onlyForwardsTo(functionsOf(t, p)), p.ImportPath, "only calls into another package: call that instead")
	}
}

func TestForwardingPackageIsRecognized(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ source, want string }{
		"all forward":            {`func A(n int) int { return other.A(n) }; func B() { other.B() }`, "other"},
		"one works":              {`func A(n int) int { return other.A(n) }; func B(n int) int { return n + 1 }`, ""},
		"two packages":           {`func A() { other.A() }; func B() { another.B() }`, ""},
		"two statements":         {`func A() { other.A(); other.B() }`, ""},
		"a method works":         {`func A() { other.A() }; func (T) B(n int) int { return n + 1 }`, ""},
		"unexported do not help": {`func A() { other.A() }; func b(n int) int { return n + 1 }`, "other"},
		"calls its own":          {`func (t T) A() { t.a() }; func (t T) B() { t.b() }`, ""},
		"no functions":           {`type T struct{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := check.Must(parser.ParseFile(token.NewFileSet(), "p.go", "package p; "+test.source, 0))(t)
			check.Want(t, test.want, onlyForwardsTo(exported(file)))
		})
	}
}

// functionsOf returns the exported functions and methods of a package.
func functionsOf(t *testing.T, p listed) (all []*ast.FuncDecl) {
	t.Helper()
	for _, name := range p.GoFiles {
		file := check.Must(parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0))(t)
		all = append(all, exported(file)...)
	}
	return all
}

func exported(file *ast.File) (all []*ast.FuncDecl) {
	for _, declared := range file.Decls {
		if function, is := declared.(*ast.FuncDecl); is && function.Name.IsExported() {
			all = append(all, function)
		}
	}
	return all
}

// onlyForwardsTo returns the package that every function only calls; empty if one does more.
func onlyForwardsTo(functions []*ast.FuncDecl) (to string) {
	for i, function := range functions {
		called := calledPackage(function)
		if called == "" || i > 0 && called != to {
			return ""
		}
		to = called
	}
	return to
}

// calledPackage returns the package where a body is one call, as "other.Do(x)"; empty for any other.
func calledPackage(function *ast.FuncDecl) string {
	if function.Body == nil || len(function.Body.List) != 1 {
		return ""
	}
	var value ast.Expr
	switch statement := function.Body.List[0].(type) {
	case *ast.ExprStmt:
		value = statement.X
	case *ast.ReturnStmt:
		if len(statement.Results) == 1 {
			value = statement.Results[0]
		}
	}
	call, is := value.(*ast.CallExpr)
	if !is {
		return ""
	}
	selector, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return ""
	}
	name, is := selector.X.(*ast.Ident)
	if !is || function.Recv != nil && slices.ContainsFunc(function.Recv.List[0].Names, func(receiver *ast.Ident) bool {
		return receiver.Name == name.Name
	}) {
		return ""
	}
	return name.Name
}
