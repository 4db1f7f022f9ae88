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
	// startTimeout bounds how long a process may take until it answers.
	startTimeout = 10 * time.Minute
	// stopTimeout bounds how long it may take to end.
	stopTimeout = 30 * time.Second
)

// Process is a program that runs beside the benchmark and ends with it.
type Process struct {
	name    string
	command *exec.Cmd
	output  lockedBuffer
	exited  chan struct{}
}

// Program says what to run, and on which cores.
type Program struct {
	Name string
	Args []string
	Env  []string
	// Cores it may run on; empty for those of whoever starts it.
	Cores []int
	// Nice is its niceness: 0 or above.
	Nice int
}

// launch starts a program. Its output is shown when it fails.
func launch(p Program) (*Process, error) {
	command := exec.Command(p.pinned()[0], p.pinned()[1:]...) //nolint:noctx,gosec // stop ends it; what to run is ours to say
	command.Env = append(os.Environ(), p.Env...)
	// Ends with the benchmark, however that ends.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	process := &Process{name: p.Name, command: command, exited: make(chan struct{})}
	command.Stdout, command.Stderr = &process.output, &process.output
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	go func() {
		defer close(process.exited)
		_ = command.Wait() // whoever waits for it looks at its output
	}()
	return process, nil
}

// pinned is the command line, with what puts it on its cores.
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

// listed writes cores as taskset takes them.
func listed(cores []int) string {
	texts := make([]string, len(cores))
	for i, core := range cores {
		texts[i] = strconv.Itoa(core)
	}
	return strings.Join(texts, ",")
}

// pinSelf keeps the benchmark, which is a load generator too, to some cores.
func pinSelf(ctx context.Context, cores []int) error {
	_, err := run(ctx, Program{
		Args: []string{"taskset", "--all-tasks", "--cpu-list", "--pid", listed(cores), strconv.Itoa(os.Getpid())},
	})
	return err
}

// run runs a program to its end and returns what it printed.
func run(ctx context.Context, p Program) (string, error) {
	command := exec.CommandContext(ctx, p.pinned()[0], p.pinned()[1:]...) //nolint:gosec // what to run is ours to say
	command.Env = append(os.Environ(), p.Env...)
	var printed, problems bytes.Buffer
	command.Stdout, command.Stderr = &printed, &problems
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(p.Args, " "), err, &problems)
	}
	return printed.String(), nil
}

// until waits until a check succeeds, or the process has ended.
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

// stop asks the process to end, and waits until it has.
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

// peakMemory is the most memory that the process was resident with, in bytes.
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

// freeAddress is a port of the loopback interface that nobody uses yet.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// answersOK checks that an address answers 200.
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

// ownCores are the cores that the benchmark might use before it kept itself to some.
//
//nolint:gochecknoglobals // asked once
var ownCores = sync.OnceValues(cores)

// cores lists the cores that the benchmark may use.
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

// lockedBuffer is what a process printed, and may be read while it prints.
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

// String returns what was printed so far.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
