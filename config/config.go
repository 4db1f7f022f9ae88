// Package config turns the environment into one validated Config.
//
// A setting is a field of one of the groups below, and all there is to say
// about it stands in that field: its tags hold the variable's name, default,
// unit and meaning, and its type says whether it is a secret. What is accepted,
// what `pnyx config` prints, and the table in the README are derived from there.
//
// A variable that is set but empty counts as not set.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is every setting of pnyx, grouped by the part that reads it.
type Config struct {
	API       API
	Access    Access
	Warehouse Warehouse
	Cache     Cache
	Worker    Worker
	Purge     Purge
	Payment   Payment
	Edge      Edge
	Import    Import
	Log       Log
	Trace     Trace

	given map[string]bool // the variables that the environment holds; the others are defaults
}

// API is what the HTTP listeners need to know.
type API struct {
	Listen          string        `env:"PNYX_LISTEN" envDefault:"127.0.0.1:8080" unit:"host:port" doc:"Where the API listens."`
	AdminListen     string        `env:"PNYX_ADMIN_LISTEN" envDefault:"127.0.0.1:9090" unit:"host:port" doc:"Where health, readiness and metrics are served; keep it private."`
	PublicURL       string        `env:"PNYX_PUBLIC_URL" unit:"http:// https://" doc:"Where callers reach the API; payments name it as what is paid for."`
	RequestTimeout  time.Duration `env:"PNYX_REQUEST_TIMEOUT" envDefault:"5s" unit:"duration" doc:"Longest time a request may take, waiting for a fill included."`
	DrainDelay      time.Duration `env:"PNYX_DRAIN_DELAY" envDefault:"0s" unit:"duration or 0" doc:"How long an API node that got SIGTERM, and says so in /readyz, goes on answering before it takes no more; give load balancers the time to notice."`
	ShutdownTimeout time.Duration `env:"PNYX_SHUTDOWN_TIMEOUT" envDefault:"20s" unit:"duration" doc:"Longest time to let work under way finish after SIGTERM."`
}

// Warehouse is where ClickHouse is, and what one query may cost.
type Warehouse struct {
	Data           string        `env:"PNYX_DATA" envDefault:"./data" unit:"path" doc:"Folder that holds the embedded warehouse."`
	EngineLib      string        `env:"PNYX_ENGINE_LIB" unit:"path" doc:"Library of the embedded ClickHouse; empty: the one that make engine brought."`
	URL            SecretURL     `env:"CLICKHOUSE_URL" unit:"clickhouse:// tcp:// http:// https://" doc:"ClickHouse server to use; empty: the embedded one."`
	Cluster        string        `env:"CLICKHOUSE_CLUSTER" unit:"name" doc:"Cluster of that server to shard the tables over; empty: no sharding."`
	QueryTimeout   time.Duration `env:"PNYX_QUERY_TIMEOUT" envDefault:"30s" unit:"duration" doc:"Longest time a warehouse query may take."`
	QueryMaxMemory ByteSize      `env:"PNYX_QUERY_MAX_MEMORY" envDefault:"4GiB" unit:"bytes" doc:"Most memory a warehouse query may use."`
	QueryMaxRows   uint64        `env:"PNYX_QUERY_MAX_ROWS" envDefault:"2000000000" unit:"rows" doc:"Most rows a warehouse query may read; 0: no bound."`
}

// Cache is where Redis is, and how long an API node waits for it.
type Cache struct {
	URL     SecretURL     `env:"REDIS_URL" unit:"redis:// rediss:// unix:// redis+sentinel:// rediss+sentinel:// redis+cluster:// rediss+cluster://" doc:"Redis to use: one server, the one that Sentinels name (redis+sentinel://host,host?master=name), or a Cluster (redis+cluster://host,host); with rediss over TLS; empty: one inside the process."`
	Timeout time.Duration `env:"PNYX_CACHE_TIMEOUT" envDefault:"100ms" unit:"duration" doc:"Longest time one conversation of the API with Redis may take."`
	Local   ByteSize      `env:"PNYX_CACHE_LOCAL" envDefault:"32MiB" unit:"bytes" doc:"Most memory an API node uses for its own copies of hot answers."`
}

