package engine

import (
	"bytes"
	"cmp"
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
	"sync"
	"time"
)

// ErrIntegrity reports a tarball or a library whose hash differs from the expected one.
var ErrIntegrity = errors.New("hash mismatch")

// progressInterval is the interval between progress lines.
const progressInterval = time.Second

// FetchOptions configure Fetch. The zero value is valid.
type FetchOptions struct {
	// CacheDir is the folder for the library; empty means pnyx/engine/VERSION in the user's cache folder.
	CacheDir string
	// Progress receives a line about the current step at least once a second; nil for none. Calls do not overlap.
	Progress func(line string)
}

// Fetch returns the path of the engine library for this platform. Unless the cache has it with its hash, it gets
// the tarball (178 MB) from npm, checks it against the pinned hash, and unpacks the library (566 MB). Of several
// concurrent processes one downloads. After an error the cache has no partial library.
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
	if path, ok := pkg.intact(dir); ok {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create cache folder: %w", err)
	}
	report := options.Progress
	if report == nil {
		report = func(string) {}
	}
	stop := reportEvery(progressInterval, func(elapsed time.Duration) {
		report(fmt.Sprintf("waiting for another process to download the engine: %s", elapsed))
	})
	lock, err := lockFile(ctx, filepath.Join(dir, "fetch.lock"))
	stop()
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if path, ok := pkg.intact(dir); ok {
		return path, nil
	}
	return pkg.install(ctx, dir, report)
}

// intact returns the path of the library in dir if it is there and may be loaded.
func (p npmPackage) intact(dir string) (string, bool) {
	program, ok := p.cached(dir)
	if !ok {
		return "", false
	}
	library, err := openLibrary(program.Library, program.Digest)
	if err != nil {
		return "", false
	}
	library.Close()
	return program.Library, true
}

func (p npmPackage) install(ctx context.Context, dir string, report func(string)) (string, error) {
	work := filepath.Join(dir, "unfinished")
	// A killed process leaves its work folder. The lock ensures that no process uses it.
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700)); err != nil {
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
	unpacked, err := unpack(ctx, tarball, work, report)
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", p, err)
	}
	if want := cmp.Or(p.library, unpacked.digest); unpacked.digest != want {
		return "", fmt.Errorf("unpack %s: %w: got %s, want %s", p, ErrIntegrity, unpacked.digest, want)
	}
	note := receipt{
		Package: p.name, Version: p.version, Integrity: want,
		File: filepath.Base(unpacked.path), Size: unpacked.size, SHA256: unpacked.digest,
	}
	path := filepath.Join(dir, note.File)
	if err := os.Rename(unpacked.path, path); err != nil {
		return "", fmt.Errorf("install the engine library: %w", err)
	}
	if err := note.write(dir); err != nil {
		return "", err
	}
	report("engine installed: " + path)
	return path, nil
}

// download runs npm pack, which downloads the tarball into dir, and returns its path and the stated hash.
func (p npmPackage) download(ctx context.Context, dir string, report func(string)) (path, integrity string, err error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", "", errors.New("download engine library: npm is not on the PATH: " +
			"install Node.js, or set PNYX_ENGINE_LIB to the path of a libchdb.so")
	}
	report(fmt.Sprintf("downloading %s", p))
	defer reportEvery(progressInterval, func(elapsed time.Duration) {
		report(fmt.Sprintf("downloading %s: %s", p, elapsed))
	})()
	//nolint:gosec // the package is a constant
	command := exec.CommandContext(ctx, npm, "pack", p.String(), "--json", "--pack-destination="+dir)
	command.Dir = dir
	command.WaitDelay = time.Second
	var stdout, stderr boundedBuffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", "", fmt.Errorf("npm pack %s: %w%s",
			p, errors.Join(err, context.Cause(ctx)), lastLinesSuffix(stderr.String()))
	}
	var packed []struct {
		Filename  string `json:"filename"`
		Integrity string `json:"integrity"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &packed); err != nil {
		return "", "", fmt.Errorf("decode output of npm pack %s: %w", p, err)
	}
	if len(packed) != 1 {
		return "", "", fmt.Errorf("npm pack %s: got %d files, want 1", p, len(packed))
	}
	return filepath.Join(dir, filepath.Base(packed[0].Filename)), packed[0].Integrity, nil
}

// boundedBuffer is a buffer that refuses what is beyond maxNPMOutput.
type boundedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	const maxNPMOutput = 1 << 20 // bounds what npm prints: some of it is the registry's
	if b.Len()+len(p) > maxNPMOutput {
		return 0, fmt.Errorf("npm prints more than %d bytes", maxNPMOutput)
	}
	return b.Buffer.Write(p)
}

// checkIntegrity returns ErrIntegrity unless a file has the wanted hash.
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

// reportEvery calls f once per period with the elapsed time. The returned function stops
// it and waits for a running f.
func reportEvery(period time.Duration, f func(elapsed time.Duration)) (stop func()) {
	start, done, ticks := time.Now(), make(chan struct{}), time.Tick(period)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-ticks:
				f(time.Since(start).Round(period))
			}
		}
	})
	return func() { close(done); running.Wait() }
}

// contextReader is a reader that fails once ctx is done.
type contextReader struct {
	ctx    context.Context
	reader io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.reader.Read(p)
}

// lastLinesSuffix returns the last lines of a text, to append to an error message.
func lastLinesSuffix(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if lines[0] == "" {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
