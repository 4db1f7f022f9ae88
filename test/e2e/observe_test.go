package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pnyx/access"
	"pnyx/test/env"
)

// metrics reads the metrics of the instance, by name.
func (i *instance) metrics() map[string]*dto.MetricFamily {
	i.TB.Helper()
	_, text, err := env.Fetch(i.AdminURL + "/metrics")
	if err != nil {
		i.TB.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return env.Must(parser.TextToMetricFamilies(strings.NewReader(string(text))))(i.TB)
}

// edgeMetrics reads the metrics of an edge in front of the instance, by name.
func (i *instance) edgeMetrics(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	edge, base := startEdge(t, i)
	env.Until(t, func() error { // it counts what it has answered
		_, _, err := env.Fetch(base + "/v2/daos")
		if err == nil && edge.metrics()["pnyx_edge_requests_total"] == nil {
			err = errors.New("no request is counted yet")
		}
		return err
	})
	return edge.metrics()
}

// seriesOf lists the series of families, without their values.
func seriesOf(families map[string]*dto.MetricFamily) []string {
	var series []string
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			series = append(series, name+fmt.Sprint(metric.GetLabel()))
		}
	}
	slices.Sort(series)
	return series
}

// visitOddly sends each text in paths, parameters, methods, tokens and headers; none may become a label.
func (i *instance) visitOddly(texts ...string) {
	i.TB.Helper()
	for _, text := range texts {
		for _, path := range []string{
			"/" + text, "/v2/" + text, "/v2/daos/" + text, "/v2/daos?" + text + "=1", "/v2/daos?limit=" + text,
			"/v2/voters/" + text, "/v2/voters/" + text + "/votes", "/v2/proposals?daoId=" + text, "/v2/proposals/" + text,
			"/docs/" + text, "/openapi/" + text,
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, "M" + text} {
				for _, token := range []string{"", env.InternalToken, text} {
					i.knock(method, path, token, text)
				}
			}
		}
	}
}

// knock sends a request and ignores the response.
func (i *instance) knock(method, path, token, text string) {
	i.TB.Helper()
	request := env.Must(http.NewRequestWithContext(i.TB.Context(), method, i.URL+path, http.NoBody))(i.TB)
	request.Header.Set("X-Request-Id", text)
	switch token {
	case "":
	case env.InternalToken:
		request.Header.Set(access.HeaderInternal, token)
	default:
		request.Header.Set(access.HeaderToken, token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		i.TB.Fatal(err)
	}
	_ = response.Body.Close() // the body is not read
}

func TestMetricsFollowConventionsAndHaveBoundedLabels(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, []string{"PNYX_FREE_RATE=0"}, "serve", "--demo").ready()
	i.visitOddly("quux-1", "quux-2")
	before := i.metrics()
	i.visitOddly("quux-3", "drop-table", "0xdeadbeef")
	after := i.metrics()
	was := seriesOf(before)
	for _, series := range seriesOf(after) {
		if !slices.Contains(was, series) {
			t.Errorf("requests of callers created the series %s, want none", series)
		}
		for _, text := range []string{"quux", "drop-table", "deadbeef", env.InternalToken} {
			if strings.Contains(series, text) {
				t.Errorf("a series contains a caller's text: %s", series)
			}
		}
	}
	if len(was) > 2500 {
		t.Errorf("got %d series, too many for a hundred pods", len(was))
	}
	maps.Copy(after, i.edgeMetrics(t))
	lint(t, after)
	knowsItsMetrics(t, after)
}

