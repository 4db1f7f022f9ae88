package drills

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
)

// alertsInterval is how often alerts are read; Prometheus evaluates rules every 15 s.
const alertsInterval = 5 * time.Second

// healthy is a deployment at which no alert may fire.
type healthy struct {
	name string
	// start starts it with light traffic, and returns the addresses of its metrics.
	start func(t *testing.T) []string
	// lacks matches selectors and panels that have nothing to show here.
	lacks *regexp.Regexp
}

// TestAlerts runs Prometheus beside healthy deployments for PNYX_TEST_ALERTS. No alert may fire, and none that
// wakes somebody be about to; every rule and panel has to find series.
func TestAlerts(t *testing.T) {
	lasts := env.Must(time.ParseDuration(gate(t, "PNYX_TEST_ALERTS", "make alerts-soak")))(t)
	for _, d := range []healthy{
		{"serve", startServe, regexp.MustCompile(`^pnyx_(edge|payments?|facilitator)_|^pnyx_(publish_d(elay|uration)|order_duration)_`)},
		{"production", startProduction, regexp.MustCompile(`^$`)},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := startPrometheus(t, d.start(t))
			p.awaitScrape()
			p.wantQuiet(lasts)
			p.wantRules(d.lacks)
			p.wantPanels(d.lacks)
			p.wantQueriesOfRunbook()
		})
	}
}

func (p *prometheus) wantQuiet(lasts time.Duration) {
	p.tb.Helper()
	seen := map[string]bool{}
	for over := time.Now().Add(lasts); time.Now().Before(over); wait(p.tb.Context(), alertsInterval) {
		alerts := env.Must(p.alerts())(p.tb)
		for _, a := range alerts {
			text := fmt.Sprint(a.State, " ", a.Labels)
			wakes := a.Labels["severity"] == "critical" && a.ActiveAt.After(p.scraped)
			if (a.State == "firing" || wakes) && !seen[text] && (!isSlow(a) || !isBusy(p.tb)) {
				p.tb.Errorf("after %s: %s, value %s", time.Since(p.began).Round(time.Second), text, a.Value)
			} else if !seen[text] {
				p.tb.Logf("after %s, which may be: %s, value %s", time.Since(p.began).Round(time.Second), text, a.Value)
			}
			seen[text] = true
		}
	}
}

// isSlow says whether an alert is about how long something takes.
func isSlow(a alert) bool {
	return slices.Contains([]string{"PnyxSlow", "PnyxEdgeSlow", "PnyxRedisSlow"}, a.Labels["alertname"])
}

// isBusy says whether more processes want to run than twice the processors: then everything is slow.
func isBusy(tb testing.TB) bool {
	tb.Helper()
	text := env.Must(os.ReadFile("/proc/loadavg"))(tb)
	var load float64
	env.Must(fmt.Sscan(string(text), &load))(tb)
	return load > 2*float64(runtime.NumCPU())
}

// didNotHappen lists what a healthy deployment has no series of: failures, and a backup where none is made.
func didNotHappen() []string {
	return []string{
		`pnyx_edge_requests_total{status=~"5.."}`, `pnyx_edge_requests_total{cache="stale"}`,
		`pnyx_backup_last_success_timestamp_seconds`, `pnyx_fill_duration_seconds_count{outcome="failed"}`, `pnyx_facilitator_duration_seconds_count{outcome!="answered"}`,
	}
}

// wantRules wants every rule to be evaluated on series that exist, but for those that match lacks.
func (p *prometheus) wantRules(lacks *regexp.Regexp) {
	p.tb.Helper()
	rules, err := p.rules()
	if err != nil || len(rules) == 0 {
		p.tb.Fatalf("%d rules: %v", len(rules), err)
	}
	selectors := map[string]string{}
	selector := regexp.MustCompile(`\b(?:up|(?:pnyx|go|process)_[a-z0-9_]+)\b(?:\{[^}]*\})?`)
	for _, r := range rules {
		if r.Health != "ok" || r.LastError != "" {
			p.tb.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
		}
		for _, s := range selector.FindAllString(r.Query, -1) {
			selectors[s] = r.Name
		}
	}
	for _, s := range slices.Sorted(maps.Keys(selectors)) {
		n, err := p.numbers(s)
		if err != nil || n == 0 && !lacks.MatchString(s) && !slices.Contains(didNotHappen(), s) {
			p.tb.Errorf("%s: %s finds no series (%v)", selectors[s], s, err)
		}
	}
}

// dashboard is what is read of observe/dashboard.json.
type dashboard struct {
	Panels []struct {
		Title   string `json:"title"`
		Targets []struct {
			RefID string `json:"refId"`
			Expr  string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

// wantPanels wants every query of the dashboard to have had data, but for those that match lacks.
func (p *prometheus) wantPanels(lacks *regexp.Regexp) {
	p.tb.Helper()
	text := env.Must(os.ReadFile(filepath.Join(observeDir, "dashboard.json")))(p.tb)
	var d dashboard
	env.MustDo(p.tb, json.Unmarshal(text, &d))
	filled := strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m")
	metric := regexp.MustCompile(`pnyx_[a-z0-9_]+`)
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			n, err := p.numbers(filled.Replace(target.Expr))
			switch name := panel.Title + " " + target.RefID; {
			case err != nil:
				p.tb.Errorf("panel %s: %v", name, err)
			case n == 0 && (lacks.MatchString(metric.FindString(target.Expr)) || slices.Contains(emptyPanels(), name)):
				p.tb.Logf("panel %s is empty, as it may be", name)
			case n == 0:
				p.tb.Errorf("panel %s is empty: %s", name, target.Expr)
			}
		}
	}
}

// emptyPanels lists the queries about what need not happen while all is well.
func emptyPanels() []string {
	return []string{"Errors by code A", "Failed A", "Refused by bucket A", "Publications B", "Edge: hit ratio B", "Exports A"}
}

func (p *prometheus) wantQueriesOfRunbook() {
	p.tb.Helper()
	text := env.Must(os.ReadFile("../../docs/runbook.md"))(p.tb)
	query := regexp.MustCompile("`((?:sum|max|rate|time|histogram_quantile|pnyx_|process_)[^`]*)`")
	found := query.FindAllStringSubmatch(string(text), -1)
	if len(found) == 0 {
		p.tb.Error("the runbook has no queries")
	}
	for _, q := range found {
		if _, err := p.numbers(q[1]); err != nil {
			p.tb.Errorf("runbook: %s: %v", q[1], err)
		}
	}
}
