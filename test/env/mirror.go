package env

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// shownOfMirror is how many bytes of a file [MirrorDifferences] shows.
const shownOfMirror = 3000

// MirrorFiles reads the files that docs/examples/mirror has written into a folder, by their
// paths in it, without those that it keeps for itself. A file may disappear meanwhile.
func MirrorFiles(folder string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (entry.IsDir() || entry.Name() == "cursor" || entry.Name() == "unfinished") {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // a folder of the test
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		files[path[len(folder):]] = string(text)
		return err
	})
	return files, err
}

// MirrorDifferences reports all files that differ.
func MirrorDifferences(got, want map[string]string) error {
	var problems []error
	for path, text := range want {
		if got[path] != text {
			problems = append(problems, fmt.Errorf("%s:\n got %.*s\nwant %.*s", path, shownOfMirror, got[path], shownOfMirror, text))
		}
	}
	for path, text := range got {
		if _, is := want[path]; !is {
			problems = append(problems, fmt.Errorf("%s: got %.*s, want none", path, shownOfMirror, text))
		}
	}
	return errors.Join(problems...)
}
