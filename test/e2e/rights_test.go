package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/test/upstream/hub"
	"pnyx/warehouse"
	"pnyx/warehouse/backup"
	"pnyx/warehouse/engine"
	"pnyx/warehouse/records"
)

// servers is a deployment on servers whose users have the rights that the documents give.
type servers struct {
	*testing.T

	// warehouse returns the address of ClickHouse for a user.
	warehouse func(user string) string
}

// documented are the statements of observe/parts.sql and docs/production.md that give rights to users of ClickHouse.
func documented(t *testing.T) (grants []string) {
	t.Helper()
	parts, err := os.ReadFile("../../observe/parts.sql")
	backup, failed := os.ReadFile("../../docs/production.md")
	env.MustDo(t, errors.Join(err, failed))
	for line := range strings.Lines(string(parts) + string(backup)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "GRANT ") && strings.Contains(line, "TO pnyx") {
			grants = append(grants, strings.TrimSuffix(line, ";"))
		}
	}
	return grants
}

// newServers starts an engine that has the users of the documents, with their rights.
func newServers(t *testing.T) *servers {
	t.Helper()
	options := env.EngineOptions(t)
	// ClickHouse reads what is in this folder with the file of its users.
	folder := filepath.Join(options.DataDir, "engine", "users.d")
	env.MustDo(t, errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "documented.xml"), []byte(usersWith(documented(t))), 0o600)))
	running := env.Must(engine.Start(t.Context(), options))(t)
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
	address := running.Instance().URL(warehouse.DefaultDatabase)
	owner := env.ConnectWarehouse(t, running.Instance().URL("default"))
	env.MustDo(t, owner.Exec(t.Context(), "CREATE DATABASE IF NOT EXISTS pnyx"))
	return &servers{T: t, warehouse: func(user string) string {
		return regexp.MustCompile(`//[^@]*@`).ReplaceAllString(address, "//"+inEngine(user)+":secret@")
	}}
}

// inEngine returns another name for the user that an engine has for itself.
func inEngine(user string) string {
	if user == engine.User {
		return "pnyx_worker"
	}
	return user
}

// rightsOf returns what statements give to each user.
func rightsOf(grants []string) map[string][]string {
	rights := map[string][]string{}
	for _, grant := range grants {
		right, users, _ := strings.Cut(grant, " TO ")
		for user := range strings.SplitSeq(users, ", ") {
			rights[user] = append(rights[user], right)
		}
	}
	return rights
}

// usersWith returns a configuration of users with these rights.
func usersWith(grants []string) string {
	var text strings.Builder
	for user, all := range rightsOf(grants) {
		user = inEngine(user)
		fmt.Fprintf(&text, "<%s><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>"+
			"<quota>default</quota><grants><query>%s</query></grants></%s>", user, strings.Join(all, "</query><query>"), user)
	}
	return "<clickhouse><users>" + text.String() + "</users></clickhouse>"
}

