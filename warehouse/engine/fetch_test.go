package engine_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// registry is a fake npm with one package, which counts its calls. It is on the PATH, so
// tests that use it cannot be parallel.
type registry struct {
	dir       string // files of the fake
	cache     string // FetchOptions.CacheDir
	integrity string // the hash of the tarball
}

// newRegistry returns a registry whose tarball contains the given files.
func newRegistry(t *testing.T, files map[string]string) registry {
	t.Helper()
	dir := onPath(t)
	tarball := tarballOf(t, files)
	env.MustDo(t, os.WriteFile(filepath.Join(dir, "tarball"), tarball, 0o600))
	sum := sha512.Sum512(tarball)
	r := registry{dir, filepath.Join(t.TempDir(), "cache"), "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	script(t, filepath.Join(dir, "npm"), fmt.Sprintf(`
		echo "$@" >> %[1]s/calls
		for arg; do case $arg in --pack-destination=*) to=${arg#*=};; esac; done
		cp %[1]s/tarball "$to/lib-1.0.0.tgz"
		echo "npm warn something" >&2
		echo '[{"filename":"lib-1.0.0.tgz","integrity":"%[2]s"}]'`, dir, r.integrity))
	return r
}

// calls returns how often npm was called.
func (r registry) calls(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func (r registry) fetch(ctx context.Context, integrity string) (string, error) {
	return engine.FetchPackage(ctx, "@pnyx/lib", "1.0.0", integrity, engine.FetchOptions{CacheDir: r.cache})
}

func TestFetchUnpacksTheLibraryOnce(t *testing.T) {
	for _, name := range []string{"libchdb.so", "libchdb.dylib"} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t, map[string]string{"package/other": "no", "package/" + name: "the library"})
			for range 2 {
				path := env.Must(r.fetch(t.Context(), r.integrity))(t)
				env.Want(t, filepath.Join(r.cache, name), path, "path")
				if content, err := os.ReadFile(path); err != nil || string(content) != "the library" {
					t.Errorf("library: got %q, %v, want its content", content, err)
				}
			}
			env.Want(t, 1, r.calls(t), "npm calls")
			wantFiles(t, r.cache, "fetch.lock", name, "receipt.json")
		})
	}
}

func TestConcurrentFetchesDownloadOnce(t *testing.T) {
	r := newRegistry(t, map[string]string{"package/libchdb.so": "the library"})
	var fetches sync.WaitGroup
	for range 4 {
		fetches.Go(func() {
			if _, err := r.fetch(t.Context(), r.integrity); err != nil {
				t.Error(err)
			}
		})
	}
	fetches.Wait()
	env.Want(t, 1, r.calls(t), "npm calls")
}

func TestFetchRejectsWhatIsNotPinned(t *testing.T) {
	good := map[string]string{"package/libchdb.so": "the library"}
	for name, test := range map[string]struct {
		files map[string]string
		fetch func(registry) (string, error)
		want  string
	}{
		"another hash": {good, func(r registry) (string, error) { return r.fetch(t.Context(), "sha512-pinned") }, engine.ErrIntegrity.Error()},
		"the package of this platform": { // only linux/amd64 is pinned
			good, func(r registry) (string, error) {
				return engine.Fetch(t.Context(), engine.FetchOptions{CacheDir: r.cache})
			}, engine.ErrIntegrity.Error(),
		},
		"a tarball without a library": {
			map[string]string{"package/../../libchdb.so": "outside", "libchdb.so": "elsewhere"},
			func(r registry) (string, error) { return r.fetch(t.Context(), r.integrity) }, "no library",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t, test.files)
			if path, err := test.fetch(r); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %s, %v, want %s", path, err, test.want)
			}
			wantFiles(t, r.cache, "fetch.lock")
		})
	}
}

func TestFetchRequiresTheRecordedHash(t *testing.T) {
	r := newRegistry(t, map[string]string{"package/libchdb.so": "the library"})
	var lines []string
	path := env.Must(engine.FetchPackage(t.Context(), "@pnyx/lib", "1.0.0", "", engine.FetchOptions{
		CacheDir: r.cache,
		Progress: func(line string) { lines = append(lines, line) },
	}))(t)
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "none is pinned") || !strings.Contains(all, "unpacking") {
		t.Errorf("progress: got %s, want the source of the hash and the unpacking", all)
	}
	env.MustDo(t, os.Remove(path))

	other := newRegistry(t, map[string]string{"package/libchdb.so": "another library"})
	other.cache = r.cache
	if _, err := other.fetch(t.Context(), ""); !errors.Is(err, engine.ErrIntegrity) {
		t.Errorf("another tarball of the same version: got %v, want ErrIntegrity", err)
	}
}

func TestFetchExplainsFailures(t *testing.T) {
	for name, test := range map[string]struct {
		npm  string // the script; empty for none
		want string
	}{
		"no npm":           {"", "PNYX_ENGINE_LIB"},
		"npm fails":        {"echo 'npm error 404 Not Found' >&2; exit 1", "404 Not Found"},
		"npm prints text":  {"echo hello", "decode output of npm pack"},
		"npm does nothing": {"echo '[]'", "0 files"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir)
			if test.npm != "" {
				script(t, filepath.Join(dir, "npm"), test.npm)
			}
			cache := filepath.Join(t.TempDir(), "cache")
			_, err := engine.FetchPackage(t.Context(), "@pnyx/lib", "1.0.0", "", engine.FetchOptions{CacheDir: cache})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want it to say %q", err, test.want)
			}
			wantFiles(t, cache, "fetch.lock")
		})
	}
}

func TestFetchStopsWhenCanceled(t *testing.T) {
	dir := onPath(t)
	script(t, filepath.Join(dir, "npm"), "exec sleep infinity")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := engine.FetchPackage(ctx, "@pnyx/lib", "1.0.0", "", engine.FetchOptions{CacheDir: t.TempDir()})
	env.WantError(t, context.DeadlineExceeded, err, "the deadline")
}

// wantFiles checks the names of the files in a folder.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries := env.Must(os.ReadDir(dir))(t)
	got := make([]string, len(entries))
	for i, entry := range entries {
		got[i] = entry.Name()
	}
	env.WantSame(t, "files in the cache", want, got)
}

// tarballOf returns an npm tarball of the given files.
func tarballOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	entries := tar.NewWriter(zipped)
	for name, content := range files {
		env.MustDo(t, entries.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}))
		env.Must(entries.Write([]byte(content)))(t)
	}
	env.MustDo(t, errors.Join(entries.Close(), zipped.Close()))
	return out.Bytes()
}
