package warehouse_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
)

// viewsOf returns the views of a database, with its name.
func viewsOf(t *testing.T, conn driver.Conn) []string {
	t.Helper()
	views := env.Column(t, conn, "SELECT concat(database, '.', name) FROM system.tables WHERE database = concat(currentDatabase(), '_views')")
	if len(views) < 10 {
		t.Errorf("got views %v, want all of them", views)
	}
	return views
}

func TestSchemaPageIsCurrent(t *testing.T) {
	t.Parallel()
	recorded := env.Must(os.ReadFile("../docs/schema.md"))(t)
	env.WantSame(t, "docs/schema.md is out of date, run `make docs`", string(recorded), string(env.Must(warehouse.SchemaPage())(t)))
}

func TestEveryViewAndColumnIsDescribed(t *testing.T) {
	t.Parallel()
	page := env.Must(warehouse.SchemaPage())(t)
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	conn := env.ConnectWarehouse(t, instance.URL(database))
	described := env.Column(t, conn, "SELECT concat('## ', name, '\n\n', comment, '\n') FROM system.tables WHERE database = ?",
		warehouse.ViewsDatabase(database))
	described = append(described, env.Column(t, conn,
		"SELECT concat('- `', name, '` `', type, '`: ', comment, '\n') FROM system.columns WHERE database = ?",
		warehouse.ViewsDatabase(database))...)
	if len(described) < 100 {
		t.Errorf("got %d views and columns, want all of them", len(described))
	}
	for _, text := range described {
		if !strings.Contains(string(page), text) || strings.Contains(text, "\n\n\n") || strings.Contains(text, ": \n") {
			t.Errorf("%q: want a comment, the same in docs/schema.md", text)
		}
	}
}

func TestViewsAreMadeConcurrently(t *testing.T) {
	t.Parallel()
	o := warehouse.Options{URL: env.EmptyDatabaseURL(t)}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			opened, err := warehouse.Open(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			opened.Close()
		})
	}
	all.Wait()
}

// generated fills the tables at an address with published proposals that have ballots, of
// which each voter's first was replaced by a second.
func generated(t *testing.T, url string, proposals, voters int) {
	t.Helper()
	conn := env.ConnectWarehouse(t, url)
	for _, sql := range []string{
		`INSERT INTO proposal_states (proposal_ref, proposal_key, dao_id, provider, vote_ready, votes, power, revision)
		SELECT sipHash128(toUInt64(number)), concat('p1_', toString(number)), concat('dao', toString(number %% 10)), 'snapshot', true, %[2]d, %[2]d, 1
		FROM numbers(%[1]d)`,
		`INSERT INTO proposals (proposal_ref, title, version) SELECT sipHash128(toUInt64(number)), toString(number), 1 FROM numbers(%[1]d)`,
		`INSERT INTO ballots (proposal_ref, voter, vote_id, power, choice_key, voted_at, version)
		SELECT sipHash128(toUInt64(intDiv(number, 2) %% %[1]d)), concat('0x', hex(intDiv(number, 2 * %[1]d))), toString(number %% 2), number %% 2, '1',
			toDateTime64(1700000000 + number %% 2, 3, 'UTC'), 1
		FROM numbers(2 * %[1]d * %[2]d)`,
	} {
		mustExec(t, conn, fmt.Sprintf(sql, proposals, voters))
	}
}

// sums describes what the views of a database show.
func sums(t *testing.T, conn driver.Conn, database string) string {
	t.Helper()
	return strings.Join(env.Column(t, conn, strings.ReplaceAll(`SELECT * FROM (
		SELECT toString((count(), sum(voting_power), max(voted_at))) AS numbers FROM VIEWS.ballots
		UNION ALL SELECT toString((count(), sum(total_votes), sum(unique_voters), sum(total_voting_power))) FROM VIEWS.dao_participation
		UNION ALL SELECT toString((count(), max(voted_at))) FROM VIEWS.superseded_ballots
		UNION ALL SELECT toString((count(), max(title), countIf(title = 'new'))) FROM VIEWS.proposals
		UNION ALL SELECT toString((count(), max(title), sum(votes))) FROM VIEWS.vote_summaries
		UNION ALL SELECT toString((count(), max(rank), sum(cityHash64(*)))) FROM VIEWS.dao_voters
		UNION ALL SELECT toString((count(), sum(cityHash64(*)))) FROM VIEWS.daos
		) ORDER BY numbers`, "VIEWS", warehouse.ViewsDatabase(database))), "\n")
}

