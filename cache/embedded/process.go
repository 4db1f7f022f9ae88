package embedded

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
)

type process struct {
	command *exec.Cmd
	logger  *slog.Logger
	// ready is closed when the server listens, and exited when it has ended.
	ready, exited chan struct{}
	// err is how it ended; it is set before exited is closed.
	err error
	// last holds the last lines of output, to be read once exited is closed.
	last []string
}

// start starts the server on the calling thread. The end of ctx ends it.
func (s *server) start(ctx context.Context) (*process, error) {
	p := &process{logger: s.logger, ready: make(chan struct{}), exited: make(chan struct{})}
	p.command = exec.CommandContext(ctx, s.path, "-") //nolint:gosec // the program that LookPath found
	p.command.Dir, p.command.Stdin = s.folder, strings.NewReader(s.config())
	p.command.Cancel = func() error { return s.end(context.WithoutCancel(ctx), p.command.Process) }
	// In a process group of its own the server does not receive a terminal's Ctrl-C.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := endWithParent(p.command.SysProcAttr); err != nil {
		return nil, err
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.path, err)
	}
	p.command.Stderr = p.command.Stdout
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.path, err)
	}
	go p.watch(ctx, output)
	return p, nil
}

func (p *process) watch(ctx context.Context, output io.Reader) {
	const tailLines = 4 // the number of output lines in the error about the end of a server
	isReady := false
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		if p.last = append(p.last, strings.TrimSpace(line)); len(p.last) > tailLines {
			p.last = p.last[1:]
		}
		level := slog.LevelDebug
		if isReady && ctx.Err() == nil && strings.Contains(line, " # ") { // Redis' mark of warnings
			level = slog.LevelWarn
		}
		p.logger.LogAttrs(ctx, level, "redis output", slog.String("line", line))
		if !isReady && strings.Contains(line, "eady to accept connections") {
			isReady = true
			close(p.ready)
		}
	}
	p.err = p.command.Wait()
	close(p.exited)
}

// tail returns the last lines of a server that has ended, to append to an error.
func (p *process) tail() string {
	if len(p.last) == 0 {
		return ""
	}
	return "; last output: " + strings.Join(p.last, "; ")
}
