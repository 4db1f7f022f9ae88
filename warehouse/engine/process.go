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

// errPortTaken says that another process listens on a port meant for the engine.
var errPortTaken = errors.New("port is taken")

// readyPollInterval is how often a starting engine is asked for an answer.
const readyPollInterval = 25 * time.Millisecond

// serverQueries make a server of clickhouse local. HTTP comes first, so that whoever
// is answered over TCP finds both; the last query reads standard input, the
// parent's pipe, to its end.
const serverQueries = "SYSTEM START LISTEN HTTP; " +
	"SYSTEM START LISTEN TCP; " +
	"INSERT INTO FUNCTION null('line String') FROM INFILE '/dev/stdin' FORMAT LineAsString"

// process is one run of the engine.
type process struct {
	command *exec.Cmd
	pipe    io.Closer // the engine lives until it is closed
	output  *output
	exited  chan struct{} // closed when the process is gone
	err     error         // how it ended; set before exited is closed
}

// startProcess runs the engine on the ports of instance. The process inherits the
// lock of the folder: whatever happens to this one, nobody else gets the folder
// before the engine has let go of it.
func startProcess(ctx context.Context, options Options, instance Instance, lock *os.File) (*process, error) {
	args, err := arguments(options, instance)
	if err != nil {
		return nil, err
	}
	p := &process{output: &output{logger: options.Logger}, exited: make(chan struct{})}
	// Not bound to ctx, which may be that of the start only.
	p.command = exec.CommandContext(context.WithoutCancel(ctx), options.Executable, args...) //nolint:gosec // our own program
	p.command.Dir = layoutOf(options.DataDir).store
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.ExtraFiles = []*os.File{lock}
	// What the engine may have started itself can hold on to its output.
	p.command.WaitDelay = time.Second
	// A process group of its own keeps a terminal's Ctrl-C from the engine while
	// the parent still needs it.
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

// watch waits for the end of the process.
func (p *process) watch() {
	p.err = p.command.Wait()
	close(p.exited)
}

func (p *process) pid() int { return p.command.Process.Pid }

// ready returns when the engine has answered a query, and an error when it ends
// before that or takes longer than patience.
func (p *process) ready(ctx context.Context, instance Instance, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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

func ping(ctx context.Context, conn clickhouse.Conn) error {
	var one uint8
	return conn.QueryRow(ctx, "SELECT 1").Scan(&one)
}

// exitError says how the process ended, in its own last words. It is for after
// exited is closed.
func (p *process) exitError() error {
	said := p.output.tail()
	if strings.Contains(said, "Address already in use") {
		return fmt.Errorf("%w: engine ended%s", errPortTaken, said)
	}
	if p.err == nil {
		return fmt.Errorf("engine ended%s", said)
	}
	return fmt.Errorf("engine ended: %w%s", p.err, said)
}

// stop closes the pipe and waits for the process, until ctx is done; then it kills.
func (p *process) stop(ctx context.Context) {
	p.pipe.Close() // already closed when the process has ended
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
	}
}

// kill ends the process, and the clickhouse program if it runs one, at once.
func (p *process) kill() {
	p.pipe.Close()
	select {
	case <-p.exited: // its number may be another's by now
	default:
		syscall.Kill(-p.pid(), syscall.SIGKILL) //nolint:errcheck // it has just ended by itself
		<-p.exited
	}
}
