package warehouse_test

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

func TestAttackAnalystReadsGovernanceAndNoSecrets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs the engine, which -short leaves out")
	}
	instance := env.StartEngine(t, warehouse.AnalystGrants()...)
	if _, err := openAs(t, instance.URL(warehouse.DefaultDatabase)); err != nil {
		t.Fatal(err)
	}
	execute(t, instance, "SYSTEM FLUSH LOGS") // the query log exists once something is in it
	analyst := analystAt(t, instance.AnalystHTTPURL(engine.AnalystDatabase))
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
		if err := query(sql); err == nil || !strings.Contains(err.Error(), "Not enough privileges") {
			t.Errorf("%s: got %v, want a missing permission", sql, err)
		}
	}
	// A function over many tables passes over those that may not be read.
	if err := query("SELECT key FROM merge('pnyx', 'signing')"); err == nil {
		t.Error("merge: got an answer, want none")
	}
}

// The statements for a server of the operator's own are those of the embedded engine.
func TestProductionDocumentGrantsWhatAnalystsMayRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		grant, found := strings.CutSuffix(strings.TrimSpace(line), " TO analyst;")
		if found && strings.HasPrefix(grant, "GRANT SELECT") {
			got = append(got, strings.TrimPrefix(grant, "GRANT "))
		}
	}
	want := warehouse.AnalystGrants()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("docs/production.md: got grants to analyst\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestComposeGrantsWhatAnalystsMayRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../observe/analyst.xml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if _, after, found := strings.Cut(line, "<query>GRANT "); found {
			grant, _, _ := strings.Cut(after, "<")
			got = append(got, grant)
		}
	}
	if want := warehouse.AnalystGrants(); !slices.Equal(got, want) {
		t.Errorf("observe/analyst.xml: got grants %q, want %q", got, want)
	}
}
