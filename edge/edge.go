// Package edge is the cache between callers and API nodes: an nginx configuration that is
// rendered from the table of routes. The edge answers free requests from its cache, and
// paid ones after a node has authorized each of them. Nodes decide what may be cached and
// for how long; this package contains no freshness lifetimes.
//
// Write renders the configuration, Run runs nginx with it.
package edge

import (
	"cmp"
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"text/template"
	"time"
	"unicode"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/routes"
	"pnyx/mcp"
	"pnyx/reference"
)

// Options configures an edge.
type Options struct {
	// Listen is the host:port for callers, AdminListen that for health and metrics; without a host every address.
	Listen, AdminListen string
	// Origin is the base URL of the nodes.
	Origin string
	// Dir is the folder for the cache and temporary files.
	Dir        string
	CacheBytes uint64
	// Token is an internal token, which nodes recognise the edge by. Without one, no paid responses are cached.
	Token string
	// AnswerTimeout bounds a response, PaymentTimeout one with a payment: nodes take none that may last longer.
	AnswerTimeout, PaymentTimeout time.Duration
	// Modules is the folder of nginx's modules.
	Modules string
	// LogSample logs one in so many requests, none for 0, besides those that fail.
	LogSample uint64
	// User is the account of nginx's worker processes, needed when it runs as root.
	User string
	// Files is how many files and connections a worker process may have open; zero for wantedFiles.
	Files int
}

// wantedFiles is how many files and connections a worker process needs at the most.
const wantedFiles = 32768

//go:embed nginx.conf.tmpl
var configuration string

//go:embed edge.lua
var program string

//go:embed metrics.lua
var metricsProgram string

// Write renders the configuration of nginx. It contains the token.
func Write(w io.Writer, o Options) error {
	facts, err := o.facts()
	if err != nil {
		return err
	}
	parsed, err := template.New("nginx.conf").Funcs(template.FuncMap{
		"quote": quote, "literal": literal, "sockets": sockets, "milliseconds": milliseconds, "inSeconds": time.Duration.Seconds,
	}).Parse(configuration)
	if err != nil {
		return fmt.Errorf("parse the template of nginx.conf: %w", err)
	}
	if err := parsed.Execute(w, facts); err != nil {
		return fmt.Errorf("render nginx.conf: %w", err)
	}
	return nil
}

type facts struct {
	Options

	// Workers is the number of worker processes: nginx counts the machine's cores, of which a container may have few.
	Workers                  int
	Scheme, Host, ServerName string
	Lua                      string
	Free, Paid               string
	URLPatterns              []urlPattern
	Routes                   []routeLabel
	RouteNone                string
	Parameters               []parameter
	PathAuthorize            string
	PathBody, PathRange      string
	MCPPath                  string
	MCPBody                  int
	HeaderInternal           string
	// CallerHeaders are headers of callers that nodes read, MCPHeaders further ones of calls of tools.
	CallerHeaders, MCPHeaders []header
	HeaderFill, HeaderTime    string
	HeaderTimeout             string
	VariablePayment           string
	RequestID                 string
	// Prefix starts the ids of requests, which other edges do not use.
	Prefix   string
	Failures []failure
	// AdminHosts matches the hosts that the admin listener answers to.
	AdminHosts string
	// LogPercent is the part of requests that are logged though they did not fail; empty for none.
	LogPercent string
}

func (o Options) facts() (facts, error) {
	origin, err := url.Parse(o.Origin)
	if err != nil || origin.Host == "" || strings.Trim(origin.Path, "/") != "" {
		return facts{}, fmt.Errorf("origin %q: want http:// or https:// and host:port", o.Origin)
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return facts{}, fmt.Errorf("folder of the edge: %w", err)
	}
	o.Files = cmp.Or(o.Files, wantedFiles)
	// nginx resolves relative paths below its own folder.
	if o.Modules, err = filepath.Abs(o.Modules); err != nil {
		return facts{}, fmt.Errorf("folder of nginx's modules: %w", err)
	}
	if err := o.checkTexts(origin.Host); err != nil {
		return facts{}, err
	}
	f := facts{
		Options: o, Workers: runtime.GOMAXPROCS(0), Scheme: origin.Scheme, Host: hostPort(origin), ServerName: origin.Hostname(),
		Lua: program + metricsProgram, Paid: paidPattern(routes.All()),
		PathAuthorize: api.PathAuthorize, PathBody: api.PathBody, PathRange: api.PathRange, MCPPath: mcp.Path, MCPBody: mcp.MaxBodyBytes,
		HeaderInternal: access.HeaderInternal,
		CallerHeaders: headers(access.HeaderToken, "Authorization", x402.HeaderPayment, api.HeaderFormerPayment,
			"Accept", "Accept-Encoding", "If-None-Match", "If-Range", "Range", api.HeaderLastEventID),
		MCPHeaders: headers("Content-Type", "Origin", mcp.HeaderVersion, mcp.HeaderMethod, mcp.HeaderName),
		HeaderFill: api.HeaderFill, HeaderTime: api.HeaderTime,
		HeaderTimeout:   api.HeaderTimeout,
		VariablePayment: headers(x402.HeaderPayment)[0].Variable,
		RequestID:       api.RequestIDPattern(),
		Prefix:          rand.Text()[:8],
		Routes:          routeLabels(routes.All(), reference.Paths()), RouteNone: api.RouteNone,
	}
	f.URLPatterns, f.Parameters = urlPatterns(routes.All(), reference.Paths())
	f.Free = freePattern(f.URLPatterns)
	f.AdminHosts = adminHosts(o.AdminListen)
	f.LogPercent = logPercent(o.LogSample)
	f.Failures, err = failures()
	return f, err
}

