// Package config turns the environment into one validated Config.
//
// A setting is a field of one of the groups below. The field is its only description: its
// tags hold the variable's name, default, unit and documentation, and its type says
// whether it is a secret. Validation, the output of `pnyx config` and the table in
// docs/settings.md are derived from it.
//
// A variable that is set but empty counts as not set. Load reads the environment; Settings
// lists all settings.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is every setting of pnyx, in groups that `pnyx config` and docs/settings.md show.
type Config struct {
	API       API
	Access    Access
	Warehouse Warehouse
	SQL       SQL
	Cache     Cache
	Worker    Worker
	Webhook   Webhook
	Purge     Purge
	Payment   Payment
	Edge      Edge
	Import    Import
	Follow    Follow
	Backup    Backup
	MCP       MCP
	Log       Log
	Trace     Trace

	// given names the variables that the environment sets; the others have defaults.
	given map[string]bool
}

// API configures the HTTP listeners.
type API struct {
	Listen          string        `env:"PNYX_LISTEN" envDefault:"127.0.0.1:8080" unit:"host:port" doc:"Where the API listens."`
	AdminListen     string        `env:"PNYX_ADMIN_LISTEN" envDefault:"127.0.0.1:8081" unit:"host:port" doc:"Where health, readiness and metrics are served; keep it private."`
	PublicURL       string        `env:"PNYX_PUBLIC_URL" unit:"http:// https://" doc:"Public address of the API, which payments name as the resource that is paid for, and whose scripts may call /mcp."`
	MCPOrigins      Origins       `env:"PNYX_MCP_ORIGINS" unit:"https://…" doc:"Web pages, besides PNYX_PUBLIC_URL, whose scripts may call the tools at /mcp: origins such as https://app.example.org, separated by commas; empty: none."`
	RequestTimeout  time.Duration `env:"PNYX_REQUEST_TIMEOUT" envDefault:"5s" unit:"duration" doc:"Maximum duration of a request, including the wait for a page to be built."`
	DrainDelay      time.Duration `env:"PNYX_DRAIN_DELAY" envDefault:"0s" unit:"duration or 0" doc:"How long an API node keeps serving after SIGTERM, while /readyz already fails; gives load balancers time to notice."`
	ShutdownTimeout time.Duration `env:"PNYX_SHUTDOWN_TIMEOUT" envDefault:"45s" unit:"duration" doc:"Maximum time for requests in progress to finish after SIGTERM."`
}

// Warehouse configures ClickHouse, and the limits of one query.
type Warehouse struct {
	Data           string        `env:"PNYX_DATA" envDefault:"./data" unit:"path" doc:"Folder of the embedded warehouse."`
	EngineLib      string        `env:"PNYX_ENGINE_LIB" unit:"path" doc:"Library of the embedded ClickHouse; empty: the one that make engine downloads."`
	URL            SecretURL     `env:"CLICKHOUSE_URL" unit:"clickhouse:// tcp:// http:// https://" doc:"ClickHouse server to use; empty: the embedded one."`
	Cluster        string        `env:"CLICKHOUSE_CLUSTER" unit:"name" doc:"Cluster of that server to shard the tables over; empty: no sharding."`
	QueryTimeout   time.Duration `env:"PNYX_QUERY_TIMEOUT" envDefault:"30s" unit:"duration" doc:"Maximum duration of a warehouse query."`
	QueryMaxMemory ByteSize      `env:"PNYX_QUERY_MAX_MEMORY" envDefault:"4GiB" unit:"bytes" doc:"Maximum memory of a warehouse query."`
	QueryMaxRows   uint64        `env:"PNYX_QUERY_MAX_ROWS" envDefault:"2000000000" unit:"rows" doc:"Maximum rows that a warehouse query may read; 0: no limit."`
}

