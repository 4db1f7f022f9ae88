package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/backup"
	"pnyx/warehouse/engine"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestMain(m *testing.M) { env.Main(m) }

// limit bounds every statement of these tests.
const limit = 2 * time.Minute

// secret is the key of the S3 store, which must not be seen anywhere.
const secret = "secret-canary-of-the-store"

// source is a warehouse to back up.
type source struct {
	t *testing.T
	o warehouse.Options
	*warehouse.Warehouse
	archive *warehouse.Archive
}

func options(url string) warehouse.Options {
	return warehouse.Options{URL: url, QueryTimeout: limit, Logger: slog.New(slog.DiscardHandler)}
}

func openSource(t *testing.T, o warehouse.Options) *source {
	t.Helper()
	opened := env.Must(warehouse.Open(t.Context(), o))(t)
	t.Cleanup(func() { opened.Close() })
	return &source{t, o, opened, openArchive(t, o)}
}

func openArchive(t *testing.T, o warehouse.Options) *warehouse.Archive {
	t.Helper()
	archive := env.Must(warehouse.OpenArchive(t.Context(), o))(t)
	t.Cleanup(func() { archive.Close() })
	return archive
}

// newSource is a warehouse of its own on the shared engine, which makes one backup at a time:
// these tests follow each other.
func newSource(t *testing.T) *source {
	t.Helper()
	return openSource(t, options(env.DatabaseURL(t)))
}

// vote appends ballots on a proposal as one batch.
func (s *source) vote(proposal string, ballots int) {
	s.t.Helper()
	var all []record.Record
	for n := range ballots {
		all = append(all, &record.Ballot{
			Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: proposal},
			VoteID:   fmt.Sprint("v", n), Voter: fmt.Sprint("0x", n), Power: decimal.New(int64(n), -18),
			Choices: []string{"1"}, ChoiceKey: "1", RawChoice: "1",
		})
	}
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	env.Must(records.Append(s.t.Context(), s.Warehouse, run, all))(s.t)
}

// to returns options for a backup of the warehouse.
func (s *source) to(destination string) backup.Options {
	return backup.Options{
		Destination: destination, Archive: s.archive, Version: "test", FullAge: time.Hour,
		Progress: func(string, uint64, uint64) {},
	}
}

func create(t *testing.T, o backup.Options) backup.Manifest {
	t.Helper()
	return env.Must(backup.Create(t.Context(), o))(t)
}

// contents returns the number of rows of each table that backups contain and a checksum, as
// queries see them: merges change neither. A restore itself writes two of them.
func contents(t *testing.T, url string) []string {
	t.Helper()
	conn := env.ConnectWarehouse(t, url)
	var found []string
	for _, table := range env.Column(t, conn, `SELECT name || if(engine = 'ReplacingMergeTree', ' FINAL', '') FROM system.tables
		WHERE database = currentDatabase() AND endsWith(engine, 'MergeTree') AND name NOT LIKE 'sorted%'
			AND name NOT LIKE 'vote_totals%' AND name NOT LIKE 'participation%' AND name NOT LIKE 'backups%' AND name != 'schema_migrations' ORDER BY name`) {
		sql := "SELECT concat(toString(count()), ' ', toString(sum(cityHash64(tuple(*))))) FROM " + table
		found = append(found, table+" "+env.Column(t, conn, sql)[0])
	}
	return found
}

// startS3 runs an S3 store with one bucket until the end of the test.
func startS3(t *testing.T) (backup.S3, *s3mem.Backend) {
	t.Helper()
	memory := s3mem.New()
	env.MustDo(t, memory.CreateBucket("bucket"))
	server := httptest.NewServer(gofakes3.New(memory).Server())
	t.Cleanup(server.Close)
	return backup.S3{KeyID: "key", Secret: secret, Region: "us-east-1", Endpoint: server.URL}, memory
}

