package warehouse_test

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
)

// copiedTables maps tables of migration 0015 to those that their rows are copied to.
var copiedTables = map[string]string{
	"chronicle_events": "feed_events", "chronicle_signals": "feed_signals", "chronicle_items": "feed_progress",
}

func TestMigrationKeepsEveryRow(t *testing.T) {
	t.Parallel()
	checkMigration(t, warehouse.Options{URL: env.EmptyDatabaseURL(t)})
}

// checkMigration fills a schema of migration 0015, interrupts its migration after some
// statements, completes it twice and compares every table.
func checkMigration(t *testing.T, o warehouse.Options) {
	t.Helper()
	migrate := func(source fs.FS, limit int) {
		t.Helper()
		env.MustDo(t, warehouse.MigrateWith(t.Context(), o, source, limit))
	}
	migrate(warehouse.EarlierFiles, math.MaxInt)
	conn := env.ConnectWarehouse(t, o.URL)
	tables := fillTables(t, conn)
	before := map[string]string{}
	for _, table := range tables {
		before[table] = contents(t, conn, table)
	}
	for limit := 1; limit < 60; limit += 7 {
		migrate(warehouse.MigrationFiles, limit)
	}
	openAt(t, o)
	migrate(warehouse.MigrationFiles, math.MaxInt) // as after a version that replaced views
	openAt(t, o)
	for _, table := range tables {
		// The table stays as it is, for a rollback to the version that wrote it.
		env.Want(t, before[table], contents(t, conn, table), table)
	}
	for _, view := range viewsOf(t, conn) {
		env.WantError(t, nil, conn.Exec(t.Context(), "SELECT * FROM "+view+" FORMAT Null"), view)
	}
	for old, table := range copiedTables {
		env.Want(t, before[old], contents(t, conn, table), table, "of", old)
	}
}

// fillTables inserts random rows into every table that holds some, and returns them.
func fillTables(t *testing.T, conn driver.Conn) (tables []string) {
	t.Helper()
	var found []struct {
		Table     string   `ch:"table"`
		Columns   []string `ch:"names"`
		Structure []string `ch:"types"`
	}
	env.MustDo(t, conn.Select(t.Context(), &found, `
		SELECT table, groupArray(name) AS names, groupArray(concat(name, ' ', type)) AS types
		FROM system.columns WHERE database = currentDatabase() AND table IN
			(SELECT name FROM system.tables WHERE database = currentDatabase() AND engine NOT LIKE '%View')
			AND table NOT LIKE '%\_local' AND table != 'schema_migrations'
		GROUP BY table ORDER BY table`))
	for n, f := range found {
		values := strings.Join(f.Columns, ", ")
		values = strings.Replace(values, "gone", "gone % 2", 1) // a flag
		structure := strings.ReplaceAll(strings.Join(f.Structure, ", "), "'", `\'`)
		sql := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM generateRandom('%s', %d, 4, 2) LIMIT 20",
			f.Table, strings.Join(f.Columns, ", "), values, structure, n+1)
		mustExec(t, conn, sql)
		tables = append(tables, f.Table)
	}
	if len(tables) < 20 {
		t.Fatalf("got tables %v, want all of them", tables)
	}
	return tables
}

// addedColumns are those that migrations after 0015 have added.
const addedColumns = "first_version, origin, provisional, quorum_choices, onchain_id, withdrawn, withdrawn_from, " +
	"names_voters, ballot_proposals, ballot_voters, context, flagged, derived_title, shown_reason, copy_format, " +
	"scores_state, stated_choice_votes, quorum_type, basis, total_votes, total_power, settled, restricted, undated_votes, as_of, stated_actions, voting_token, " +
	"least_choices, most_choices, divides_power, choice_form, choice_verdicts, proposal_keys, " +
	"choices_scored, choices_counted, quorum_reached, ballots_observed_at, stated_fingerprint, confirmed, first_ended_at, lacks, tokens, token, has_names, contract_ids, contract_names, contract_functions, calls, contracts"

// contents describes the different rows of a table, whatever its columns are called, without
// the columns that migrations have added. A copy that was interrupted leaves equal rows, which the engine merges.
func contents(t *testing.T, conn driver.Conn, table string) string {
	t.Helper()
	var rows, hash uint64
	env.MustDo(t, conn.QueryRow(t.Context(), "SELECT count(), sum(cityHash64(*)) FROM (SELECT DISTINCT * EXCEPT ("+addedColumns+") FROM "+table+")").Scan(&rows, &hash))
	if rows == 0 {
		t.Errorf("%s has no rows", table)
	}
	return fmt.Sprintf("%d rows with hash %x", rows, hash)
}

// TestChoicesWithoutNumbersHaveZerosForEarlierVersions stores what is not known of choices: an
// earlier version reads as many votes and powers as there are keys.
func TestChoicesWithoutNumbersHaveZerosForEarlierVersions(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	choices := []governance.Choice{{Key: "1", Label: "A"}, {Key: "2", Label: "B"}}
	scores := []governance.Score{{Votes: 3, Power: decimal.New(5, 0)}, {Votes: 1, Power: decimal.New(2, 0)}}
	unstated := []governance.Score{{Power: decimal.New(5, 0)}, {Power: decimal.New(2, 0)}}
	states := []counts.ProposalState{
		{Ref: record.RefHash{1}, Choices: choices, Scores: scores, HasChoiceVotes: true, Revision: 1},
		{Ref: record.RefHash{2}, Choices: choices, Scores: unstated, Revision: 1},
		{Ref: record.RefHash{3}, Choices: choices, HasChoiceVotes: true, Revision: 1},
	}
	writeStates(t, w, states...)
	got, err := counts.PublishedStates(t.Context(), w, []record.RefHash{{1}, {2}, {3}})
	if err != nil || len(got) != len(states) {
		t.Fatalf("got %d states: %v", len(got), err)
	}
	for i, want := range states {
		s := got[want.Ref]
		if diff := cmp.Diff(want.Scores, s.Scores); diff != "" || s.HasChoiceVotes != (i == 0) {
			t.Errorf("state %d: got votes by choice %t, and (-want +got):\n%s", i, s.HasChoiceVotes, diff)
		}
	}
	lengths := env.Column(t, env.ConnectWarehouse(t, url), "SELECT DISTINCT toString((length(choice_votes), length(choice_powers))) FROM proposal_states")
	env.WantSame(t, fmt.Sprint("votes and powers", " ", "as many as there are keys"), []string{"(2,2)"}, lengths)
}
