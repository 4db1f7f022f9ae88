package env

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shownOutput bounds the output that a failed test logs, in bytes: more would hide the failure.
const shownOutput = 8 << 10

// Process is a program that a test starts, observes and ends. It runs in a process group of its own. Its methods
// belong to the goroutine of the test, except Exited and Output.
type Process struct {
	// Output is what the program has printed so far, on both streams.
	Output *Buffer

	tb      testing.TB
	path    string
	args    []string
	environ []string
	command *exec.Cmd
	exited  chan struct{}
}

// NewProcess prepares a program with further settings. The end of tb kills it, and logs the output of a failure.
func NewProcess(tb testing.TB, path string, environ []string, args ...string) *Process {
	tb.Helper()
	p := &Process{Output: &Buffer{}, tb: tb, path: path, args: args, environ: environ}
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			text := withoutRequests(p.Output.String())
			tb.Logf("output of %s %v, without its requests:\n%s", path, args, text[max(0, len(text)-shownOutput):])
		}
	})
	return p
}

// withoutRequests drops the log lines of requests that went as they should.
func withoutRequests(output string) string {
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(output, "\n"), func(line string) bool {
		return strings.Contains(line, "level=INFO msg=request ")
	}), "")
}

// Start runs the program, again after it has ended. The output of all runs is kept.
func (p *Process) Start() {
	p.tb.Helper()
	MustDo(p.tb, p.start())
}

func (p *Process) start() error {
	command := exec.Command(p.path, p.args...) //nolint:noctx,gosec // Kill ends it; tests name their programs
	command.Env = append(os.Environ(), p.environ...)
	command.Stdout, command.Stderr = p.Output, p.Output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	exited := make(chan struct{})
	p.command, p.exited = command, exited
	go func() {
		defer close(exited)
		_ = command.Wait() // ExitCode reports how it ended
	}()
	return nil
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err reports that the program has ended, with what it printed; nil while it runs.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s has ended: %s\n%s", p.path, p.command.ProcessState, p.Output)
	default:
		return nil
	}
}

// PID is the process id of the program.
func (p *Process) PID() int { return p.command.Process.Pid }

// ExitCode is the exit status of a program that has ended; -1 after a signal.
func (p *Process) ExitCode() int {
	<-p.exited
	return p.command.ProcessState.ExitCode()
}

// Signal sends a signal to the program, if it has not ended, and none to its children.
func (p *Process) Signal(signal syscall.Signal) {
	_ = p.command.Process.Signal(signal) // it may have ended
}

// Pause suspends the program until Resume: its connections stay open, without answers.
func (p *Process) Pause() { p.Signal(syscall.SIGSTOP) }

// Resume continues the program after Pause.
func (p *Process) Resume() { p.Signal(syscall.SIGCONT) }

// Stop ends the program with SIGTERM, within maxWait.
func (p *Process) Stop() {
	p.tb.Helper()
	p.Signal(syscall.SIGTERM)
	limit := time.NewTimer(maxWait)
	defer limit.Stop()
	select {
	case <-p.exited:
	case <-limit.C:
		p.Kill()
		p.tb.Errorf("%s did not end within %s of SIGTERM", p.path, maxWait)
	}
}

// Kill ends the program and its children with SIGKILL, and waits for the program.
func (p *Process) Kill() {
	if p.command == nil {
		return
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // it may have ended
	<-p.exited
}

// ResidentMemory is the resident memory of a process, in bytes.
func ResidentMemory(pid int) (int64, error) {
	path := fmt.Sprintf("/proc/%d/statm", pid)
	text, err := os.ReadFile(path) //nolint:gosec // of a number
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("parse %s: %w", path, err)
	}
	return resident * int64(os.Getpagesize()), nil
}
