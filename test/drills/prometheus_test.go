package drills

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
)

// observeDir is where rules, dashboard and Prometheus' configuration lie.
const observeDir = "../../observe"

// prometheus is a running Prometheus.
type prometheus struct {
	*env.Process

	tb      testing.TB
	base    string
	targets int
	began   time.Time
	// scraped is when every target had been scraped. Before it, everything is absent.
	scraped time.Time
}

// startPrometheus runs Prometheus with the configuration and the rules of the project, on targets.
func startPrometheus(tb testing.TB, targets []string) *prometheus {
	tb.Helper()
	dir, listen := tb.TempDir(), env.FreeAddress(tb)
	configuration := env.ReadFile(tb, filepath.Join(observeDir, "prometheus.yml"))
	const usual = `targets: ["127.0.0.1:8081"]`
	if !strings.Contains(string(configuration), "- "+usual) {
		tb.Fatalf("prometheus.yml has no %s", usual)
	}
	listed := env.Must(json.Marshal(targets))(tb)
	rules := env.ReadFile(tb, filepath.Join(observeDir, "rules.yml"))
	env.MustDo(tb, errors.Join(
		os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(strings.Replace(string(configuration), usual, "targets: "+string(listed), 1)), 0o600),
		os.WriteFile(filepath.Join(dir, "rules.yml"), rules, 0o600),
	))
	p := &prometheus{tb: tb, base: "http://" + listen, targets: len(targets), began: time.Now()}
	p.Process = env.NewProcess(tb, env.Program(tb, "prometheus", ""), nil, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+listen, "--log.level=warn")
	p.Start()
	env.Until(tb, func() error {
		status, _, err := env.Fetch(p.base + "/-/ready")
		if err == nil && status != 200 {
			err = fmt.Errorf("prometheus is not ready: %d", status)
		}
		return err
	})
	return p
}

// awaitScrape waits until every target has been scraped.
func (p *prometheus) awaitScrape() {
	p.tb.Helper()
	env.Until(p.tb, func() error {
		var data struct {
			ActiveTargets []struct {
				Health    string `json:"health"`
				LastError string `json:"lastError"`
			} `json:"activeTargets"`
		}
		err := p.get("targets", &data)
		up := 0
		for _, target := range data.ActiveTargets {
			if target.Health == "up" {
				up++
			}
		}
		if err == nil && up < p.targets {
			err = fmt.Errorf("%d of %d targets are up: %+v", up, p.targets, data.ActiveTargets)
		}
		return err
	})
	p.scraped = time.Now()
}

// get reads from the HTTP API of Prometheus.
func (p *prometheus) get(path string, data any) error {
	status, body, err := env.Fetch(p.base + "/api/v1/" + path)
	if err != nil {
		return err
	}
	reply := struct {
		Data  any    `json:"data"`
		Error string `json:"error"`
	}{Data: data}
	if err := json.Unmarshal(body, &reply); err != nil {
		return err
	}
	if status != 200 {
		return fmt.Errorf("prometheus: %d %s", status, reply.Error)
	}
	return nil
}

// alert is an alert that is pending or firing.
type alert struct {
	Labels   map[string]string `json:"labels"`
	State    string            `json:"state"`
	Value    string            `json:"value"`
	ActiveAt time.Time         `json:"activeAt"`
}

func (p *prometheus) alerts() (found []alert, err error) {
	var data struct {
		Alerts []alert `json:"alerts"`
	}
	err = p.get("alerts", &data)
	return data.Alerts, err
}

// rule is an alert rule.
type rule struct {
	Name      string `json:"name"`
	Query     string `json:"query"`
	Health    string `json:"health"`
	LastError string `json:"lastError"`
}

func (p *prometheus) rules() (found []rule, err error) {
	var data struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	err = p.get("rules", &data)
	for _, group := range data.Groups {
		found = append(found, group.Rules...)
	}
	return found, err
}

// numbers returns how many numbers, and not a quantile of nothing, a query had since the start.
func (p *prometheus) numbers(query string) (count int, err error) {
	var data struct {
		Result []struct {
			Values [][2]any `json:"values"`
		} `json:"result"`
	}
	at := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	err = p.get("query_range?"+url.Values{
		"query": {query}, "start": {at(p.began)}, "end": {at(time.Now())}, "step": {"15"},
	}.Encode(), &data)
	for _, series := range data.Result {
		for _, value := range series.Values {
			if value[1] != "NaN" {
				count++
			}
		}
	}
	return count, err
}
