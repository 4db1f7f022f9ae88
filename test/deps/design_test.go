package deps_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pnyx/test/check"
)

func TestFilesOfUsualChangesExist(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	design := check.Must(os.ReadFile(filepath.Join(root, "DESIGN.md")))(t)
	_, section, found := strings.Cut(string(design), "\n## Usual changes\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		t.Fatal("got no section on usual changes in DESIGN.md")
	}
	names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(section, -1)
	if len(names) < 5 {
		t.Fatalf("got %d names of files, want the files of five changes", len(names))
	}
	for _, name := range names {
		pattern := strings.ReplaceAll(name[1], "…", "*")
		if files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern))); err != nil || len(files) == 0 {
			t.Errorf("DESIGN.md names %s, which does not exist", name[1])
		}
	}
}
