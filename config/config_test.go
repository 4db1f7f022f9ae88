package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pnyx/config"
	"pnyx/test/check"
)

func TestParseOfNothingGivesTheDefaults(t *testing.T) {
	t.Setenv("PNYX_LISTEN", "127.0.0.1:1") // Parse must not look at the process, whatever it is given
	for name, environ := range map[string]map[string]string{"nil": nil, "empty": {}, "empty values": emptyValues()} {
		check.WantSame(t, name, golden(t, "defaults.txt"), printed(t, environ))
	}
}

func emptyValues() map[string]string {
	environ := make(map[string]string)
	for _, s := range config.Settings() {
		environ[s.Name] = ""
	}
	return environ
}

// everything gives every setting a value that is not its default.
func everything(tb testing.TB) map[string]string {
	tb.Helper()
	environ := map[string]string{}
	for line := range strings.Lines(golden(tb, "everything.env")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		environ[name] = value
	}
	return environ
}

func golden(tb testing.TB, name string) string {
	tb.Helper()
	text := check.Must(os.ReadFile(filepath.Join("testdata", name)))(tb)
	return string(text)
}

func TestParseReadsEverySetting(t *testing.T) {
	t.Parallel()
	environ := everything(t)
	for _, s := range config.Settings() {
		if environ[s.Name] == "" || environ[s.Name] == s.Default {
			t.Errorf("%s is not tried here", s.Name)
		}
	}
	check.WantSame(t, "answer", golden(t, "everything.txt"), printed(t, environ))
}

func TestLoadReadsTheProcess(t *testing.T) {
	t.Setenv("PNYX_DATA", "/tmp/elsewhere")
	check.Want(t, "/tmp/elsewhere", check.Must(config.Load())(t).Warehouse.Data, "data folder")
}

// refused parses environ, which must be refused, and returns the problems.
func refused(t *testing.T, environ map[string]string) config.RefusedError {
	t.Helper()
	c, err := config.Parse(environ)
	var problems config.RefusedError
	if !errors.As(err, &problems) {
		t.Fatalf("%v: got %v, want a RefusedError", environ, err)
	}
	if diff := cmp.Diff(config.Config{}, c, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Errorf("%v: a refused configuration is still returned:\n%s", environ, diff)
	}
	return problems
}

