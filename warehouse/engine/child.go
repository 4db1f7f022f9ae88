package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ChildCommand is the first argument of a process that is to become the engine.
// A program that starts engines looks for it before anything else and ends with
//
//	os.Exit(engine.RunChild(os.Args[2:]))
const ChildCommand = "engine-child"

// childGracePeriod is how long an engine whose parent has gone may take to end by
// itself. Left alone it takes 40 ms, or 5 s when anybody is still connected, and
// nothing says that it could not take for ever.
const childGracePeriod = 2 * time.Second

// lockFD is the lock of the data folder in a child: the first inherited file.
const lockFD = 3

// What a child runs; the first of its arguments.
const (
	kindLibrary = "library"
	kindProgram = "program"
)

// RunChild turns this process into the engine and returns its exit status when
// the engine has ended. The arguments are those that Start gives.
func RunChild(args []string) int {
	// The life of the engine is its parent's pipe. Signals that a terminal or a
	// service manager sends to everybody must not take the warehouse away from a
	// parent that is still writing its last words.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := runChild(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runChild(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("%s is how pnyx runs its own engine, and of no use by hand", ChildCommand)
	}
	kind, path, args := args[0], args[1], args[2:]
	switch kind {
	case kindLibrary:
		go endWithParent(func() { os.Exit(0) })
		return runLibrary(path, args)
	case kindProgram:
		return runProgram(path, args)
	}
	return fmt.Errorf("unknown kind of engine %q", kind)
}

// endWithParent waits for the parent to close the pipe, gives the engine some time
// to notice, and then calls end.
func endWithParent(end func()) {
	if parentGone(-1) {
		<-time.After(childGracePeriod)
		end()
	}
}

// parentGone reports whether the other end of standard input is closed. It waits
// so many milliseconds for that, for ever when negative, and takes no input: that
// is for the engine.
func parentGone(milliseconds int) bool {
	stdin := []unix.PollFd{{Fd: 0}}
	for {
		n, err := unix.Poll(stdin, milliseconds)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 && stdin[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
		}
	}
}

// runProgram runs clickhouse local, with the same input, output and lock as this
// process.
func runProgram(path string, args []string) error {
	command := exec.Command(path, append([]string{"local"}, args...)...) //nolint:gosec,noctx // the program Locate found; it lives as long as the pipe
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.ExtraFiles = []*os.File{os.NewFile(lockFD, "engine.lock")}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	go endWithParent(func() {
		command.Process.Kill() //nolint:errcheck // it has ended, which is what was wanted
	})
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
