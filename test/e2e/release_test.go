package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"pnyx/test/env"
)

// The archive of this platform is started in a root with the C library and the engine, and answers.
func TestAReleaseAnswersFromAnEmptyRoot(t *testing.T) {
	dist := os.Getenv("PNYX_TEST_RELEASE")
	if dist == "" {
		t.Skip("PNYX_TEST_RELEASE is not set: it names the folder with the archives, see make test-release")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root may change the root folder")
	}
	root := t.TempDir()
	run(t, "tar", "-xzf", filepath.Join(dist, fmt.Sprintf("pnyx_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)), "-C", root, "pnyx")
	for _, dir := range []string{"tmp", "dev", "proc", "data"} {
		env.MustDo(t, os.Mkdir(filepath.Join(root, dir), 0o700))
	}
	library := env.EngineOptions(t).Program.Library
	if library == "" {
		t.Skip("the engine of this machine is no library")
	}
	libraries := regexp.MustCompile(`/\S+\.so\S*`).FindAllString(run(t, "ldd", library)+run(t, "ldd", filepath.Join(root, "pnyx")), -1)
	for _, file := range append(libraries, library) {
		to := filepath.Join(root, file)
		env.MustDo(t, os.MkdirAll(filepath.Dir(to), 0o755))
		run(t, "cp", "-L", file, to)
	}
	var release struct{ Version string }
	metadata, err := os.ReadFile(filepath.Join(dist, "metadata.json"))
	env.MustDo(t, errors.Join(err, json.Unmarshal(metadata, &release)))
	if got := run(t, "chroot", root, "/pnyx", "version"); release.Version == "none" || !strings.HasPrefix(strings.Replace(got, " v", " ", 1), "pnyx "+release.Version) {
		t.Errorf("its version: got %s, want %s of the release", got, release.Version)
	}
	listen := env.FreeAddress(t)
	// A container has /proc and /dev, too.
	const enter = `mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$1" /pnyx serve --demo`
	serve := exec.CommandContext(t.Context(), "unshare", "--mount", "/bin/sh", "-c", enter, "sh", root)
	serve.Env = []string{"PNYX_DATA=/data", "PNYX_ENGINE_LIB=" + library, "PNYX_LISTEN=" + listen, "PNYX_ADMIN_LISTEN=" + env.FreeAddress(t)}
	serve.Env = append(serve.Env, "PATH="+os.Getenv("PATH"))
	var log env.Buffer
	serve.Stdout, serve.Stderr = &log, &log
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	env.MustDo(t, serve.Start())
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Log(err)
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
	env.Until(t, func() error {
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		default:
		}
		response, err := http.Get("http://" + listen + "/v2/daos/alderfold")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"name":"Alderfold Commons"`) {
			return errors.Join(err, fmt.Errorf("got %d %s", response.StatusCode, body))
		}
		return nil
	})
}

// run returns the output of a command that must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v %s", name, args, err, out)
	}
	return string(out)
}