func TestInvalidValuesAreReportedWithNameAndRule(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, want, values string }{
		{"PNYX_LISTEN", "host:port", "8080 127.0.0.1 127.0.0.1: 127.0.0.1:http a:65536 a:-1 ::1:80"},
		{"PNYX_ADMIN_LISTEN", "host:port", "8081 :x"},
		{"PNYX_REQUEST_TIMEOUT", "30s", "5 0s -5s soon 1d"},
		{"PNYX_DRAIN_DELAY", "0s, or a duration", "15 -1s soon"},
		{"PNYX_SHUTDOWN_TIMEOUT", "30s", "20 0"},
		{"PNYX_PUBLIC_URL", "https://", "example.org ftp://example.org https:// https://a:b@example.org https://example.org?a"},
		{"PNYX_MCP_ORIGINS", "without a path", "example.org ftp://example.org https:// https://example.org/ https://example.org/app"},
		{"PNYX_PURGE_KIND", "fastly, cloudflare or varnish", "nginx Fastly"},
		{"PNYX_PURGE_URL", "joined by commas", "varnish:80 http://a,,http://b ftp://a"},
		{"PNYX_PURGE_TOKEN", "visible ASCII", "tökén"},
		{"X402_PAY_TO", "40 hexadecimal digits", "me 0x12 3C44CdDdB6a900fa2b585dd299e03d12FA4293BC00"},
		{"X402_ASSET", "40 hexadecimal digits", "USDC"},
		{"X402_FACILITATOR_URL", "https://", "x402.org"},
		{"X402_ASSET_DECIMALS", "whole number", "0 six -1 19"},
		{"X402_PRICE_STANDARD", "0.001", "1e-3 -1 free .5"},
		{"PNYX_QUERY_TIMEOUT", "30s", "x"},
		{"PNYX_CACHE_TIMEOUT", "500ms", "100 -1ms"},
		{"PNYX_PUBLISH_INTERVAL", "500ms", "0"},
		{"PNYX_LEASE_TTL", "from 1ms", "never 1ns 999us"},
		{"PNYX_WEBHOOK_RECEIVERS", "private", "all"},
		{"PNYX_STALE_AFTER", "5m", "-1s"},
		{"PNYX_QUERY_MAX_MEMORY", "4GiB", "0 0GiB 4GB 4Gi -1GiB lots"},
		{"PNYX_IMPORT_MAX_LINE", "8MiB", "8mb 0 8"},
		{"PNYX_CACHE_LOCAL", "from 1KiB", "1 1023"},
		{"PNYX_QUERY_MAX_ROWS", "whole number", "-1 1e9 2_000 all"},
		{"PNYX_IMPORT_BATCH", "1 to 2147483647", "0 -5 2147483648 many"},
		{"PNYX_LOG_LEVEL", "debug, info, warn or error", "loud info+1 trace"},
		{"PNYX_LOG_FORMAT", "text or json", "xml JSON"},
		{"PNYX_LOG_SAMPLE", "0 for none", "-1 0.01 all"},
		{"PNYX_LOG_SLOW", "from 1ms", "0s 1 -1s slow"},
		{"PNYX_EDGE_LISTEN", "host:port", "8000 a:65536"},
		{"PNYX_EDGE_ADMIN_LISTEN", "host:port", "8001 :x"},
		{"PNYX_EDGE_ORIGIN", "http:// or https://", "127.0.0.1:8080 redis://a http:// http://a:65536"},
		{"PNYX_EDGE_CACHE_SIZE", "4GiB", "0 1GB lots"},
		{"OTEL_SERVICE_NAME", "letters", "a'b a;b"},
		{"PNYX_SQL_LISTEN", "host:port", "9100 localhost:x"},
		{"PNYX_SQL_PASSWORD", "visible ASCII", "pass\u00e4"},
		{"PNYX_SQL_URL", "http:// or https://", "localhost:8123 clickhouse://a:9000"},
		{"PNYX_SQL_MAX_ROWS", "whole number", "0 -1 all"},
		{"CLICKHOUSE_URL", "clickhouse://, tcp://, http:// or https://", "localhost:9000 redis://a:1 http:///db tcp://a:x"},
		{"REDIS_URL", "redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://", "a:6379 http://a redis:// redis://a:1,b:2 redis://a:65536 unix://a unix:///"},
		{"CLICKHOUSE_CLUSTER", "letters", "a'b a;b `a`"},
	}
	check.WantPart(t, "line end", refused(t, map[string]string{"REDIS_URL": "redis://a\n"}).Error(), "what a file adds to a secret")
	check.WantPart(t, "line end", refused(t, map[string]string{"PNYX_LISTEN": "127.0.0.1:80\n", "PNYX_EDGE_LISTEN": " :80"}).Error(), "what a file adds to an address")
	for _, test := range tests {
		for value := range strings.FieldsSeq(test.values) {
			problems := refused(t, map[string]string{test.name: value})
			if len(problems) != 1 || problems[0].Name != test.name {
				t.Errorf("%s=%s: got %v, want one problem, of that variable", test.name, value, problems)
				continue
			}
			text := problems.Error()
			shown := problems[0].Value == value || problems[0].Value == config.SecretURL(value).String()
			if !strings.Contains(text, test.name+"=") || !strings.Contains(text, test.want) || !shown {
				t.Errorf("%s=%s: got %q, want name, value and %q", test.name, value, text, test.want)
			}
		}
	}
}

func TestParseReportsAllProblems(t *testing.T) {
	t.Parallel()
	environ := make(map[string]string)
	for _, s := range config.Settings() {
		environ[s.Name] = "not|any thing"
	}
	environ["PNYX_LISTN"] = ":80"
	delete(environ, "PNYX_DATA") // any text names a path
	delete(environ, "PNYX_ENGINE_LIB")
	delete(environ, "PNYX_EDGE_DIR")
	delete(environ, "PNYX_SOURCES")
	delete(environ, "PNYX_EDGE_MODULES")
	delete(environ, "X402_ASSET_NAME") // nor is there a rule for what a token is named
	delete(environ, "X402_ASSET_VERSION")

	problems := refused(t, environ)
	for _, p := range problems {
		if environ[p.Name] == "" {
			t.Errorf("%s is complained about without reason", p)
		}
		if !strings.Contains(problems.Error(), "\n  "+p.String()) {
			t.Errorf("%q is missing from the error's text", p)
		}
		delete(environ, p.Name)
	}
	check.Want(t, 0, len(environ), "not refused", environ)
}

