// Package backup makes backups of a warehouse, lists them, verifies them and restores them.
//
// A backup is a folder, or a prefix of an S3 bucket, with what ClickHouse's BACKUP writes for
// each shard and a manifest, which is written last. It is full, or an increment to the last
// full one: any backup is restored from two at most, wherever the destination was moved to.
//
// A server reads and writes S3 itself. The embedded engine cannot: its backups pass through
// a folder (Options.Staging).
package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pnyx/warehouse"
)

// abandonedAge is the age from which on a backup without a manifest is removed.
const abandonedAge = 48 * time.Hour

// Options say where backups are and how to make them.
type Options struct {
	// Destination is a folder, or s3://BUCKET/PREFIX.
	Destination string
	// S3 is how to reach an S3 store.
	S3 S3
	// Archive is the warehouse; nil to list only.
	Archive *warehouse.Archive
	// Staging is the folder for backups on their way to and from S3; empty where the server
	// of the warehouse uses S3 itself.
	Staging string
	// Server says that the warehouse is a server, which writes a folder as its own user.
	Server bool
	// Version is the version of pnyx, for the manifest.
	Version string
	// Full makes a full backup. One is also made when the last is older than FullAge.
	Full bool
	// FullAge is the age of a full backup from which on no increment is added to it.
	FullAge time.Duration
	// Keep is the number of complete backups to keep; 0 keeps all.
	Keep int
	// Progress is told of what is being done; total is 0 when it is unknown.
	Progress func(phase string, done, total uint64)
}

// session is one use of a destination.
type session struct {
	Options

	store store
	// staging is the store in the folder Staging; nil without one.
	staging store
}

func open(o Options) (*session, error) {
	s, err := openStore(o.Destination, o.S3)
	if err != nil {
		return nil, err
	}
	opened := &session{Options: o, store: s}
	if _, local := s.(folder); local {
		opened.Staging = ""
	} else if o.Staging != "" {
		dir, err := filepath.Abs(o.Staging)
		if err != nil {
			return nil, err
		}
		opened.Staging, opened.staging = dir, folder(dir)
	}
	return opened, nil
}

// clear removes the staging folder.
func (s *session) clear() error {
	if s.Staging == "" {
		return nil
	}
	return os.RemoveAll(s.Staging)
}

// written returns the store that the server writes to.
func (s *session) written() store {
	if s.staging != nil {
		return s.staging
	}
	return s.store
}

// location returns where the server finds a shard of a backup; nil for the name of none.
func (s *session) location(name string, shard int) *warehouse.Location {
	if name == "" {
		return nil
	}
	key := shardKey(name, shard)
	switch at := s.written().(type) {
	case folder:
		return &warehouse.Location{Path: at.path(key) + "/"}
	case *bucketStore:
		return &warehouse.Location{URL: at.address(key).String() + "/", KeyID: at.KeyID, Secret: at.Secret}
	}
	return nil
}

func shardKey(name string, shard int) string { return name + "/shard-" + strconv.Itoa(shard+1) }

// List returns all backups of a destination, oldest first.
func List(ctx context.Context, o Options) ([]Entry, error) {
	s, err := open(o)
	if err != nil {
		return nil, err
	}
	return list(ctx, s.store)
}

// Create makes a backup and removes those that Keep does not cover. A backup that fails
// leaves nothing that could be mistaken for one.
func Create(ctx context.Context, o Options) (made Manifest, err error) {
	s, err := open(o)
	if err != nil {
		return Manifest{}, err
	}
	// Before the snapshot, so that a destination that cannot be reached is reported at once.
	entries, err := list(ctx, s.store)
	if err != nil {
		return Manifest{}, fmt.Errorf("read the destination: %w", err)
	}
	o.Progress("making a snapshot", 0, 0)
	made = Manifest{
		Format: formatVersion, Version: o.Version, Database: o.Archive.SnapshotDatabase(),
		StartedAt: time.Now().UTC(),
	}
	if made.Name, err = nextName(entries, made.StartedAt); err != nil {
		return Manifest{}, err
	}
	if made.Schema, err = warehouse.SchemaVersion(); err != nil {
		return Manifest{}, err
	}
	if !o.Full {
		made.Base = s.chooseBase(entries, made.StartedAt)
	}
	if err := o.Archive.Snapshot(ctx); err != nil {
		return Manifest{}, err
	}
	err = s.copy(ctx, &made)
	err = errors.Join(err, o.Archive.DropSnapshot(ctx), s.clear())
	if err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return Manifest{}, errors.Join(err, s.removeBackup(cleanup, made.Name))
	}
	entries = append(entries, Entry{made.Name, &made})
	if err := s.retain(ctx, entries, made.StartedAt); err != nil {
		return made, fmt.Errorf("backup %s is complete, but removing earlier ones failed: %w", made.Name, err)
	}
	return made, nil
}

// nextName returns the name of a backup that begins now. It is later than all others, so that
// the newest is the last one made.
func nextName(entries []Entry, now time.Time) (string, error) {
	if len(entries) > 0 {
		last, err := time.Parse(nameLayout, entries[len(entries)-1].Name)
		if err != nil {
			return "", err
		}
		if last.After(now.Add(time.Minute)) {
			return "", fmt.Errorf("backup %s is later than the clock of this machine: set the clock", last.Format(nameLayout))
		}
		if next := last.Add(time.Second); next.After(now) {
			now = next
		}
	}
	return now.Format(nameLayout), nil
}

