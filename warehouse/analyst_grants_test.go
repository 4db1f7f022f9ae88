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
	if _, err := openAs(t, instance.URL(engine.AnalystDatabase)); err != nil {
		t.Fatal(err)
	}
	execute(t, instance, "SYSTEM FLUSH LOGS") // the query log exists once something is in it
	analyst := analystAt(t, instance.AnalystHTTPURL(engine.AnalystDatabase))
	query := func(sql string) error { return analyst.Ask(t.Context(), sql, "Null", nil, io.Discard) }
	for _, grant := range warehouse.AnalystGrants() {
		columns, table, _ := strings.Cut(strings.TrimPrefix(grant, "SELECT"), " ON ")
		if columns = strings.Trim(columns, "()"); columns == "" {
			columns = "*"
		}
		for _, sql := range []string{"SELECT " + columns + " FROM " + table, "SELECT count() FROM " + table} {
			if err := query(sql); err != nil {
				t.Errorf("%s: got %v, want an answer", sql, err)
			}
		}
	}
	for _, sql := range []string{
		"SELECT * FROM signing_keys",
		"SELECT count() FROM signing_keys",
		"SELECT * FROM loop(signing_keys) LIMIT 1",
		"SELECT * FROM mergeTreeIndex('pnyx', 'signing_keys')",
		"SELECT * FROM view(SELECT * FROM signing_keys)",
		"SELECT count() FROM votes WHERE voter_identity IN (SELECT name FROM signing_keys)",
		"SELECT * FROM tokens",
		"SELECT verifier FROM tokens",
		"SELECT previous_verifier FROM tokens FINAL",
		"SELECT count() FROM tokens WHERE hex(verifier) LIKE 'A%'",
		"SELECT count() FROM tokens GROUP BY verifier",
		"SELECT * FROM token_revocations",
		"SELECT * FROM usage_counts",
		"SELECT session FROM usage_counts",
		"SELECT * FROM payments",
		"SELECT settlement FROM payments",
		"SELECT nonce, request_hash, header_hash FROM payments",
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
