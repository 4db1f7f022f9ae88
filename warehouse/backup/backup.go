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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pnyx/warehouse"
)

// Options say where backups are and how to make them.
type Options struct {
	// Destination is a folder, or s3://BUCKET/PREFIX.
	Destination string
	S3          S3
	// Keys sign manifests: the first of them signs, and each is accepted. Without a key nothing
	// is signed, and write access to the destination decides what is restored.
	Keys []string
	// Archive is the warehouse; nil to list only.
	Archive *warehouse.Archive
	// Staging is the folder for backups on their way to and from S3; empty where the server
	// of the warehouse uses S3 itself.
	Staging string
	// Server says that the warehouse is a server, which writes a folder as its own user.
	Server  bool
	Version string // of pnyx, for the manifest
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
		return &warehouse.Location{URL: at.root.JoinPath(at.prefix+key).String() + "/", KeyID: at.KeyID, Secret: at.Secret}
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
	return s.list(ctx)
}

// Create makes a backup and removes those that Keep does not cover. A backup that fails
// leaves nothing that could be mistaken for one.
func Create(ctx context.Context, o Options) (made Manifest, err error) {
	s, err := open(o)
	if err != nil {
		return Manifest{}, err
	}
	// Before the snapshot, so that a destination that cannot be reached is reported at once.
	entries, err := s.list(ctx)
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
	var base *Manifest
	if !o.Full {
		base = s.chooseBase(entries, made.StartedAt)
	}
	if base != nil {
		made.Base = base.Name
	}
	if err := o.Archive.Snapshot(ctx); err != nil {
		return Manifest{}, err
	}
	err = s.copy(ctx, &made, base)
	err = errors.Join(err, o.Archive.Drop(ctx, made.Database), s.clear())
	if err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return Manifest{}, errors.Join(err, s.removeBackup(cleanup, made.Name))
	}
	entries = append(entries, Entry{Name: made.Name, Manifest: &made})
	if err := s.retain(ctx, entries, made.StartedAt); err != nil {
		return made, fmt.Errorf("backup %s is complete, but removing earlier ones failed: %w", made.Name, err)
	}
	return made, nil
}

// nextName returns the name of a backup that begins now. It is later than all complete ones,
// so that the newest is the last one made, and none that is there already.
func nextName(entries []Entry, now time.Time) (string, error) {
	taken := map[string]bool{}
	for _, entry := range entries {
		taken[entry.Name] = true
		if entry.Manifest == nil {
			continue
		}
		last, err := time.Parse(nameLayout, entry.Name)
		if err != nil {
			return "", err
		}
		if last.After(now.Add(time.Minute)) {
			return "", fmt.Errorf("backup %s is later than the clock of this machine: set the clock", entry.Name)
		}
		if next := last.Add(time.Second); next.After(now) {
			now = next
		}
	}
	for taken[now.Format(nameLayout)] {
		now = now.Add(time.Second)
	}
	return now.Format(nameLayout), nil
}

// chooseBase returns the last full backup if it suits as a base, and nil otherwise.
func (s *session) chooseBase(entries []Entry, now time.Time) (base *Manifest) {
	for _, entry := range entries {
		m := entry.Manifest
		if m != nil && m.Base == "" && m.Files != nil && m.Database == s.Archive.SnapshotDatabase() &&
			len(m.Shards) == s.Archive.Shards() && now.Sub(m.StartedAt) < s.FullAge {
			base = m
		}
	}
	return base
}

