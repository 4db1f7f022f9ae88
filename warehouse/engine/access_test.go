package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

func TestAnalystReadsWhatIsGranted(t *testing.T) {
	t.Parallel()
	instance := common(t).Instance()
	conn := open(t, instance.AnalystURL(engine.AnalystDatabase))
	wantCount(t, conn, "SELECT count() FROM vote", 3)

	got := env.Must(overHTTP(t, instance, instance.AnalystUser, instance.AnalystPassword, "SELECT getSetting('max_execution_time')"))(t)
	env.Want(t, "30", got, "time limit in seconds")
	// With a deadline the client sends a time limit as a setting of the query.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_threads": 1}))
	if _, err := count(ctx, conn, "SELECT count() FROM vote"); err != nil {
		t.Errorf("query with settings: got %v, want no error", err)
	}
}

// TestAnalystHasNoOtherPermission runs statements that write, read outside the database,
// or raise a limit.
func TestAnalystHasNoOtherPermission(t *testing.T) {
	t.Parallel()
	instance := common(t).Instance()
	run(t, open(t, instance.URL("default")), "CREATE DATABASE other",
		"CREATE TABLE other.secret (word String) ENGINE = MergeTree ORDER BY word",
		"INSERT INTO other.secret VALUES ('canary')", "CREATE TABLE pnyx_views.secret AS other.secret",
		"INSERT INTO pnyx_views.secret VALUES ('canary')", "SYSTEM FLUSH LOGS")
	file := filepath.Join(t.TempDir(), "secret.txt")
	env.WriteFile(t, file, "canary")

	conn := open(t, instance.AnalystURL(engine.AnalystDatabase))
	for _, statement := range []string{
		"INSERT INTO pnyx_views.vote VALUES (4)",
		"ALTER TABLE pnyx_views.vote DELETE WHERE 1",
		"TRUNCATE TABLE pnyx_views.vote",
		"DROP TABLE pnyx_views.vote",
		"OPTIMIZE TABLE pnyx_views.vote FINAL",
		"CREATE TABLE mine (n UInt8) ENGINE = Memory",
		"CREATE TEMPORARY TABLE mine (n UInt8)",
		"CREATE DATABASE mine",
		"CREATE FUNCTION mine AS (n) -> n",
		"CREATE USER mine",
		"GRANT ALL ON *.* TO analyst",
		"SYSTEM SHUTDOWN",
		"SYSTEM STOP LISTEN TCP",
		"BACKUP DATABASE pnyx_views TO File('{file}')",
		"BACKUP TABLE pnyx_views.vote TO File('{file}')",
		"BACKUP TABLE pnyx_views.vote TO S3('http://{http}/bucket/key')",
		"RESTORE TABLE pnyx_views.vote FROM File('{file}')",
		"RESTORE TABLE pnyx_views.vote AS pnyx.mine FROM File('{file}')",
		"INSERT INTO FUNCTION file('{file}', 'CSV', 'n UInt8') VALUES (1)",
		"SELECT 1 INTO OUTFILE '{file}' FORMAT CSV",

		"SELECT * FROM other.secret",
		"SELECT * FROM pnyx_views.secret",
		"SELECT * FROM merge('pnyx_views', 'secret')",
		"SELECT * FROM loop(pnyx_views.secret) LIMIT 1",
		"SELECT * FROM mergeTreeIndex('pnyx_views', 'secret')",
		"SELECT * FROM view(SELECT * FROM pnyx_views.secret)",
		"SELECT count() FROM pnyx_views.vote WHERE voter IN (SELECT length(word) FROM pnyx_views.secret)",
		"SHOW CREATE TABLE pnyx_views.secret",
		"SHOW PROCESSLIST",
		"SELECT * FROM system.errors",
		"SELECT * FROM merge('other', 'secret')",
		"SELECT * FROM system.query_log",
		"SELECT * FROM system.users",
		"SELECT * FROM system.processes",

		"SELECT file('{file}')",
		"SELECT file('{file}', '')",
		"SELECT file('{file}', NULL)",
		"SELECT `file`(voter::String) FROM pnyx_views.vote",
		"SELECT arrayMap(f -> file(f), ['{file}'])",
		"SELECT arrayMap(file, ['{file}'])",
		"SELECT * APPLY(file) FROM (SELECT '{file}')",
		"SELECT * FROM (SELECT '{file}' AS f) WHERE file(f) = ''",
		"SELECT file('{file}') SETTINGS enable_analyzer = 0",
		"SELECT * APPLY(file) FROM (SELECT '{file}') SETTINGS enable_analyzer = 0",
		"SELECT * FROM values('s String', (file('{file}')))",
		"SELECT * FROM format(JSONEachRow, 'a String, b String DEFAULT file(a)', '{\"a\":\"{file}\"}')",
		"SELECT * FROM file('{file}', 'LineAsString')",
		"DESCRIBE file('{file}')",
		"SELECT * FROM view(SELECT * FROM file('{file}', 'LineAsString'))",
		"SELECT * FROM default.\"{file}\"",
		"SELECT * FROM filesystem('{file}')",
		"SELECT * FROM sqlite('{file}', 't')",
		"SELECT * FROM executable('cat', 'TSV', 's String')",
		"SELECT * FROM icebergLocal('{file}')",
		"SELECT * FROM url('http://{http}/ping', 'LineAsString')",
		"SELECT * FROM s3('http://{http}/bucket/key', 'LineAsString')",
		"SELECT * FROM remote('{tcp}', pnyx_views.vote, 'default', '')",
		"SELECT * FROM mysql('{tcp}', 'a', 'b', 'c', 'd')",
		"SELECT * FROM postgresql('{tcp}', 'a', 'b', 'c', 'd')",
		"SELECT * FROM mongodb('{tcp}', 'a', 'b', 'c', 'd', 'x Int8')",
		"SELECT * FROM redis('{tcp}', 'a', 'a Int8')",
		"SELECT * FROM azureBlobStorage('http://{http}', 'a', 'b', 'c', 'ZA==')",
		"SELECT * FROM iceberg('http://{http}/a/b')",
		"SELECT * FROM clusterAllReplicas('default', system.one)",
		"SELECT * FROM cluster('default', pnyx_views.secret)",
		"SELECT * FROM dictionary('other.secret')",
		"SELECT * FROM fuzzJSON('a')",
		"SELECT * FROM viewExplain('EXPLAIN', '', (SELECT * FROM other.secret))",
		"SELECT * FROM mergeTreeProjection('pnyx_views', 'secret', 'a')",
		"SELECT dictGet('other.secret', 'word', 1)",
		"SELECT joinGet('other.secret', 'word', 1)",
		"SELECT catboostEvaluate('{file}', 1)",
		"SELECT addressToLine(1)",
		"SELECT demangle('a')",
		"SELECT getMacro('a')",
		"SELECT showCertificate()",
		"EXPLAIN SELECT * FROM other.secret",
		"DESCRIBE url('http://{http}/ping', 'LineAsString')",
		"INSERT INTO FUNCTION null('a String') SELECT * FROM other.secret",
		"SHOW USERS",
		"SHOW CREATE USER pnyx",
		"SELECT * FROM system.server_settings",
		"SELECT * FROM system.named_collections",
		"ALTER USER analyst IDENTIFIED BY 'a'",
		"ALTER USER analyst SETTINGS readonly = 0",
		"EXECUTE AS pnyx SELECT 1",
		"CREATE NAMED COLLECTION mine AS a = 1",
		"CREATE SETTINGS PROFILE mine",
		"KILL QUERY WHERE 1",
		"SYSTEM FLUSH LOGS",
		"SYSTEM DROP MARK CACHE",

		"SET readonly = 0",
		"SELECT 1 SETTINGS readonly = 2",
		"SELECT 1 SETTINGS max_execution_time = 0",
		"SELECT 1 SETTINGS max_execution_time = 36",
		"SELECT 1 SETTINGS max_memory_usage = 0",
		"SELECT 1 SETTINGS max_memory_usage = 3000000000",
		"SELECT 1 SETTINGS max_result_rows = 0",
		"SELECT 1 SETTINGS result_overflow_mode = 'break'",
		"SELECT number FROM numbers(1000001)",
		"SELECT * FROM primes(1000000000000000000, 1)",
	} {
		statement = strings.NewReplacer("{file}", file, "{http}", instance.HTTPAddr, "{tcp}", instance.TCPAddr).Replace(statement)
		got, err := overHTTP(t, instance, instance.AnalystUser, instance.AnalystPassword, statement)
		if err == nil {
			t.Errorf("%s: got %.100q, want an error", statement, got)
			continue
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got the secret in the error: %v", statement, err)
		}
		if strings.Contains(err.Error(), "SYNTAX_ERROR") || strings.Contains(err.Error(), "(UNKNOWN_") {
			t.Errorf("%s: got another error than a missing permission: %v", statement, err)
		}
	}
	wantCount(t, conn, "SELECT count() FROM vote", 3)
}

