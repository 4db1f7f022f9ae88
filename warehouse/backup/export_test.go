package backup

import (
	"context"
	"io"
	"time"
)

// PutManifest writes a manifest to a destination.
func PutManifest(ctx context.Context, o Options, m Manifest) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	m.Format = formatVersion
	return s.writeManifest(ctx, m)
}

// Retain removes what o.Keep does not cover, as after a backup.
func Retain(ctx context.Context, o Options, now time.Time) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	entries, err := s.list(ctx)
	if err != nil {
		return err
	}
	return s.retain(ctx, entries, now)
}

// CheckMetadata checks the list of the first shard's files.
func CheckMetadata(list io.Reader, m Manifest) (stored int64, err error) {
	return metadataOf(m, 0).check(list)
}

// CheckWritten checks the first shard of a backup as after the server has written it.
func CheckWritten(ctx context.Context, o Options, m Manifest) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	return s.checkWritten(ctx, m, 0)
}

// DecodeManifest is decodeManifest.
var DecodeManifest = decodeManifest

// ParseFiles returns the names in a list of files.
func ParseFiles(text []byte, name string) (keys []string, err error) {
	files, err := parseFiles(text, name)
	for _, file := range files {
		keys = append(keys, file.key)
	}
	return keys, err
}
