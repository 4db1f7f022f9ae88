package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

var (
	// ErrNotEmpty reports that a warehouse to restore into has rows.
	ErrNotEmpty = errors.New("the warehouse is not empty")
	// ErrDiffers reports that restored rows are not those that were backed up.
	ErrDiffers = errors.New("the restored rows differ from the manifest")
)

// Verify restores a backup, the newest for no name, beside the warehouse, compares rows and checksums with the
// manifest, and drops that database. The error is ErrDiffers if they are not the same.
func Verify(ctx context.Context, o Options, name string) (Manifest, error) {
	s, m, base, err := openBackup(ctx, o, name)
	if err != nil {
		return Manifest{}, err
	}
	beside := o.Archive.Database() + "_verify"
	err = s.restoreAll(ctx, m, base, beside)
	return m, errors.Join(err, o.Archive.Drop(ctx, beside), s.clear())
}

// Restore restores a backup, the newest for no name, into an empty warehouse, and records that. The
// caller migrates it then. The rows are checked before the warehouse gets them, so that an error leaves it empty.
func Restore(ctx context.Context, o Options, name string) (Manifest, error) {
	s, m, base, err := openBackup(ctx, o, name)
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
	err = s.restoreAll(ctx, m, base, beside)
	if err == nil {
		err = o.Archive.NoteRestore(ctx, beside, records.BackupRestored, m.Name, m.Rows(), uint64(m.Bytes)) //nolint:gosec // a size
	}
	if err != nil {
		return m, errors.Join(err, o.Archive.Drop(ctx, beside), s.clear())
	}
	ctx = context.WithoutCancel(ctx) // between a shard and the next it would be neither empty nor restored
	for shard := range o.Archive.Shards() {
		if err := o.Archive.Adopt(ctx, shard, beside); err != nil {
			return m, fmt.Errorf("restore shard %d: %w", shard+1, err)
		}
	}
	return m, s.clear()
}

// openBackup finds a backup and checks that this version and warehouse can restore it.
func openBackup(ctx context.Context, o Options, name string) (s *session, m Manifest, base *Manifest, err error) {
	if s, err = open(o); err != nil {
		return nil, Manifest{}, nil, err
	}
	if m, base, err = s.find(ctx, name); err != nil {
		return nil, Manifest{}, nil, fmt.Errorf("%s: %w", o.Destination, err)
	}
	schema, err := warehouse.SchemaVersion()
	switch {
	case err != nil:
		return nil, Manifest{}, nil, err
	case m.Schema > schema:
		return nil, Manifest{}, nil, fmt.Errorf("backup %s has schema %d, this version knows %d: use pnyx %s or later", m.Name, m.Schema, schema, m.Version)
	case len(m.Shards) != o.Archive.Shards():
		return nil, Manifest{}, nil, fmt.Errorf("backup %s has %d shards, the warehouse %d: they must be as many", m.Name, len(m.Shards), o.Archive.Shards())
	}
	return s, m, base, nil
}

// restoreAll restores all shards to a database, and compares it with the manifest. What the server reads is
// checked before, and only rows come from the backup.
func (s *session) restoreAll(ctx context.Context, m Manifest, base *Manifest, database string) error {
	if base != nil {
		if err := s.bring(ctx, *base); err != nil {
			return err
		}
	}
	if err := s.bring(ctx, m); err != nil {
		return err
	}
	for shard, want := range m.Shards {
		progress := func(_ context.Context, done, total uint64) { s.Progress("restoring", done, total) }
		from := warehouse.Restored{
			Database: m.Database, Schema: cmp.Or(m.Applied, m.Schema), Tables: metadataOf(m, shard).tables,
			From: *s.location(m.Name, shard), Base: s.location(m.Base, shard),
		}
		if err := s.Archive.Restore(ctx, shard, from, database, progress); err != nil {
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

// bring brings a backup to where the server reads it, and checks it.
func (s *session) bring(ctx context.Context, m Manifest) error {
	files, err := s.files(ctx, m)
	if err != nil {
		return err
	}
	if s.staging != nil {
		if err := s.download(ctx, "downloading", m, files); err != nil {
			return err
		}
	}
	if err := s.checkFiles(ctx, m, files); err != nil {
		return err
	}
	return s.checkAllMetadata(ctx, m)
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

// transferFile copies one file, of exactly its size, from one store to another.
func transferFile(ctx context.Context, from, to store, file object) error {
	content, err := from.read(ctx, file.key)
	if err != nil {
		return err
	}
	defer content.Close()
	return to.write(ctx, file.key, content, file.size)
}
