package check

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// images returns the images that the files of a deployment name, by file.
func images(t *testing.T) map[string][]string {
	t.Helper()
	const root = "../.."
	files := []string{filepath.Join(root, "Dockerfile"), filepath.Join(root, "compose.yaml")}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if path == "../chart" { // made of the others
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^\s*(?:- )?(?:\{name: [^,]*, )?(?:image:|newName:|FROM(?: --\S+)*)\s+([^\s,}]+)`)
	found := map[string][]string{}
	for _, file := range files {
		text := must(os.ReadFile(file))(t)
		stages := map[string]bool{"scratch": true}
		for _, stage := range regexp.MustCompile(`(?m)^FROM .* AS (\S+)$`).FindAllStringSubmatch(string(text), -1) {
			stages[stage[1]] = true
		}
		for _, image := range named.FindAllStringSubmatch(string(text), -1) {
			if !stages[image[1]] {
				found[file] = append(found[file], image[1])
			}
		}
	}
	return found
}

// Whoever may push to a registry can put another program behind a tag.
func TestAttackAnImageOfOthersIsTheOneThatWasLookedAt(t *testing.T) {
	ours := regexp.MustCompile(`^(registry\.example\.com/)?pnyx(-edge|-dev)?(:compose)?$`)
	pinned := regexp.MustCompile(`^[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$`)
	others := 0
	for file, named := range images(t) {
		for _, image := range named {
			if ours.MatchString(image) {
				continue
			}
			if others++; !pinned.MatchString(image) || strings.Contains(image, ":latest") {
				t.Errorf("%s: %s: want a tag for people and the digest, as in name:1.2.3@sha256:…", file, image)
			}
		}
	}
	if others < 9 {
		t.Errorf("got %d images of others, want the images of Dockerfile, compose.yaml and k8s", others)
	}
}
