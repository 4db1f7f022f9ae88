package mcp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
)

const (
	// modern is the revision without a handshake: requests say everything themselves.
	modern = "2026-07-28"
	// newestLegacy is the newest revision that begins with initialize.
	newestLegacy = "2025-11-25"
)

// legacyVersions lists the revisions that begin with initialize.
func legacyVersions() []string { return []string{newestLegacy, "2025-06-18", "2025-03-26"} }

// supportedVersions lists all revisions, the newest first.
func supportedVersions() []string { return append([]string{modern}, legacyVersions()...) }

// Methods whose results are made for one caller.
const (
	methodCall   = "tools/call"
	methodPrompt = "prompts/get"
)

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

// Codes of errors of JSON-RPC and of the protocol.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeInternal       = -32603

	codeMethod  = -32601
	codeParams  = -32602
	codeHeader  = -32020
	codeVersion = -32022
)

// message is what a client sends: a request, a notification without id, or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  params          `json:"params"`
	// Result and Error are a response's.
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type params struct {
	// Version is the revision that initialize asks for.
	Version string `json:"protocolVersion"`
	// Name is the tool or prompt, URI the resource, and Arguments are the first two's.
	Name      string          `json:"name"`
	URI       string          `json:"uri"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      requestMeta     `json:"_meta"`
}

// requestMeta has the members of _meta that are read, each as it is; empty for none.
type requestMeta struct {
	// Version is the revision that the request speaks, and Capabilities are its client's.
	Version      json.RawMessage `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	// Payment pays for the call, by the MCP transport of x402.
	Payment json.RawMessage `json:"x402/payment"`
}

// rpcError is an error of the protocol, as opposed to one of a tool.
type rpcError struct {
	status int
	// Code and Message are what is sent, and Data is what belongs to the code; nil for nothing.
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func invalid(code int, message string) *rpcError {
	return &rpcError{status: http.StatusBadRequest, Code: code, Message: message}
}

// wrongParams is the error of parameters that are well-formed, and name or hold what is not there.
func wrongParams(message string) *rpcError {
	return &rpcError{status: http.StatusOK, Code: codeParams, Message: message}
}

// response is what is sent for a request: a result or an error.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  result          `json:"result,omitzero"`
	Error   *rpcError       `json:"error,omitzero"`
}

// result has the members of the result of a request.
type result map[string]any

func (s *Server) answer(c *fiber.Ctx) {
	m, failed := parse(c.BodyRaw())
	var era string
	if failed == nil {
		era, failed = eraOf(c, m)
	}
	var r result
	if failed == nil && m.ID != nil {
		r, failed = s.call(c, m, era)
	}
	switch {
	case failed != nil:
		c.Status(failed.status)
		send(c, response{ID: m.ID, Error: failed})
	case m.ID == nil: // a notification or a response asks for nothing
		c.Status(http.StatusAccepted)
	default:
		if era == modern {
			r.complete(*m.Method)
		}
		send(c, response{ID: m.ID, Result: r})
	}
}