// TestInternalUserCannotSignIn signs in as the user of the engine's own session, which
// has no password.
func TestInternalUserCannotSignIn(t *testing.T) {
	t.Parallel()
	instance := common(t).Instance()
	for name, settings := range map[string]clickhouse.Settings{
		"plain":             nil,
		"with more allowed": {"max_sessions_for_user": 100},
	} {
		for protocol, addr := range map[clickhouse.Protocol]string{
			clickhouse.Native: instance.TCPAddr,
			clickhouse.HTTP:   instance.HTTPAddr,
		} {
			conn := env.Must(clickhouse.Open(&clickhouse.Options{
				Protocol: protocol,
				Addr:     []string{addr},
				Auth:     clickhouse.Auth{Username: "default"},
				Settings: settings,
			}))(t)
			defer conn.Close()
			if n, err := count(t.Context(), conn, "SELECT toUInt64(1)"); err == nil {
				t.Errorf("%s, %s: got %d, want no access", protocol, name, n)
			}
		}
	}
}

func TestAnalystOfAnEmptyWarehouseGetsAnError(t *testing.T) {
	t.Parallel()
	instance := env.StartEngine(t, "SELECT ON pnyx_views.*")
	conn := open(t, instance.AnalystURL(""))
	for range 2 { // the engine must outlive the first
		env.WantPart(t, "ballots", fmt.Sprint(conn.Exec(t.Context(), "SELECT count() FROM ballots")), "an unknown table")
	}
}