// logPercent returns one in so many as nginx's split_clients reads it; empty for none.
func logPercent(sample uint64) string {
	if sample == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f%%", max(0.01, 100/float64(sample))) // at least what nginx can express
}

// adminHosts returns a pattern of the hosts that no public name resolves for: none, IP addresses, names without
// dots, names below localhost, and the host of the address.
func adminHosts(address string) string {
	pattern := `^(?:[0-9.]*|\[[0-9a-f:.]+\]|[a-z0-9_-]+|[a-z0-9_.-]+\.localhost`
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
		pattern += "|" + regexp.QuoteMeta(strings.ToLower(host))
	}
	return pattern + ")$"
}

// header is a header of a request, and nginx's variable with its value.
type header struct{ Name, Variable string }

func headers(names ...string) []header {
	all := make([]header, len(names))
	for i, name := range names {
		all[i] = header{name, "$http_" + strings.ReplaceAll(strings.ToLower(name), "-", "_")}
	}
	return all
}

func hostPort(origin *url.URL) string {
	return net.JoinHostPort(origin.Hostname(), cmp.Or(origin.Port(), map[string]string{"https": "443"}[origin.Scheme], "80"))
}

// failure is an error that the edge itself sends, in the envelope of the API.
type failure struct {
	api.EdgeFailure

	Status int
	// From lists the statuses of nginx that it replaces; empty where the template says.
	From string
	// Place is the nginx location that sends it.
	Place string
}

// failures returns the errors that the edge itself sends: of the origin, or of requests that cannot be passed on.
func failures() ([]failure, error) {
	all := []failure{
		{Status: http.StatusServiceUnavailable, From: "500 502 503 504"},
		{Status: http.StatusGatewayTimeout}, // in its place for a payment
		{Status: http.StatusBadRequest, From: "400 494 501 505"},
		{Status: http.StatusNotFound, From: "404"},
		{Status: http.StatusMethodNotAllowed, From: "405"},
		{Status: http.StatusRequestTimeout, From: "408"},
		{Status: http.StatusRequestEntityTooLarge, From: "413"},
		{Status: http.StatusRequestURITooLong, From: "414"},
		{Status: http.StatusUnsupportedMediaType, From: "415"},
	}
	for i := range all {
		all[i].Place = fmt.Sprintf("/edge/failure/%d", all[i].Status)
		if all[i].Status == http.StatusMethodNotAllowed {
			all[i].Place = "@failure_405" // a named location keeps the method
		}
		var err error
		if all[i].EdgeFailure, err = api.NewEdgeFailure(all[i].Status, "$request_method", "$own_id"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// quote makes a text one token of nginx's configuration. A dollar sign begins a variable, or ends a pattern's
// line.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// literal is quote for a text in which a dollar sign is nothing but itself.
func literal(text string) string {
	return strings.ReplaceAll(quote(text), "$", "${dollar}")
}

// checkTexts refuses options that nginx would misread: addresses are not quoted, and no text may end a line.
func (o Options) checkTexts(host string) error {
	address := regexp.MustCompile(`^[\w.*:\[\]%-]+$`)
	for name, text := range map[string]string{"origin": host, "listen address": o.Listen, "admin address": o.AdminListen} {
		if !address.MatchString(text) {
			return fmt.Errorf("%s %q: want a host of letters, digits, dots and dashes, and a port", name, text)
		}
	}
	for name, text := range map[string]string{"folder": o.Dir, "modules": o.Modules, "user": o.User, "internal token": o.Token} {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("%s: want a text without control characters", name)
		}
	}
	return nil
}

// sockets returns the parameters of nginx's listen directive for an address. Without a host, nginx needs one for
// IPv4 and one for IPv6, and fails where the machine has no IPv6.
func sockets(address string) []string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "" {
		return []string{address}
	}
	all := []string{"*:" + port}
	if probe, err := net.Listen("tcp6", "[::]:0"); err == nil { //nolint:noctx // closed at once
		_ = probe.Close() // nothing to lose
		all = append(all, "[::]:"+port)
	}
	return all
}

// milliseconds writes a duration in nginx's syntax.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
