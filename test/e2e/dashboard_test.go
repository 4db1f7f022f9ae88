package e2e_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
)

// dashboard is what observe/analysts.json says of its panels.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []dashboardPanel
}

type dashboardPanel struct {
	Title   string
	Targets []struct{ RawSQL string }
}

// answer is a result in ClickHouse's format JSONCompact.
type answer struct {
	Meta []struct{ Name, Type string }
	Data [][]any
}

// timeFilter is a macro of Grafana's ClickHouse plugin.
var timeFilter = regexp.MustCompile(`\$__timeFilter\(([^)]*)\)`)

// expand replaces variables and macros as Grafana does, for two years before the data set's time.
func expand(sql string, daos []string) string {
	to := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sql = timeFilter.ReplaceAllString(sql, fmt.Sprintf("$1 >= toDateTime(%d) AND $1 <= toDateTime(%d)", to.AddDate(-2, 0, 0).Unix(), to.Unix()))
	return strings.ReplaceAll(sql, "${dao:singlequote}", "'"+strings.Join(daos, "','")+"'")
}

// checkDashboard asks what every panel of the dashboard for analysts asks.
func (i *instance) checkDashboard(t *testing.T) {
	text := env.ReadFile(t, "../../observe/analysts.json")
	var board dashboard
	env.Decode(t, text, &board)
	ask := func(sql string) (a answer) {
		t.Helper()
		out, status := env.Run(t, i.Environ, "sql", "--format", "JSONCompact", sql)
		if err := json.Unmarshal([]byte(out), &a); status != 0 || err != nil {
			t.Fatalf("%s\nstatus %d: %s", sql, status, out)
		}
		return a
	}
	var daos []string
	for _, variable := range board.Templating.List {
		if variable.Type == "query" {
			for _, row := range ask(variable.Query).Data {
				daos = append(daos, fmt.Sprint(row[0]))
			}
		}
	}
	if len(daos) < 5 || len(board.Panels) < 5 {
		t.Fatalf("got DAOs %v and %d panels, want more", daos, len(board.Panels))
	}
	answers := make([]answer, len(board.Panels))
	for n, panel := range board.Panels {
		sql := expand(panel.Targets[0].RawSQL, daos)
		if strings.Contains(sql, "$") {
			t.Errorf("%s: %s has a macro that this test does not know", panel.Title, sql)
		}
		answers[n] = ask(sql)
		if len(answers[n].Data) == 0 {
			t.Errorf("%s: got no rows, want some", panel.Title)
		}
		for _, row := range answers[n].Data {
			for c, value := range row {
				if number, err := strconv.ParseFloat(fmt.Sprint(value), 64); value == nil || err == nil && number < 0 {
					t.Errorf("%s: %s is %v", panel.Title, answers[n].Meta[c].Name, value)
				}
			}
		}
	}
}