// Worker is the rhythm of the worker, and of those that watch it.
type Worker struct {
	PublishInterval time.Duration `env:"PNYX_PUBLISH_INTERVAL" envDefault:"500ms" unit:"duration" doc:"How often the worker looks for sealed batches to publish."`
	LeaseTTL        time.Duration `env:"PNYX_LEASE_TTL" envDefault:"10s" unit:"duration" doc:"How long the leading worker stays the leader without renewing its lease."`
	StaleAfter      time.Duration `env:"PNYX_STALE_AFTER" envDefault:"15s" unit:"duration" doc:"Without a sign of life from the worker for this long, answers are marked stale."`
}

// Payment is what paid routes cost, and who takes payments for single requests.
type Payment struct {
	PayTo          string        `env:"X402_PAY_TO" unit:"address" doc:"Who gets the money, in EIP-55 spelling; empty: no payments per request, and paid routes open for tokens alone."`
	FacilitatorURL SecretURL     `env:"X402_FACILITATOR_URL" unit:"http:// https://" doc:"The x402 facilitator that checks payments and submits them; user and password in it are sent as basic authentication."`
	RPCURL         SecretURL     `env:"X402_RPC_URL" unit:"http:// https://" doc:"JSON-RPC endpoint of the network, to find out what became of a payment that the facilitator gave no answer about; empty: its retries alone tell."`
	Network        string        `env:"X402_NETWORK" envDefault:"eip155:8453" unit:"eip155:chain id" doc:"The network on which is paid."`
	Asset          string        `env:"X402_ASSET" envDefault:"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" unit:"address" doc:"Contract of the token that is paid with, in EIP-55 spelling; it must know EIP-3009."`
	AssetName      string        `env:"X402_ASSET_NAME" envDefault:"USD Coin" unit:"text" doc:"The token's EIP-712 name; on Base Sepolia it is USDC."`
	AssetVersion   string        `env:"X402_ASSET_VERSION" envDefault:"2" unit:"text" doc:"The token's EIP-712 version."`
	AssetDecimals  int           `env:"X402_ASSET_DECIMALS" envDefault:"6" unit:"places" doc:"The token's decimals."`
	Symbol         string        `env:"X402_TOKEN_SYMBOL" envDefault:"USDC" unit:"name" doc:"The token's symbol, for people."`
	PriceStandard  string        `env:"X402_PRICE_STANDARD" envDefault:"0.001" unit:"amount" doc:"Price of an answer of tier standard, in the token."`
	PricePlus      string        `env:"X402_PRICE_PLUS" envDefault:"0.005" unit:"amount" doc:"Price of an answer of tier plus, in the token."`
	PriceOverrides string        `env:"X402_PRICE_OVERRIDES" unit:"route=amount,…" doc:"Prices of single routes, by their ids."`
	Window         time.Duration `env:"X402_WINDOW" envDefault:"2m" unit:"duration" doc:"How long a payment that is signed now should stay valid."`
	VerifyTimeout  time.Duration `env:"X402_VERIFY_TIMEOUT" envDefault:"5s" unit:"duration" doc:"Longest time the facilitator may take to check a payment."`
	SettleTimeout  time.Duration `env:"X402_SETTLE_TIMEOUT" envDefault:"20s" unit:"duration" doc:"Longest time a caller waits for a settlement; after that it is looked into in the background."`
}

