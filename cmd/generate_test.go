package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/test/env"
)

func TestSameFlagsGenerateTheSameBytesOnAnyDay(t *testing.T) {
	t.Parallel()
	generate := func(t *testing.T, flags ...string) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "data")
		cmd := generateCommand()
		cmd.SetOut(io.Discard)
		cmd.SetArgs(append([]string{"--daos=2", "--proposals=6", "--ballots=60", "--largest=20", dir}, flags...))
		env.MustDo(t, cmd.ExecuteContext(t.Context()))
		sum := sha256.New()
		env.MustDo(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			sum.Write(content)
			return err
		}))
		return hex.EncodeToString(sum.Sum(nil))
	}
	today, past := generate(t), ""
	synctest.Test(t, func(t *testing.T) { past = generate(t) }) // in the year 2000
	if today != past {
		t.Error("the default flags give other bytes on another day")
	}
	if now, err := parseNow("today"); err != nil || time.Since(now) > 25*time.Hour {
		t.Errorf("today: got %v, %v, want midnight", now, err)
	}
	if generate(t, "--now=today") == today {
		t.Error("--now today gives the bytes of the default")
	}
}
