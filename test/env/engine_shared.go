package env

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"pnyx/warehouse/engine"
)

// builtChild builds the program that becomes the engine, once in a process.
var builtChild = sync.OnceValues(func() (string, error) { return buildProgram("engine", "pnyx/test/env/enginechild") }) //nolint:gochecknoglobals // one for the process is what it is for

// sweepMark is a file that tells the child program to remove the folder of a shared engine when it ends.
const sweepMark = "remove-with-engine"

// shared is what the tests of a process have in common.
var shared common //nolint:gochecknoglobals // one for the process is what it is for

// common is an engine that is started on first use.
type common struct {
	mu     sync.Mutex
	dir    string // data folder of the engine
	engine *engine.Engine
	err    error // why there is no engine
	log    Buffer
	free   []string // databases of the engine with the schema, of tests that have ended
}

// takeDatabase returns the name of the database that was returned first, "" for none.
func (c *common) takeDatabase() (name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) > 0 {
		name, c.free = c.free[0], c.free[1:]
	}
	return name
}

// returnDatabase lets another test take a database.
func (c *common) returnDatabase(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, name)
}

// start returns the engine of the process.
func (c *common) start(ctx context.Context, program engine.Program) (engine.Instance, error) {
	executable, err := builtChild()
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
		Logger:     slog.New(slog.NewTextHandler(&c.log, nil)), // it outlives the test that would print it
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
	c.engine, c.dir, c.err, c.free = nil, "", nil, nil
	return err
}