func TestCrossChecksNameBothSettings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		environ map[string]string
		want    string
	}{
		"one address twice": {
			map[string]string{"PNYX_LISTEN": "127.0.0.1:8081"},
			`PNYX_ADMIN_LISTEN="127.0.0.1:8081": must not share a port with PNYX_LISTEN=127.0.0.1:8081`,
		},
		"one address within another": {
			map[string]string{"PNYX_LISTEN": "[::]:8081"},
			`PNYX_ADMIN_LISTEN="127.0.0.1:8081": must not share a port with PNYX_LISTEN=[::]:8081`,
		},
		"one address of the edge twice": {
			map[string]string{"PNYX_EDGE_LISTEN": "127.0.0.1:8001"},
			`PNYX_EDGE_ADMIN_LISTEN="127.0.0.1:8001": must not share a port with PNYX_EDGE_LISTEN=127.0.0.1:8001`,
		},
		"a cluster of no server": {map[string]string{"CLICKHOUSE_CLUSTER": "two"}, `CLICKHOUSE_CLUSTER="two": needs a server in CLICKHOUSE_URL=`},
		"purges of nothing known": {
			map[string]string{"PNYX_PURGE_URL": "https://pnyx:hunter2@a"},
			`PNYX_PURGE_URL="https://pnyx:***@a": needs a kind of cache in PNYX_PURGE_KIND=`,
		},
		"a token for nobody": {
			map[string]string{"PNYX_PURGE_KIND": "fastly", "PNYX_PURGE_TOKEN": "hunter2"},
			`PNYX_PURGE_TOKEN="***": needs an address in PNYX_PURGE_URL=`,
		},
		"a cache slower than the request": {
			map[string]string{"PNYX_CACHE_TIMEOUT": "5s"},
			`PNYX_CACHE_TIMEOUT="5s": must stay below PNYX_REQUEST_TIMEOUT=5s`,
		},
		"stale before the lease ends": {map[string]string{"PNYX_STALE_AFTER": "2s"}, `PNYX_STALE_AFTER="2s": must exceed PNYX_LEASE_TTL=2s`},
		"stale between two publishes": {
			map[string]string{"PNYX_PUBLISH_INTERVAL": "15s"},
			`PNYX_STALE_AFTER="15s": must exceed PNYX_PUBLISH_INTERVAL=15s`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := refused(t, test.environ).Error(), "settings refused:\n  "+test.want; got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
			}
		})
	}
}

func TestCrossChecksAcceptBoundaryValues(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string]map[string]string{
		"port 0 twice":               {"PNYX_LISTEN": "127.0.0.1:0", "PNYX_ADMIN_LISTEN": "127.0.0.1:0"},
		"one port of two interfaces": {"PNYX_LISTEN": "10.0.0.1:80", "PNYX_ADMIN_LISTEN": "127.0.0.1:80"},
		"a cluster of a server":      {"CLICKHOUSE_CLUSTER": "two", "CLICKHOUSE_URL": "tcp://a:9000"},
		"stale just after the lease": {"PNYX_STALE_AFTER": "10001ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := config.Parse(environ); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestInvalidValuesSkipCrossChecks(t *testing.T) {
	t.Parallel()
	problems := refused(t, map[string]string{"PNYX_STALE_AFTER": "0s", "CLICKHOUSE_CLUSTER": "two", "CLICKHOUSE_URL": "x"})
	check.Want(t, 2, len(problems), problems, "only the two wrong values")
}

func TestUnknownVariablesSuggestTheNearestName(t *testing.T) {
	t.Parallel()
	for name, nearest := range map[string]string{
		"PNYX_LISTN":          "PNYX_LISTEN",
		"PNYX_ADMINLISTEN":    "PNYX_ADMIN_LISTEN",
		"PNYX_IMPORT_MAXLINE": "PNYX_IMPORT_MAX_LINE",
		"PNYX_REDIS_URL":      "REDIS_URL",
		"PNYX_LOGLEVEL":       "PNYX_LOG_LEVEL",
		"PNYX_PORT":           "PNYX_URL", // nothing is near, something is said
		"PNYX_TESTS":          "PNYX_LISTEN",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refused(t, map[string]string{name: "hunter2"}).Error()
			want := "settings refused:\n  " + name + ": is not a setting; did you mean " + nearest + "?"
			check.Want(t, want, got)
		})
	}
}

func TestProblemsHaveOneOrder(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range refused(t, map[string]string{
		"PNYX_C": "1", "PNYX_A": "1", "PNYX_E": "1", "PNYX_B": "1", "PNYX_D": "1",
		"PNYX_LOG_FORMAT": "xml", "PNYX_LISTEN": "x", "PNYX_LEASE_TTL": "1h",
	}) {
		got = append(got, p.Name)
	}
	want := []string{
		"PNYX_LISTEN", "PNYX_LOG_FORMAT", "PNYX_STALE_AFTER", "PNYX_A", "PNYX_B", "PNYX_C", "PNYX_D", "PNYX_E",
	}
	check.WantSame(t, "wrong values, crossChecks, strangers", want, got)
}