// SQL configures the queries of analysts.
type SQL struct {
	Listen    string        `env:"PNYX_SQL_LISTEN" unit:"host:port" doc:"Where serve lets user analyst ask the embedded engine, over ClickHouse's HTTP interface; empty: pnyx sql alone reaches it."`
	Password  Secret        `env:"PNYX_SQL_PASSWORD" unit:"token" doc:"Password of user analyst at PNYX_SQL_LISTEN; empty: the one that the first start writes to analyst.password in PNYX_DATA."`
	URL       SecretURL     `env:"PNYX_SQL_URL" unit:"http:// https://" doc:"HTTP interface of ClickHouse that pnyx sql asks, with user and password; empty: the embedded engine as user analyst, or CLICKHOUSE_URL as its user, read-only."`
	Timeout   time.Duration `env:"PNYX_SQL_TIMEOUT" envDefault:"30s" unit:"duration" doc:"Maximum duration of an analyst's query."`
	MaxMemory ByteSize      `env:"PNYX_SQL_MAX_MEMORY" envDefault:"2GiB" unit:"bytes" doc:"Maximum memory of an analyst's query."`
	MaxRows   int           `env:"PNYX_SQL_MAX_ROWS" envDefault:"1000000" unit:"result rows" doc:"Maximum rows in the result of an analyst's query."`
}

// Cache configures Redis, and the copies that an API node keeps of it.
type Cache struct {
	URL     SecretURL     `env:"REDIS_URL" unit:"redis:// rediss:// unix:// redis+sentinel:// rediss+sentinel:// redis+cluster:// rediss+cluster://" doc:"Redis to use: one server, the master that Sentinels name, or a Cluster; rediss uses TLS; empty: a redis-server of its own if one is installed, or else one inside the process."`
	Timeout time.Duration `env:"PNYX_CACHE_TIMEOUT" envDefault:"100ms" unit:"duration" doc:"Maximum duration of one Redis round trip of the API."`
	Local   ByteSize      `env:"PNYX_CACHE_LOCAL" envDefault:"24MiB" unit:"bytes" doc:"Maximum memory of an API node's own copies of hot answers; a quarter is for the last answers of free routes, sent stale while Redis is down."`
}

// Worker configures the intervals of the worker, and when its data counts as stale.
type Worker struct {
	PublishInterval time.Duration `env:"PNYX_PUBLISH_INTERVAL" envDefault:"500ms" unit:"duration" doc:"How often the worker checks for what to publish. Batches are announced; after 10 s without a publication an unannounced one may wait 2 s longer."`
	LeaseTTL        time.Duration `env:"PNYX_LEASE_TTL" envDefault:"2s" unit:"duration" doc:"How long the leading worker keeps its lease without renewing it. After a kill another one leads within this time and PNYX_PUBLISH_INTERVAL."`
	StaleAfter      time.Duration `env:"PNYX_STALE_AFTER" envDefault:"15s" unit:"duration" doc:"Answers are marked stale when the worker's last heartbeat is older than this."`
}

// PrivateReceivers is the value of Webhook.Receivers that allows private addresses.
const PrivateReceivers = "private"

// Webhook configures the delivery of events and signals.
type Webhook struct {
	Receivers string `env:"PNYX_WEBHOOK_RECEIVERS" envDefault:"public" unit:"public|private" doc:"Where webhooks may be sent to. public: https:// at public addresses, port 443. private: also addresses of your own network, any port, and http://; for receivers of your own, and tests."`
}

