package client_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pnyx/api/routes"
	"pnyx/reference/client"
	"pnyx/test/env"
)

// compileTimeout bounds the run of a compiler.
const compileTimeout = 3 * time.Minute

// npmFolder has the TypeScript compiler, where `make npm` installs it.
const npmFolder = "../npm"

// program is a folder with a client, and with a snippet of each route that uses it.
type program struct {
	dir string
	// files are the names of the snippets, below dir.
	files []string
}

// newProgram writes a client, at a path below the folder, and the snippets.
func newProgram(t *testing.T, language client.Language, path string, name func(n int) string) program {
	t.Helper()
	p := program{dir: t.TempDir()}
	source := env.ReadFile(t, "../../clients/"+language.File())
	p.write(t, path, string(source))
	for _, route := range routes.All() {
		all := map[string]string{}
		for _, param := range route.Params {
			all[param.Name] = param.Example
		}
		for _, values := range []map[string]string{nil, all} {
			text := env.Must(client.Snippet(language, "", route, values))(t)
			p.files = append(p.files, name(len(p.files)))
			p.write(t, p.files[len(p.files)-1], text)
		}
	}
	return p
}

func (p program) write(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join(p.dir, path)
	env.MustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
	env.WriteFile(t, path, text)
}

// run runs a program in the folder, and returns what it prints.
func (p program) run(t *testing.T, environ []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), compileTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = p.dir, append(os.Environ(), environ...)
	text, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", filepath.Base(name), err, text)
	}
	return string(text)
}

// typeScriptCompiler is the path of the TypeScript compiler. Without it, the test is skipped.
func typeScriptCompiler(t *testing.T) string {
	t.Helper()
	env.SkipShort(t, "the TypeScript compiler")
	compiler := env.Must(filepath.Abs(npmFolder + "/node_modules/.bin/tsc"))(t)
	if _, err := os.Stat(compiler); err != nil {
		t.Skip("no node_modules: make npm")
	}
	return compiler
}

func TestLongTypeScriptClientAndSnippetsCompile(t *testing.T) {
	t.Parallel()
	compiler := typeScriptCompiler(t)
	p := newProgram(t, client.TypeScript, "pnyx.ts", func(n int) string { return fmt.Sprintf("snippet%d.ts", n) })
	p.write(t, "process.d.ts", "declare const process: { env: Record<string, string | undefined> };\n")
	p.write(t, "package.json", `{"type": "module"}`)
	p.write(t, "tsconfig.json", `{"compilerOptions": {
		"strict": true, "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true, "noImplicitOverride": true,
		"noUnusedLocals": true, "noUnusedParameters": true, "noImplicitReturns": true, "isolatedDeclarations": true,
		"verbatimModuleSyntax": true, "erasableSyntaxOnly": true,
		"module": "nodenext", "target": "es2022", "lib": ["es2022", "dom"], "types": [], "declaration": true,
		"allowImportingTsExtensions": true, "noEmit": true
	}, "include": ["*.ts"]}`)
	p.run(t, nil, compiler, "--project", p.dir)
}

func TestLongPythonClientAndSnippetsCompile(t *testing.T) {
	t.Parallel()
	mypy := env.Program(t, "mypy", "PNYX_TEST_REQUIRE_MYPY")
	p := newProgram(t, client.Python, "pnyx.py", func(n int) string { return fmt.Sprintf("snippet%d.py", n) })
	p.run(t, nil, mypy, append([]string{"--strict", "--python-version", "3.11", "--no-error-summary", "pnyx.py"}, p.files...)...)
}

func TestLongGoClientAndSnippetsCompile(t *testing.T) {
	t.Parallel()
	env.SkipShort(t, "the Go compiler")
	p := newProgram(t, client.Go, "pnyx/pnyx.go", func(n int) string { return fmt.Sprintf("snippet%d/main.go", n) })
	p.write(t, "go.mod", "module "+strings.TrimSuffix(client.GoModule, "/pnyx")+"\n\ngo 1.23\n")
	p.run(t, []string{"GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local"}, "go", "vet", "./...")
	p.run(t, nil, "gofmt", "-d", "-s", ".")
}