// Edge is the cache before the API nodes.
type Edge struct {
	Listen      string   `env:"PNYX_EDGE_LISTEN" envDefault:"127.0.0.1:8000" unit:"host:port" doc:"Where the edge listens."`
	AdminListen string   `env:"PNYX_EDGE_ADMIN_LISTEN" envDefault:"127.0.0.1:9091" unit:"host:port" doc:"Where health and status of the edge are served; keep it private."`
	Origin      string   `env:"PNYX_EDGE_ORIGIN" envDefault:"http://127.0.0.1:8080" unit:"http:// https://" doc:"Where the edge finds the API nodes. They trust its word on addresses if it is in PNYX_TRUSTED_PROXIES."`
	Dir         string   `env:"PNYX_EDGE_DIR" envDefault:"./data/edge" unit:"path" doc:"Folder that holds the edge's cache and temporary files."`
	CacheSize   ByteSize `env:"PNYX_EDGE_CACHE_SIZE" envDefault:"1GiB" unit:"bytes" doc:"Most space the edge's cache takes."`
	Modules     string   `env:"PNYX_EDGE_MODULES" envDefault:"/usr/lib/nginx/modules" unit:"path" doc:"Folder that holds nginx's modules; the one of Lua is needed."`
}

// Import is how pnyx import reads files.
type Import struct {
	Batch   int      `env:"PNYX_IMPORT_BATCH" envDefault:"40000" unit:"records" doc:"Records that are written to the warehouse at once."`
	MaxLine ByteSize `env:"PNYX_IMPORT_MAX_LINE" envDefault:"8MiB" unit:"bytes" doc:"Longest line that is read; a longer one is rejected."`
}

// Log is what is logged, and how it looks.
type Log struct {
	Level  slog.Level    `env:"PNYX_LOG_LEVEL" envDefault:"info" unit:"debug|info|warn|error" doc:"Least severity that is logged."`
	Format string        `env:"PNYX_LOG_FORMAT" envDefault:"text" unit:"text|json" doc:"Form of the log's lines."`
	Sample uint64        `env:"PNYX_LOG_SAMPLE" envDefault:"100" unit:"requests" doc:"One in so many requests is logged that neither failed nor was slow; 0: none."`
	Slow   time.Duration `env:"PNYX_LOG_SLOW" envDefault:"1s" unit:"duration" doc:"A request that takes this long is always logged."`
}

// Trace is where traces go. The names are those of OpenTelemetry.
type Trace struct {
	Endpoint SecretURL `env:"OTEL_EXPORTER_OTLP_ENDPOINT" unit:"http:// https://" doc:"Collector that traces are sent to, as OTLP over HTTP, at v1/traces below it; empty: none are made."`
	Headers  Pairs     `env:"OTEL_EXPORTER_OTLP_HEADERS" unit:"name=value,…" doc:"Headers to send along, such as those of the collector's credentials."`
	Ratio    Ratio     `env:"OTEL_TRACES_SAMPLER_ARG" envDefault:"0.01" unit:"ratio" doc:"Share of requests that are traced, unless an internal caller or a trusted proxy has decided."`
	Service  string    `env:"OTEL_SERVICE_NAME" envDefault:"pnyx" unit:"name" doc:"What traces call the service."`
}

// Load reads the configuration from the environment of the process; see Parse.
func Load() (Config, error) {
	return Parse(env.ToMap(os.Environ()))
}

// Parse reads the configuration from environ. When anything is wrong with it,
// the error is a RefusedError that names every problem at once.
func Parse(environ map[string]string) (Config, error) {
	c := Config{given: make(map[string]bool)}
	unreadable, err := c.read(environ)
	if err != nil {
		return Config{}, err
	}
	var refused RefusedError
	sound := make(map[any]field)
	for _, f := range fields(&c) {
		if unreadable[f.Name] || !f.acceptable() {
			refused = append(refused, Problem{f.Name, f.masked(environ[f.Name]), "want " + f.allowed()})
			continue
		}
		sound[f.pointer()] = f
	}
	refused = append(refused, c.contradictions(sound)...)
	refused = append(refused, unknown(environ)...)
	if len(refused) > 0 {
		return Config{}, refused
	}
	return c, nil
}

// read fills c, and returns the names of the variables whose text could not be
// read as their setting's type. It reads group by group because the library
// reports fields by a name that is unique only within its struct.
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
			if !errors.As(err, &wrong) { // a mistake in the struct, not in the environment
				return nil, fmt.Errorf("read the %s settings: %w", group.name, err)
			}
			member, _ := group.value.Type().FieldByName(wrong.Name)
			unreadable[member.Tag.Get("env")] = true
		}
	}
	return unreadable, nil
}
