package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
)

// recordAnswers reads every path.
func (i *instance) recordAnswers() map[string]json.RawMessage {
	i.TB.Helper()
	answers := map[string]json.RawMessage{}
	for _, path := range i.everyPath() {
		env.Until(i.TB, func() error {
			var data json.RawMessage
			_, err := i.Read(path, &data)
			answers[path] = data
			return err
		})
	}
	return answers
}

// compareAnswers waits until every path is answered as wanted.
func (i *instance) compareAnswers(want map[string]json.RawMessage) {
	i.TB.Helper()
	for _, path := range sortedKeys(want) {
		env.Until(i.TB, func() error {
			var got json.RawMessage
			if _, err := i.Read(path, &got); err != nil {
				return err
			}
			if diff := env.DiffJSON(want[path], got); diff != "" {
				return fmt.Errorf("GET %s (-before +after):\n%s", path, diff)
			}
			return nil
		})
	}
}

// wantNoSecrets looks for the secrets of tokens in all files of a backup.
func wantNoSecrets(tb testing.TB, dir string, tokens ...issuedToken) {
	tb.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, token := range tokens {
			if strings.Contains(string(text), token.Token) {
				tb.Errorf("%s contains the token %s", path, token.ID)
			}
		}
		return err
	})
	if err != nil || files < 10 {
		tb.Errorf("got %d files (%v), want the files of a backup", files, err)
	}
}
