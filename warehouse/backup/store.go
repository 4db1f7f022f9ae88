package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

const (
	// maxObjects bounds the files of a backup, and what a store may list at once.
	maxObjects = 500_000
	// maxBackups bounds the names that a bucket may list beside each other.
	maxBackups = 50_000
	// maxKeyBytes bounds the name of a file, as S3 does.
	maxKeyBytes = 1024
)

// errKey reports a name in a store that no backup of pnyx has.
var errKey = errors.New("not a name of a backup's file")

// S3 is how to reach an S3 store.
type S3 struct {
	KeyID, Secret string
	Region        string
	// Endpoint is the address of a store other than Amazon's; empty for Amazon's.
	Endpoint string
}

// object is a file of a store.
type object struct {
	// key is the path of the file below the destination, with slashes.
	key  string
	size int64
}

// store holds backups. Reading what is missing gives fs.ErrNotExist. What it lists was written
// by anyone with write access: keys are checked, and lists are bounded.
type store interface {
	// names returns the names of all backups, unfinished ones included.
	names(ctx context.Context) ([]string, error)
	// list returns the files below a prefix.
	list(ctx context.Context, prefix string) ([]object, error)
	read(ctx context.Context, key string) (io.ReadCloser, error)
	// write writes a file of exactly size bytes.
	write(ctx context.Context, key string, content io.Reader, size int64) error
	remove(ctx context.Context, key string) error
}

// checkKey returns errKey unless a key names a file below the destination, in one way only.
func checkKey(key string) error {
	if len(key) > maxKeyBytes || !filepath.IsLocal(key) || path.Clean(key) != key || strings.Contains(key, `\`) ||
		strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("%w: %q", errKey, key[:min(len(key), maxKeyBytes)])
	}
	return nil
}

// add appends a file that a store lists below a prefix.
func add(files []object, prefix string, file object) ([]object, error) {
	switch {
	case !strings.HasPrefix(file.key, prefix) || file.size < 0:
		return nil, fmt.Errorf("%w: %q of %d bytes, listed below %s", errKey, file.key[:min(len(file.key), maxKeyBytes)], file.size, prefix)
	case len(files) == maxObjects:
		return nil, fmt.Errorf("the store lists more than %d files below %s", maxObjects, prefix)
	}
	return append(files, file), checkKey(file.key)
}

// readAll reads a file of at most limit bytes.
func readAll(ctx context.Context, from store, key string, limit int64) ([]byte, error) {
	file, err := from.read(ctx, key)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%w: %s has more than %d bytes", errUnusable, key, limit)
	}
	return text, err
}

// openStore returns the store at a destination: a folder, or s3://bucket/prefix.
func openStore(destination string, s3 S3) (store, error) {
	bucket, is := strings.CutPrefix(destination, "s3://")
	if !is {
		if scheme, _, found := strings.Cut(destination, "://"); found {
			return nil, fmt.Errorf("destination %s://…: want a folder or s3://BUCKET/PREFIX", scheme)
		}
		dir, err := filepath.Abs(destination)
		return folder(dir), err
	}
	bucket, prefix, _ := strings.Cut(bucket, "/")
	if bucket == "" || strings.ContainsAny(destination, "?#@") {
		return nil, fmt.Errorf("destination %s: want s3://BUCKET/PREFIX; the key is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", destination)
	}
	if s3.KeyID == "" || s3.Secret == "" {
		return nil, errors.New("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: a destination s3://… needs a key")
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return openBucket(s3, bucket, prefix)
}

// folder is a store in a folder, given by its absolute path. It reads and writes below the folder
// only, wherever links lead, and takes no file that is a link: the engine would follow it.
type folder string

func (f folder) path(key string) string { return filepath.Join(string(f), filepath.FromSlash(key)) }

// within calls use with the folder.
func (f folder) within(use func(root *os.Root) error) error {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return err
	}
	defer root.Close()
	return use(root)
}

func (f folder) names(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// list skips what is removed meanwhile: the server may be writing.
func (f folder) list(_ context.Context, prefix string) (found []object, err error) {
	err = f.within(func(root *os.Root) error {
		return fs.WalkDir(root.FS(), path.Clean(prefix), func(key string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case !info.Mode().IsRegular():
				return fmt.Errorf("%s is not a regular file: no backup has links or devices", f.path(key))
			}
			found, err = add(found, prefix, object{key, info.Size()})
			return err
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}

func (f folder) read(_ context.Context, key string) (content io.ReadCloser, err error) {
	err = f.within(func(root *os.Root) error {
		info, err := root.Lstat(filepath.FromSlash(key))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file: no backup has links or devices", f.path(key))
		}
		content, err = root.Open(filepath.FromSlash(key))
		return err
	})
	return content, err
}

// write replaces a file as a whole.
func (f folder) write(_ context.Context, key string, content io.Reader, size int64) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	return f.within(func(root *os.Root) error {
		name := filepath.FromSlash(key)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		unfinished := filepath.Join(filepath.Dir(name), ".new-"+rand.Text())
		file, err := root.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		written, err := io.Copy(file, io.LimitReader(content, size+1))
		if err == nil && written != size {
			err = fmt.Errorf("%w: %s has not %d bytes", errUnusable, key, size)
		}
		err = errors.Join(err, file.Sync(), file.Close())
		if err == nil {
			err = root.Rename(unfinished, name)
		}
		if err != nil {
			return errors.Join(err, root.Remove(unfinished))
		}
		return nil
	})
}

func (f folder) remove(_ context.Context, key string) error {
	return f.within(func(root *os.Root) error { return root.Remove(filepath.FromSlash(key)) })
}

// removeAll removes a backup with its folders.
func (f folder) removeAll(name string) error {
	err := f.within(func(root *os.Root) error { return root.RemoveAll(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
