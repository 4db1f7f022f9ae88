package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
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
	output  lockedBuffer
	exited  chan struct{}
}

// Program is a command to run, with its cores and its niceness.
type Program struct {
	// Name is the name of the executable or its path.
	Name string
	// Args are the arguments without the name.
	Args []string
	// Env is added to the environment of the benchmark, as NAME=value.
	Env []string
	// Cores are the cores it may run on. If empty, it inherits the benchmark's.
	Cores []int
	// Nice is its niceness, at least 0.
	Nice int
}

// launch starts a program. Errors of the process include its output.
func launch(p Program) (*Process, error) {
	command := exec.Command(p.pinned()[0], p.pinned()[1:]...) //nolint:noctx,gosec // stop ends it; the command is not user input
	command.Env = append(os.Environ(), p.Env...)
	// The kernel signals the child when the benchmark exits for any reason.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	process := &Process{name: p.Name, command: command, exited: make(chan struct{})}
	command.Stdout, command.Stderr = &process.output, &process.output
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	go func() {
		defer close(process.exited)
		_ = command.Wait() // callers report its output
	}()
	return process, nil
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
	texts := make([]string, len(cores))
	for i, core := range cores {
		texts[i] = strconv.Itoa(core)
	}
	return strings.Join(texts, ",")
}

// pinSelf pins the benchmark, which is also a load generator, to some cores.
func pinSelf(ctx context.Context, cores []int) error {
	_, err := run(ctx, Program{
		Args: []string{"taskset", "--all-tasks", "--cpu-list", "--pid", listed(cores), strconv.Itoa(os.Getpid())},
	})
	return err
}

// run runs a program until it exits and returns its output.
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

// stop sends SIGTERM and waits until the process has exited.
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

// peakMemory returns the peak resident memory of the process, in bytes.
func (p *Process) peakMemory() (float64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", p.name, err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseFloat(words[1], 64)
			return kilobytes * 1024, err
		}
	}
	return 0, errors.Join(fmt.Errorf("memory of %s is not told", p.name), lines.Err())
}

// resetPeakMemory makes the present resident memory the peak.
func (p *Process) resetPeakMemory() error {
	const peak = "5"
	err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.command.Process.Pid), []byte(peak), 0)
	if err != nil {
		return fmt.Errorf("reset the peak memory of %s: %w", p.name, err)
	}
	return nil
}

// redisAt returns the program that runs a Redis at an address, which keeps nothing on disk.
func redisAt(address string, args ...string) Program {
	host, port, _ := strings.Cut(address, ":")
	return Program{Name: "redis-server", Args: append([]string{
		"redis-server", "--bind", host, "--port", port, "--save", "", "--appendonly", "no",
	}, args...)}
}

// freeAddresses returns the addresses of a node and of its probes.
func freeAddresses() (listen, admin string, err error) {
	listen, errListen := freeAddress()
	admin, errAdmin := freeAddress()
	return listen, admin, errors.Join(errListen, errAdmin)
}

// freeAddress returns a loopback address with an unused port.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// answersOK returns an error unless a GET of the URL answers 200.
func answersOK(url string) error {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url) //nolint:noctx // it has a timeout
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// ownCores returns the cores available to the benchmark before pinSelf.
//
//nolint:gochecknoglobals // read once
var ownCores = sync.OnceValues(cores)

// cores returns the cores that the benchmark may use now.
func cores() ([]int, error) {
	text, err := run(context.Background(), Program{Args: []string{"taskset", "-cp", strconv.Itoa(os.Getpid())}})
	if err != nil {
		return nil, fmt.Errorf("find the cores: %w", err)
	}
	_, list, _ := strings.Cut(strings.TrimSpace(text), ": ")
	var found []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("read the list of cores %q: %w", list, err)
		}
		to := from
		if ranged {
			if to, err = strconv.Atoi(last); err != nil {
				return nil, fmt.Errorf("read the list of cores %q: %w", list, err)
			}
		}
		for core := from; core <= to; core++ {
			found = append(found, core)
		}
	}
	slices.Sort(found)
	return found, nil
}

// lockedBuffer holds the output of a process. It is safe for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the output so far.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
