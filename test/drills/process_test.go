package drills

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"pnyx/test/env"
)

// endsWithin bounds how long a process may take to end after SIGTERM.
const endsWithin = 40 * time.Second

// process is a program that a drill runs and breaks. What it prints goes to a file.
type process struct {
	tb      testing.TB
	path    string
	args    []string
	environ []string
	log     string

	command *exec.Cmd
	exited  chan struct{}
}

// newProcess prepares a program, and ends it with the test.
func newProcess(tb testing.TB, dir, name, path string, environ []string, args ...string) *process {
	tb.Helper()
	p := &process{tb: tb, path: path, args: args, environ: environ, log: filepath.Join(dir, name+".log")}
	tb.Cleanup(func() {
		p.kill()
		if text := tail(p.log); tb.Failed() && text != "" {
			tb.Logf("the end of what %s printed:\n%s", name, text)
		}
	})
	return p
}

// start runs the program, once more after it has ended.
func (p *process) start() {
	p.tb.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer log.Close()
	p.command, p.exited = exec.Command(p.path, p.args...), make(chan struct{})
	p.command.Env = append(os.Environ(), p.environ...)
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		p.tb.Fatalf("start %s: %v", p.path, err)
	}
	go func(command *exec.Cmd, exited chan struct{}) {
		defer close(exited)
		_ = command.Wait() // killed, as a rule
	}(p.command, p.exited)
}

// kill ends the program at once.
func (p *process) kill() {
	if p.command == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// pause makes the program hang until resume.
func (p *process) pause() { p.signal(syscall.SIGSTOP) }

func (p *process) resume() { p.signal(syscall.SIGCONT) }

// stop asks the program to end, and waits until it has.
func (p *process) stop() {
	p.tb.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(endsWithin):
		p.tb.Errorf("%s did not end within %s of SIGTERM", p.path, endsWithin)
		p.kill()
	}
}

func (p *process) signal(signal syscall.Signal) {
	_ = p.command.Process.Signal(signal) // it may have ended
}

// running fails the test if the program has ended by itself.
func (p *process) running() {
	p.tb.Helper()
	select {
	case <-p.exited:
		p.tb.Fatalf("%s has ended: %s\n%s", p.path, p.command.ProcessState, tail(p.log))
	default:
	}
}

// tail returns the end of a file.
func tail(path string) string {
	const longest = 6000
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text[max(0, len(text)-longest):])
}

// accepts says whether anybody listens at an address.
func accepts(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

// program finds a program, or skips the test where there is none.
func program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		tb.Skip("needs ", name)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// redisServer is a redis-server that keeps nothing on disk.
type redisServer struct {
	*process

	addr string
}

// startRedis runs a Redis on a free port until the end of the test.
func startRedis(tb testing.TB, dir, name string, environ []string, args ...string) *redisServer {
	tb.Helper()
	addr := env.FreeAddress(tb)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		tb.Fatal(err)
	}
	args = append([]string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", dir}, args...)
	r := &redisServer{process: newProcess(tb, dir, name, program(tb, "redis-server"), environ, args...), addr: addr}
	r.open()
	return r
}

// open starts the server, empty, and waits until it listens.
func (r *redisServer) open() {
	r.tb.Helper()
	r.start()
	env.Within(r.tb, 10*time.Second, func() error {
		r.running()
		return accepts(r.addr)
	})
}

// rss is the resident memory of a process, in bytes.
func rss(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, errors.New("statm: " + strconv.Quote(string(text)))
	}
	return resident * int64(os.Getpagesize()), nil
}