// Payment configures prices, and payments for single requests.
type Payment struct {
	PayTo          string    `env:"X402_PAY_TO" unit:"address" doc:"Address that receives payments, with EIP-55 checksum; empty: no payments per request, so that paid routes need a token."`
	FacilitatorURL SecretURL `env:"X402_FACILITATOR_URL" unit:"http:// https://" doc:"The x402 facilitator that checks payments and submits them; user and password in it are sent as basic authentication."`
	RPCURL         SecretURL `env:"X402_RPC_URL" unit:"http:// https://" doc:"JSON-RPC endpoint of the network, to check a payment whose outcome the facilitator did not report; empty: only retries at the facilitator determine it."`
	Network        string    `env:"X402_NETWORK" envDefault:"eip155:8453" unit:"eip155:chain id" doc:"Network of payments."`
	Asset          string    `env:"X402_ASSET" envDefault:"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" unit:"address" doc:"Contract of the payment token, with EIP-55 checksum; it must support EIP-3009."`
	// AssetName is the name in the token's EIP-712 domain, without which no signature is right.
	AssetName      string        `env:"X402_ASSET_NAME" envDefault:"USD Coin" unit:"text" doc:"The token's EIP-712 name; on Base Sepolia it is USDC."`
	AssetVersion   string        `env:"X402_ASSET_VERSION" envDefault:"2" unit:"text" doc:"The token's EIP-712 version."`
	AssetDecimals  int           `env:"X402_ASSET_DECIMALS" envDefault:"6" unit:"places" doc:"The token's decimals."`
	Symbol         string        `env:"X402_TOKEN_SYMBOL" envDefault:"USDC" unit:"name" doc:"The token's symbol, for people."`
	PriceStandard  string        `env:"X402_PRICE_STANDARD" envDefault:"0.001" unit:"amount" doc:"Price of an answer of tier standard, in the token."`
	PricePlus      string        `env:"X402_PRICE_PLUS" envDefault:"0.005" unit:"amount" doc:"Price of an answer of tier plus, in the token."`
	PriceOverrides string        `env:"X402_PRICE_OVERRIDES" unit:"route=amount,…" doc:"Prices of single routes, by their ids."`
	Bazaar         string        `env:"X402_BAZAAR" envDefault:"off" unit:"on|off" doc:"on: the terms over HTTP describe the route, and the facilitator learns what a payment is for, so that indexes of paid resources list the routes (x402 extension bazaar). Terms take up to 3.5 KB then."`
	Window         time.Duration `env:"X402_WINDOW" envDefault:"2m" unit:"duration" doc:"How long a payment that is signed now should stay valid."`
	VerifyTimeout  time.Duration `env:"X402_VERIFY_TIMEOUT" envDefault:"5s" unit:"duration" doc:"Maximum time for the facilitator to verify a payment."`
	SettleTimeout  time.Duration `env:"X402_SETTLE_TIMEOUT" envDefault:"20s" unit:"duration" doc:"Maximum time that a caller waits for a settlement; after that it is resolved in the background."`
}

// Edge configures the cache in front of the API nodes.
type Edge struct {
	Listen      string   `env:"PNYX_EDGE_LISTEN" envDefault:"127.0.0.1:8000" unit:"host:port" doc:"Where the edge listens."`
	AdminListen string   `env:"PNYX_EDGE_ADMIN_LISTEN" envDefault:"127.0.0.1:8001" unit:"host:port" doc:"Where health and metrics of the edge are served; keep it private."`
	Origin      string   `env:"PNYX_EDGE_ORIGIN" envDefault:"http://127.0.0.1:8080" unit:"http:// https://" doc:"Address of the API nodes. They trust the edge's X-Forwarded-For if PNYX_TRUSTED_PROXIES contains it."`
	Dir         string   `env:"PNYX_EDGE_DIR" envDefault:"./data/edge" unit:"path" doc:"Folder of the edge's cache and temporary files."`
	CacheSize   ByteSize `env:"PNYX_EDGE_CACHE_SIZE" envDefault:"1GiB" unit:"bytes" doc:"Maximum size of the edge's cache."`
	Modules     string   `env:"PNYX_EDGE_MODULES" envDefault:"/usr/lib/nginx/modules" unit:"path" doc:"Folder of nginx's modules; the Lua module is required."`
}

// Import configures how pnyx import reads files.
type Import struct {
	Batch   int      `env:"PNYX_IMPORT_BATCH" envDefault:"60000" unit:"records" doc:"Records per batch written to the warehouse."`
	MaxLine ByteSize `env:"PNYX_IMPORT_MAX_LINE" envDefault:"8MiB" unit:"bytes" doc:"Maximum length of a line; longer lines are rejected."`
}

// Follow configures which live sources are followed.
type Follow struct {
	Sources string `env:"PNYX_SOURCES" unit:"path" doc:"File of the live sources that serve and follow keep the warehouse current with; empty: none."`
}