func TestForeignVariablesAreIgnored(t *testing.T) {
	t.Parallel()
	environ := map[string]string{
		"PATH":               "/bin",
		"PNYXX":              "1",
		"REDIS_PORT":         "tcp://10.0.0.2:6379",
		"PNYX_TEST_BIN":      "bin/pnyx",
		"PNYX_TEST_ANYTHING": "1",
		"PNYX_FORMER":        "", // empty counts as not set
		// What Kubernetes sets in a pod of a namespace with the services pnyx and pnyx-api.
		"PNYX_SERVICE_HOST":           "10.0.0.1",
		"PNYX_SERVICE_PORT":           "80",
		"PNYX_SERVICE_PORT_HTTP":      "80",
		"PNYX_PORT":                   "tcp://10.0.0.1:80",
		"PNYX_PORT_80_TCP":            "tcp://10.0.0.1:80",
		"PNYX_PORT_80_TCP_PROTO":      "tcp",
		"PNYX_PORT_80_TCP_PORT":       "80",
		"PNYX_PORT_80_TCP_ADDR":       "10.0.0.1",
		"PNYX_API_SERVICE_HOST":       "10.0.0.1",
		"PNYX_API_PORT":               "tcp://10.0.0.1:80",
		"PNYX_API_PORT_80_UDP_ADDR":   "10.0.0.1",
		"PNYX_API_SERVICE_PORT_ADMIN": "8081",
	}
	if _, err := config.Parse(environ); err != nil {
		t.Error(err)
	}
}

func TestNoMessageShowsASecret(t *testing.T) {
	t.Parallel()
	for _, s := range config.Settings() {
		if !s.Secret {
			continue
		}
		for _, value := range []string{
			"hunter2",
			"ftp://pnyx:hunter2@host",
			"redis://user:hunter2", // the host was forgotten
			"clickhouse://user:hun/hunter2@host",
			"redis://user:12/hunter2@host",
			"redis://user:12?hunter2@host",
			"redis://user:12#hunter2@host",
			"redis://user:12#hunter2",
			"redis://user:%hunter2@host:6379",
			"redis://user:hunter2@host:port",
			"redis://user:hunter2@host,host",
			"clickhouse://a,user:hunter2",
			"http://user:hunter2@:80/?password=hunter2",
			"http:///db?user=a&password=hunter2",
		} {
			if text := refused(t, everythingWith(t, s.Name, value)).Error(); strings.Contains(text, "hunter2") {
				t.Errorf("%s=%s: got %q", s.Name, value, text)
			}
		}
	}
}

// everythingWith is everything with one more variable, and an error that involves every secret.
func everythingWith(tb testing.TB, name, value string) map[string]string {
	tb.Helper()
	environ := everything(tb)
	environ["PNYX_STALE_AFTER"] = "1s"
	environ[name] = value
	return environ
}

func TestPrintShowsValueAndSourceOfEverySetting(t *testing.T) {
	t.Parallel()
	got := printed(t, map[string]string{
		"PNYX_LISTEN":          "127.0.0.1:8080", // the default, but stated
		"REDIS_URL":            "redis://pnyx:hunter2@host:6379/1",
		"PNYX_IMPORT_MAX_LINE": "1024KiB",
		"PNYX_LOG_LEVEL":       "ERROR",
	})
	for _, want := range []string{
		"PNYX_LISTEN=127.0.0.1:8080        # source: environment\n", "REDIS_URL=redis://pnyx:***@host:6379/1  # source: environment\n",
		"PNYX_IMPORT_MAX_LINE=1MiB  # source: environment\n", "PNYX_LOG_LEVEL=error  # source: environment\n",
	} {
		check.WantPart(t, want, got, "in it")
	}
}

func TestPrintedSettingsParseToTheSameConfig(t *testing.T) {
	t.Parallel()
	environ := everything(t)
	environ["CLICKHOUSE_URL"] = "https://host:8443" // the other secrets cannot come back
	environ["REDIS_URL"] = "unix:///run/redis.sock?db=3"
	environ["X402_FACILITATOR_URL"], environ["X402_RPC_URL"] = "https://facilitator", "https://rpc"
	environ["PNYX_INTERNAL_TOKEN"], environ["AWS_SECRET_ACCESS_KEY"], environ["PNYX_BACKUP_KEY"] = "", "", ""
	environ["OTEL_EXPORTER_OTLP_ENDPOINT"], environ["OTEL_EXPORTER_OTLP_HEADERS"] = "https://collector", ""
	first := printed(t, environ)
	again := make(map[string]string)
	for line := range strings.Lines(first) {
		assignment, _, _ := strings.Cut(line, "#")
		if name, value, ok := strings.Cut(assignment, "="); ok {
			again[name] = strings.TrimSpace(value)
		}
	}
	check.WantSame(t, "first, again", first, printed(t, again))
}

func printed(t *testing.T, environ map[string]string) string {
	t.Helper()
	c := check.Must(config.Parse(environ))(t)
	var text bytes.Buffer
	check.MustDo(t, c.Print(&text))
	return text.String()
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestPrintReportsABrokenWriter(t *testing.T) {
	t.Parallel()
	broken := errors.New("pipe closed")
	check.WantError(t, broken, (config.Config{}).Print(brokenWriter{broken}))
}
