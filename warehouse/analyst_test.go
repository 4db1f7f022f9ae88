package warehouse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
	"pnyx/warehouse/record"
)

// analystOf connects an analyst as the user of a database of its own.
func analystOf(t *testing.T) *warehouse.Analyst {
	t.Helper()
	_, url := openURL(t)
	address := env.Must(warehouse.HTTPAddress(t.Context(), warehouse.Options{URL: url}))(t)
	return analystAt(t, address)
}

func analystAt(t *testing.T, address string) *warehouse.Analyst {
	t.Helper()
	analyst := env.Must(warehouse.NewAnalyst(t.Context(), warehouse.AnalystOptions{
		URL: address, Timeout: time.Minute, MaxMemory: 1 << 30, MaxRows: 1000,
	}))(t)
	t.Cleanup(func() { analyst.Close() })
	return analyst
}

func TestAnalystGetsResultsInTheEnginesFormats(t *testing.T) {
	t.Parallel()
	analyst := analystOf(t)
	for format, want := range map[string]string{
		"CSV":         "1.000000000000000001,\"['a','b']\",\\N\n",
		"JSONEachRow": `{"power":"1.000000000000000001","list":["a","b"],"nothing":null}` + "\n",
	} {
		var out bytes.Buffer
		err := analyst.Ask(t.Context(), "SELECT toDecimal256('1.000000000000000001', 18) AS power, ['a', 'b'] AS list, NULL AS nothing",
			format, map[string]string{"output_format_json_quote_decimals": "1"}, &out)
		if err != nil || out.String() != want {
			t.Errorf("%s: got %q (%v), want %q", format, &out, err, want)
		}
	}
}

func TestAnalystWithAllRightsStillOnlyReads(t *testing.T) {
	t.Parallel()
	analyst := analystOf(t)
	for sql, want := range map[string]string{
		"INSERT INTO daos (dao_id) VALUES ('x')":       "READONLY",
		"CREATE TABLE stolen (a Int8) ENGINE = Memory": "READONLY",
		"DROP TABLE daos":                 "READONLY",
		"ALTER TABLE daos DELETE WHERE 1": "READONLY",
		"TRUNCATE TABLE daos":             "READONLY",
		"SELECT * FROM file('/etc/passwd', LineAsString, 'line String')": "READONLY",
		"SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')":      "READONLY",
		"SET readonly = 0":                         "READONLY",
		"SELECT 1 SETTINGS max_execution_time = 0": "READONLY",
		"SELECT number FROM numbers(1001)":         "TOO_MANY_ROWS",
		"SELECT 1 AS x FORMAT Template SETTINGS format_template_row = '/etc/passwd'":  "READONLY",
		"SELECT 1 AS x FORMAT Protobuf SETTINGS output_format_schema = '/tmp/a'":      "READONLY",
		"SELECT 1 SETTINGS format_avro_schema_registry_url = 'http://127.0.0.1:1'":    "READONLY",
		"SELECT 1 SETTINGS input_format_record_errors_file_path = '/tmp/a'":           "READONLY",
		"SELECT sum(cityHash64(number)) FROM numbers(1000000000) SETTINGS readonly=0": "READONLY",
	} {
		env.WantPart(t, want, fmt.Sprint(analyst.Ask(t.Context(), sql, "CSV", nil, io.Discard)), sql)
	}
}

// TestErrorAfterAPartOfTheResultIsNoPartOfIt cuts an answer at every place, as a network may.
func TestErrorAfterAPartOfTheResultIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	const tag, rows = "abcdefghijklmnop", "1,\"a\r\n__exception__\r\n\"\n2,\"b\"\n"
	const message = "Code: 395. DB::Exception: number 3: is wrong. (WRONG) (version 26.7.2.1)\n"
	answer := rows + "\r\n__exception__\r\n" + tag + "\r\n" + message + fmt.Sprint(len(message)) + " " + tag + "\r\n__exception__\r\n"
	for name, cut := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "halves": iotest.HalfReader,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := warehouse.CopyAnswer(&out, cut(strings.NewReader(answer)), tag); err == nil || err.Error() != "number 3: is wrong. (WRONG)" {
				t.Errorf("got the error %v, want the server's", err)
			}
			env.Want(t, rows, out.String(), "the rows alone")
			out.Reset()
			if err := warehouse.CopyAnswer(&out, cut(strings.NewReader(rows)), tag); err != nil || out.String() != rows {
				t.Errorf("without an error: got %q, %v", &out, err)
			}
			lost := errors.New("lost")
			out.Reset()
			if err := warehouse.CopyAnswer(&out, cut(io.MultiReader(strings.NewReader(rows), iotest.ErrReader(lost))), tag); !errors.Is(err, lost) {
				t.Errorf("a lost connection: got %v, want an error", err)
			}
		})
	}
}

