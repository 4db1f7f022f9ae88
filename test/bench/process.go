package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"pnyx/test/env"
)

const (
	// startTimeout is the maximum time until a started process answers.
	startTimeout = 30 * time.Minute
	// stopTimeout is the maximum time until a process exits after SIGTERM.
	stopTimeout = 30 * time.Second
)

// Process is a child process. It is terminated when the benchmark exits.
type Process struct {
	name    string
	command *exec.Cmd
	output  env.Buffer
	exited  chan struct{}
}

// Program is a command to run, with its cores and its niceness.
type Program struct {
	Name string // in errors
	Args []string
	// Env is added to the environment of the benchmark, as NAME=value.
	Env []string
	// Cores are the cores it may run on. If empty, it inherits the benchmark's.
	Cores []int
	Nice  int
}

func launch(p Program) *Process {
	command := exec.Command(p.pinned()[0], p.pinned()[1:]...) //nolint:noctx,gosec // stop ends it; the command is not user input
	command.Env = append(os.Environ(), p.Env...)
	// The kernel signals the child when the benchmark exits for any reason.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	process := &Process{name: p.Name, command: command, exited: make(chan struct{})}
	command.Stdout, command.Stderr = &process.output, &process.output
	mustDo(command.Start())
	go func() {
		defer close(process.exited)
		_ = command.Wait() // callers report its output
	}()
	return process
}

// pinned returns the command line, prefixed with what sets cores and niceness.
func (p Program) pinned() []string {
	line := p.Args
	if p.Nice > 0 {
		line = append([]string{"nice", "-n", strconv.Itoa(p.Nice)}, line...)
	}
	if len(p.Cores) > 0 {
		line = append([]string{"taskset", "-c", listed(p.Cores)}, line...)
	}
	return line
}

// listed formats cores for taskset.
func listed(cores []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cores), " ", ","), "[]")
}

// pinSelf pins the benchmark, which is also a load generator, to some cores.
func pinSelf(ctx context.Context, cores []int) {
	must(run(ctx, Program{
		Args: []string{"taskset", "--all-tasks", "--cpu-list", "--pid", listed(cores), strconv.Itoa(os.Getpid())},
	}))
}

func run(ctx context.Context, p Program) (string, error) {
	command := exec.CommandContext(ctx, p.pinned()[0], p.pinned()[1:]...) //nolint:gosec // the command is not user input
	command.Env = append(os.Environ(), p.Env...)
	var printed, problems bytes.Buffer
	command.Stdout, command.Stderr = &printed, &problems
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(p.Args, " "), err, &problems)
	}
	return printed.String(), nil
}

// until waits until check succeeds. It returns an error if the process exits first.
func (p *Process) until(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s has ended: %s", p.name, &p.output)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %s", p.name, err, &p.output)
		case <-ticker.C:
		}
	}
}

func (p *Process) stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopTimeout):
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // with its children
		<-p.exited
		return fmt.Errorf("%s did not end by itself: %s", p.name, &p.output)
	}
}

func (p *Process) peakMemory() float64 {
	status := must(must(procfs.NewProc(p.command.Process.Pid)).NewStatus())
	if status.VmHWM == 0 {
		mustDo(fmt.Errorf("memory of %s is not told", p.name))
	}
	return float64(status.VmHWM)
}

// resetPeakMemory makes the present resident memory the peak.
func (p *Process) resetPeakMemory() {
	const peak = "5"
	mustDo(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.command.Process.Pid), []byte(peak), 0))
}

// redisAt returns the program that runs a Redis at an address, which keeps nothing on disk.
func redisAt(address string, args ...string) Program {
	host, port, _ := strings.Cut(address, ":")
	return Program{Name: "redis-server", Args: append([]string{
		"redis-server", "--bind", host, "--port", port, "--save", "", "--appendonly", "no",
	}, args...)}
}

// freeAddresses returns the addresses of a node and of its probes.
func freeAddresses() (listen, admin string) {
	return freeAddress(), freeAddress()
}

// freeAddress returns a loopback address with an unused port.
func freeAddress() string {
	listener := must(net.Listen("tcp", "127.0.0.1:0")) //nolint:noctx // it does not wait
	mustDo(listener.Close())
	return listener.Addr().String()
}

// answersOK returns an error unless a GET of the URL answers 200 in time.
func answersOK(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := fetch(ctx, url, nil)
	return err
}

// ownCores returns the cores available to the benchmark before pinSelf.
var ownCores = sync.OnceValues(cores) //nolint:gochecknoglobals // read once

// maxCores is how many cores a set of them may hold.
const maxCores = 1024

// cores returns the cores that the benchmark may use now.
func cores() (found []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil, fmt.Errorf("find the cores: %w", err)
	}
	for core := range maxCores {
		if set.IsSet(core) {
			found = append(found, core)
		}
	}
	return found, nil
}