func TestAttackUsersOfTheWarehouseMayDoWhatTheirPartDoes(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	s := newServers(t)
	as := func(user string) string { return "CLICKHOUSE_URL=" + s.warehouse(user) }
	env.MustRun(t, []string{as("pnyx_owner")}, "migrate")
	redis := "REDIS_URL=" + env.EmbeddedRedis(t)
	worker := start(t, t.TempDir(), []string{redis, as("pnyx")}, "worker")

	upstream := hub.New(nil)
	upstream.AddSpace(hub.Space{ID: "harbor.eth", Name: "Harbor", Network: "1", Symbol: "HRB"})
	const voter = "0x0000000000000000000000000000000000000001"
	followed := propose(upstream, "Followed", time.Hour, "Yes", "No")
	vote(t, upstream, hub.Vote{Proposal: followed, Voter: voter})
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	sources := filepath.Join(t.TempDir(), "sources.yaml")
	writeSources(t, sources, fmt.Sprintf("contact: test@example.org\nsnapshot: {url: %s/graphql, requestsPerMinute: 6000}\n"+
		"daos:\n- {id: harbor, name: Harbor, snapshot: [harbor.eth]}\n", server.URL))
	follower := start(t, t.TempDir(), []string{redis, as("pnyx_follow"), "PNYX_SOURCES=" + sources}, "follow")
	generated := env.GeneratedDataSet(t, "--now", "2026-06-01T00:00:00Z", "--daos", "3", "--proposals", "30", "--ballots", "30000", "--largest", "22000")
	env.MustRun(t, []string{redis, as("pnyx_records"), "PNYX_DATA=" + t.TempDir()}, "import", generated)
	node := start(t, t.TempDir(), []string{redis}, "api").ready()
	env.Until(t, func() error {
		_, err := node.Walk("/v2/proposals/"+proposalKey("harbor", followed)+"/votes", 100)
		return err
	})
	owner := env.ConnectWarehouse(t, s.warehouse("pnyx_owner"))
	env.Until(t, func() error {
		if state := env.Column(t, owner, "SELECT concat(state, ' ', error) FROM follows FINAL WHERE lane = 'names'"); !slices.Equal(state, []string{"live "}) {
			return fmt.Errorf("got the names of the hub %q, want them live", state)
		}
		return nil
	})
	var large string
	env.Until(t, func() error {
		found := env.Column(t, owner, "SELECT subject FROM sorted_copies WHERE kind = 'ballots'")
		if len(found) == 0 {
			return errors.New("no sorted copy yet")
		}
		large = found[0]
		return nil
	})

	// What follows is made by a filler alone: nothing may arrive while the worker ends.
	follower.Stop()
	worker.AwaitPublished()
	worker.Stop()
	start(t, t.TempDir(), []string{redis, as("pnyx_pages")}, "worker", "--fills-only")
	for _, path := range []string{
		"/v2/proposals/" + large + "/votes?order=time", "/v2/proposals/" + proposalKey("harbor", followed) + "/votes?order=time",
		"/v2/proposals/" + large + "/votes/export",
		"/v2/daos/harbor/voters", "/v2/voters/" + voter, "/v2/voters/" + voter + "/votes", "/v2/proposals?daoId=harbor&lifecycleStatus=active",
		"/v2/proposals/resolve?title=Followed", "/v2/forum-topics?minReplies=1",
		"/v2/events?from=2026-01-01&to=2026-02-01", "/v2/signals?from=2026-01-01&to=2026-02-01",
	} {
		var data json.RawMessage
		env.Until(t, func() error {
			r, err := node.Ask(path, &data)
			if err == nil && r.Status != http.StatusOK {
				err = fmt.Errorf("%s: got %d %s", path, r.Status, r.Error.Code)
			}
			return err
		})
	}
	if err := env.ConnectWarehouse(t, s.warehouse("pnyx")).Exec(t.Context(), "ALTER TABLE pnyx.sorted_ballots DROP PARTITION 1"); err != nil {
		t.Errorf("the worker drops an old copy: %v", err)
	}
	s.wantBackup()
	s.wantRefused()
}

