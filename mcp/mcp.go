// Package mcp serves the routes of package api as tools for agents, over the Model Context
// Protocol at /mcp.
//
// Every request is one POST that says everything about itself; no state is kept between
// requests. Clients of the revision 2026-07-28 and clients that begin with initialize are
// both answered. A tool reads routes through api.Reader, so that its arguments, limits,
// prices and values are the same as over HTTP.
package mcp

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/telemetry"
)

// Path is where the tools are served.
const Path = "/mcp"

// RouteName is the name of Path in metrics and logs of requests.
const RouteName = "mcp"

// MaxBodyBytes bounds the body of a request.
const MaxBodyBytes = 64 << 10

// Options configures a Server. Fields without a comment on nil are required.
type Options struct {
	Node *api.API
	// PublicURL is the public address of the API; empty when there is none.
	PublicURL string
	// Origins lists further origins, such as https://app.example.org, whose scripts may call the tools.
	Origins []string
	// Documents are what the node serves to read; the guide of language models is a resource.
	Documents []api.Document
	Metrics   prometheus.Registerer
	// Tracer traces calls; nil when none are traced.
	Tracer *telemetry.Tracer
	// Payments says whether the node takes payments for single calls.
	Payments bool
}

// Server answers requests to Path. It is safe for concurrent use.
type Server struct {
	options   Options
	origins   map[string]bool
	hosts     map[string]bool
	tools     map[string]*tool
	toolList  json.RawMessage // of tools/list, which every client asks for first
	documents []document
	// instructions tell a model how to use the tools.
	instructions string
	metrics      *metrics
	now          func() time.Time
}

// New returns a server, which its node answers Path with.
func New(o Options) *Server {
	s := &Server{
		options: o, origins: map[string]bool{}, hosts: map[string]bool{}, tools: map[string]*tool{},
		documents: resources(o.Documents), instructions: instructionsOf(o.Payments), now: time.Now,
	}
	for _, address := range append([]string{o.PublicURL}, o.Origins...) {
		if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
			s.origins[parsed.Scheme+"://"+parsed.Host] = true
			s.hosts[strings.ToLower(parsed.Hostname())] = true
		}
	}
	tools := allTools()
	for _, t := range tools {
		s.tools[t.Name] = t
	}
	s.toolList = encode(listTools(tools, o.Payments))
	s.metrics = newMetrics(o.Metrics, tools)
	o.Node.Mount(Path, RouteName, MaxBodyBytes, s.handle)
	return s
}

// handle answers every request to Path. What is no request of the protocol gets an error of the API.
func (s *Server) handle(c *fiber.Ctx) error {
	if err := s.checkSource(c); err != nil {
		return err
	}
	switch c.Method() {
	case fiber.MethodPost:
	case fiber.MethodOptions:
		return preflight(c)
	default:
		return methodNotAllowed()
	}
	if !isJSON(c.Get(fiber.HeaderContentType)) {
		return apierror.New(http.StatusUnsupportedMediaType, apierror.CodeValidation, nil,
			"the body must be JSON: send Content-Type: application/json")
	}
	s.answer(c)
	return nil
}

func isJSON(contentType string) bool {
	if contentType == fiber.MIMEApplicationJSON {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == fiber.MIMEApplicationJSON
}

// checkSource refuses scripts of foreign origins and, on a loopback address, foreign host names: a page in a browser
// could otherwise call the tools in its reader's name, also of a node for this machine alone.
func (s *Server) checkSource(c *fiber.Ctx) error {
	host := string(c.Request().Host())
	if local := c.Context().LocalIP(); local != nil && local.IsLoopback() && !s.isOwnHost(host) { //nolint:forbidigo // fasthttp knows the connection
		return forbidden("the Host header names another service; PNYX_PUBLIC_URL and PNYX_MCP_ORIGINS are accepted")
	}
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" || s.origins[origin] {
		return nil
	}
	if parsed, err := url.Parse(origin); err == nil && parsed.Host != "" && parsed.Host == host {
		return nil
	}
	return forbidden("scripts of this origin may not call the tools; PNYX_MCP_ORIGINS lists those that may")
}

// isOwnHost reports whether a Host header is a name of this machine or of the service.
func (s *Server) isOwnHost(host string) bool {
	name := host
	if port := strings.LastIndexByte(host, ':'); port > strings.LastIndexByte(host, ']') {
		name = host[:port]
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || s.hosts[name] {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

func forbidden(message string) *apierror.Error {
	return &apierror.Error{Status: http.StatusForbidden, Code: apierror.CodeForbidden, Message: message}
}

// methodNotAllowed is the error of other methods: there are no streams to read and no sessions to delete.
func methodNotAllowed() error {
	return &apierror.Error{
		Status: http.StatusMethodNotAllowed, Code: apierror.CodeMethodNotAllowed,
		Message: "only POST is allowed here", Details: map[string]any{"allowed": []string{fiber.MethodPost}},
		Headers: map[string]string{fiber.HeaderAllow: fiber.MethodPost},
	}
}

// preflight lets a script of an accepted origin send what clients send.
func preflight(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAllow, fiber.MethodPost)
	c.Set(fiber.HeaderAccessControlAllowMethods, fiber.MethodPost)
	c.Set(fiber.HeaderAccessControlAllowHeaders, "*, Authorization")
	c.Status(http.StatusNoContent)
	return nil
}

// outcomeOK is the outcome of a call with data; another call's is the code of its error.
const outcomeOK = "ok"

// metrics are the metrics of the tools. Labels are names of tools and codes of errors.
type metrics struct {
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer, tools []*tool) *metrics {
	m := &metrics{
		calls: telemetry.Counters(registerer, "pnyx_mcp_calls_total",
			"Calls of tools, by tool and outcome: ok, or the code of the error.", "tool", "outcome"),
		durations: telemetry.Histograms(registerer, telemetry.Latency("pnyx_mcp_call_duration_seconds",
			"Time to answer a call of a tool, by tool."), "tool"),
	}
	for _, t := range tools { // all tools are there from the start
		m.calls.WithLabelValues(t.Name, outcomeOK)
		m.durations.WithLabelValues(t.Name)
	}
	return m
}

// count counts a call, with the code of its error; empty for none.
func (m *metrics) count(tool string, code apierror.Code, took time.Duration) {
	m.calls.WithLabelValues(tool, cmp.Or(string(code), outcomeOK)).Inc()
	m.durations.WithLabelValues(tool).Observe(took.Seconds())
}
