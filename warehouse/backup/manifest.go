package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"pnyx/warehouse"
)

const (
	// formatVersion is the version of manifests and of the layout of a backup.
	formatVersion = 1
	// manifestFile is written last: a backup without one was broken off.
	manifestFile = "/manifest.json"
	// nameLayout is the form of a backup's name, the time at which it began.
	nameLayout = "20060102T150405Z"
	// maxManifestBytes bounds a manifest, which has 3 KB a shard.
	maxManifestBytes = 4 << 20
	// maxShards bounds the shards of a backup.
	maxShards = 1024
)

var (
	// errUnusable reports a backup whose files are not those that pnyx writes.
	errUnusable = errors.New("the backup is damaged or was changed")
	// tableName matches the names of databases and tables, which become parts of paths and statements.
	tableName = regexp.MustCompile(`^[A-Za-z0-9_]{1,200}$`)
)

// Manifest describes a complete backup.
type Manifest struct {
	// Format is the version of this description.
	Format int `json:"format"`
	// Name is the name of the backup: when it began, as 20261122T150113Z.
	Name string `json:"name"`
	// Base is the name of the full backup that an incremental one needs; empty for a full one.
	Base    string `json:"base,omitempty"`
	Version string `json:"version"`
	// Schema is the number of the last migration of the version that made it: this version and
	// later ones restore it, also where a later one has changed the tables before.
	Schema int `json:"schema"`
	// Applied is the last migration that had changed the tables, also by a later version; 0 if not stated.
	Applied  int    `json:"applied,omitempty"`
	Database string `json:"database"`
	// StartedAt is when the snapshot was made, FinishedAt when the copy was complete.
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
	// Bytes is the size of its files; the files of the base are not counted.
	Bytes int64 `json:"bytes"`
	// Files is the list of its files; nil in backups of versions that made none.
	Files *FileList `json:"files,omitempty"`
	// Shards hold the tables of each shard; one without a cluster.
	Shards [][]warehouse.TableContent `json:"shards"`
}

// Rows returns the number of rows of all tables.
func (m Manifest) Rows() (rows uint64) {
	for _, shard := range m.Shards {
		for _, table := range shard {
			rows += table.Rows
		}
	}
	return rows
}

// Tables returns the number of tables, over all shards.
func (m Manifest) Tables() (tables int) {
	for _, shard := range m.Shards {
		tables += len(shard)
	}
	return tables
}

// Kind returns "full" or "incremental".
func (m Manifest) Kind() string {
	if m.Base == "" {
		return "full"
	}
	return "incremental"
}

// Entry is a backup in a list.
type Entry struct {
	Name string
	// Manifest is nil for a backup that is being made, was broken off, or has a Problem.
	Manifest *Manifest
	// Problem says why the manifest is not used: it is none, or it is not signed with the key.
	Problem error
}

// ErrNoBackup reports that there is no complete backup, or none of the name.
var ErrNoBackup = errors.New("no complete backup")

