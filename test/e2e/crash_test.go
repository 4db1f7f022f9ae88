package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/test/env"
)

// contents summarizes all ballots and proposals in the warehouse.
func contents(tb testing.TB, conn driver.Conn) string {
	tb.Helper()
	return env.Column(tb, conn, `
		SELECT toString((
			(SELECT (count(), sum(power), groupBitXor(cityHash64(proposal_ref, voter, vote_id, raw_choice, power, voted_at))) FROM ballots FINAL) AS casts,
			(SELECT (count(), sum(power), groupBitXor(cityHash64(proposal_ref, voter, vote_id, raw_choice, power, voted_at))) FROM latest_ballots) AS latest,
			(SELECT (count(), groupBitXor(cityHash64(proposal_ref, title, body, choices))) FROM proposals FINAL) AS proposals,
			(SELECT (count(), groupBitXor(cityHash64(host, external_id, title))) FROM topics FINAL) AS topics))`)[0]
}

// answers returns the API's answers about every DAO.
func (i *instance) answers() string {
	i.TB.Helper()
	var daos []struct {
		DAOID string `json:"daoId"`
	}
	i.Get("/v2/daos?limit=100", &daos)
	var all strings.Builder
	for _, dao := range daos {
		var detail map[string]any
		i.Get("/v2/daos/"+dao.DAOID, &detail)
		fmt.Fprintln(&all, detail)
	}
	return all.String()
}

// undisturbed holds the API's answers about a data set and the contents of the warehouse
// after an import without faults.
func undisturbed(t *testing.T, data string) (answers, held string) {
	t.Helper()
	i := startShared(t, nil, "serve").ready()
	i.Import(data)
	i.AwaitPublished()
	return i.answers(), contents(t, i.Warehouse())
}

// importing starts an import and returns when it has written a part.
func (i *instance) importing(data string) *env.Process {
	i.TB.Helper()
	running := env.NewProcess(i.TB, env.Binary(i.TB), append(i.Environ, "PNYX_IMPORT_BATCH=1000"), "import", data)
	running.Start()
	env.Until(i.TB, func() error {
		if i.Metric("pnyx_publish_proposals_total") == 0 {
			return fmt.Errorf("no data of the import is published yet")
		}
		return nil
	})
	return running
}

func TestLongImportAfterACrashGivesTheRightAnswers(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	data := env.DataSet(t, 8_000)
	want, wantContents := undisturbed(t, data)
	killProcessTree(t, data).compare(want, wantContents)
}

// killProcessTree kills a service, its engine and an import during the import, starts the
// service again and repeats the import.
func killProcessTree(t *testing.T, data string) *instance {
	t.Helper()
	dir := t.TempDir()
	i := start(t, dir, nil, "serve").ready()
	running := i.importing(data)
	i.Kill()
	running.Kill() // it waits for an engine that does not restart
	again := start(t, dir, nil, "serve").ready()
	again.Import(data)
	return again
}

// compare waits until the API answers as after an undisturbed import, and compares the
// contents of the warehouse.
func (i *instance) compare(want, wantContents string) {
	i.TB.Helper()
	i.ready()
	i.AwaitPublished()
	if got := i.answers(); got != want {
		i.TB.Errorf("answers: got\n%s\nwant\n%s", got, want)
	}
	if got := contents(i.TB, i.Warehouse()); got != wantContents {
		i.TB.Errorf("contents: got %s, want %s", got, wantContents)
	}
}