// TestAttackAnalystWhoMayChangeSettings: with readonly = 2, queries read and write files by
// settings of formats.
func TestAttackAnalystWhoMayChangeSettings(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"2\n": "want a user with readonly = 1", "": "want a user with readonly = 1", strings.Repeat("1", 1<<20): "too long",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		t.Cleanup(server.Close)
		_, err := warehouse.NewAnalyst(t.Context(), warehouse.AnalystOptions{URL: server.URL, Timeout: time.Minute})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readonly = %.10s: got %v, want %q", answer, err, want)
		}
	}
}

func TestAnalystOfAServerThatRefusesSaysWhyOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "Code: 516. DB::Exception: analyst: Authentication failed. (AUTHENTICATION_FAILED) (version 26.7.2.1)\n")
	}))
	t.Cleanup(server.Close)
	_, err := warehouse.NewAnalyst(t.Context(), warehouse.AnalystOptions{URL: strings.Replace(server.URL, "://", "://analyst:hidden@", 1), Timeout: time.Minute})
	if err == nil || err.Error() != "read the user's rights: analyst: Authentication failed. (AUTHENTICATION_FAILED)" {
		t.Errorf("got %v, want the server's reason and no password", err)
	}
}

// TestLongAnalystsMayAskAnythingOfAnyColumn asks with the optimizer settings that analysts have.
func TestLongAnalystsMayAskAnythingOfAnyColumn(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	generated(t, instance.URL(database), 3, 5)
	conn := env.ConnectWarehouse(t, instance.URL(warehouse.ViewsDatabase(database)))
	settings := clickhouse.Settings{}
	for _, setting := range engine.AnalystSettings(engine.AnalystLimits{}) {
		if strings.HasPrefix(setting.Name, "optimize_") || strings.HasPrefix(setting.Name, "query_plan_") || strings.HasPrefix(setting.Name, "enable_") {
			if setting.Value != "" {
				settings[setting.Name] = setting.Value
			}
		}
	}
	ask := func(sql string) {
		t.Helper()
		env.WantError(t, nil, conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(settings)), sql+" FORMAT Null"), sql)
	}
	columns := env.Column(t, conn, "SELECT concat(table, ' ', name) FROM system.columns WHERE database = currentDatabase() ORDER BY table, position")
	if len(columns) < 100 {
		t.Fatalf("got %d columns of views", len(columns))
	}
	for _, column := range columns {
		view, name, _ := strings.Cut(column, " ")
		ask(fmt.Sprintf("SELECT countIf(%[2]s IS NULL), countIf(%[2]s IS NOT NULL), count(%[2]s) FROM %[1]s", view, name))
		ask(fmt.Sprintf("SELECT count() FROM %s WHERE %s IS NULL", view, name))
		ask(fmt.Sprintf("SELECT count() FROM %s WHERE NOT (%s IS NULL)", view, name))
		ask(fmt.Sprintf("SELECT %[2]s, count() FROM %[1]s GROUP BY %[2]s", view, name))
		ask(fmt.Sprintf("SELECT count(%s) FROM %s", name, view))
	}
	// Joins of three views by what two of them share.
	on := map[string][]string{
		"proposal_key": {"ballots", "proposals", "vote_summaries", "superseded_ballots", "events"},
		"dao_id":       {"daos", "proposals", "dao_participation", "dao_voters", "forum_topics", "ballots"},
	}
	for _, first := range on["proposal_key"] {
		for _, second := range on["proposal_key"] {
			for _, third := range on["dao_id"] {
				if first == second || first == third || second == third {
					continue
				}
				from := fmt.Sprintf("FROM %s AS a JOIN %s AS b ON a.proposal_key = b.proposal_key JOIN %s AS c ON c.dao_id = b.dao_id ", first, second, third)
				ask("SELECT count(), max(b.proposal_key) " + from + "WHERE c.dao_id = 'dao3'")
				ask("SELECT a.dao_id, count() " + from + "WHERE a.dao_id = 'dao3' AND b.proposal_key != '' GROUP BY a.dao_id")
				ask("SELECT * " + from + "WHERE a.proposal_key = 'p1_7' LIMIT 3")
			}
		}
	}
	for _, condition := range []string{
		"p.dao_id = 'dao3'", "b.voter_identity = '0x01' AND p.outcome = 'passed'", "d.dao_id = 'dao3' AND b.choice_key IS NULL",
		"p.lifecycle_status = 'closed' AND b.voting_power > 1 AND d.name != ''", "b.choice_key = '1'", "p.title IS NOT NULL",
	} {
		ask("SELECT d.name, p.title, count(b.choice_key), sum(b.voting_power) FROM ballots AS b JOIN proposals AS p ON p.proposal_key = b.proposal_key " +
			"JOIN daos AS d ON d.dao_id = p.dao_id WHERE " + condition + " GROUP BY d.name, p.title")
		ask("SELECT count() FROM proposals AS p JOIN ballots AS b USING (proposal_key) JOIN daos AS d ON d.dao_id = p.dao_id WHERE " + condition)
		ask("SELECT count() FROM daos AS d LEFT JOIN proposals AS p ON p.dao_id = d.dao_id LEFT JOIN ballots AS b ON b.proposal_key = p.proposal_key WHERE " + condition)
	}
}

