package engine_test

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"pnyx/backoff"
	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

func TestEngineEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	for name, occupy := range map[string]func(*testing.T, engine.Instance){
		"idle":        func(*testing.T, engine.Instance) {},
		"under query": busy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := env.EngineOptions(t)
			options.Program.Library = library(t)
			owner := startOwner(t, options)
			instance := env.Must(engine.Find(options.DataDir))(t)
			env.Want(t, owner.Process.Pid, instance.OwnerPID, "owner", "process")
			table(t, instance)
			occupy(t, instance)

			env.MustDo(t, owner.Process.Kill())
			_ = owner.Wait()
			if found, err := engine.Find(options.DataDir); err == nil {
				t.Errorf("find after the owner was killed: got %+v, want an error", found)
			}
			var next *engine.Engine
			env.Until(t, func() (err error) { // the orphan ends first
				next, err = engine.Start(t.Context(), options)
				return err
			})
			t.Cleanup(func() { stop(t, next) })
			wantCount(t, open(t, next.Instance().URL(engine.AnalystDatabase)), "SELECT count() FROM vote", 3)
			if err := answers(t, instance); err == nil {
				t.Error("orphaned engine: got an answer, want none")
			}
		})
	}
}

func TestEngineThatIsKilledAndNotSignalledRestartsOnTheSamePorts(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	e := start(t, options)
	before := e.Instance()
	table(t, before)
	conn := open(t, before.URL(engine.AnalystDatabase))
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} { // of the process group
		env.MustDo(t, syscall.Kill(before.EnginePID, signal))
		wantCount(t, conn, "SELECT count() FROM vote", 3)
	}
	env.Want(t, before.EnginePID, e.Instance().EnginePID, "after the signals", "process")

	for range 2 {
		killed := e.Instance().EnginePID
		env.MustDo(t, syscall.Kill(killed, syscall.SIGKILL))
		env.Until(t, func() error {
			found, err := engine.Find(options.DataDir)
			if err == nil && found.EnginePID == killed {
				err = errors.New("the killed engine is still published")
			}
			return err
		})
		env.Until(t, func() error { // a pooled connection may be broken
			_, err := count(t.Context(), conn, "SELECT count() FROM vote")
			return err
		})
		wantCount(t, conn, "SELECT count() FROM vote", 3)
	}

	after := e.Instance()
	after.EnginePID = before.EnginePID
	env.Want(t, before, after, "after restarts")
}

func TestStopDuringRestart(t *testing.T) {
	t.Parallel()
	e := start(t, env.EngineOptions(t))
	env.MustDo(t, syscall.Kill(e.Instance().EnginePID, syscall.SIGKILL))
	stop(t, e)
	if err := answers(t, e.Instance()); err == nil {
		t.Error("engine after stop: got an answer, want none")
	}
}

func TestChildCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no arguments": {engine.ChildCommand}, "a library that is not there": {engine.ChildCommand, "", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), env.EngineOptions(t).Executable, args...)
			if output, err := child.CombinedOutput(); err == nil || len(output) == 0 {
				t.Errorf("got %q, %v, want an error", output, err)
			}
		})
	}
}

// startOwner starts a process that runs an engine, and waits until the engine is ready.
func startOwner(t *testing.T, options engine.Options) *exec.Cmd {
	t.Helper()
	owner := exec.CommandContext(t.Context(), os.Args[0], ownerCommand, options.DataDir, options.Program.Library, options.Executable)
	owner.Stderr = os.Stderr
	out := env.Must(owner.StdoutPipe())(t)
	env.MustDo(t, owner.Start())
	t.Cleanup(func() {
		if err := owner.Wait(); err == nil {
			t.Error("owner: got exit status 0, want killed")
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("owner: got %q, %v, want ready", line, err)
	}
	return owner
}

func TestPauseDoublesUpToItsMaximum(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		0: 100 * time.Millisecond, 1: 200 * time.Millisecond, 6: 6400 * time.Millisecond, 7: backoff.Max, 1_000_000: backoff.Max,
	} {
		env.Want(t, want, engine.PauseAfter(failures), "after", failures, "failures")
	}
}

func TestTailKeepsTheLastLines(t *testing.T) {
	t.Parallel()
	var writes []string
	for i := range 20 {
		writes = append(writes, fmt.Sprintf("line %d\n", i), "3. ? @ 0x000000001c8fa579\n\n")
	}
	got := engine.Tail(slog.New(slog.DiscardHandler), append(writes, "cut ", "in two\nunfinished")...)
	want := "; last output: line 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19\ncut in two\nunfinished"
	env.Want(t, want, got, "tail")
	env.Want(t, "", engine.Tail(slog.New(slog.DiscardHandler)), "tail without output")
}

func TestEngineErrorsAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	engine.Tail(slog.New(slog.NewTextHandler(&out, nil)),
		"2026.11.21 03:30:14.41 [ 1 ] {} <Error> MergeTask: no space left\n", "all is well\n", strings.Repeat("long", 1<<20)+" <Error>\n")
	if got := out.String(); !strings.Contains(got, "no space left") || strings.Contains(got, "well") || len(got) > 4<<10 {
		t.Errorf("logged: got %.4096s, want the error and nothing else, at most 4 KiB", got)
	}
}

func TestConfigurationIsWellFormed(t *testing.T) {
	t.Parallel()
	text, err := engine.ServerConfig(engine.Options{
		DataDir: "/data & <more>", Password: "<>&\"'", Shards: []string{"[::1]:9000", "a.example:9000"},
	})
	env.MustDo(t, err)
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err = decoder.Token(); err != nil {
			break
		}
	}
	env.WantError(t, io.EOF, err, "configuration")
	if _, err := engine.ServerConfig(engine.Options{Shards: []string{"no port"}}); err == nil {
		t.Error("shard without a port: got no error, want one")
	}
}
