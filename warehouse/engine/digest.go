package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// errShared reports a library that others than its owner may replace.
var errShared = errors.New("others may write it")

// openLibrary opens a library to load it. With a digest it returns ErrIntegrity unless the
// file has that SHA-256, and an error if another user could change it afterwards.
//
// Loading runs what is in the file, so all of it is read each time. A note of size, inode
// and times next to the file would save 0.3 s a start, and who can replace the file can
// replace such a note, too.
func openLibrary(path, digest string) (*os.File, error) {
	file, err := os.Open(path) //nolint:gosec // the path that Locate found
	if err != nil {
		return nil, fmt.Errorf("open engine library: %w", err)
	}
	if digest == "" {
		return file, nil
	}
	if err := checkLibrary(file, digest); err != nil {
		return nil, errors.Join(fmt.Errorf("engine library %s: %w: \"pnyx engine\" downloads it again", path, err), file.Close())
	}
	return file, nil
}

func checkLibrary(file *os.File, digest string) error {
	folder, err := os.Stat(filepath.Dir(file.Name()))
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := errors.Join(checkOwner("its folder", folder), checkOwner("the file", info)); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, struct{ io.Reader }{file}, make([]byte, 1<<20)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest {
		return fmt.Errorf("%w: got %s, want %s", ErrIntegrity, got, digest)
	}
	return nil
}

// checkOwner returns errShared unless only this user, or root, may write a file.
func checkOwner(what string, info os.FileInfo) error {
	const othersMayWrite = 0o022
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !known || owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%w: %s belongs to another user", errShared, what)
	case info.Mode()&othersMayWrite != 0:
		return fmt.Errorf("%w: %s has mode %o, and chmod go-w mends it", errShared, what, info.Mode().Perm())
	}
	return nil
}

// loadPath returns a path of an open file to load it by. On Linux it leads to the file that
// was checked, also when another one has its name meanwhile.
func loadPath(file *os.File) string {
	if runtime.GOOS == "linux" {
		return "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	}
	return file.Name()
}
