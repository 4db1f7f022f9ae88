package engine

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
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

// RunChild runs the engine in this process and returns the exit status. args, which Start sets, are the SHA-256
// and the path of the library, then the arguments of the engine.
func RunChild(args []string) int {
	// Only the parent's pipe ends the engine. Signals that a terminal or a service
	// manager sends to all processes must not end it while the parent still writes. A client that
	// leaves must not either: Go ends a process where a thread of the library gets SIGPIPE.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
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
	go endWithParent()
	return runLibrary(args[1], args[0], args[2:])
}

// endWithParent waits until the parent closes the pipe, gives the engine
// childGracePeriod to end by itself, and then ends the process.
func endWithParent() {
	if parentGone(-1) {
		<-time.After(childGracePeriod)
		os.Exit(0)
	}
}

// parentGone reports whether the other end of the pipe is closed. It waits for a number of milliseconds, without
// limit if it is negative. It reads nothing: the last query of the engine does.
func parentGone(milliseconds int) bool {
	pipe := []unix.PollFd{{Fd: pipeFD}}
	for {
		n, err := unix.Poll(pipe, milliseconds)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 && pipe[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
		}
	}
}