// wantBackup backs up as the backup's user does, to a folder, twice: the second copies what is new.
func (s *servers) wantBackup() {
	s.Helper()
	o := warehouse.Options{URL: s.warehouse("pnyx_backup"), QueryTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	opened, err := warehouse.Open(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	defer opened.Close()
	archive, err := warehouse.OpenArchive(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	defer archive.Close()
	to := backup.Options{
		Destination: filepath.Join(s.TempDir(), "backups"), Archive: archive, Version: "test", FullAge: time.Hour,
		Progress: func(string, uint64, uint64) {},
	}
	for range 2 {
		made, err := backup.Create(s.Context(), to)
		if err := errors.Join(err, records.RecordBackup(s.Context(), opened, records.BackupMade, made.Name, made.Rows(), 1)); err != nil {
			s.Error(err)
		}
	}
}

// wantRefused tries what a user must not do.
func (s *servers) wantRefused() {
	s.Helper()
	everybody := []string{
		"CREATE TABLE pnyx.mine (n UInt8) ENGINE = Memory", "DROP TABLE pnyx.ballots", "TRUNCATE TABLE pnyx.ballots",
		"ALTER TABLE pnyx.ballots ADD COLUMN mine UInt8", "CREATE USER mine", "GRANT SELECT ON pnyx.* TO pnyx_pages",
		"SELECT * FROM file('/etc/passwd', 'LineAsString')", "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
		"INSERT INTO FUNCTION file('/tmp/mine', 'LineAsString', 's String') VALUES ('')", "SYSTEM SHUTDOWN",
		"BACKUP DATABASE pnyx TO File('/tmp/mine')",
	}
	secrets := []string{
		"SELECT * FROM pnyx.tokens", "SELECT * FROM pnyx.token_revocations", "SELECT * FROM pnyx.usage_counts", "SELECT * FROM pnyx.payments",
		"SELECT * FROM pnyx.webhook_endpoints", "SELECT * FROM pnyx.webhook_deliveries", "SELECT * FROM pnyx.signing_keys",
		"INSERT INTO pnyx.tokens SELECT * FROM pnyx.tokens", "INSERT INTO pnyx.token_revocations (token_id) VALUES ('x')",
		"INSERT INTO pnyx.payments SELECT * FROM pnyx.payments", "INSERT INTO pnyx.proposal_states SELECT * FROM pnyx.proposal_states",
		"ALTER TABLE pnyx.ballots DELETE WHERE 1", "INSERT INTO pnyx.schema_migrations SELECT * FROM pnyx.schema_migrations",
	}
	for user, statements := range map[string][]string{
		"pnyx":         append([]string{"ALTER TABLE pnyx.ballots DELETE WHERE 1", "ALTER TABLE pnyx.tokens DELETE WHERE 1"}, everybody...),
		"pnyx_records": append([]string{"SELECT * FROM pnyx.follows", "INSERT INTO pnyx.chain_logs SELECT * FROM pnyx.chain_logs"}, append(secrets, everybody...)...),
		"pnyx_follow":  append([]string{"SELECT * FROM pnyx.evidence", "INSERT INTO pnyx.signals SELECT * FROM pnyx.signals"}, append(secrets, everybody...)...),
		"pnyx_backup": append([]string{
			"INSERT INTO pnyx.tokens SELECT * FROM pnyx.tokens", "INSERT INTO pnyx.ballots SELECT * FROM pnyx.ballots",
			"ALTER TABLE pnyx.ballots DELETE WHERE 1", "CREATE DATABASE pnyx_restore",
		}, everybody...),
		"pnyx_pages": append([]string{"INSERT INTO pnyx.ballots SELECT * FROM pnyx.ballots"}, append(secrets, everybody...)...),
	} {
		conn := env.ConnectWarehouse(s, s.warehouse(user))
		for _, statement := range statements {
			if err := conn.Exec(s.Context(), statement); err == nil || !strings.Contains(err.Error(), "Not enough privileges") {
				s.Errorf("%s: %s: got %v, want a missing permission", user, statement, err)
			}
		}
	}
}

// The users of compose.yaml have the rights of the documents.
func TestComposeGrantsWhatTheDocumentsGrant(t *testing.T) {
	t.Parallel()
	text := env.ReadFile(t, "../../observe/parts.xml")
	want := rightsOf(documented(t))
	for _, user := range []string{"pnyx", "pnyx_follow"} {
		_, after, _ := strings.Cut(string(text), "<"+user+">")
		definition, _, _ := strings.Cut(after, "</"+user+">")
		var got []string
		for _, grant := range regexp.MustCompile(`<query>([^<]*)</query>`).FindAllStringSubmatch(definition, -1) {
			got = append(got, grant[1])
		}
		env.WantSame(t, user, want[user], got)
	}
}
