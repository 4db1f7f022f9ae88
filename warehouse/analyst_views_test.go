package warehouse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
	"pnyx/warehouse/record"
)

// TestAnalystsMayAskAnythingOfAnyColumn asks with the optimizer settings that analysts have.
func TestAnalystsMayAskAnythingOfAnyColumn(t *testing.T) {
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
		if err := conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(settings)), sql+" FORMAT Null"); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
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
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	w := openAt(t, warehouse.Options{URL: instance.URL(database)})
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
	conn := env.ConnectWarehouse(t, instance.URL(warehouse.ViewsDatabase(database)))
	got := env.Column(t, conn, "SELECT dao_id FROM daos WHERE flagged ORDER BY dao_id")
	if want := []string{"all", "spam.eth"}; !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