func lint(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	var all []*dto.MetricFamily
	for _, family := range families {
		all = append(all, family)
	}
	problems := env.Must(promlint.NewWithMetricFamilies(all).Lint())(t)
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// knowsItsMetrics checks that dashboard, alerts and documents name metrics that exist.
func knowsItsMetrics(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	// Metrics of payments, backups and followers exist only where there are some.
	elsewhere := []string{
		"pnyx_follow_sources_valid", "pnyx_follow_leading", "pnyx_follow_pollers", "pnyx_follow_lag_seconds", "pnyx_follow_gaps_total",
		"pnyx_follow_withdrawn_total", "pnyx_follow_rejected_total", "pnyx_follow_reorgs_total", "pnyx_follow_failures_total", "pnyx_follow_backfill_ratio",
		"pnyx_follow_requests_total",
		"pnyx_backup_last_success_timestamp_seconds", "pnyx_payments_total", "pnyx_payment_replays_total", "pnyx_facilitator_duration_seconds",
	}
	name := regexp.MustCompile(`\b(pnyx|go|process)_[a-z0-9_]+\b`)
	for _, file := range []string{"../../observe/rules.yml", "../../observe/rules_test.yml", "../../observe/dashboard.json", "../../docs/runbook.md"} {
		text := env.ReadFile(t, file)
		for _, used := range name.FindAllString(string(text), -1) {
			base := used
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if family := families[strings.TrimSuffix(used, suffix)]; family.GetType() == dto.MetricType_HISTOGRAM || slices.Contains(elsewhere, strings.TrimSuffix(used, suffix)) {
					base = strings.TrimSuffix(used, suffix)
				}
			}
			if families[base] == nil && !slices.Contains(elsewhere, base) {
				t.Errorf("%s names %s, which is not a metric", file, used)
			}
		}
	}
}

func TestEveryAlertIsInTheRunbook(t *testing.T) {
	t.Parallel()
	rules := env.ReadFile(t, "../../observe/rules.yml")
	runbook := env.ReadFile(t, "../../docs/runbook.md")
	tests := env.ReadFile(t, "../../observe/rules_test.yml")
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	for _, alert := range alerts {
		name := alert[1]
		if !strings.Contains(string(runbook), "\n## "+name+"\n") {
			t.Errorf("%s has no section in the runbook", name)
		}
		if !regexp.MustCompile(`runbook_url: "https://\S+/docs/runbook\.md#` + strings.ToLower(name) + `"`).Match(rules) {
			t.Errorf("%s does not link to its section of the runbook", name)
		}
		if !strings.Contains(string(tests), "alertname: "+name+"\n") {
			t.Errorf("%s has no test", name)
		}
	}
	if sections := strings.Count(string(runbook), "\n## "); sections != len(alerts) || sections == 0 {
		t.Errorf("runbook: got %d sections, want one for each of %d alerts", sections, len(alerts))
	}
}

func TestLongAlertsFire(t *testing.T) {
	t.Parallel()
	promtool := env.Program(t, "promtool", "")
	for _, args := range [][]string{{"check", "rules", "../../observe/rules.yml"}, {"test", "rules", "../../observe/rules_test.yml"}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

func TestLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, []string{"PNYX_FREE_RATE=0", "PNYX_LOG_SAMPLE=1", "PNYX_LOG_FORMAT=json"}, "serve").ready()
	issued := issueToken(t, i.Environ, "--name", "ACME", "--plan", "business", "--scopes", "v2:paid:*").Token
	const forged = "pnyx_abcdefgh_0123456789012345678901234567890123456789"
	secrets := []string{env.InternalToken, issued, forged}
	path := "/v2/proposals?limit=3"
	env.Until(t, func() error {
		if status, body := i.statusOf(path, issued); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	for _, secret := range secrets {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			i.knock(method, "/v2/daos/"+secret+"?token="+secret, secret, "a")
			i.knock(method, "/v2/forum-topics?title="+secret, secret, "a")
		}
	}
	i.Stop()
	// What is said on standard output at the start is not part of the log.
	var lines, logged []string
	for line := range strings.SplitSeq(i.Output.String(), "\n") {
		if strings.HasPrefix(line, "{") {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		for _, secret := range secrets {
			if strings.Contains(line, secret) {
				t.Errorf("a log line contains a secret: %s", line)
			}
		}
		if strings.Contains(line, `"msg":"request"`) && strings.Contains(line, `"route":"proposals.list"`) {
			logged = append(logged, line)
		}
	}
	if len(logged) == 0 {
		t.Fatalf("got no log line about %s in %v, want one", path, lines)
	}
	var line map[string]any
	env.Decode(t, []byte(logged[len(logged)-1]), &line)
	for _, name := range []string{"time", "level", "request_id", "method", "route", "status", "duration_ms", "bytes", "layer", "token_id", "plan"} {
		if _, there := line[name]; !there {
			t.Errorf("%v lacks %s", line, name)
		}
	}
}
