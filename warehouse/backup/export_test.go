package backup

import (
	"context"
	"time"
)

// PutManifest writes a manifest to a destination.
func PutManifest(ctx context.Context, o Options, m Manifest) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	m.Format = formatVersion
	return writeManifest(ctx, s.store, m)
}

// Retain removes what o.Keep does not cover, as after a backup.
func Retain(ctx context.Context, o Options, now time.Time) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	entries, err := list(ctx, s.store)
	if err != nil {
		return err
	}
	return s.retain(ctx, entries, now)
}