func TestBackupIsRestoredExactly(t *testing.T) {
	for name, inS3 := range map[string]bool{"folder": false, "S3": true} {
		t.Run(name, func(t *testing.T) {
			s := newSource(t)
			s.vote("one", 5000)
			o := s.to(filepath.Join(t.TempDir(), "backups"))
			if inS3 {
				o.Destination, o.Staging = "s3://bucket/of=all/pnyx", filepath.Join(t.TempDir(), "staging")
				o.S3, _ = startS3(t)
			}
			full := create(t, o)
			s.vote("two", 10)
			increment := create(t, o)
			if full.Base != "" || increment.Base != full.Name || increment.Bytes >= full.Bytes/2 {
				t.Errorf("got %s of %d bytes on %q, want less than half of %d on %s",
					increment.Kind(), increment.Bytes, increment.Base, full.Bytes, full.Name)
			}
			want := contents(t, s.o.URL)
			if inS3 {
				if _, err := os.Stat(o.Staging); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("staging folder: got %v, want none", err)
				}
			} else {
				o.Destination = moved(t, o.Destination)
			}
			if _, err := backup.Verify(t.Context(), o, ""); err != nil {
				t.Errorf("verify: %v", err)
			}
			empty := options(env.EmptyDatabaseURL(t))
			o.Archive = openArchive(t, empty)
			restored, err := backup.Restore(t.Context(), o, "")
			if err != nil || restored.Name != increment.Name {
				t.Fatalf("got %s (%v), want %s", restored.Name, err, increment.Name)
			}
			if got := contents(t, empty.URL); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if _, err := backup.Restore(t.Context(), o, ""); !errors.Is(err, backup.ErrNotEmpty) || !strings.Contains(err.Error(), "ballots 5010") {
				t.Errorf("into a warehouse with rows: got %v, want an error that names them", err)
			}
			// Where the restore is broken off here, whoever opens the warehouse next completes it.
			opened := openSource(t, empty)
			env.MustDo(t, opened.Migrate(t.Context()))
			env.Want(t, "5010", env.Column(t, env.ConnectWarehouse(t, empty.URL), "SELECT toString(count()) FROM latest_ballots")[0], "ballots", "all")
			if at, err := records.LastRestore(t.Context(), opened.Warehouse); err != nil || at == "" {
				t.Errorf("the last restore: got %q (%v), want it recorded", at, err)
			}
		})
	}
}

// moved renames a folder, as a disk that is mounted elsewhere.
func moved(t *testing.T, dir string) string {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v of %s (%v), want it for its owner alone", info.Mode(), dir, err)
	}
	env.MustDo(t, os.Rename(dir, dir+"-moved"))
	return dir + "-moved"
}

// wantMigrated opens a restored warehouse, and counts its ballots in a view.
func wantMigrated(t *testing.T, o warehouse.Options, ballots int) {
	t.Helper()
	opened := openSource(t, o)
	env.MustDo(t, opened.MigrateRestored(t.Context()))
	got := env.Column(t, env.ConnectWarehouse(t, o.URL), "SELECT toString(count()) FROM latest_ballots")[0]
	env.Want(t, fmt.Sprint(ballots), got, "ballots", ballots)
}

// restored restores a backup into another database, and returns its options.
func restored(t *testing.T, o backup.Options) warehouse.Options {
	t.Helper()
	empty := options(env.EmptyDatabaseURL(t))
	o.Archive = openArchive(t, empty)
	env.Must(backup.Restore(t.Context(), o, ""))(t)
	return empty
}

// wantRestored backs up ballots, and restores them into another database.
func (s *source) wantRestored() {
	s.t.Helper()
	s.vote("one", 5)
	o := s.to(s.t.TempDir())
	create(s.t, o)
	wantMigrated(s.t, restored(s.t, o), 5)
}

// A version that has come back after a later one makes backups of tables that the later one
// has changed, and restores them with its own views.
func TestBackupAfterARollbackIsRestored(t *testing.T) {
	s := newSource(t)
	later := env.ConnectWarehouse(t, s.o.URL)
	env.MustDo(t, later.Exec(t.Context(), "INSERT INTO schema_migrations (fingerprint, number) VALUES ('later', 9999)"))
	s.wantRestored()
}

// A warehouse that began with 0.1.0 has tables of it, and others in another form than a new one.
func TestBackupOfAWarehouseThatBeganWithAnEarlierVersionIsRestored(t *testing.T) {
	url := env.EmptyDatabaseURL(t)
	conn := env.ConnectWarehouse(t, url)
	text := env.ReadFile(t, "../earlier/0015.sql")
	for statement := range strings.SplitSeq(string(text), ";\n") {
		if strings.Contains(statement, "CREATE TABLE") {
			env.MustDo(t, conn.Exec(t.Context(), statement))
		}
	}
	s := openSource(t, options(url))
	s.wantRestored()
}

