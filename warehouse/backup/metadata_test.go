package backup_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pnyx/warehouse"
	"pnyx/warehouse/backup"
)

// askedPaths is a server that keeps the paths it is asked for.
type askedPaths struct {
	mu    sync.Mutex
	asked []string
}

// ServeHTTP implements http.Handler.
func (p *askedPaths) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.URL.Path)
}

func (p *askedPaths) paths() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// listed is a list of the server with files.
func listed(files string) string {
	return "<config><version>1</version><deduplicate_files>1</deduplicate_files><timestamp>2026-11-25 15:49:46</timestamp>" +
		"<uuid>fe28bedd-233b-4688-a21b-c356563a8a60</uuid><contents>" + files + "</contents></config>"
}

var listedManifest = backup.Manifest{
	Name: "20260101T000000Z", Database: "pnyx-1_snapshot", Shards: [][]warehouse.TableContent{{{Name: "ballots"}, {Name: "tokens"}}},
}

func TestListOfTheServerIsChecked(t *testing.T) {
	t.Parallel()
	const good = "<file><name>data/pnyx%2D1_snapshot/ballots/all_1_1_0/data.bin</name><size>1</size></file>"
	for name, test := range map[string]struct {
		list string
		good bool
	}{
		"good":                 {listed(good), true},
		"definitions":          {listed("<file><name>metadata/pnyx%2D1_snapshot.sql</name></file><file><name>metadata/pnyx%2D1_snapshot/tokens.sql</name></file>"), true},
		"data elsewhere":       {listed("<file><name>data/pnyx%2D1_snapshot/ballots/a</name><data_file>data/pnyx%2D1_snapshot/tokens/b</data_file></file>"), true},
		"nothing":              {"", false},
		"two":                  {listed(good) + listed(good), false},
		"cut off":              {listed(good)[:200], false},
		"name above":           {listed("<file><name>data/pnyx%2D1_snapshot/ballots/../../../x</name></file>"), false},
		"absolute name":        {listed("<file><name>/etc/passwd</name></file>"), false},
		"other database":       {listed("<file><name>metadata/system/x.sql</name></file>"), false},
		"other table":          {listed("<file><name>metadata/pnyx%2D1_snapshot/evil.sql</name></file>"), false},
		"data of another":      {listed("<file><name>data/pnyx%2D1_snapshot/evil/x</name></file>"), false},
		"function":             {listed("<file><name>metadata/user_defined_functions/f.sql</name></file>"), false},
		"data above":           {listed("<file><name>data/pnyx%2D1_snapshot/ballots/a</name><data_file>../../secret</data_file></file>"), false},
		"data by an entity":    {listed("<file><name>data/pnyx%2D1_snapshot/ballots/a</name><data_file>&#46;&#46;/secret</data_file></file>"), false},
		"two names":            {listed("<file><name>data/pnyx%2D1_snapshot/ballots/a</name><name>data/pnyx%2D1_snapshot/ballots/b</name></file>"), false},
		"unknown element":      {listed("<file><object_key>x</object_key></file>"), false},
		"base of a full one":   {strings.Replace(listed(good), "<contents>", "<base_backup>S3('http://169.254.169.254/')</base_backup><contents>", 1), false},
		"declaration":          {"<!DOCTYPE config [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>" + listed(good), false},
		"comment":              {listed("<!-- " + strings.Repeat("<", 1<<20) + " -->"), false},
		"CDATA":                {listed("<file><name><![CDATA[/etc/passwd]]></name></file>"), false},
		"instruction":          {"<?xml version='1.0' encoding='UTF-16'?>" + listed(good), false},
		"deep":                 {listed(strings.Repeat("<file>", 1<<20)), false},
		"long text":            {listed("<file><name>" + strings.Repeat("x", 1<<20)), false},
		"long name of element": {"<" + strings.Repeat("x", 1<<20), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := backup.CheckMetadata(strings.NewReader(test.list), listedManifest)
			if (err == nil) != test.good {
				t.Errorf("got %v, want it good: %t", err, test.good)
			}
			if err != nil && len(err.Error()) > 4096 {
				t.Errorf("got an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestListOfTheServerStatesWhatTheBackupHas(t *testing.T) {
	t.Parallel()
	const file = "<file><name>data/pnyx%2D1_snapshot/ballots/a</name><size>100</size>"
	m := listedManifest
	m.Base = "20250101T000000Z"
	stored, err := backup.CheckMetadata(strings.NewReader(listed(
		file+"</file>"+ // here
			file+"<data_file>data/pnyx%2D1_snapshot/ballots/b</data_file></file>"+ // with another file
			file+"<use_base>true</use_base></file>"+ // in the base
			file+"<use_base>true</use_base><base_size>70</base_size></file>")), m) // the first 70 bytes in the base
	if err != nil || stored != 130 {
		t.Errorf("got %d bytes (%v), want 130", stored, err)
	}
}

// FuzzAttackMetadata reads lists of the server: a name that passes is one of the tables.
func FuzzAttackMetadata(f *testing.F) {
	f.Add(listed("<file><name>data/pnyx%2D1_snapshot/ballots/x</name><size>1</size><data_file>a</data_file></file>"))
	f.Add(listed("<file><name>metadata/pnyx%2D1_snapshot/tokens.sql</name></file>"))
	f.Add(listed("<file><name>../x</name></file>"))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := backup.CheckMetadata(strings.NewReader(text), listedManifest); err == nil &&
			(strings.Contains(text, "..") && strings.Contains(text, "<name>../") || strings.Contains(text, "<!")) {
			t.Errorf("passes: %q", text)
		}
	})
}

// FuzzAttackManifest reads manifests and lists of files: a name that passes is below the backup.
func FuzzAttackManifest(f *testing.F) {
	f.Add([]byte(`{"format":1,"name":"20260102T000000Z","base":"20260101T000000Z","shards":[[{"name":"ballots","rows":1,"checksum":"1"}]],`+
		`"files":{"bytes":1,"sha256":"`+strings.Repeat("0", 64)+`"}}`), []byte("1 "+strings.Repeat("0", 64)+" shard-1/.backup\n"))
	f.Add([]byte(`{"format":1,"name":"20260102T000000Z","base":"../..","shards":[[]]}`), []byte("1 "+strings.Repeat("0", 64)+" shard-1/../../x\n"))
	f.Fuzz(func(t *testing.T, manifest, list []byte) {
		const name = "20260102T000000Z"
		if m, err := backup.DecodeManifest(manifest, name); err == nil {
			if m.Name != name || !filepath.IsLocal(m.Name+m.Base) || m.Base >= m.Name {
				t.Errorf("passes: %+v", m)
			}
		}
		keys, err := backup.ParseFiles(list, name)
		if err != nil {
			return
		}
		for i, key := range keys {
			if !filepath.IsLocal(key) || !strings.HasPrefix(filepath.Clean(key), name+"/shard-") || i > 0 && key <= keys[i-1] {
				t.Errorf("passes: %q", key)
			}
		}
	})
}
