package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/test/check"
)

func TestThePageOfSettingsIsUpToDate(t *testing.T) {
	t.Parallel()
	page := check.Must(os.ReadFile("../docs/settings.md"))(t)
	want := check.Must(config.UpdateTable(string(page), "settings", config.Markdown()))(t)
	if string(page) != want {
		t.Error("the table of settings in docs/settings.md is not the present one: run `make docs`")
	}
}

func TestUpdateTableReplacesOnlyTheTextBetweenTheMarkers(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- settings:begin -->", "<!-- settings:end -->"
	want := "# Pnyx\n\n" + begin + "\n\n" + config.Markdown() + "\n" + end + "\n\nMore.\n"
	for _, old := range []string{"", "\n", "\n| old |\n", "\n\n" + config.Markdown() + "\n"} {
		got, err := config.UpdateTable("# Pnyx\n\n"+begin+old+end+"\n\nMore.\n", "settings", config.Markdown())
		if err != nil || got != want {
			t.Errorf("between the markers %q: got %q, %v; want %q", old, got, err, want)
		}
	}
	for _, document := range []string{
		"", begin, end, end + begin, begin + begin + end, begin + end + end, begin + end + begin, end + begin + end,
	} {
		if got, err := config.UpdateTable(document, "settings", config.Markdown()); err == nil {
			t.Errorf("markers %q: got %q, want an error", document, got)
		}
	}
}

func TestEverySettingIsDescribedCompletely(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	form := regexp.MustCompile(`^(PNYX|CLICKHOUSE|REDIS|RATELIMIT|X402|OTEL|AWS)(_[A-Z0-9]+)+$`)
	for _, s := range config.Settings() {
		if names[s.Name] || !form.MatchString(s.Name) {
			t.Errorf("got the name %q, want it once, of the form %s", s.Name, form)
		}
		names[s.Name] = true
		if s.Group == "" || s.Unit == "" || !strings.HasSuffix(s.Doc, ".") {
			t.Errorf("got %+v, want a group, a unit and a sentence", s)
		}
		if strings.HasPrefix(s.Name, "PNYX_TEST_") {
			t.Errorf("%s takes the prefix of tests and scripts", s.Name)
		}
	}
	if len(names) == 0 {
		t.Error("got no settings")
	}
}

func TestPrometheusScrapesTheDefaultAdminListenerAndCanStartBesideIt(t *testing.T) {
	t.Parallel()
	file := check.Must(os.ReadFile("../observe/prometheus.yml"))(t)
	cfg := check.Must(config.Parse(nil))(t)
	if !strings.Contains(string(file), `"`+cfg.API.AdminListen+`"`) {
		t.Errorf("got %s\nwant the target %s, the default of PNYX_ADMIN_LISTEN", file, cfg.API.AdminListen)
	}
	if strings.HasSuffix(cfg.API.AdminListen, ":9090") {
		t.Error("the default of PNYX_ADMIN_LISTEN is the port on which Prometheus itself listens")
	}
}
