package drills

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pnyx/test/env"
)

// warehouseDrills break ClickHouse, or the disk below it.
func warehouseDrills() []drill {
	const small = 160 << 20
	return []drill{
		{
			name: "ClickHouse killed", fault: "SIGKILL of the embedded engine, which is supervised",
			breaks: func(s *deployment) func() { s.signalEngine(syscall.SIGKILL); return nil },
		},
		{
			name: "ClickHouse paused", fault: "SIGSTOP for 20 s", lasts: 20 * time.Second,
			breaks: func(s *deployment) func() {
				s.signalEngine(syscall.SIGSTOP)
				return func() { s.signalEngine(syscall.SIGCONT) }
			},
		},
		{
			name: "ClickHouse slow", fault: "every answer 1 s later, for 20 s", lasts: 20 * time.Second,
			breaks: func(s *deployment) func() { s.workerToEngine.delay(time.Second); return s.workerToEngine.mend },
		},
		{
			name: "ClickHouse read-only", fault: "its file system is mounted read-only for 15 s", lasts: 15 * time.Second,
			breaks: func(s *deployment) func() { return readOnly(s.tb, s.data) },
		},
		{
			name: "ClickHouse's disk full", fault: "not a byte is left for 15 s", lasts: 15 * time.Second,
			deployment: deploymentOptions{disk: small}, breaks: func(s *deployment) func() { return fillDisk(s.tb, s.data) },
		},
	}
}

func (s *deployment) signalEngine(signal syscall.Signal) {
	env.WantError(s.tb, nil, syscall.Kill(s.engine.Instance().EnginePID, signal))
}

// mount makes a file system of so many bytes, until the end of the test, or skips it.
func mount(tb testing.TB, dir string, bytes int) {
	tb.Helper()
	env.MustDo(tb, os.MkdirAll(dir, 0o700))
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	if errors.Is(err, unix.EPERM) {
		tb.Skip("needs the right to mount")
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { unmount(tb, dir) })
}

func unmount(tb testing.TB, dir string) {
	tb.Helper()
	env.WantError(tb, nil, unix.Unmount(dir, unix.MNT_DETACH))
}

// readOnly lays a read-only view of a folder over it. Files that are open stay writable.
func readOnly(tb testing.TB, dir string) (mend func()) {
	tb.Helper()
	err := unix.Mount(dir, dir, "", unix.MS_BIND, "")
	if errors.Is(err, unix.EPERM) {
		tb.Skip("needs the right to mount")
	}
	remount := func(flags uintptr) error {
		return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|flags, "")
	}
	if err = errors.Join(err, remount(unix.MS_RDONLY)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { unmount(tb, dir) })
	return func() {
		env.WantError(tb, nil, remount(0))
	}
}

// fillDisk writes until nothing more fits.
func fillDisk(tb testing.TB, dir string) (mend func()) {
	tb.Helper()
	path := filepath.Join(dir, "ballast")
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	zeros := make([]byte, 4096)
	for err == nil {
		_, err = file.Write(zeros)
	}
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
		tb.Error(err)
	}
	return func() {
		env.WantError(tb, nil, os.Remove(path))
	}
}