func TestAnalystsReadWhichDAOsAreSpam(t *testing.T) {
	t.Parallel()
	w, conn := openViews(t)
	space := func(id string) record.SourceRef { return record.SourceRef{Provider: governance.Snapshot, ID: id} }
	forum := record.SourceRef{Provider: governance.Discourse, ID: "forum.org"}
	var records []record.Record
	for _, id := range []string{"spam.eth", "spam-of-all.eth", "spam-of-some.eth"} {
		records = append(records, &record.Source{SourceRef: space(id), Flagged: true})
	}
	appendAll(t, w, append(records, &record.Source{SourceRef: space("good.eth")}, &record.Source{SourceRef: space("free.eth")},
		&record.DAO{ID: "all", Sources: []record.SourceRef{space("spam-of-all.eth"), forum}},
		&record.DAO{ID: "some", Sources: []record.SourceRef{space("spam-of-some.eth"), space("good.eth")}},
		&record.DAO{ID: "talk", Sources: []record.SourceRef{{Provider: governance.Discourse, ID: "talk.org"}}})...)
	got := env.Column(t, conn, "SELECT dao_id FROM daos WHERE flagged ORDER BY dao_id")
	if want := []string{"all", "spam.eth"}; !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAttackAnalystReadsGovernanceAndNoSecrets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs the engine, which -short leaves out")
	}
	instance := env.StartEngine(t, warehouse.AnalystGrants()...)
	env.Must(openAs(t, instance.URL(warehouse.DefaultDatabase)))(t)
	execute(t, instance, "SYSTEM FLUSH LOGS") // the query log exists once something is in it
	analyst := analystAt(t, instance.AnalystURL(engine.AnalystDatabase))
	query := func(sql string) error { return analyst.Ask(t.Context(), sql, "Null", nil, io.Discard) }
	for _, view := range viewsOf(t, env.ConnectWarehouse(t, instance.URL(warehouse.DefaultDatabase))) {
		for _, sql := range []string{"SELECT * FROM " + view, "SELECT count() FROM " + view, "DESCRIBE " + view} {
			if err := query(sql); err != nil {
				t.Errorf("%s: got %v, want an answer", sql, err)
			}
		}
	}
	for _, sql := range []string{
		"SELECT * FROM pnyx.signing_keys",
		"SELECT count() FROM pnyx.signing_keys",
		"SELECT * FROM loop(pnyx.signing_keys) LIMIT 1",
		"SELECT * FROM mergeTreeIndex('pnyx', 'signing_keys')",
		"SELECT * FROM view(SELECT * FROM pnyx.signing_keys)",
		"SELECT count() FROM ballots WHERE voter_identity IN (SELECT name FROM pnyx.signing_keys)",
		"SELECT * FROM pnyx.tokens",
		"SELECT name FROM pnyx.tokens",
		"SELECT * FROM pnyx.token_revocations",
		"SELECT * FROM pnyx.usage_counts",
		"SELECT * FROM pnyx.payments",
		"SELECT * FROM pnyx.webhook_endpoints",
		"SELECT * FROM pnyx.proposals",
		"SELECT * FROM pnyx.schema_migrations",
		"SELECT * FROM system.query_log",
		"SELECT * FROM system.processes",
		"SHOW PROCESSLIST",
	} {
		env.WantPart(t, "Not enough privileges", fmt.Sprint(query(sql)), sql)
	}
	env.WantError(t, nil, query("SELECT 1 AS x FORMAT JSONEachRow SETTINGS output_format_json_quote_decimals = 0"), "a setting that may be changed")
	// A function over many tables passes over those that may not be read.
	if err := query("SELECT key FROM merge('pnyx', 'signing')"); err == nil {
		t.Error("merge: got an answer, want none")
	}
}

// The statements for a server of the operator's own, and of Compose, equal the embedded engine's.
func TestDocumentsGrantWhatAnalystsMayRead(t *testing.T) {
	t.Parallel()
	want := slices.Sorted(slices.Values(warehouse.AnalystGrants()))
	for name, grant := range map[string]string{
		"analyst.sql": `(?m)^\s*GRANT (SELECT.*) TO analyst;$`, "analyst.xml": `<query>GRANT ([^<]*)<`,
	} {
		var got []string
		for _, found := range regexp.MustCompile(grant).FindAllSubmatch(env.ReadFile(t, "../observe/"+name), -1) {
			got = append(got, string(found[1]))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("observe/%s: got grants to analyst\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