// list returns all backups, oldest first.
func (s *session) list(ctx context.Context) ([]Entry, error) {
	names, err := s.store.names(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var entries []Entry
	for _, name := range names {
		// Other folders are none of ours.
		if began, err := time.Parse(nameLayout, name); err != nil || began.Format(nameLayout) != name {
			continue
		}
		entry := Entry{Name: name}
		entry.Manifest, err = s.readManifest(ctx, name)
		switch {
		case errors.Is(err, errUnusable):
			entry.Problem = err
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// readManifest returns a manifest. It is decoded once it is known to be signed, if there are
// keys. The error is errUnusable for a manifest that is there and of no use.
func (s *session) readManifest(ctx context.Context, name string) (*Manifest, error) {
	text, err := readAll(ctx, s.store, name+manifestFile, maxManifestBytes)
	if err != nil {
		return nil, err
	}
	if err := s.authenticate(ctx, name, text); err != nil {
		return nil, err
	}
	m, err := decodeManifest(text, name)
	if err != nil {
		return nil, fmt.Errorf("%w: manifest of %s: %w", errUnusable, name, err)
	}
	return m, nil
}

func decodeManifest(text []byte, name string) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	if m.Format != formatVersion || m.Name != name || len(m.Shards) == 0 {
		return nil, fmt.Errorf("format %d of backup %q, want format %d: use the version of pnyx that made it", m.Format, m.Name, formatVersion)
	}
	return &m, m.check()
}

// check returns an error unless every value is one that pnyx writes.
func (m *Manifest) check() error {
	base, baseErr := time.Parse(nameLayout, m.Base)
	isHidden := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case m.Base != "" && (baseErr != nil || base.Format(nameLayout) != m.Base || m.Base >= m.Name):
		return fmt.Errorf("base %q: want the name of an earlier backup", m.Base)
	case len(m.Version) > 100 || strings.ContainsFunc(m.Version, isHidden):
		return errors.New("version: want at most 100 visible characters")
	case len(m.Database) > 200 || strings.ContainsFunc(m.Database, isHidden):
		return errors.New("database: want at most 200 visible characters")
	case m.Schema < 0 || m.Applied < 0 || m.Bytes < 0:
		return fmt.Errorf("schema %d, applied %d, bytes %d: want 0 or more", m.Schema, m.Applied, m.Bytes)
	case len(m.Shards) > maxShards:
		return fmt.Errorf("%d shards: want at most %d", len(m.Shards), maxShards)
	}
	for _, tables := range m.Shards {
		for i, table := range tables {
			if !tableName.MatchString(table.Name) || i > 0 && table.Name <= tables[i-1].Name {
				return fmt.Errorf("table %q: want names of tables in their order, each once", table.Name)
			}
		}
	}
	if m.Files == nil {
		return nil
	}
	return m.Files.check()
}

func (s *session) writeManifest(ctx context.Context, m Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if len(text) > maxManifestBytes {
		return fmt.Errorf("it has %d bytes, more than the %d that are read", len(text), maxManifestBytes)
	}
	if err := s.sign(ctx, m.Name, text); err != nil {
		return err
	}
	return s.store.write(ctx, m.Name+manifestFile, bytes.NewReader(text), int64(len(text)))
}

// Find returns the complete backup of a name, or the newest for none, and its base, which is nil for a full one.
func (s *session) find(ctx context.Context, name string) (m Manifest, base *Manifest, err error) {
	entries, err := s.list(ctx)
	if err != nil {
		return Manifest{}, nil, err
	}
	byName := map[string]Entry{}
	for _, entry := range entries {
		if entry.Manifest == nil && entry.Problem == nil {
			continue
		}
		byName[entry.Name] = entry
		if name == "" || name == entry.Name {
			byName[""] = entry
		}
	}
	found, is := byName[""]
	switch {
	case !is && name == "":
		return Manifest{}, nil, ErrNoBackup
	case !is:
		return Manifest{}, nil, fmt.Errorf("%w with the name %s: pnyx backup list shows all", ErrNoBackup, name)
	case found.Problem != nil:
		return Manifest{}, nil, found.Problem
	case found.Manifest.Base == "":
		return *found.Manifest, nil, nil
	}
	needed := byName[found.Manifest.Base]
	switch {
	case needed.Problem != nil:
		return Manifest{}, nil, fmt.Errorf("backup %s needs %s: %w", found.Name, found.Manifest.Base, needed.Problem)
	case needed.Manifest == nil:
		return Manifest{}, nil, fmt.Errorf("backup %s needs %s, which is not there", found.Name, found.Manifest.Base)
	case needed.Manifest.Base != "" || len(needed.Manifest.Shards) != len(found.Manifest.Shards) || needed.Manifest.Database != found.Manifest.Database:
		return Manifest{}, nil, fmt.Errorf("%w: %s is no full backup of the same database and shards as %s", errUnusable, found.Manifest.Base, found.Name)
	}
	return *found.Manifest, needed.Manifest, nil
}