// copy counts and copies the snapshot of every shard, and writes the manifest.
func (s *session) copy(ctx context.Context, m, base *Manifest) (err error) {
	if m.Applied, err = s.Archive.AppliedSchema(ctx); err != nil {
		return err
	}
	if base != nil {
		if err := s.bringBase(ctx, *base); err != nil {
			return fmt.Errorf("read the base %s, without which --full makes a backup: %w", base.Name, err)
		}
	}
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
	if err := s.writeFiles(ctx, m); err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	if s.staging != nil {
		files, err := serverFiles(ctx, s.staging, m.Name)
		if err != nil {
			return err
		}
		if err := s.transfer(ctx, "uploading", s.staging, s.store, files); err != nil {
			return err
		}
	}
	m.FinishedAt = time.Now().UTC()
	if err := s.writeManifest(ctx, *m); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

func (s *session) copyShard(ctx context.Context, m *Manifest, shard int) error {
	// Only its owner may read what the embedded engine writes.
	if at, local := s.written().(folder); local && !s.Server {
		if err := os.MkdirAll(at.path(m.Name), 0o700); err != nil {
			return err
		}
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
	err = s.checkWritten(ctx, *m, shard)
	if errors.Is(err, errUnusable) {
		return fmt.Errorf("the server wrote less than it reports: make room at the destination: %w", err)
	}
	if _, local := s.store.(folder); local && s.Server && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the server wrote the backup to a folder of its own machine, which is not readable here: "+
			"use s3://BUCKET/PREFIX, or run this on that machine as the server's user: %w", err)
	}
	return err
}

// checkWritten returns an error unless the files of one shard have the size that the server lists:
// it reports success also where a full disk took only a part of them.
func (s *session) checkWritten(ctx context.Context, m Manifest, shard int) error {
	stated, err := s.checkMetadata(ctx, m, shard)
	if err != nil {
		return err
	}
	key := shardKey(m.Name, shard)
	files, err := s.written().list(ctx, key+"/")
	files = slices.DeleteFunc(files, func(file object) bool { return file.key == key+metadataFile })
	if written := size(files); err == nil && written != stated {
		err = fmt.Errorf("%w: the files of %s have %d bytes, and their list states %d", errUnusable, key, written, stated)
	}
	return err
}

// bringBase brings what BACKUP reads of the base to where the server reads it, and checks it.
func (s *session) bringBase(ctx context.Context, base Manifest) error {
	files, err := s.files(ctx, base)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(file storedFile) bool { return !strings.HasSuffix(file.key, metadataFile) })
	if s.staging != nil {
		if err := s.download(ctx, "reading the base", base, files); err != nil {
			return err
		}
	}
	if err := s.checkContent(ctx, files); err != nil {
		return err
	}
	return s.checkAllMetadata(ctx, base)
}

// checkAllMetadata checks the lists of files of all shards where the server reads them.
func (s *session) checkAllMetadata(ctx context.Context, m Manifest) error {
	for shard := range m.Shards {
		if _, err := s.checkMetadata(ctx, m, shard); err != nil {
			return err
		}
	}
	return nil
}

// checkMetadata checks the list of files of one shard where the server reads it, and returns the number of bytes
// that they have in this backup.
func (s *session) checkMetadata(ctx context.Context, m Manifest, shard int) (stored int64, err error) {
	list, err := s.written().read(ctx, shardKey(m.Name, shard)+metadataFile)
	if err != nil {
		return 0, err
	}
	defer list.Close()
	if stored, err = metadataOf(m, shard).check(list); err != nil {
		return 0, fmt.Errorf("shard %d of backup %s: %w", shard+1, m.Name, err)
	}
	return stored, nil
}

// download brings files of a backup to the staging folder, in place of what is there of it.
func (s *session) download(ctx context.Context, phase string, m Manifest, files []storedFile) error {
	if err := folder(s.Staging).removeAll(m.Name); err != nil {
		return err
	}
	return s.transfer(ctx, phase, s.store, s.staging, objectsOf(files))
}

func (s *session) transfer(ctx context.Context, phase string, from, to store, files []object) error {
	done, total := int64(0), size(files)
	for _, file := range files {
		if err := transferFile(ctx, from, to, file); err != nil {
			return fmt.Errorf("%s %s: %w", phase, file.key, err)
		}
		done += file.size
		s.Progress(phase, uint64(done), uint64(total)) //nolint:gosec // sizes
	}
	return nil
}

// retain removes the backups that Keep does not cover. A base of one that is kept is kept. One
// with a problem counts as none and stays: else a writer who may add backups, but not remove any,
// would have the good ones removed.
func (s *session) retain(ctx context.Context, entries []Entry, now time.Time) error {
	const abandonedAge = 48 * time.Hour // the age from which on a backup without a manifest is removed
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
		if kept[entry.Name] || entry.Problem != nil || entry.Manifest == nil && entry.Name > abandoned {
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
		return at.removeAll(name)
	}
	return nil
}
