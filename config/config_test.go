package config_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pnyx/config"
)

func TestParseOfNothingGivesTheDefaults(t *testing.T) {
	t.Setenv("PNYX_LISTEN", "127.0.0.1:1") // Parse must not look at the process, whatever it is given
	want := config.Config{
		API: config.API{
			Listen:          "127.0.0.1:8080",
			AdminListen:     "127.0.0.1:8081",
			RequestTimeout:  5 * time.Second,
			ShutdownTimeout: 45 * time.Second,
		},
		Access: config.Access{LimitScope: "global", LimitTimeout: 40 * time.Millisecond, FreeRate: 600},
		Warehouse: config.Warehouse{
			Data:           "./data",
			QueryTimeout:   30 * time.Second,
			QueryMaxMemory: 4 << 30,
			QueryMaxRows:   2_000_000_000,
		},
		SQL:   config.SQL{Timeout: 30 * time.Second, MaxMemory: 2 << 30, MaxRows: 1_000_000},
		Cache: config.Cache{Timeout: 100 * time.Millisecond, Local: 24 << 20},
		Worker: config.Worker{
			PublishInterval: 500 * time.Millisecond,
			LeaseTTL:        2 * time.Second,
			StaleAfter:      15 * time.Second,
		},
		Webhook: config.Webhook{Receivers: "public"},
		Payment: config.Payment{
			Network: "eip155:8453", Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			AssetName: "USD Coin", AssetVersion: "2", AssetDecimals: 6, Symbol: "USDC",
			PriceStandard: "0.001", PricePlus: "0.005", Bazaar: "off",
			Window: 2 * time.Minute, VerifyTimeout: 5 * time.Second, SettleTimeout: 20 * time.Second,
		},
		Edge: config.Edge{
			Listen: "127.0.0.1:8000", AdminListen: "127.0.0.1:8001", Origin: "http://127.0.0.1:8080",
			Dir: "./data/edge", CacheSize: 1 << 30, Modules: "/usr/lib/nginx/modules",
		},
		Import: config.Import{Batch: 60_000, MaxLine: 8 << 20},
		Backup: config.Backup{Region: "us-east-1"},
		MCP:    config.MCP{URL: "http://127.0.0.1:8080"},
		Log:    config.Log{Level: slog.LevelInfo, Format: "text", Sample: 100, Slow: time.Second},
		Trace:  config.Trace{Ratio: "0.01", Service: "pnyx"},
	}
	for name, environ := range map[string]map[string]string{"nil": nil, "empty": {}, "empty values": emptyValues()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Parse(environ)
			if err != nil {
				t.Fatalf("%v", err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
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
func everything() map[string]string {
	return map[string]string{
		"PNYX_LISTEN":           ":80",
		"PNYX_ADMIN_LISTEN":     "[::1]:81",
		"PNYX_REQUEST_TIMEOUT":  "6s",
		"PNYX_PUBLIC_URL":       "https://api.example.org",
		"PNYX_MCP_ORIGINS":      "https://app.example.org, http://localhost:6274",
		"X402_PAY_TO":           "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
		"X402_FACILITATOR_URL":  "https://pnyx:hunter2@facilitator.example.org",
		"X402_RPC_URL":          "https://:hunter2@rpc.example.org",
		"X402_NETWORK":          "eip155:84532",
		"X402_ASSET":            "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
		"X402_ASSET_NAME":       "USDC test",
		"X402_ASSET_VERSION":    "1",
		"X402_ASSET_DECIMALS":   "18",
		"X402_TOKEN_SYMBOL":     "TST",
		"X402_PRICE_STANDARD":   "1",
		"X402_PRICE_PLUS":       "2.5",
		"X402_PRICE_OVERRIDES":  "daos.timeline=0.1",
		"X402_BAZAAR":           "on",
		"X402_WINDOW":           "1m",
		"X402_VERIFY_TIMEOUT":   "2s",
		"X402_SETTLE_TIMEOUT":   "3s",
		"PNYX_DRAIN_DELAY":      "15s",
		"PNYX_SHUTDOWN_TIMEOUT": "1m",
		"PNYX_INTERNAL_TOKEN":   "hunter2-hunter2-hunter2-hunter2-1,hunter2-hunter2-hunter2-hunter2-2",
		"PNYX_BACKUP_KEY":       "hunter2-hunter2-hunter2-hunter2-3",
		"PNYX_V2_LAUNCHED_AT":   "2026-01-01T00:00:00+01:00",
		"RATELIMIT_SCOPE":       "process",
		"PNYX_LIMIT_TIMEOUT":    "70ms",
		"PNYX_FREE_RATE":        "7",
		"PNYX_TRUSTED_PROXIES":  "10.0.0.0/8, fd00::1",
		"PNYX_DATA":             "/var/lib/pnyx",
		"PNYX_ENGINE_LIB":       "/opt/engine.so",
		"CLICKHOUSE_URL":        "clickhouse://pnyx:hunter2@ch1:9000,ch2:9000/pnyx",
		"CLICKHOUSE_CLUSTER":    "{cluster}",
		"PNYX_QUERY_TIMEOUT":    "1s",
		"PNYX_QUERY_MAX_MEMORY": "512MiB",
		"PNYX_QUERY_MAX_ROWS":   "0",
		"PNYX_SQL_LISTEN":       "[::1]:84",
		"PNYX_SQL_PASSWORD":     "hunter2",
		"PNYX_SQL_URL":          "https://analyst:hunter2@ch1:8443/pnyx",
		"PNYX_SQL_TIMEOUT":      "1m",
		"PNYX_SQL_MAX_MEMORY":   "1GiB",
		"PNYX_SQL_MAX_ROWS":     "8",
		"REDIS_URL":             "rediss+sentinel://:hunter2@s1:26379,s2:26379/2?master=pnyx&sentinel_password=hunter2",
		"PNYX_CACHE_TIMEOUT":    "50ms",
		"PNYX_CACHE_LOCAL":      "16MiB",
		"PNYX_PUBLISH_INTERVAL": "2s",
		"PNYX_LEASE_TTL":        "3s",
		"PNYX_STALE_AFTER":      "4s",

		"PNYX_WEBHOOK_RECEIVERS": "private",
		"PNYX_PURGE_KIND":        "varnish",
		"PNYX_PURGE_URL":         "http://v1:80,https://pnyx:hunter2@v2",
		"PNYX_PURGE_TOKEN":       "hunter2",
		"PNYX_IMPORT_BATCH":      "7",
		"PNYX_IMPORT_MAX_LINE":   "1000",
		"PNYX_SOURCES":           "/etc/pnyx/sources.yaml",
		"PNYX_URL":               "https://mcp.example.org",
		"PNYX_TOKEN":             "hunter2",
		"AWS_ACCESS_KEY_ID":      "id",
		"AWS_SECRET_ACCESS_KEY":  "hunter2",
		"AWS_REGION":             "eu-west-1",
		"AWS_ENDPOINT_URL":       "https://minio:9000",
		"PNYX_LOG_LEVEL":         "WARN",
		"PNYX_LOG_FORMAT":        "json",
		"PNYX_LOG_SAMPLE":        "0",
		"PNYX_LOG_SLOW":          "250ms",

		"PNYX_EDGE_LISTEN":       ":82",
		"PNYX_EDGE_ADMIN_LISTEN": "[::1]:83",
		"PNYX_EDGE_ORIGIN":       "https://nodes.example.org",
		"PNYX_EDGE_DIR":          "/var/cache/pnyx",
		"PNYX_EDGE_CACHE_SIZE":   "64MiB",
		"PNYX_EDGE_MODULES":      "/opt/nginx/modules",

		"OTEL_EXPORTER_OTLP_ENDPOINT": "https://pnyx:hunter2@collector.example.org",
		"OTEL_EXPORTER_OTLP_HEADERS":  "api-key=hunter2",
		"OTEL_TRACES_SAMPLER_ARG":     "0.5",
		"OTEL_SERVICE_NAME":           "pnyx-test",
	}
}

func TestParseReadsEverySetting(t *testing.T) {
	t.Parallel()
	environ := everything()
	for _, s := range config.Settings() {
		if environ[s.Name] == "" || environ[s.Name] == s.Default {
			t.Errorf("%s is not tried here", s.Name)
		}
	}
	got, err := config.Parse(environ)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		API: config.API{
			Listen:          ":80",
			AdminListen:     "[::1]:81",
			PublicURL:       "https://api.example.org",
			MCPOrigins:      "https://app.example.org, http://localhost:6274",
			RequestTimeout:  6 * time.Second,
			DrainDelay:      15 * time.Second,
			ShutdownTimeout: time.Minute,
		},
		Access: config.Access{
			Internal:       "hunter2-hunter2-hunter2-hunter2-1,hunter2-hunter2-hunter2-hunter2-2",
			V2Launch:       "2026-01-01T00:00:00+01:00",
			LimitScope:     "process",
			LimitTimeout:   70 * time.Millisecond,
			FreeRate:       7,
			TrustedProxies: "10.0.0.0/8, fd00::1",
		},
		Warehouse: config.Warehouse{
			Data:           "/var/lib/pnyx",
			EngineLib:      "/opt/engine.so",
			URL:            "clickhouse://pnyx:hunter2@ch1:9000,ch2:9000/pnyx",
			Cluster:        "{cluster}",
			QueryTimeout:   time.Second,
			QueryMaxMemory: 512 << 20,
		},
		SQL: config.SQL{
			Listen: "[::1]:84", Password: "hunter2", URL: "https://analyst:hunter2@ch1:8443/pnyx", Timeout: time.Minute, MaxMemory: 1 << 30, MaxRows: 8,
		},
		Cache: config.Cache{
			URL:     "rediss+sentinel://:hunter2@s1:26379,s2:26379/2?master=pnyx&sentinel_password=hunter2",
			Timeout: 50 * time.Millisecond,
			Local:   16 << 20,
		},
		Worker:  config.Worker{PublishInterval: 2 * time.Second, LeaseTTL: 3 * time.Second, StaleAfter: 4 * time.Second},
		Webhook: config.Webhook{Receivers: config.PrivateReceivers},
		Purge:   config.Purge{Kind: "varnish", URLs: "http://v1:80,https://pnyx:hunter2@v2", Token: "hunter2"},
		Payment: config.Payment{
			PayTo:          "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
			FacilitatorURL: "https://pnyx:hunter2@facilitator.example.org", RPCURL: "https://:hunter2@rpc.example.org",
			Network: "eip155:84532", Asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
			AssetName: "USDC test", AssetVersion: "1", AssetDecimals: 18, Symbol: "TST",
			PriceStandard: "1", PricePlus: "2.5", PriceOverrides: "daos.timeline=0.1", Bazaar: "on",
			Window: time.Minute, VerifyTimeout: 2 * time.Second, SettleTimeout: 3 * time.Second,
		},
		Edge: config.Edge{
			Listen: ":82", AdminListen: "[::1]:83", Origin: "https://nodes.example.org",
			Dir: "/var/cache/pnyx", CacheSize: 64 << 20, Modules: "/opt/nginx/modules",
		},
		Import: config.Import{Batch: 7, MaxLine: 1000},
		Follow: config.Follow{Sources: "/etc/pnyx/sources.yaml"},
		Backup: config.Backup{
			KeyID: "id", Secret: "hunter2", Region: "eu-west-1", Endpoint: "https://minio:9000", Keys: "hunter2-hunter2-hunter2-hunter2-3",
		},
		MCP: config.MCP{URL: "https://mcp.example.org", Token: "hunter2"},
		Log: config.Log{Level: slog.LevelWarn, Format: "json", Slow: 250 * time.Millisecond},
		Trace: config.Trace{
			Endpoint: "https://pnyx:hunter2@collector.example.org", Headers: "api-key=hunter2", Ratio: "0.5", Service: "pnyx-test",
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadReadsTheProcess(t *testing.T) {
	t.Setenv("PNYX_DATA", "/tmp/elsewhere")
	c, err := config.Load()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Warehouse.Data, "/tmp/elsewhere"; got != want {
		t.Errorf("got data folder %q, want %q", got, want)
	}
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
		{"PNYX_PUBLIC_URL", "https://", "example.org ftp://example.org https://"},
		{"PNYX_MCP_ORIGINS", "https://", "example.org ftp://example.org https:// https://example.org/ https://example.org/app"},
		{"PNYX_PURGE_KIND", "fastly, cloudflare or varnish", "nginx Fastly"},
		{"PNYX_PURGE_URL", "joined by commas", "varnish:80 http://a,,http://b ftp://a"},
		{"PNYX_PURGE_TOKEN", "visible ASCII", "tökén"},
		{"X402_PAY_TO", "40 hexadecimal digits", "me 0x12 3C44CdDdB6a900fa2b585dd299e03d12FA4293BC00"},
		{"X402_ASSET", "40 hexadecimal digits", "USDC"},
		{"X402_FACILITATOR_URL", "https://", "x402.org"},
		{"X402_ASSET_DECIMALS", "whole number", "0 six -1"},
		{"X402_PRICE_STANDARD", "0.001", "1e-3 -1 free .5"},
		{"PNYX_QUERY_TIMEOUT", "30s", "x"},
		{"PNYX_CACHE_TIMEOUT", "500ms", "100 -1ms"},
		{"PNYX_PUBLISH_INTERVAL", "500ms", "0"},
		{"PNYX_LEASE_TTL", "5m", "never"},
		{"PNYX_WEBHOOK_RECEIVERS", "private", "all"},
		{"PNYX_STALE_AFTER", "5m", "-1s"},
		{"PNYX_QUERY_MAX_MEMORY", "4GiB", "0 0GiB 4GB 4Gi -1GiB lots"},
		{"PNYX_IMPORT_MAX_LINE", "8MiB", "8mb 0"},
		{"PNYX_QUERY_MAX_ROWS", "whole number", "-1 1e9 2_000 all"},
		{"PNYX_IMPORT_BATCH", "1 to 2147483647", "0 -5 2147483648 many"},
		{"PNYX_LOG_LEVEL", "debug, info, warn or error", "loud info+1 trace"},
		{"PNYX_LOG_FORMAT", "text or json", "xml JSON"},
		{"PNYX_LOG_SAMPLE", "0 for none", "-1 0.01 all"},
		{"PNYX_LOG_SLOW", "above 0", "0s 1 -1s slow"},
		{"PNYX_EDGE_LISTEN", "host:port", "8000 a:65536"},
		{"PNYX_EDGE_ADMIN_LISTEN", "host:port", "8001 :x"},
		{"PNYX_EDGE_ORIGIN", "http:// or https://", "127.0.0.1:8080 redis://a http://"},
		{"PNYX_EDGE_CACHE_SIZE", "4GiB", "0 1GB lots"},
		{"OTEL_SERVICE_NAME", "letters", "a'b a;b"},
		{"PNYX_SQL_LISTEN", "host:port", "9100 localhost:x"},
		{"PNYX_SQL_PASSWORD", "visible ASCII", "pass\u00e4"},
		{"PNYX_SQL_URL", "http:// or https://", "localhost:8123 clickhouse://a:9000"},
		{"PNYX_SQL_MAX_ROWS", "whole number", "0 -1 all"},
		{"CLICKHOUSE_URL", "clickhouse://, tcp://, http:// or https://", "localhost:9000 redis://a:1 http:///db tcp://a:x"},
		{"REDIS_URL", "redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://", "a:6379 http://a redis:// redis://a:1,b:2 unix://a unix:///"},
		{"CLICKHOUSE_CLUSTER", "letters", "a'b a;b `a`"},
	}
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
	if len(environ) > 0 {
		t.Errorf("not refused: %v", environ)
	}
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
		"a cluster of no server": {
			map[string]string{"CLICKHOUSE_CLUSTER": "two"},
			`CLICKHOUSE_CLUSTER="two": needs a server in CLICKHOUSE_URL=`,
		},
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
		"stale before the lease ends": {
			map[string]string{"PNYX_STALE_AFTER": "2s"},
			`PNYX_STALE_AFTER="2s": must exceed PNYX_LEASE_TTL=2s`,
		},
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
	if len(problems) != 2 {
		t.Errorf("got %v, want only the two wrong values", problems)
	}
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
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong values, crossChecks, strangers (-want +got):\n%s", diff)
	}
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
			if text := refused(t, everythingWith(s.Name, value)).Error(); strings.Contains(text, "hunter2") {
				t.Errorf("%s=%s: got %q", s.Name, value, text)
			}
		}
	}
}

// everythingWith is everything with one more variable, and an error
// that involves every secret, so that valid secrets could be printed too.
func everythingWith(name, value string) map[string]string {
	environ := maps.Clone(everything())
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
	want := `# API
PNYX_LISTEN=127.0.0.1:8080        # source: environment
PNYX_ADMIN_LISTEN=127.0.0.1:8081  # source: default
PNYX_PUBLIC_URL=                  # source: default
PNYX_MCP_ORIGINS=                 # source: default
PNYX_REQUEST_TIMEOUT=5s           # source: default
PNYX_DRAIN_DELAY=0s               # source: default
PNYX_SHUTDOWN_TIMEOUT=45s         # source: default
# Access
PNYX_INTERNAL_TOKEN=     # source: default
PNYX_V2_LAUNCHED_AT=     # source: default
RATELIMIT_SCOPE=global   # source: default
PNYX_LIMIT_TIMEOUT=40ms  # source: default
PNYX_FREE_RATE=600       # source: default
PNYX_TRUSTED_PROXIES=    # source: default
# Warehouse
PNYX_DATA=./data                # source: default
PNYX_ENGINE_LIB=                # source: default
CLICKHOUSE_URL=                 # source: default
CLICKHOUSE_CLUSTER=             # source: default
PNYX_QUERY_TIMEOUT=30s          # source: default
PNYX_QUERY_MAX_MEMORY=4GiB      # source: default
PNYX_QUERY_MAX_ROWS=2000000000  # source: default
# SQL
PNYX_SQL_LISTEN=           # source: default
PNYX_SQL_PASSWORD=         # source: default
PNYX_SQL_URL=              # source: default
PNYX_SQL_TIMEOUT=30s       # source: default
PNYX_SQL_MAX_MEMORY=2GiB   # source: default
PNYX_SQL_MAX_ROWS=1000000  # source: default
# Cache
REDIS_URL=redis://pnyx:***@host:6379/1  # source: environment
PNYX_CACHE_TIMEOUT=100ms                # source: default
PNYX_CACHE_LOCAL=24MiB                  # source: default
# Worker
PNYX_PUBLISH_INTERVAL=500ms  # source: default
PNYX_LEASE_TTL=2s            # source: default
PNYX_STALE_AFTER=15s         # source: default
# Webhook
PNYX_WEBHOOK_RECEIVERS=public  # source: default
# Purge
PNYX_PURGE_KIND=   # source: default
PNYX_PURGE_URL=    # source: default
PNYX_PURGE_TOKEN=  # source: default
# Payment
X402_PAY_TO=                                           # source: default
X402_FACILITATOR_URL=                                  # source: default
X402_RPC_URL=                                          # source: default
X402_NETWORK=eip155:8453                               # source: default
X402_ASSET=0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913  # source: default
X402_ASSET_NAME=USD Coin                               # source: default
X402_ASSET_VERSION=2                                   # source: default
X402_ASSET_DECIMALS=6                                  # source: default
X402_TOKEN_SYMBOL=USDC                                 # source: default
X402_PRICE_STANDARD=0.001                              # source: default
X402_PRICE_PLUS=0.005                                  # source: default
X402_PRICE_OVERRIDES=                                  # source: default
X402_BAZAAR=off                                        # source: default
X402_WINDOW=2m0s                                       # source: default
X402_VERIFY_TIMEOUT=5s                                 # source: default
X402_SETTLE_TIMEOUT=20s                                # source: default
# Edge
PNYX_EDGE_LISTEN=127.0.0.1:8000           # source: default
PNYX_EDGE_ADMIN_LISTEN=127.0.0.1:8001     # source: default
PNYX_EDGE_ORIGIN=http://127.0.0.1:8080    # source: default
PNYX_EDGE_DIR=./data/edge                 # source: default
PNYX_EDGE_CACHE_SIZE=1GiB                 # source: default
PNYX_EDGE_MODULES=/usr/lib/nginx/modules  # source: default
# Import
PNYX_IMPORT_BATCH=60000    # source: default
PNYX_IMPORT_MAX_LINE=1MiB  # source: environment
# Follow
PNYX_SOURCES=  # source: default
# Backup
AWS_ACCESS_KEY_ID=      # source: default
AWS_SECRET_ACCESS_KEY=  # source: default
AWS_REGION=us-east-1    # source: default
AWS_ENDPOINT_URL=       # source: default
PNYX_BACKUP_KEY=        # source: default
# MCP
PNYX_URL=http://127.0.0.1:8080  # source: default
PNYX_TOKEN=                     # source: default
# Log
PNYX_LOG_LEVEL=error  # source: environment
PNYX_LOG_FORMAT=text  # source: default
PNYX_LOG_SAMPLE=100   # source: default
PNYX_LOG_SLOW=1s      # source: default
# Trace
OTEL_EXPORTER_OTLP_ENDPOINT=  # source: default
OTEL_EXPORTER_OTLP_HEADERS=   # source: default
OTEL_TRACES_SAMPLER_ARG=0.01  # source: default
OTEL_SERVICE_NAME=pnyx        # source: default
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrintedSettingsParseToTheSameConfig(t *testing.T) {
	t.Parallel()
	environ := everything()
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
	if diff := cmp.Diff(first, printed(t, again)); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
}

func printed(t *testing.T, environ map[string]string) string {
	t.Helper()
	c, err := config.Parse(environ)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := c.Print(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestPrintReportsABrokenWriter(t *testing.T) {
	t.Parallel()
	broken := errors.New("pipe closed")
	if err := (config.Config{}).Print(brokenWriter{broken}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
