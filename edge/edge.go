// Package edge is the cache between callers and API nodes, as a configuration of
// nginx. It answers free requests from its cache, and paid ones too, once a node
// has permitted each of them. What it may cache, and for how long, is for the nodes
// to say: nothing here knows a duration of freshness, and all that it knows about
// routes it has from the table of routes.
package edge

import (
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/doc"
)

// Options says where an edge stands.
type Options struct {
	// Listen and AdminListen are host:port of callers, and of health and status; without
	// a host, every address of the machine.
	Listen, AdminListen string
	// Origin is the base URL of the nodes.
	Origin string
	// Dir is a folder of the edge's own: the cache and temporary files.
	Dir string
	// CacheBytes bounds the cache.
	CacheBytes uint64
	// Token is an internal token, with which the edge proves to be one. Without one
	// paid answers are not cached.
	Token string
	// AnswerTimeout is how long an answer may take, PaymentTimeout one that is paid for.
	AnswerTimeout, PaymentTimeout time.Duration
	// Modules is the folder of nginx's modules.
	Modules string
	// User is the account of the workers, which nginx asks for when it runs as root.
	User string
}

//go:embed nginx.conf.tmpl
var configuration string

//go:embed edge.lua
var program string

// Write writes the configuration of nginx. It contains the token.
func Write(w io.Writer, o Options) error {
	facts, err := o.facts()
	if err != nil {
		return err
	}
	parsed, err := template.New("nginx.conf").Funcs(template.FuncMap{
		"quote": quote, "sockets": sockets, "milliseconds": milliseconds, "inSeconds": time.Duration.Seconds,
	}).Parse(configuration)
	if err != nil {
		return fmt.Errorf("read the template of nginx.conf: %w", err)
	}
	if err := parsed.Execute(w, facts); err != nil {
		return fmt.Errorf("write nginx.conf: %w", err)
	}
	return nil
}

// facts is what the configuration is made of.
type facts struct {
	Options

	Scheme, Host, ServerName string
	Lua                      string
	Free, Paid               string
	Spellings                []spelling
	Parameters               []parameter
	PathAuthorize, PathBody  string
	HeaderInternal           string
	HeaderToken              string
	HeaderFill, HeaderTime   string
	HeaderPayment            string
	VariablePayment          string
	RequestID                string
	Failures                 []failure
}

func (o Options) facts() (facts, error) {
	origin, err := url.Parse(o.Origin)
	if err != nil || origin.Host == "" || strings.Trim(origin.Path, "/") != "" {
		return facts{}, fmt.Errorf("the origin %q: want http:// or https:// and host:port", o.Origin)
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return facts{}, fmt.Errorf("the folder of the edge: %w", err)
	}
	// What nginx is told stands for itself: nginx would look below its own folder.
	if o.Modules, err = filepath.Abs(o.Modules); err != nil {
		return facts{}, fmt.Errorf("the folder of nginx's modules: %w", err)
	}
	f := facts{
		Options: o, Scheme: origin.Scheme, Host: hostPort(origin), ServerName: origin.Hostname(),
		Lua: program, Paid: paidPattern(api.Routes()),
		PathAuthorize: api.PathAuthorize, PathBody: api.PathBody,
		HeaderInternal: access.HeaderInternal, HeaderToken: access.HeaderToken,
		HeaderFill: api.HeaderFill, HeaderTime: api.HeaderTime, HeaderPayment: x402.HeaderPayment,
		VariablePayment: "$http_" + strings.ReplaceAll(strings.ToLower(x402.HeaderPayment), "-", "_"),
		RequestID:       api.RequestIDPattern(),
	}
	f.Spellings, f.Parameters = spellings(api.Routes(), doc.Paths())
	f.Free = freePattern(f.Spellings)
	f.Failures, err = failures()
	return f, err
}

func hostPort(origin *url.URL) string {
	if origin.Port() != "" {
		return origin.Host
	}
	if origin.Scheme == "https" {
		return origin.Host + ":443"
	}
	return origin.Host + ":80"
}

// failure is an answer of the edge's own, in the envelope of the API.
type failure struct {
	api.EdgeFailure

	// Status is what the caller gets, From which of nginx's own it stands for.
	Status int
	From   string
	// Place is the location that gives it.
	Place string
}

// failures are the answers of the edge's own: the origin cannot be reached, or what
// was sent is no request that could be passed on.
func failures() ([]failure, error) {
	all := []failure{
		{Status: http.StatusServiceUnavailable, From: "500 502 503 504"},
		{Status: http.StatusBadRequest, From: "400 494"},
		{Status: http.StatusNotFound, From: "404"},
		{Status: http.StatusMethodNotAllowed, From: "405"},
		{Status: http.StatusRequestTimeout, From: "408"},
		{Status: http.StatusRequestEntityTooLarge, From: "413"},
		{Status: http.StatusRequestURITooLong, From: "414"},
	}
	for i := range all {
		all[i].Place = fmt.Sprintf("/edge/failure/%d", all[i].Status)
		if all[i].Status == http.StatusMethodNotAllowed {
			all[i].Place = "@failure_405" // a named one still knows the method
		}
		var err error
		if all[i].EdgeFailure, err = api.NewEdgeFailure(all[i].Status, "$request_method", "$own_id"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// quote makes a text one word of nginx's configuration. A dollar sign stays what it
// is there: the beginning of a variable, or the end of a line in a pattern.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// sockets are what nginx calls an address to listen on. Where there is no host, it wants
// to be told of both kinds of addresses, and fails where the machine has but one.
func sockets(address string) []string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "" {
		return []string{address}
	}
	all := []string{"*:" + port}
	if probe, err := net.Listen("tcp6", "[::]:0"); err == nil { //nolint:noctx // closed at once
		_ = probe.Close() // nothing came in
		all = append(all, "[::]:"+port)
	}
	return all
}

// milliseconds is a duration as nginx reads it.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%dms", d.Milliseconds())
}