func TestLongEveryShardIsBackedUpAndRestored(t *testing.T) {
	shards, others := env.EngineShards(t), env.EngineShards(t)
	o := options(shards[0].Instance().URL("pnyx"))
	o.Cluster = engine.ClusterName
	s := openSource(t, o)
	for p := range 20 {
		s.vote(fmt.Sprint("proposal ", p), 5)
	}
	to := s.to(t.TempDir())
	to.Server = true // on this machine, as this user
	made := create(t, to)
	if len(made.Shards) != 2 {
		t.Fatalf("got %d shards, want 2", len(made.Shards))
	}
	o.URL = others[0].Instance().URL("pnyx")
	to.Archive = openArchive(t, o)
	env.Must(backup.Restore(t.Context(), to, made.Name))(t)
	for n := range shards {
		got, want := contents(t, others[n].Instance().URL("pnyx")), contents(t, shards[n].Instance().URL("pnyx"))
		env.WantSame(t, fmt.Sprint("shard ", n+1), want, got)
	}
	wantMigrated(t, o, 100)
	to.Archive = openArchive(t, options(env.EmptyDatabaseURL(t)))
	if _, err := backup.Restore(t.Context(), to, ""); err == nil || !strings.Contains(err.Error(), "2 shards") {
		t.Errorf("on one server: got %v, want an error that names the shards", err)
	}
}

// A backup that failed, that was broken off or that somebody changed is neither used nor in the way.
func TestUnusableBackupIsNotRestored(t *testing.T) {
	s := newSource(t)
	s.vote("one", 5)
	o := s.to(t.TempDir())
	s.failedLeavesNothing(o)
	good := create(t, o)
	changed := o
	changed.Destination = t.TempDir()
	env.MustDo(t, os.CopyFS(changed.Destination, os.DirFS(o.Destination)))
	s.cutIsNoticed(changed, good)
	later := good
	later.Name = "20990101T000000Z"
	for name, change := range map[string]func(m *backup.Manifest){
		"later schema":     func(m *backup.Manifest) { m.Schema = 999 },
		"more shards":      func(m *backup.Manifest) { m.Shards = append(m.Shards, m.Shards[0]) },
		"base removed":     func(m *backup.Manifest) { m.Base = "20000101T000000Z" },
		"files are absent": func(*backup.Manifest) {},
	} {
		bad := later
		change(&bad)
		env.MustDo(t, backup.PutManifest(t.Context(), changed, bad))
		for what, use := range map[string]func(context.Context, backup.Options, string) (backup.Manifest, error){
			"verify": backup.Verify, "restore": backup.Restore,
		} {
			_, err := use(t.Context(), changed, bad.Name)
			if err == nil {
				t.Errorf("%s, %s: got no error", name, what)
			}
			if bad.Schema == 999 && !strings.Contains(fmt.Sprint(err), "use pnyx "+bad.Version+" or later") {
				t.Errorf("%s: got %v, want what to do", what, err)
			}
		}
	}
	bad := good
	bad.Shards = [][]warehouse.TableContent{slices.Clone(good.Shards[0])}
	bad.Shards[0][0].Checksum++
	env.MustDo(t, backup.PutManifest(t.Context(), changed, bad))
	_, err := backup.Verify(t.Context(), changed, good.Name)
	env.WantError(t, backup.ErrDiffers, err, "rows differ")
	_, err = backup.Verify(t.Context(), changed, "20010101T000000Z")
	env.WantError(t, backup.ErrNoBackup, err, "of no backup")

	// A folder as a process leaves it that was killed, with its snapshot.
	broken := time.Now().UTC().Add(-time.Second).Format("20060102T150405Z")
	if broken <= good.Name {
		broken = time.Now().UTC().Add(2 * time.Second).Format("20060102T150405Z")
	}
	env.WriteLines(t, filepath.Join(o.Destination, broken, "shard-1", ".backup"), "<config>")
	env.MustDo(t, s.archive.Snapshot(t.Context()))
	entries := env.Must(backup.List(t.Context(), o))(t)
	if len(entries) != 2 || entries[1].Manifest != nil {
		t.Fatalf("got %v, want the second without a manifest", entries)
	}
	env.Want(t, good.Name, create(t, o).Base, "base")
	_, err = backup.Verify(t.Context(), o, broken)
	env.WantError(t, backup.ErrNoBackup, err, "broken off")
}