// parse reads a message. Batches are not part of the revisions that are spoken here.
func parse(body []byte) (message, *rpcError) {
	var m message
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '[' && json.Valid(body) {
		return m, invalid(CodeInvalidRequest, "batches are not supported: send one message a request")
	}
	if err := json.Unmarshal(body, &m); err != nil || !utf8.Valid(body) { // the answer repeats the id
		if json.Valid(body) && utf8.Valid(body) {
			return message{}, invalid(CodeInvalidRequest, "the body is not a JSON-RPC message: method and names are strings, params and _meta objects")
		}
		return message{}, invalid(CodeParse, "the body is not JSON in UTF-8")
	}
	if problem := nameProblem(body); problem != "" {
		return message{}, invalid(CodeInvalidRequest, problem)
	}
	switch id := m.ID; {
	case m.Version != "2.0":
		m.ID = nil
		return m, invalid(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	case id != nil && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		m.ID = nil
		return m, invalid(CodeInvalidRequest, "id must be a string or a number; a notification has none")
	case m.Method == nil && m.Result == nil && m.Error == nil:
		return m, invalid(CodeInvalidRequest, "method is missing")
	case m.Method == nil:
		m.ID = nil // a response to a request that was never sent
	}
	return m, nil
}

// eraOf returns the revision that a request speaks: without a header, one with a handshake. A modern one has in
// headers, too, what it is about, for those who pass it on without reading its body.
func eraOf(c *fiber.Ctx, m message) (string, *rpcError) {
	version, stated := c.Get(HeaderVersion), ""
	_ = json.Unmarshal(m.Params.Meta.Version, &stated) // empty for anything but a string
	switch {
	case version == "" && stated == "":
		return newestLegacy, nil
	case version == "":
		return "", invalid(codeHeader, HeaderVersion+" is missing; _meta names "+quoted(stated))
	case slices.Contains(legacyVersions(), version):
		return version, nil
	case version != modern:
		return "", &rpcError{
			status: http.StatusBadRequest, Code: codeVersion, Message: "this revision of the protocol is not supported",
			Data: map[string]any{"supported": supportedVersions(), "requested": strings.Clone(version)},
		}
	case m.ID == nil:
		return modern, nil
	case stated != version:
		return "", invalid(codeHeader, HeaderVersion+" and _meta["+metaVersion+"] must be equal, _meta names "+quoted(stated))
	case len(m.Params.Meta.Capabilities) == 0 || m.Params.Meta.Capabilities[0] != '{':
		return "", invalid(codeHeader, "_meta["+metaCapabilities+"] must be an object")
	case c.Get(HeaderMethod) != *m.Method:
		return "", invalid(codeHeader, HeaderMethod+" must be the method of the body, "+quoted(*m.Method))
	}
	name, named := NameOf(*m.Method, m.Params.Name, m.Params.URI)
	if named && decodeHeader(c.Get(HeaderName)) != name {
		return "", invalid(codeHeader, HeaderName+" must name what the body names, "+quoted(name))
	}
	return modern, nil
}

func quoted(text string) string {
	const maxQuoted = 64 // bounds how much of a caller's text an error repeats, in bytes
	if len(text) > maxQuoted {
		text = text[:maxQuoted]
	}
	return `"` + strings.ToValidUTF8(text, "") + `"`
}

// call answers a request by its method.
func (s *Server) call(c *fiber.Ctx, m message, era string) (result, *rpcError) {
	switch method := *m.Method; {
	case method == methodCall:
		return s.callTool(c, m)
	case method == "tools/list":
		return result{"tools": s.toolList}, nil
	case method == "prompts/list":
		return result{"prompts": prompts()}, nil
	case method == methodPrompt:
		return getPrompt(m.Params)
	case method == "resources/list":
		return result{"resources": s.documents}, nil
	case method == "resources/templates/list":
		return result{"resourceTemplates": []any{}}, nil
	case method == "resources/read":
		return s.readResource(m.Params)
	case method == "server/discover" && era == modern:
		return result{"supportedVersions": supportedVersions(), "capabilities": capabilities(), "instructions": s.instructions}, nil
	case method == "initialize" && era != modern:
		return s.initialize(m.Params.Version), nil
	case method == "ping" && era != modern:
		return result{}, nil
	}
	failed := &rpcError{status: http.StatusOK, Code: codeMethod, Message: "there is no method " + quoted(*m.Method)}
	if era == modern {
		failed.status = http.StatusNotFound
	}
	return nil, failed
}

// serverInfo names the service, and its version as documents do.
func serverInfo() map[string]any {
	return map[string]any{"name": "pnyx", "title": "Pnyx, DAO governance data", "version": api.SurfaceVersion}
}

// capabilities are what the server does: nothing that changes while a client looks.
func capabilities() map[string]any {
	return map[string]any{"tools": struct{}{}, "prompts": struct{}{}, "resources": struct{}{}}
}

// initialize answers with the revision that is asked for, or the newest one with a handshake.
func (s *Server) initialize(version string) result {
	if !slices.Contains(legacyVersions(), version) {
		version = newestLegacy
	}
	return result{"protocolVersion": version, "capabilities": capabilities(), "serverInfo": serverInfo(), "instructions": s.instructions}
}

// complete adds what the modern revision says in all results of a method: who answers, and how long a client may
// keep a result that is the same for everyone until the next release.
func (r result) complete(method string) {
	r["resultType"] = "complete"
	if method != methodCall && method != methodPrompt {
		r["ttlMs"], r["cacheScope"] = 3_600_000, "public"
	}
	meta, _ := r["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		r["_meta"] = meta
	}
	meta[metaServer] = serverInfo()
}

func send(c *fiber.Ctx, r response) {
	r.Version = "2.0"
	c.Response().SetBodyRaw(encode(r))
}

// nameProblem says why another parser may read a message differently; empty for a message that all parsers read
// alike. encoding/json takes the last of several members with one name, and reads names in any case.
func nameProblem(body []byte) string {
	message, problem := distinct(body, "jsonrpc", "id", "method", "params")
	params, inParams := distinct(message["params"], "protocolVersion", "name", "uri", "arguments", "_meta")
	_, inMeta := distinct(params["_meta"], metaVersion, metaCapabilities, metaPayment)
	_, inArguments := distinct(params["arguments"])
	return cmp.Or(problem, inParams, inMeta, inArguments)
}

// distinct returns the members of an object, and the problem if two have one name, or a known name is not written
// exactly. A value that is no object has no members.
func distinct(object []byte, known ...string) (values map[string][]byte, problem string) {
	values = map[string][]byte{}
	if !bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) {
		return values, ""
	}
	for name, value := range members(object) {
		if _, twice := values[name]; twice {
			return values, quoted(name) + " is given more than once"
		}
		for _, exact := range known {
			if name != exact && strings.EqualFold(name, exact) {
				return values, quoted(name) + " must be written " + quoted(exact)
			}
		}
		values[name] = value
	}
	return values, ""
}

// Headers of the protocol: with them those who pass a request on need not read its body.
const (
	// HeaderVersion is the revision that the request speaks.
	HeaderVersion = "MCP-Protocol-Version"
	// HeaderMethod is the method of the message.
	HeaderMethod = "Mcp-Method"
	// HeaderName is what the message is about; see NameOf and EncodeHeader.
	HeaderName = "Mcp-Name"
)

// NameOf returns what a message is about, its name or uri. It reports false for a method about nothing.
func NameOf(method, name, uri string) (about string, named bool) {
	switch method {
	case methodCall, methodPrompt:
		return name, true
	case "resources/read":
		return uri, true
	}
	return "", false
}

// What is around the base64 of a text that a header cannot hold as it is.
const (
	base64Begin = "=?base64?"
	base64End   = "?="
)

// EncodeHeader returns a text as the value of a header: in base64 if it would not arrive, or looks like base64.
func EncodeHeader(text string) string {
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) &&
		strings.TrimSpace(text) == text && !strings.HasPrefix(text, base64Begin)
	if plain {
		return text
	}
	return base64Begin + base64.StdEncoding.EncodeToString([]byte(text)) + base64End
}

func decodeHeader(value string) string {
	inner, is := strings.CutPrefix(value, base64Begin)
	inner, ends := strings.CutSuffix(inner, base64End)
	text, err := base64.StdEncoding.DecodeString(inner)
	if !is || !ends || err != nil {
		return value
	}
	return string(text)
}
