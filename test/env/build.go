package env

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

const (
	// buildTimeout bounds a build: seconds, or minutes with an empty cache on a busy machine.
	buildTimeout = 10 * time.Minute
	// lockPoll is how often a build checks whether another process's is complete.
	lockPoll = 50 * time.Millisecond
)

// buildProgram builds a program of this module and returns its path, in the user's cache, where go build leaves it
// alone while it is up to date. Test processes build one at a time.
func buildProgram(name, importPath string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	checkout := sha256.Sum256([]byte(root))
	dir, err := cacheFolder(hex.EncodeToString(checkout[:8]))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	lock := flock.New(path + ".lock")
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return "", fmt.Errorf("lock the build of %s: %w", importPath, err)
	}
	defer lock.Close()
	command := exec.CommandContext(ctx, "go", "build", "-o", path, importPath) //nolint:gosec // our own package
	command.Env = append(command.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", importPath, err, said)
	}
	return path, nil
}

// cacheFolder makes a folder in the user's cache, which all test processes share and which stays.
func cacheFolder(name string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache folder: %w", err)
	}
	dir := filepath.Join(base, "pnyx", "test", name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("create cache folder: %w", err)
	}
	return dir, nil
}

// Root returns the folder of the module under test.
func Root(tb testing.TB) string {
	tb.Helper()
	return Must(moduleRoot())(tb)
}

// moduleRoot is the folder of the go.mod above the working directory of the test.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("find the module: no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}