func shardsShowViews(t *testing.T, shards [2]warehouse.Options) {
	t.Helper()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	generated(t, instance.URL(database), 40, 50)
	want := sums(t, env.ConnectWarehouse(t, instance.URL(database)), database)

	openAt(t, shards[1])
	generated(t, shards[1].URL, 40, 50)
	options := env.Must(clickhouse.ParseDSN(shards[1].URL))(t)
	if got := sums(t, raw(t, shards[1].URL), options.Auth.Database); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestViewsLeaveOutWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	generated(t, instance.URL(database), 3, 5)
	conn := env.ConnectWarehouse(t, instance.URL(database))
	numbers := func() string { return sums(t, conn, database) }
	write := func(sql string) { mustExec(t, conn, sql) }
	before := numbers()
	write("INSERT INTO batches (batch_id, sealed, first_version) VALUES ('00000000-0000-0000-0000-000000000001', 0, 1000)")
	write(`INSERT INTO ballots (proposal_ref, voter, vote_id, power, choice_key, voted_at, version)
		SELECT sipHash128(toUInt64(0)), '0x01', arrayJoin(['1', 'new']), 7, '1', toDateTime64(1800000000, 3, 'UTC'), 1000`)
	write("INSERT INTO proposals (proposal_ref, title, version) SELECT sipHash128(toUInt64(number)), 'new', 1000 FROM numbers(3)")
	env.Want(t, before, numbers(), "an open batch")
	write("INSERT INTO batches (batch_id, sealed, first_version) VALUES ('00000000-0000-0000-0000-000000000001', 1, 1000)")
	if got := numbers(); got == before {
		t.Errorf("a committed batch: got\n%s\nwant its records", got)
	}
}

// What a vote will bring is derived before it happens.
func TestViewsShowEventsAndSignalsOnceTheirTimeHasCome(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	data, conn := env.ConnectWarehouse(t, instance.URL(database)), raw(t, instance.URL(warehouse.ViewsDatabase(database)))
	rows := "if(number = 0, 'past', 'future'), now() + toIntervalHour(2 * number - 1) FROM numbers(2)"
	mustExec(t, data, "INSERT INTO feed_events (basis, event_id, at) SELECT 'eventTime', "+rows)
	mustExec(t, data, "INSERT INTO feed_signals (signal_id, detected_at) SELECT "+rows)
	got := env.Column(t, conn, "SELECT event_id FROM events UNION ALL SELECT signal_id FROM signals")
	if want := []string{"past", "past"}; !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConditionsOnAProposalReadItsBallotsAlone(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	const proposals, voters = 200, 500
	generated(t, instance.URL(database), proposals, voters)
	conn := env.ConnectWarehouse(t, instance.URL(warehouse.ViewsDatabase(database)))
	for condition, want := range map[string]struct {
		ballots string
		maxRows uint64 // of the 200,000 casts
	}{
		"proposal_key = 'p1_7'":                       {"500 500", 60_000},
		"proposal_key = 'p1_7' AND choice_key='1'":    {"500 500", 60_000},
		"voter_identity = '0x1F'":                     {"200 200", 60_000},
		"dao_id = 'dao3' AND voter_identity = '0x07'": {"20 20", 60_000},
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			var read uint64
			ctx := clickhouse.Context(t.Context(), clickhouse.WithProgress(func(p *clickhouse.Progress) { read += p.Rows }),
				clickhouse.WithSettings(clickhouse.Settings{"enable_join_runtime_filters_index_analysis": 1}))
			var got string
			err := conn.QueryRow(ctx, "SELECT concat(toString(count()), ' ', toString(sum(voting_power))) FROM ballots WHERE "+condition).Scan(&got)
			if err != nil || got != want.ballots {
				t.Errorf("got %s (%v), want %s", got, err, want.ballots)
			}
			if read > want.maxRows {
				t.Errorf("read %d rows, want at most %d", read, want.maxRows)
			}
		})
	}
}