// MCP configures pnyx mcp, which runs beside an MCP client.
type MCP struct {
	URL   string `env:"PNYX_URL" envDefault:"http://127.0.0.1:8080" unit:"http:// https://" doc:"Address of the API whose tools pnyx mcp offers."`
	Token Secret `env:"PNYX_TOKEN" unit:"token" doc:"Partner token that pnyx mcp sends; empty: free tools alone."`
}

// Log configures what is logged, and in which format.
type Log struct {
	Level  slog.Level    `env:"PNYX_LOG_LEVEL" envDefault:"info" unit:"debug|info|warn|error" doc:"Minimum severity that is logged."`
	Format string        `env:"PNYX_LOG_FORMAT" envDefault:"text" unit:"text|json" doc:"Format of log lines."`
	Sample uint64        `env:"PNYX_LOG_SAMPLE" envDefault:"100" unit:"requests" doc:"One in this many requests is logged if it neither failed nor was slow; 0: none."`
	Slow   time.Duration `env:"PNYX_LOG_SLOW" envDefault:"1s" unit:"duration" doc:"Requests that take this long are always logged."`
}

// Trace configures tracing. The variable names are OpenTelemetry's.
type Trace struct {
	Endpoint SecretURL `env:"OTEL_EXPORTER_OTLP_ENDPOINT" unit:"http:// https://" doc:"Trace collector, for OTLP over HTTP at v1/traces below this address; empty: tracing is off."`
	Headers  Secret    `env:"OTEL_EXPORTER_OTLP_HEADERS" unit:"name=value,…" doc:"Headers of requests to the collector, such as its credentials."`
	Ratio    Ratio     `env:"OTEL_TRACES_SAMPLER_ARG" envDefault:"0.01" unit:"ratio" doc:"Share of requests that are traced, unless an internal caller or a trusted proxy decides."`
	Service  string    `env:"OTEL_SERVICE_NAME" envDefault:"pnyx" unit:"name" doc:"Name of the service in traces."`
}

// Load reads the configuration from the environment of the process; see Parse.
func Load() (Config, error) { return Parse(env.ToMap(os.Environ())) }

// Parse reads the configuration from environ. A RefusedError lists all that is wrong with it.
func Parse(environ map[string]string) (Config, error) {
	c := Config{given: make(map[string]bool)}
	unreadable, err := c.read(environ)
	if err != nil {
		return Config{}, err
	}
	var refused RefusedError
	valid := make(map[any]field)
	for _, f := range fields(&c) {
		if unreadable[f.Name] || !f.Validate() {
			refused = append(refused, Problem{f.Name, f.masked(environ[f.Name]), f.reason(environ[f.Name])})
			continue
		}
		valid[f.value.Addr().Interface()] = f
	}
	refused = append(refused, c.crossChecks(valid)...)
	refused = append(refused, unknown(environ)...)
	if len(refused) > 0 {
		return Config{}, refused
	}
	return c, nil
}

// read fills c, and returns the variables whose text could not be read as their setting's type. It reads group
// by group because the library reports fields by a name that is unique only within its struct.
func (c *Config) read(environ map[string]string) (map[string]bool, error) {
	options := env.Options{
		Environment: environ,
		OnSet: func(name string, value any, isDefault bool) {
			c.given[name] = !isDefault && value != ""
		},
	}
	if environ == nil {
		options.Environment = map[string]string{} // nil would mean the environment of the process
	}
	unreadable := make(map[string]bool)
	for _, group := range groups(c) {
		var all env.AggregateError
		errors.As(env.ParseWithOptions(group.value.Addr().Interface(), options), &all)
		for _, err := range all.Errors {
			var wrong env.ParseError
			if !errors.As(err, &wrong) { // the struct is wrong, not the environment
				return nil, fmt.Errorf("read the %s settings: %w", group.name, err)
			}
			member, _ := group.value.Type().FieldByName(wrong.Name)
			unreadable[member.Tag.Get("env")] = true
		}
	}
	return unreadable, nil
}
