// Package deps_test holds the order of the packages: imports run downwards only.
package deps_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"pnyx/test/check"
)

const module = "pnyx"

// floors lists the packages from the top to the ground. A package stands on the floor that names it or the folder
// nearest above it. It may import packages of lower floors, and on its own those in folders below its own.
func floors() [][]string {
	return [][]string{
		{"test/apinode"},
		{"test", "docs/examples"},
		{"test/upstream/chain"},
		{"test/env"},
		{"test/env/enginechild"},
		{"."},
		{"cmd", "warehouse/engine/fetch"},
		{"demo", "edge"},
		{"reference", "explore"},
		{"reference/openapi"},
		{"mcp", "page"},
		{"api", "worker"},
		{"api/routes"},
		{"api/apierror", "api/wire"},
		{"api/httpcache", "api/param"},
		{"worker/webhook"},
		{"follow/chain", "follow/forum", "follow/hub", "follow/tally"},
		{"follow"},
		{"follow/sources"},
		{"worker/account", "worker/feed", "worker/publish"},
		{"worker/changelog"},
		{"worker/fill"},
		{"worker/dossier"},
		{"access", "warehouse/backup", "warehouse/importer"},
		{"access/x402", "ratelimit"},
		{"warehouse/accounts", "warehouse/pages"},
		{"warehouse/counts", "warehouse/feed"},
		{"warehouse/records"},
		{"cache/accounts", "warehouse"},
		{"cache", "warehouse/engine", "warehouse/source"},
		{"warehouse/record"},
		{"governance/query"},
		{"governance/rules"},
		{"fetch"},
		{"clock", "edge/purge"},
		{"governance", "governance/abi", "backoff", "panics", "telemetry", "config", "clients", "docs", "test/check"},
	}
}

// apart lists packages that must not reach others even through third packages.
func apart() map[string][]string {
	return map[string][]string{
		"api":       {"warehouse", "worker", "config"},
		"worker":    {"api", "config", "edge"},
		"warehouse": {"cache", "worker", "config"},
		"cache":     {"warehouse", "worker", "config"},
		"ratelimit": {"access", "warehouse", "config"},
		"access":    {"warehouse", "config"},
		"edge":      {"warehouse", "worker", "config"},
	}
}

// listed is a package as `go list` describes it; paths are relative to the module.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string // direct imports
	Deps       []string // imports of imports, too
}

// packages lists the packages of the module, by name.
func packages(t *testing.T) []listed {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,Imports,Deps", module+"/...")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if name, ours := local(p.ImportPath); ours {
			p.ImportPath, p.Imports, p.Deps = name, locals(p.Imports), locals(p.Deps)
			all = append(all, p)
		}
	}
	return all
}

// local is the path of a package in the module.
func local(importPath string) (name string, ours bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func locals(importPaths []string) (names []string) {
	for _, importPath := range importPaths {
		if name, ours := local(importPath); ours {
			names = append(names, name)
		}
	}
	return names
}

// floorOf is the floor on which a package stands; -1 for none.
func floorOf(name string) int {
	for at := name; at != "."; at = path.Dir(at) {
		for n, floor := range floors() {
			if slices.Contains(floor, at) {
				return n
			}
		}
	}
	if name != "." {
		return -1
	}
	return slices.IndexFunc(floors(), func(floor []string) bool { return slices.Contains(floor, ".") })
}

func mayImport(from, to string) bool {
	above, below := floorOf(from), floorOf(to)
	return above < below || above == below && strings.HasPrefix(to, from+"/")
}

func TestImportsRunDownwards(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs go list, which -short leaves out")
	}
	all := packages(t)
	if len(all) < 20 {
		t.Fatalf("got %d packages, want the module's", len(all))
	}
	for _, p := range all {
		if floorOf(p.ImportPath) < 0 {
			t.Errorf("%s stands on no floor: add it to floors", p.ImportPath)
		}
		for _, imported := range p.Imports {
			if !mayImport(p.ImportPath, imported) {
				t.Errorf("%s imports %s: imports run downwards only", p.ImportPath, imported)
			}
		}
		for _, reached := range apart()[p.ImportPath] {
			if slices.Contains(p.Deps, reached) {
				t.Errorf("%s reaches %s: the two must stay apart", p.ImportPath, reached)
			}
		}
	}
	if t.Failed() {
		t.Logf("the packages, from the top floor to the ground, with what each imports (! upwards):\n%s", drawing(all))
	}
}

func TestUpwardImportsAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to string
		want     bool
	}{
		"down":                    {"cmd", "api", true},
		"up":                      {"governance", "cache", false},
		"sideways":                {"api", "worker", false},
		"sideways between stores": {"cache", "warehouse", false},
		"to a folder below":       {"warehouse/source", "warehouse/source/snapshot", true},
		"to the folder above":     {"warehouse/record", "warehouse", false},
		"to a test double":        {"access", "test/facilitator", false},
		"to tests":                {"worker", "test/env", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Want(t, test.want, mayImport(test.from, test.to), test.from, "imports", test.to, "allowed")
		})
	}
}

// drawing shows all packages by floor.
func drawing(all []listed) string {
	var b strings.Builder
	for n := range floors() {
		for _, p := range all {
			if floorOf(p.ImportPath) != n {
				continue
			}
			fmt.Fprintf(&b, "%2d  %-28s →", len(floors())-n, p.ImportPath)
			for _, imported := range p.Imports {
				mark := " "
				if !mayImport(p.ImportPath, imported) {
					mark = " !"
				}
				b.WriteString(mark + imported)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