// chooseBase returns the last full backup if it suits as a base, and "" otherwise.
func (s *session) chooseBase(entries []Entry, now time.Time) (base string) {
	for _, entry := range entries {
		m := entry.Manifest
		if m != nil && m.Base == "" && m.Database == s.Archive.SnapshotDatabase() && len(m.Shards) == s.Archive.Shards() &&
			now.Sub(m.StartedAt) < s.FullAge {
			base = m.Name
		}
	}
	return base
}

// copy counts and copies the snapshot of every shard, and writes the manifest.
func (s *session) copy(ctx context.Context, m *Manifest) error {
	for shard := range s.Archive.Shards() {
		s.Progress("counting rows", 0, 0)
		contents, err := s.Archive.Contents(ctx, shard, m.Database)
		if err != nil {
			return err
		}
		m.Shards = append(m.Shards, contents)
		if err := s.copyShard(ctx, m, shard); err != nil {
			return fmt.Errorf("back up shard %d: %w", shard+1, err)
		}
	}
	if s.staging != nil {
		if err := s.transfer(ctx, "uploading", s.staging, s.store, m.Name+"/"); err != nil {
			return err
		}
	}
	files, err := s.store.list(ctx, m.Name+"/")
	if err != nil {
		return err
	}
	m.Bytes, m.FinishedAt = size(files), time.Now().UTC()
	if err := writeManifest(ctx, s.store, *m); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

func (s *session) copyShard(ctx context.Context, m *Manifest, shard int) error {
	if err := s.prepare(ctx, m, shard); err != nil {
		return err
	}
	total, err := s.Archive.SnapshotBytes(ctx, shard)
	if err != nil {
		return err
	}
	key := shardKey(m.Name, shard)
	progress := func(ctx context.Context) {
		// Progress is no reason to fail.
		if files, err := s.written().list(ctx, key+"/"); err == nil {
			s.Progress("copying", uint64(size(files)), total) //nolint:gosec // a size
		}
	}
	err = s.Archive.Backup(ctx, shard, *s.location(m.Name, shard), s.location(m.Base, shard), progress)
	if err != nil {
		return err
	}
	if _, local := s.store.(folder); local && s.Server {
		file, err := s.store.read(ctx, key+"/.backup")
		if err != nil {
			return fmt.Errorf("the server wrote the backup to a folder of its own machine, which is not readable here: "+
				"use s3://BUCKET/PREFIX, or run this on that machine as the server's user: %w", err)
		}
		return file.Close()
	}
	return nil
}

// prepare makes the folder that the embedded engine writes to, which only its owner may
// read, and brings what BACKUP needs of the base to the staging folder.
func (s *session) prepare(ctx context.Context, m *Manifest, shard int) error {
	if at, local := s.written().(folder); local && !s.Server {
		if err := os.MkdirAll(at.path(m.Name), 0o700); err != nil {
			return err
		}
	}
	if s.staging == nil || m.Base == "" {
		return nil
	}
	return s.transfer(ctx, "reading the base", s.store, s.staging, shardKey(m.Base, shard)+"/.backup")
}

// transfer copies the files below a prefix from one store to another.
func (s *session) transfer(ctx context.Context, phase string, from, to store, prefix string) error {
	files, err := from.list(ctx, prefix)
	if err != nil {
		return err
	}
	done, total := int64(0), size(files)
	for _, file := range files {
		if err := transferFile(ctx, from, to, file.key); err != nil {
			return fmt.Errorf("%s %s: %w", phase, file.key, err)
		}
		done += file.size
		s.Progress(phase, uint64(done), uint64(total)) //nolint:gosec // sizes
	}
	return nil
}

func size(files []object) (total int64) {
	for _, file := range files {
		total += file.size
	}
	return total
}

// retain removes the backups that Keep does not cover. A base of one that is kept is kept.
func (s *session) retain(ctx context.Context, entries []Entry, now time.Time) error {
	if s.Keep == 0 {
		return nil
	}
	kept, count := map[string]bool{}, 0
	for i := len(entries) - 1; i >= 0 && count < s.Keep; i-- {
		if m := entries[i].Manifest; m != nil {
			kept[m.Name], kept[m.Base] = true, true
			count++
		}
	}
	abandoned := now.Add(-abandonedAge).Format(nameLayout)
	for _, entry := range entries {
		if kept[entry.Name] || entry.Manifest == nil && entry.Name > abandoned {
			continue
		}
		if err := s.removeBackup(ctx, entry.Name); err != nil {
			return err
		}
	}
	return nil
}

// removeBackup removes a backup, its manifest first: what remains of it is no backup.
func (s *session) removeBackup(ctx context.Context, name string) error {
	files, err := s.store.list(ctx, name+"/")
	if err != nil {
		return err
	}
	for i, file := range files {
		if strings.HasSuffix(file.key, manifestFile) {
			files[0], files[i] = files[i], files[0]
		}
	}
	for _, file := range files {
		if err := s.store.remove(ctx, file.key); err != nil {
			return fmt.Errorf("remove backup %s: %w", name, err)
		}
	}
	if at, local := s.store.(folder); local {
		return os.RemoveAll(at.path(name))
	}
	return nil
}