// failedLeavesNothing cancels a backup.
func (s *source) failedLeavesNothing(o backup.Options) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	o.Progress = func(phase string, _, _ uint64) {
		if phase == "counting rows" {
			cancel()
		}
	}
	_, err := backup.Create(ctx, o)
	env.WantError(s.t, context.Canceled, err, "canceled")
	env.Want(s.t, 0, len(env.Must(os.ReadDir(o.Destination))(s.t)), "files after a failure")
	left := env.Must(s.archive.Contents(s.t.Context(), 0, s.archive.SnapshotDatabase()))(s.t)
	env.Want(s.t, 0, len(left), "tables of the snapshot", left)
}

// cutIsNoticed cuts a file off, as the server does where the disk is full, without an error.
func (s *source) cutIsNoticed(o backup.Options, m backup.Manifest) {
	s.t.Helper()
	env.MustDo(s.t, backup.CheckWritten(s.t.Context(), o, m))
	files := env.Must(filepath.Glob(filepath.Join(o.Destination, m.Name, "shard-1", "metadata", "*", "ballots.sql")))(s.t)
	env.Want(s.t, 1, len(files), "definitions of ballots")
	whole := env.Must(os.ReadFile(files[0]))(s.t)
	env.MustDo(s.t, os.Truncate(files[0], int64(len(whole))-1))
	if err := backup.CheckWritten(s.t.Context(), o, m); err == nil {
		s.t.Error("a file that was cut off: got no error")
	}
	env.MustDo(s.t, os.WriteFile(files[0], whole, 0o600))
}

func TestOnlyOneBackupIsMadeAtATime(t *testing.T) {
	s := newSource(t)
	s.vote("one", 5)
	other := env.ConnectWarehouse(t, s.o.URL)
	ended := make(chan error, 1)
	go func() {
		ended <- other.Exec(context.WithoutCancel(t.Context()),
			"SELECT sleepEachRow(0.1) FROM numbers(600) SETTINGS max_block_size = 1 -- `"+s.archive.SnapshotDatabase()+"`\nFORMAT Null")
	}()
	look := env.ConnectWarehouse(t, s.o.URL)
	const running = "SELECT query_id FROM system.processes WHERE startsWith(query, 'SELECT sleepEachRow')"
	var ids []string
	env.Until(t, func() error {
		if ids = env.Column(t, look, running); len(ids) == 0 {
			return errors.New("the query does not run yet")
		}
		return nil
	})
	if _, err := backup.Create(t.Context(), s.to(t.TempDir())); !errors.Is(err, warehouse.ErrBackupRunning) {
		t.Errorf("got %v, want ErrBackupRunning", err)
	}
	env.MustDo(t, look.Exec(t.Context(), "KILL QUERY WHERE query_id = '"+ids[0]+"' SYNC"))
	<-ended //nolint:errcheck // the query was killed
}

