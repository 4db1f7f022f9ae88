package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"pnyx/warehouse"
)

const (
	// formatVersion is the version of manifests and of the layout of a backup.
	formatVersion = 1
	// manifestFile is written last: a backup without one was broken off.
	manifestFile = "/manifest.json"
	// nameLayout is the form of a backup's name, the time at which it began.
	nameLayout = "20060102T150405Z"
)

// Manifest describes a complete backup.
type Manifest struct {
	// Format is the version of this description.
	Format int `json:"format"`
	// Name is the name of the backup: when it began, as 20261122T150113Z.
	Name string `json:"name"`
	// Base is the name of the full backup that an incremental one needs; empty for a full
	// one.
	Base string `json:"base,omitempty"`
	// Version is the version of pnyx that made it.
	Version string `json:"version"`
	// Schema is the number of the last migration of the version that made it: this version and
	// later ones restore it, also where a later one has changed the tables before.
	Schema int `json:"schema"`
	// Database is the name of the database in the backup.
	Database string `json:"database"`
	// StartedAt is when the snapshot was made, FinishedAt when the copy was complete.
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
	// Bytes is the size of its files; those of the base are not counted.
	Bytes int64 `json:"bytes"`
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
	// Name is the name of the backup.
	Name string
	// Manifest is nil for a backup that is being made or was broken off.
	Manifest *Manifest
}

// ErrNoBackup reports that there is no complete backup, or none of the name.
var ErrNoBackup = errors.New("no complete backup")

// list returns all backups, oldest first.
func list(ctx context.Context, s store) ([]Entry, error) {
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var entries []Entry
	for _, name := range names {
		// Other folders are none of ours.
		if _, err := time.Parse(nameLayout, name); err != nil {
			continue
		}
		manifest, err := readManifest(ctx, s, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		entries = append(entries, Entry{name, manifest})
	}
	return entries, nil
}

func readManifest(ctx context.Context, s store, name string) (*Manifest, error) {
	file, err := s.read(ctx, name+manifestFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var m Manifest
	if err := json.NewDecoder(file).Decode(&m); err != nil {
		return nil, fmt.Errorf("decode the manifest of %s: %w", name, err)
	}
	if m.Format != formatVersion || m.Name != name || len(m.Shards) == 0 {
		return nil, fmt.Errorf("manifest of %s: format %d of backup %q, want format %d: use the version of pnyx that made it",
			name, m.Format, m.Name, formatVersion)
	}
	return &m, nil
}

func writeManifest(ctx context.Context, s store, m Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return s.write(ctx, m.Name+manifestFile, bytes.NewReader(append(text, '\n')))
}

// find returns the complete backup of a name, or the newest for none.
func find(ctx context.Context, s store, name string) (Manifest, error) {
	entries, err := list(ctx, s)
	if err != nil {
		return Manifest{}, err
	}
	complete := map[string]*Manifest{}
	for _, entry := range entries {
		if entry.Manifest == nil {
			continue
		}
		complete[entry.Name] = entry.Manifest
		if name == "" || name == entry.Name {
			complete[""] = entry.Manifest
		}
	}
	found := complete[""]
	switch {
	case found == nil && name == "":
		return Manifest{}, ErrNoBackup
	case found == nil:
		return Manifest{}, fmt.Errorf("%w with the name %s: pnyx backup list shows all", ErrNoBackup, name)
	case found.Base != "" && complete[found.Base] == nil:
		return Manifest{}, fmt.Errorf("backup %s needs %s, which is not there", found.Name, found.Base)
	}
	return *found, nil
}
