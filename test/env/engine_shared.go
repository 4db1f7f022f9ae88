package env

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"pnyx/warehouse/engine"
)

// childPackage is the program that becomes the engine.
const childPackage = "pnyx/test/env/enginechild"

// buildTimeout bounds the build of the child program: half a second, or a minute
// when the build cache is empty.
const buildTimeout = 2 * time.Minute

// lockPoll is how often a build asks whether that of another process is through.
const lockPoll = 50 * time.Millisecond

// sweepMark is a file in the folder of a shared engine. It tells the child program
// to remove the folder when it ends, since the tests have ended before it.
const sweepMark = "remove-with-engine"

// shared is what the tests of a process have in common.
//
//nolint:gochecknoglobals // one for the process is what it is for
var shared common

// common is an engine and the program it runs in, each made when first asked for.
type common struct {
	mu      sync.Mutex
	program string // path of the child program
	dir     string // data folder of the engine
	engine  *engine.Engine
	err     error // why there is no engine
}

// start returns the engine of the process.
func (c *common) start(ctx context.Context, program engine.Program) (engine.Instance, error) {
	executable, err := c.build(ctx)
	if err != nil {
		return engine.Instance{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.engine == nil && c.err == nil {
		c.err = c.open(ctx, program, executable)
	}
	if c.err != nil {
		return engine.Instance{}, c.err
	}
	return c.engine.Instance(), nil
}

func (c *common) open(ctx context.Context, program engine.Program, executable string) error {
	var err error
	if c.dir, err = os.MkdirTemp("", "pnyx-enginetest-*"); err != nil {
		return fmt.Errorf("create folder of shared engine: %w", err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, sweepMark), nil, 0o600); err != nil {
		return fmt.Errorf("mark folder of shared engine: %w", err)
	}
	c.engine, err = engine.Start(ctx, engine.Options{
		DataDir:    c.dir,
		Program:    program,
		Executable: executable,
		Logger:     slog.New(slog.DiscardHandler), // it outlives the test that would print it
		MaxMemory:  maxMemory,
	})
	return err
}

// stop ends the engine and removes what it has left.
func (c *common) stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" {
		return nil
	}
	var err error
	if c.engine != nil {
		err = c.engine.Stop(ctx)
	}
	err = errors.Join(err, os.RemoveAll(c.dir))
	c.engine, c.dir, c.err = nil, "", nil
	return err
}

// build makes the child program. It is kept in the user's cache, where go build
// leaves it alone while it is up to date.
func (c *common) build(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.program != "" {
		return c.program, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache folder: %w", err)
	}
	dir := filepath.Join(base, "pnyx", "enginetest")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("create cache folder: %w", err)
	}
	program := filepath.Join(dir, "child")
	if err := buildAt(ctx, program); err != nil {
		return "", err
	}
	c.program = program
	return program, nil
}

// buildAt builds the child program, one process at a time.
func buildAt(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	lock := flock.New(path + ".lock")
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return fmt.Errorf("lock the build of %s: %w", childPackage, err)
	}
	defer lock.Close()
	command := exec.CommandContext(ctx, "go", "build", "-o", path, childPackage) //nolint:gosec // our own package
	command.Env = append(command.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", childPackage, err, said)
	}
	return nil
}
