package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/creack/pty"

	"pnyx/backoff"
)

// errPortTaken reports that another process listens on a port of the engine.
var errPortTaken = errors.New("port is taken")

// serverQueries turn clickhouse local into a server. HTTP starts first, so that a client with an answer over TCP
// can use both. The last query runs until the parent closes the pipe, which is pipeFD.
const serverQueries = "CREATE DATABASE IF NOT EXISTS " + AnalystDatabase + "; SYSTEM START LISTEN HTTP; " +
	"SYSTEM START LISTEN TCP; " +
	"INSERT INTO FUNCTION null('line String') FROM INFILE '/dev/fd/4' FORMAT LineAsString"

type process struct {
	command *exec.Cmd
	// pipe ends the engine when it is closed.
	pipe io.Closer
	// terminal is the other end of the engine's standard input. Nothing is written to it.
	terminal io.Closer
	output   *output
	exited   chan struct{} // closed when the process has ended
	err      error         // the exit error; set before exited is closed
}

// startProcess starts the engine on the ports of instance. The child inherits the lock of the data folder: even if
// this process is killed, no other process can lock the folder before the engine has ended.
func startProcess(ctx context.Context, options Options, instance Instance, lock *os.File) (*process, error) {
	p := &process{output: &output{logger: options.Logger}, exited: make(chan struct{})}
	// The process outlives ctx, which bounds the start only.
	//nolint:gosec // our own program
	p.command = exec.CommandContext(context.WithoutCancel(ctx), options.Executable, arguments(options, instance)...)
	p.command.Dir = layoutOf(options.DataDir).store
	p.command.Stdout, p.command.Stderr = p.output, p.output
	// Whatever reads the engine's environment finds no setting of this process. Without a
	// home folder the engine has no place for the history of a terminal, and therefore ends
	// when its queries have ended or one has failed, instead of waiting for more.
	p.command.Env = []string{}
	// A process that the engine started could keep its output open.
	p.command.WaitDelay = time.Second
	// In a process group of its own the engine does not receive a terminal's Ctrl-C while the parent still needs it.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.start(lock); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	go func() {
		p.err = p.command.Wait()
		p.terminal.Close()
		close(p.exited)
	}()
	return p, nil
}

// start starts the child with the pipe that ends it, and with a terminal as its standard input. The
// terminal is what makes clickhouse local a server that can be relied on: when its input is none,
// any error of a connection ends the process, such as a reset, or a packet of another protocol.
func (p *process) start(lock *os.File) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	terminal, input, err := pty.Open()
	if err != nil {
		return errors.Join(fmt.Errorf("open a pseudo-terminal: %w", err), write.Close())
	}
	defer input.Close()
	p.pipe, p.terminal = write, terminal
	p.command.Stdin, p.command.ExtraFiles = input, []*os.File{lock, read}
	if err := p.command.Start(); err != nil {
		return errors.Join(err, write.Close(), terminal.Close())
	}
	return nil
}

func arguments(options Options, instance Instance) []string {
	at := layoutOf(options.DataDir)
	return []string{
		ChildCommand, options.Program.Digest, options.Program.Library,
		"--config-file=" + at.config,
		"--path=" + at.store,
		"--listen_host=" + loopback,
		"--tcp_port=" + strings.TrimPrefix(instance.TCPAddr, loopback+":"),
		"--http_port=" + strings.TrimPrefix(instance.HTTPAddr, loopback+":"),
		// For the terminal: neither read it nor draw on it.
		"--interactive", "--disable_suggestion", "--progress=off", "--progress-table=off",
		"--enable-progress-table-toggle=0",
		"--query=" + serverQueries,
	}
}

func (p *process) pid() int { return p.command.Process.Pid }

// ready waits until the engine answers a query. It is an error if the engine ends before, or takes over timeout.
func (p *process) ready(ctx context.Context, instance Instance, timeout time.Duration) error {
	const readyPollInterval = 25 * time.Millisecond // the interval between queries to a starting engine
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := connect(instance)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		var one uint8
		err := conn.QueryRow(ctx, "SELECT 1").Scan(&one)
		if err == nil {
			return nil
		}
		if ended := backoff.Await(ctx, readyPollInterval, p.exited); ended {
			return p.exitError()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("engine does not answer on %s (%w): %w%s",
				instance.TCPAddr, ctx.Err(), err, p.output.tail())
		}
	}
}

func connect(instance Instance) (clickhouse.Conn, error) {
	options, err := clickhouse.ParseDSN(instance.URL("system"))
	if err != nil {
		return nil, fmt.Errorf("engine address: %w", err)
	}
	options.DialTimeout = time.Second
	options.MaxOpenConns = 1
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("connect to the engine: %w", err)
	}
	return conn, nil
}

// exitError returns how the process ended, with its last output. It may be called once exited is closed.
func (p *process) exitError() error {
	tail := p.output.tail()
	if strings.Contains(tail, "Address already in use") {
		return fmt.Errorf("%w: engine ended%s", errPortTaken, tail)
	}
	if p.err == nil {
		return fmt.Errorf("engine ended%s", tail)
	}
	return fmt.Errorf("engine ended: %w%s", p.err, tail)
}

// stop closes the pipe and waits for the process. It kills the process when ctx is done.
func (p *process) stop(ctx context.Context) {
	p.hangUp()
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
	}
}

// hangUp closes the pipe and the terminal. An error means that the process has ended.
func (p *process) hangUp() {
	p.pipe.Close()
	p.terminal.Close()
}

func (p *process) kill() {
	p.hangUp()
	select {
	case <-p.exited: // another process may have its PID
	default:
		syscall.Kill(-p.pid(), syscall.SIGKILL) //nolint:errcheck // an error means that it has just ended
		<-p.exited
	}
}
