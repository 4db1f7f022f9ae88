package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ChildCommand is the first argument of a process that becomes the engine. A program
// that starts engines must check for it before anything else, and then run
//
//	os.Exit(engine.RunChild(os.Args[2:]))
const ChildCommand = "engine-child"

// childGracePeriod is how long an engine may take to end by itself after its parent has
// ended. It takes 40 ms, or 5 s with open connections; longer is possible.
const childGracePeriod = 2 * time.Second

// lockFD and pipeFD are the file descriptors of the data folder's lock and of the parent's
// pipe in a child: the inherited files.
const (
	lockFD = 3
	pipeFD = 4
)

// The first argument of a child says what it runs. After kindLibrary, a colon and the library's
// SHA-256 may follow.
const (
	kindLibrary = "library"
	kindProgram = "program"
)

// RunChild runs the engine in this process and returns the exit status. args are the
// arguments after ChildCommand, which Start sets.
func RunChild(args []string) int {
	// Only the parent's pipe ends the engine. Signals that a terminal or a service
	// manager sends to all processes must not end it while the parent still writes.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := runChild(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runChild(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("%s is internal: pnyx starts its engine with it", ChildCommand)
	}
	first, path, args := args[0], args[1], args[2:]
	switch kind, digest, _ := strings.Cut(first, ":"); kind {
	case kindLibrary:
		go endWithParent(func() { os.Exit(0) })
		return runLibrary(path, digest, args)
	case kindProgram:
		return runProgram(path, args)
	}
	return fmt.Errorf("run engine: unknown kind %q", first)
}

// endWithParent waits until the parent closes the pipe, gives the engine
// childGracePeriod to end by itself, and then calls end.
func endWithParent(end func()) {
	if parentGone(-1) {
		<-time.After(childGracePeriod)
		end()
	}
}

// parentGone reports whether the other end of the pipe is closed. It waits for the given
// number of milliseconds, without limit if that is negative. It reads nothing: the last
// query of the engine does.
func parentGone(milliseconds int) bool {
	pipe := []unix.PollFd{{Fd: pipeFD}}
	for {
		n, err := unix.Poll(pipe, milliseconds)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 && pipe[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
		}
	}
}

// runProgram runs clickhouse local with the input, output, lock and pipe of this process.
func runProgram(path string, args []string) error {
	//nolint:gosec,noctx // the program that Locate found; it runs as long as the pipe is open
	command := exec.Command(path, append([]string{"local"}, args...)...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.ExtraFiles = []*os.File{os.NewFile(lockFD, "engine.lock"), os.NewFile(pipeFD, "pipe")}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	go endWithParent(func() {
		command.Process.Kill() //nolint:errcheck // an error means that it has ended
	})
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
