package engine_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

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
			instance, err := engine.Find(options.DataDir)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := instance.OwnerPID, owner.Process.Pid; got != want {
				t.Errorf("owner: got process %d, want %d", got, want)
			}
			table(t, instance)
			occupy(t, instance)

			if err := owner.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
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

func TestKilledEngineRestartsOnTheSamePorts(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	e := start(t, options)
	before := e.Instance()
	table(t, before)
	conn := open(t, before.URL(engine.AnalystDatabase))
	wantCount(t, conn, "SELECT count() FROM vote", 3)

	for range 2 {
		killed := e.Instance().EnginePID
		if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
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
	if after != before {
		t.Errorf("after restarts: got %+v, want %+v", after, before)
	}
}

func TestStopDuringRestart(t *testing.T) {
	t.Parallel()
	e := start(t, env.EngineOptions(t))
	if err := syscall.Kill(e.Instance().EnginePID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	stop(t, e)
	if err := answers(t, e.Instance()); err == nil {
		t.Error("engine after stop: got an answer, want none")
	}
}

func TestEngineIgnoresSignalsToTheProcessGroup(t *testing.T) {
	t.Parallel()
	e := start(t, env.EngineOptions(t))
	instance := e.Instance()
	conn := open(t, instance.URL("default"))
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(instance.EnginePID, signal); err != nil {
			t.Fatal(err)
		}
		wantCount(t, conn, "SELECT toUInt64(1)", 1)
	}
	if got, want := e.Instance().EnginePID, instance.EnginePID; got != want {
		t.Errorf("after the signals: got process %d, want %d", got, want)
	}
}

// TestHangingEngineIsKilled uses a program that ignores its standard input.
func TestHangingEngineIsKilled(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "clickhouse")
	script(t, program, "exec sleep infinity")
	child := exec.CommandContext(t.Context(), env.EngineOptions(t).Executable, engine.ChildCommand, "program", program)
	read, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	child.ExtraFiles = []*os.File{os.Stderr, read} // the first in place of the lock
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("child: got exit status 0, want killed")
	}
}

func TestChildCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no arguments": {engine.ChildCommand}, "an unknown argument": {engine.ChildCommand, "unknown", "x"},
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
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
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
