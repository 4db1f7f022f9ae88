package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"pnyx/warehouse"
)

var (
	// ErrNotEmpty reports that a warehouse to restore into has rows.
	ErrNotEmpty = errors.New("the warehouse is not empty")
	// ErrDiffers reports that restored rows are not those that were backed up.
	ErrDiffers = errors.New("the restored rows are not those of the manifest")
)

// Verify restores a backup, the newest for no name, to a database of its own beside the
// warehouse, compares rows and checksums with the manifest, and drops the database. The
// error is ErrDiffers if they are not the same.
func Verify(ctx context.Context, o Options, name string) (Manifest, error) {
	s, m, err := openBackup(ctx, o, name)
	if err != nil {
		return Manifest{}, err
	}
	beside := o.Archive.Database() + "_verify"
	err = s.restoreAll(ctx, m, beside)
	return m, errors.Join(err, o.Archive.Drop(ctx, beside), s.clear())
}

// Restore restores a backup, the newest for no name, into an empty warehouse. The caller
// migrates it then. The rows are checked before the warehouse gets them, so that an error
// leaves it empty.
func Restore(ctx context.Context, o Options, name string) (Manifest, error) {
	s, m, err := openBackup(ctx, o, name)
	if err != nil {
		return Manifest{}, err
	}
	for shard := range o.Archive.Shards() {
		occupied, err := o.Archive.Occupied(ctx, shard)
		if err != nil {
			return Manifest{}, err
		}
		if len(occupied) > 0 {
			return Manifest{}, fmt.Errorf("%w: database %s has rows in %s: restore into another PNYX_DATA or another database",
				ErrNotEmpty, o.Archive.Database(), strings.Join(occupied, ", "))
		}
	}
	beside := o.Archive.Database() + "_restore"
	if err := s.restoreAll(ctx, m, beside); err != nil {
		return m, errors.Join(err, o.Archive.Drop(ctx, beside), s.clear())
	}
	for shard := range o.Archive.Shards() {
		if err := o.Archive.Adopt(ctx, shard, beside); err != nil {
			return m, fmt.Errorf("restore shard %d: %w", shard+1, err)
		}
	}
	return m, s.clear()
}

// openBackup finds a backup and checks that this version and warehouse can restore it.
func openBackup(ctx context.Context, o Options, name string) (*session, Manifest, error) {
	s, err := open(o)
	if err != nil {
		return nil, Manifest{}, err
	}
	m, err := find(ctx, s.store, name)
	if err != nil {
		return nil, Manifest{}, fmt.Errorf("%s: %w", o.Destination, err)
	}
	schema, err := warehouse.SchemaVersion()
	switch {
	case err != nil:
		return nil, Manifest{}, err
	case m.Schema > schema:
		return nil, Manifest{}, fmt.Errorf("backup %s has schema %d, this version knows %d: use pnyx %s or later", m.Name, m.Schema, schema, m.Version)
	case len(m.Shards) != o.Archive.Shards():
		return nil, Manifest{}, fmt.Errorf("backup %s has %d shards, the warehouse %d: they must be as many", m.Name, len(m.Shards), o.Archive.Shards())
	}
	return s, m, nil
}

// restoreAll restores all shards to a database, and compares it with the manifest.
func (s *session) restoreAll(ctx context.Context, m Manifest, database string) error {
	if s.staging != nil {
		for _, name := range []string{m.Base, m.Name} {
			if name == "" {
				continue
			}
			if err := s.transfer(ctx, "downloading", s.store, s.staging, name+"/"); err != nil {
				return err
			}
		}
	}
	for shard, want := range m.Shards {
		progress := func(_ context.Context, done, total uint64) { s.Progress("restoring", done, total) }
		err := s.Archive.Restore(ctx, shard, m.Database, database, *s.location(m.Name, shard), s.location(m.Base, shard), progress)
		if err != nil {
			return fmt.Errorf("restore shard %d: %w", shard+1, err)
		}
		s.Progress("counting rows", 0, 0)
		got, err := s.Archive.Contents(ctx, shard, database)
		if err != nil {
			return err
		}
		if err := compare(got, want); err != nil {
			return fmt.Errorf("shard %d of backup %s: %w", shard+1, m.Name, err)
		}
	}
	return nil
}

// compare returns ErrDiffers with the first table that differs. Both are in order of names.
func compare(got, want []warehouse.TableContent) error {
	if len(got) != len(want) {
		return fmt.Errorf("%w: got %d tables, want %d", ErrDiffers, len(got), len(want))
	}
	i := slices.IndexFunc(want, func(table warehouse.TableContent) bool { return !slices.Contains(got, table) })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("%w: got %s with %d rows and checksum %d, want %s with %d rows and checksum %d",
		ErrDiffers, got[i].Name, got[i].Rows, got[i].Checksum, want[i].Name, want[i].Rows, want[i].Checksum)
}

// transferFile copies one file from one store to another. At least one of them is a folder.
func transferFile(ctx context.Context, from, to store, key string) error {
	content, err := from.read(ctx, key)
	if err != nil {
		return err
	}
	defer content.Close()
	if file, local := content.(*os.File); local {
		return to.write(ctx, key, file)
	}
	return to.write(ctx, key, struct {
		io.Reader
		io.Seeker
	}{Reader: content})
}
