package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// S3 is how to reach an S3 store.
type S3 struct {
	// KeyID and Secret are the access key.
	KeyID, Secret string
	// Region is the region of the bucket.
	Region string
	// Endpoint is the address of a store other than Amazon's; empty for Amazon's.
	Endpoint string
}

// object is a file of a store.
type object struct {
	// key is the path of the file below the destination, with slashes.
	key  string
	size int64
}

// store holds backups. Reading what is missing gives fs.ErrNotExist.
type store interface {
	// names returns the names of all backups, unfinished ones included.
	names(ctx context.Context) ([]string, error)
	// list returns the files below a prefix.
	list(ctx context.Context, prefix string) ([]object, error)
	read(ctx context.Context, key string) (io.ReadCloser, error)
	write(ctx context.Context, key string, content io.ReadSeeker) error
	remove(ctx context.Context, key string) error
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

// folder is a store in a folder, given by its absolute path.
type folder string

func (f folder) path(key string) string { return filepath.Join(string(f), filepath.FromSlash(key)) }

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
	err = filepath.WalkDir(f.path(prefix), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		key, err := filepath.Rel(string(f), path)
		found = append(found, object{filepath.ToSlash(key), info.Size()})
		return err
	})
	return found, err
}

func (f folder) read(_ context.Context, key string) (io.ReadCloser, error) {
	return os.Open(f.path(key))
}

// write replaces a file as a whole.
func (f folder) write(_ context.Context, key string, content io.ReadSeeker) error {
	path := f.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func (f folder) remove(_ context.Context, key string) error {
	return os.Remove(f.path(key))
}
