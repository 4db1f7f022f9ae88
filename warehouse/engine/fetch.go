package engine

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrIntegrity says that a tarball is not the one that was published.
var ErrIntegrity = errors.New("wrong hash")

// progressInterval is how often Fetch says that it is still at work.
const progressInterval = time.Second

// FetchOptions says where Fetch puts the library. The zero value is ready.
type FetchOptions struct {
	// CacheDir holds the library. Empty means pnyx/engine and the version, in the
	// user's cache folder.
	CacheDir string

	// Progress is told, in a short line each time, what is going on: at least once
	// a second while something is, and never twice at once. Nil means silence.
	Progress func(line string)
}

// Fetch brings the engine library for this platform and returns its path. It asks
// npm for the tarball (178 MB), checks it against the pinned hash and unpacks the
// library (566 MB). A library that is there already is not fetched again, and of
// several processes that fetch at once one does the work.
//
// Whatever goes wrong, nothing half-done is left behind.
func Fetch(ctx context.Context, options FetchOptions) (string, error) {
	pkg, err := platformPackage()
	if err != nil {
		return "", err
	}
	return fetch(ctx, pkg, options)
}

func fetch(ctx context.Context, pkg npmPackage, options FetchOptions) (string, error) {
	dir, err := cachePath(options.CacheDir)
	if err != nil {
		return "", err
	}
	if path, ok := pkg.cached(dir); ok {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("create cache folder: %w", err)
	}
	report := options.Progress
	if report == nil {
		report = func(string) {}
	}
	stop := reportEvery(progressInterval, func(elapsed time.Duration) {
		report(fmt.Sprintf("waiting for another process to fetch the engine: %s", elapsed))
	})
	lock, err := lockFile(ctx, filepath.Join(dir, "fetch.lock"))
	stop()
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if path, ok := pkg.cached(dir); ok {
		return path, nil
	}
	return pkg.install(ctx, dir, report)
}

// install downloads, checks, unpacks and records the package.
func (p npmPackage) install(ctx context.Context, dir string, report func(string)) (string, error) {
	work := filepath.Join(dir, "unfinished")
	// A killed fetch leaves its folder; while the lock is ours it is nobody's.
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o750)); err != nil {
		return "", fmt.Errorf("create work folder: %w", err)
	}
	defer os.RemoveAll(work)
	tarball, stated, err := p.download(ctx, work, report)
	if err != nil {
		return "", err
	}
	want, source := p.expected(dir, stated)
	report(fmt.Sprintf("checking the hash (%s)", source))
	if err := checkIntegrity(ctx, tarball, want); err != nil {
		return "", fmt.Errorf("%s: %w", p, err)
	}
	note := receipt{Package: p.name, Version: p.version, Integrity: want}
	unpacked, err := unpack(ctx, tarball, work, report)
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", p, err)
	}
	note.File, note.Size = filepath.Base(unpacked.path), unpacked.size
	path := filepath.Join(dir, note.File)
	if err := os.Rename(unpacked.path, path); err != nil {
		return "", fmt.Errorf("install the engine library: %w", err)
	}
	if err := note.write(dir); err != nil {
		return "", err
	}
	report("the engine is in " + path)
	return path, nil
}

// download lets npm put the tarball into dir. It returns its path and the hash that
// npm states.
func (p npmPackage) download(ctx context.Context, dir string, report func(string)) (path, integrity string, err error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", "", errors.New("npm, which fetches the engine library, is not on the PATH: " +
			"install Node.js, or set PNYX_ENGINE_LIB to a libchdb.so that you have")
	}
	report(fmt.Sprintf("downloading %s", p))
	defer reportEvery(progressInterval, func(elapsed time.Duration) {
		report(fmt.Sprintf("downloading %s: %s", p, elapsed))
	})()
	command := exec.CommandContext(ctx, npm, "pack", p.String(), "--json", "--pack-destination="+dir) //nolint:gosec // a constant package
	command.Dir = dir
	command.WaitDelay = time.Second
	var said, complaints bytes.Buffer
	command.Stdout, command.Stderr = &said, &complaints
	if err := command.Run(); err != nil {
		return "", "", fmt.Errorf("npm pack %s: %w%s", p, errors.Join(err, context.Cause(ctx)), lastLinesSuffix(complaints.String()))
	}
	var packed []struct {
		Filename  string `json:"filename"`
		Integrity string `json:"integrity"`
	}
	if err := json.Unmarshal(said.Bytes(), &packed); err != nil {
		return "", "", fmt.Errorf("read what npm pack %s says: %w", p, err)
	}
	if len(packed) != 1 {
		return "", "", fmt.Errorf("npm pack %s made %d files, want 1", p, len(packed))
	}
	return filepath.Join(dir, filepath.Base(packed[0].Filename)), packed[0].Integrity, nil
}

// checkIntegrity compares the hash of a file with what it ought to be.
func checkIntegrity(ctx context.Context, path, want string) error {
	file, err := os.Open(path) //nolint:gosec // our own work folder
	if err != nil {
		return fmt.Errorf("open tarball: %w", err)
	}
	defer file.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, contextReader{ctx, file}); err != nil {
		return fmt.Errorf("read tarball: %w", err)
	}
	got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	if got != want {
		return fmt.Errorf("%w: got %s, want %s", ErrIntegrity, got, want)
	}
	return nil
}

// reportEvery calls f again and again, with the time gone by, until the function that it
// returns is called. That one waits for f to be through.
func reportEvery(period time.Duration, f func(elapsed time.Duration)) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	began := time.Now()
	ticker := time.NewTicker(period)
	go func() {
		defer close(ended)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				f(time.Since(began).Round(period))
			}
		}
	}()
	return func() { close(done); <-ended }
}

// contextReader stops a long read when ctx is done.
type contextReader struct {
	ctx    context.Context
	reader io.Reader
}

// Read reads unless the context is done.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.reader.Read(p)
}

// lastLinesSuffix is the end of a text, ready to follow a message.
func lastLinesSuffix(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if lines[0] == "" {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