func TestAnalystsReadWhatABallotMeans(t *testing.T) {
	t.Parallel()
	w, conn := openViews(t)
	cast := func(proposal, id, raw string, choices ...string) *record.Ballot {
		b := ballot(proposal, "0x"+id, id, strings.Join(choices, ""), "10", nil)
		b.Choices, b.RawChoice = choices, raw
		return b
	}
	weighted := cast("weighted", "f", `{"1":3,"2":1}`, "1", "2")
	weighted.ChoiceKey, weighted.Shares = "1", []decimal.Decimal{decimal.RequireFromString("7.5"), decimal.RequireFromString("2.5")}
	zero := cast("weighted", "j", `{"1":2,"7":0e3}`, "1")
	zero.Shares = []decimal.Decimal{decimal.RequireFromString("10")}
	appendAll(t, w, zero, cast("weighted", "k", "[1,2]", "1", "2"), cast("basic", "a", "1", "1"), cast("basic", "b", "2", "2"), cast("basic", "c", "3", "3"), cast("basic", "d", "4", "4"),
		cast("basic", "e", "[1,2]", "1", "2"), cast("basic", "g", "0"), weighted, cast("ranked", "h", "[2]", "2"), cast("ranked", "i", "[2,1]", "2", "1"),
		cast("ranked", "l", "[]"), cast("weighted", "m", "{}"), cast("weighted", "n", `{"1":0.0}`), cast("unstated", "o", "[]"))
	state := func(id string, v governance.VoteType, labels ...string) counts.ProposalState {
		s := counts.ProposalState{Ref: ref(id).Hash(), Bounds: governance.Snapshot.ChoiceBounds(v, len(labels)), Revision: 1}
		s.Identity = governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: id}
		s.Key = s.Identity.ProposalKey()
		for i, label := range labels {
			s.Choices = append(s.Choices, governance.Choice{Key: governance.Snapshot.ChoiceKey(i), Label: label})
		}
		for _, verdict := range governance.Verdicts(v, s.Choices) {
			s.Verdicts = append(s.Verdicts, verdict.String())
		}
		return s
	}
	unstated := state("unstated", governance.RankedChoice, "Choice 1")
	unstated.Bounds.Most = 0
	writeStates(t, w, unstated,
		state("basic", governance.Basic, "Sí", "Hmm", "Ni idea"), state("weighted", governance.Weighted, "A", "B"), state("ranked", governance.RankedChoice, "A", "B"))
	got := env.Column(t, conn, `SELECT concat(vote_id, ' ', ifNull(verdict, '-'), ' ', if(invalid, 'invalid', 'valid'), ' ', toString(choice_voting_powers))
		FROM ballots ORDER BY vote_id`)
	want := []string{
		"a for valid [10]", "b against valid [10]", "c abstain valid [10]", "d - invalid []", "e - invalid []", "f - valid [7.5,2.5]", "g - invalid []",
		"h - invalid []", "i - valid [10,10]", "j - valid [10]", "k - invalid []", "l - invalid []", "m - invalid []", "n - invalid []", "o - invalid []",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", fmt.Sprint(got), want)
	}
}

func TestAnalystsReadTheLargestAndTheLatestPowerOfAVoter(t *testing.T) {
	t.Parallel()
	w, conn := openViews(t)
	early, late := governance.Timestamp(1000), governance.Timestamp(2000)
	appendAll(t, w, ballot("a", "0x1", "1", "1", "5", &late), ballot("b", "0x1", "2", "1", "7", &early), ballot("c", "0x1", "3", "1", "9", nil),
		ballot("a", "0x2", "4", "1", "3", nil))
	publishInDAOs(t, w, map[string]string{"a": "dao", "b": "dao", "c": "dao"})
	for _, view := range []string{"voters", "voter_daos"} {
		got := env.Column(t, conn, `SELECT concat(voter_identity, ' ', toString(largest_voting_power), ' ', ifNull(toString(latest_voting_power), '-'), ' ',
			toString(undated_votes)) FROM `+view+` ORDER BY voter_identity`)
		env.WantSame(t, view, []string{"0x1 9 5 1", "0x2 3 - 1"}, got)
	}
}
