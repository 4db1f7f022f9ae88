package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// errPortTaken reports that another process listens on a port of the engine.
var errPortTaken = errors.New("port is taken")

// readyPollInterval is the interval between queries to a starting engine.
const readyPollInterval = 25 * time.Millisecond

// serverQueries turn clickhouse local into a server. HTTP starts first, so that a client
// with an answer over TCP can use both. The last query runs until the parent closes the
// pipe, which is standard input.
const serverQueries = "CREATE DATABASE IF NOT EXISTS " + AnalystDatabase + "; SYSTEM START LISTEN HTTP; " +
	"SYSTEM START LISTEN TCP; " +
	"INSERT INTO FUNCTION null('line String') FROM INFILE '/dev/stdin' FORMAT LineAsString"

type process struct {
	command *exec.Cmd
	pipe    io.Closer // closing it ends the engine
	output  *output
	exited  chan struct{} // closed when the process has ended
	err     error         // the exit error; set before exited is closed
}

// startProcess starts the engine on the ports of instance. The child inherits the lock
// of the data folder: even if this process is killed, no other process can lock the
// folder before the engine has ended.
func startProcess(
	ctx context.Context, options Options, instance Instance, lock *os.File,
) (*process, error) {
	args, err := arguments(options, instance)
	if err != nil {
		return nil, err
	}
	p := &process{output: &output{logger: options.Logger}, exited: make(chan struct{})}
	// The process outlives ctx, which bounds the start only.
	//nolint:gosec // our own program
	p.command = exec.CommandContext(context.WithoutCancel(ctx), options.Executable, args...)
	p.command.Dir = layoutOf(options.DataDir).store
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.ExtraFiles = []*os.File{lock}
	// A process that the engine started could keep its output open.
	p.command.WaitDelay = time.Second
	// In a process group of its own the engine does not receive a terminal's Ctrl-C
	// while the parent still needs it.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.pipe, err = p.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	go p.watch()
	return p, nil
}

// arguments returns the arguments of the child process.
func arguments(options Options, instance Instance) ([]string, error) {
	_, tcp, err := net.SplitHostPort(instance.TCPAddr)
	if err != nil {
		return nil, fmt.Errorf("engine address: %w", err)
	}
	_, http, err := net.SplitHostPort(instance.HTTPAddr)
	if err != nil {
		return nil, fmt.Errorf("engine address: %w", err)
	}
	at := layoutOf(options.DataDir)
	kind, path := options.Program.childArgs()
	return []string{
		ChildCommand, kind, path,
		"--config-file=" + at.config,
		"--path=" + at.store,
		"--listen_host=" + loopback,
		"--tcp_port=" + tcp,
		"--http_port=" + http,
		"--query=" + serverQueries,
	}, nil
}

// watch waits until the process ends and closes exited.
func (p *process) watch() {
	p.err = p.command.Wait()
	close(p.exited)
}

func (p *process) pid() int { return p.command.Process.Pid }

// ready waits until the engine answers a query. It returns an error if the engine ends
// before or takes longer than timeout.
func (p *process) ready(ctx context.Context, instance Instance, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := connect(instance)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		err := ping(ctx, conn)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.exitError()
		case <-ctx.Done():
			return fmt.Errorf("engine does not answer on %s (%w): %w%s",
				instance.TCPAddr, ctx.Err(), err, p.output.tail())
		case <-time.After(readyPollInterval):
		}
	}
}

func connect(instance Instance) (clickhouse.Conn, error) {
	options, err := clickhouse.ParseDSN(instance.OwnerURL("system"))
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

func ping(ctx context.Context, conn clickhouse.Conn) error {
	var one uint8
	return conn.QueryRow(ctx, "SELECT 1").Scan(&one)
}

// exitError returns how the process ended, with its last output. It may be called once
// exited is closed.
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
	p.pipe.Close() // an error means that the process has ended
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
	}
}

// kill kills the process and, if it runs one, the clickhouse program.
func (p *process) kill() {
	p.pipe.Close()
	select {
	case <-p.exited: // another process may have its PID
	default:
		syscall.Kill(-p.pid(), syscall.SIGKILL) //nolint:errcheck // an error means that it has just ended
		<-p.exited
	}
}