// TestBackupDuringImportIsThatOfAKilledImport appends until the backup is made.
func TestBackupDuringImportIsThatOfAKilledImport(t *testing.T) {
	s := newSource(t)
	s.vote("first", 5)
	began := make(chan struct{})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			s.vote(fmt.Sprint("proposal ", n), 20)
			if n == 0 {
				close(began)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	<-began
	o := s.to(t.TempDir())
	create(t, o)
	close(stop)
	<-stopped
	conn := env.ConnectWarehouse(t, restored(t, o).URL)
	lost := env.Column(t, conn, "SELECT DISTINCT external_id FROM ballots WHERE proposal_ref NOT IN (SELECT arrayJoin(proposals) FROM batches)")
	env.Want(t, 0, len(lost), "ballots", lost, "in no batch: they would never be published")
}

func TestRetentionKeepsWhatIncrementsNeed(t *testing.T) {
	t.Parallel()
	o := backup.Options{Destination: t.TempDir()}
	put := func(name, base string) {
		t.Helper()
		m := backup.Manifest{Name: name, Base: base, Shards: [][]warehouse.TableContent{{}}}
		env.MustDo(t, backup.PutManifest(t.Context(), o, m))
	}
	put("20260101T000000Z", "")
	put("20260102T000000Z", "20260101T000000Z")
	put("20260108T000000Z", "")
	put("20260109T000000Z", "20260108T000000Z")
	put("20260110T000000Z", "20260108T000000Z")
	for _, broken := range []string{"20260105T000000Z", "20260110T120000Z", "not-ours"} {
		env.WriteLines(t, filepath.Join(o.Destination, broken, "shard-1", "file"), "content")
	}
	names := func() (found []string) {
		t.Helper()
		entries := env.Must(os.ReadDir(o.Destination))(t)
		for _, entry := range entries {
			found = append(found, entry.Name())
		}
		return found
	}
	for _, step := range []struct {
		keep int
		want []string
	}{
		{0, names()},
		{4, []string{"20260101T000000Z", "20260102T000000Z", "20260108T000000Z", "20260109T000000Z", "20260110T000000Z", "20260110T120000Z", "not-ours"}},
		{3, []string{"20260108T000000Z", "20260109T000000Z", "20260110T000000Z", "20260110T120000Z", "not-ours"}},
		{1, []string{"20260108T000000Z", "20260110T000000Z", "20260110T120000Z", "not-ours"}},
	} {
		o.Keep = step.keep
		env.MustDo(t, backup.Retain(t.Context(), o, time.Date(2026, 1, 11, 0, 0, 0, 0, time.UTC)))
		env.WantSame(t, fmt.Sprint("keep ", step.keep), step.want, names())
	}
}

// TestServerUsesS3WithoutLoggingTheSecret lets the server write to S3 itself. The embedded
// engine asks the store, and then lacks what it needs to write to it.
func TestServerUsesS3WithoutLoggingTheSecret(t *testing.T) {
	s := newSource(t)
	s.vote("one", 5)
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	env.MustDo(t, s.archive.Snapshot(t.Context()))
	to := warehouse.Location{URL: server.URL + "/bucket/pnyx/name/shard-1/", KeyID: "key", Secret: secret}
	err := s.archive.Backup(t.Context(), 0, to, &to, func(context.Context) {})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v, want an error without the secret", err)
	}
	if len(asked) == 0 || !strings.HasPrefix(asked[0], "/bucket/pnyx/name/shard-1/") {
		t.Errorf("got requests for %q, want some below the location", asked)
	}
	conn := env.ConnectWarehouse(t, s.o.URL)
	env.MustDo(t, conn.Exec(t.Context(), "SYSTEM FLUSH LOGS query_log"))
	if len(env.Column(t, conn, "SELECT query FROM system.query_log WHERE query LIKE 'BACKUP%HIDDEN%'")) == 0 {
		t.Error("the query log does not have the statement")
	}
	// The condition does not contain the secret itself, which would find this query.
	const logged = "SELECT query FROM system.query_log WHERE match(query, 'secret[-]canary') OR match(exception, 'secret[-]canary')"
	if leaks := env.Column(t, conn, logged); len(leaks) > 0 {
		t.Errorf("got %q in the query log, want it masked", leaks)
	}
}

func TestDestinationErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
	}))
	defer refusing.Close()
	for name, test := range map[string]struct {
		o    backup.Options
		want string
	}{
		"another scheme": {backup.Options{Destination: "gs://bucket"}, "a folder or s3://BUCKET/PREFIX"},
		"no bucket":      {backup.Options{Destination: "s3://"}, "s3://BUCKET/PREFIX"},
		"no key":         {backup.Options{Destination: "s3://bucket/x"}, "AWS_ACCESS_KEY_ID"},
		"refused": {backup.Options{
			Destination: "s3://bucket/x", S3: backup.S3{KeyID: "a", Secret: secret, Endpoint: refusing.URL},
		}, "403 Forbidden AccessDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := backup.List(t.Context(), test.o)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want %q and no secret", err, test.want)
			}
		})
	}
}
