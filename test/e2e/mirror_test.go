package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pnyx/test/env"
)

// mirrorProgram is the example that keeps a copy of an instance, with a token for it.
type mirrorProgram struct {
	*instance

	path, token string
}

// buildExample compiles an example in Go where it is, and returns the path of the program.
func buildExample(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	build := exec.CommandContext(tb.Context(), "go", "build", "-C", filepath.Join(examples, name), "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build the example: %v: %s", err, out)
	}
	return path
}

// follow runs the program on a folder, and waits until it has read everything once.
func (m mirrorProgram) follow(folder string) *env.Process {
	m.TB.Helper()
	running := env.NewProcess(m.TB, m.path, []string{"PNYX_TOKEN=" + m.token}, m.URL, folder)
	running.Start()
	env.Until(m.TB, func() error {
		_, err := os.Stat(filepath.Join(folder, "cursor"))
		return err
	})
	return running
}

// wantEqual waits until a folder that is followed equals one that is read anew.
func (m mirrorProgram) wantEqual(folder string) {
	m.TB.Helper()
	m.AwaitPublished()
	env.Until(m.TB, func() error {
		fresh := m.TB.TempDir()
		m.follow(fresh).Kill()
		want, err := env.MirrorFiles(fresh)
		if err != nil || len(want) == 0 {
			return fmt.Errorf("read everything: %d files, %w", len(want), err)
		}
		got, err := env.MirrorFiles(folder)
		if err != nil {
			return err
		}
		return env.MirrorDifferences(got, want)
	})
}

func TestLongMirrorEqualsACrawl(t *testing.T) {
	t.Parallel()
	redis := env.Redis(t)
	i := startShared(t, []string{"REDIS_URL=" + redis.URL}, "serve").ready()
	i.Import(env.GeneratedDataSet(t, "--daos", "6", "--proposals", "60", "--ballots", "3000", "--largest", "600", "--seed", "1"))
	i.AwaitPublished()
	mirror, folder := mirrorProgram{instance: i, path: buildExample(t, "mirror"), token: i.clientToken()}, t.TempDir()
	mirror.follow(folder)
	for seed, step := range []struct {
		name   string
		happen func(data string)
	}{
		{"an import", i.Import},
		{"a worker killed during an import", func(data string) {
			running := i.importing(data)
			i.Kill()
			i.Start()
			i.ready()
			if status := running.ExitCode(); status != 0 {
				t.Errorf("the import did not recover: status %d: %s", status, running.Output)
			}
		}},
		{"a flush of Redis", func(data string) {
			env.FlushRedis(t, env.RedisClient(t, redis.URL))
			i.Import(data)
		}},
		{"an import after all", i.Import},
	} {
		step.happen(env.GeneratedDataSet(t, "--daos", "6", "--proposals", "60", "--ballots", "3000", "--largest", "600", "--seed", fmt.Sprint(seed+2)))
		mirror.wantEqual(folder)
		t.Logf("equal after %s", step.name)
	}
}
