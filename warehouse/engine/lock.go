package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pnyx/backoff"
)

// ErrInUse reports that another process has locked the data folder.
var ErrInUse = errors.New("data folder is in use")

// errLocked reports that another process has the lock.
var errLocked = errors.New("locked")

// lockHolder is the content of a lock file: the process that has the lock.
type lockHolder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// lockFolder locks a data folder and writes the holder into the lock file. It waits up
// to timeout for a previous holder. The lock belongs to the open file, not to the
// process: a child that inherits the file keeps the lock after its parent has ended.
func lockFolder(ctx context.Context, dir string, timeout time.Duration) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data folder: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	file, err := lockFile(waiting, lockPath(dir))
	if errors.Is(err, errLocked) {
		return nil, errors.Join(fmt.Errorf("%w: stop it or use another folder", inUseError(dir)), ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(removeInstance(dir), writeHolder(file)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// isLocked reports whether a process has locked the data folder.
func isLocked(dir string) (bool, error) {
	file, err := os.Open(lockPath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open engine lock: %w", err)
	}
	defer file.Close() // unlocks
	err = tryLock(file, syscall.LOCK_SH)
	if errors.Is(err, errLocked) {
		return true, nil
	}
	return false, err
}

// lockFile creates and locks a file. It retries until ctx is done. Closing the file unlocks it.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	//nolint:gosec // a fixed name in a configured folder
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := awaitLock(ctx, file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// awaitLock locks a file or folder. It retries until ctx is done.
func awaitLock(ctx context.Context, file *os.File) error {
	const lockPollInterval = 25 * time.Millisecond // the interval between attempts to lock a file
	err := tryLock(file, syscall.LOCK_EX)
	for errors.Is(err, errLocked) && ctx.Err() == nil {
		backoff.Wait(ctx, lockPollInterval)
		err = tryLock(file, syscall.LOCK_EX)
	}
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	return nil
}

// tryLock locks file without waiting. The error is errLocked if another process has the lock.
func tryLock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("%w: %s", errLocked, file.Name())
		case !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("lock %s: %w", file.Name(), err)
		}
	}
}

// writeHolder writes this process into the lock file, for the message of ErrInUse.
func writeHolder(file *os.File) error {
	holder := lockHolder{PID: os.Getpid(), Since: time.Now().UTC()}
	if err := errors.Join(file.Truncate(0), json.NewEncoder(file).Encode(holder)); err != nil {
		return fmt.Errorf("write lock holder: %w", err)
	}
	return nil
}

// inUseError returns ErrInUse with the holder of the lock, if that can be read.
func inUseError(dir string) error {
	file, err := os.Open(lockPath(dir))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInUse, dir, err)
	}
	defer file.Close()
	var holder lockHolder
	if err := json.NewDecoder(io.LimitReader(file, 4096)).Decode(&holder); err != nil {
		return fmt.Errorf("%w: %s: decode lock: %w", ErrInUse, dir, err)
	}
	return fmt.Errorf("%w: %s is locked by process %d since %s",
		ErrInUse, dir, holder.PID, holder.Since.Format(time.RFC3339))
}

func lockPath(dir string) string { return filepath.Join(dir, "engine.lock") }
