package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/trace"

	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/telemetry"
)

// call is one call of a tool.
type call struct {
	server *Server
	tool   *tool
	reader *api.Reader
	// known is what is known of the call; nil for nothing, and learned what was found out.
	known, learned *knownCall
	// given are the arguments as texts by name, and problems those of arguments that are no
	// texts. Neither is set for a known call.
	given    map[string]string
	problems []api.Problem
	// payment is the payment that came with the call, as a header has it; empty for none.
	payment string
	// parsedArgs are the canonical texts of the arguments, with defaults, and args are those
	// of the tool's reads.
	parsedArgs, args map[string]string
	// window is the window of time that the server chose, as a cursor remembers it; empty
	// where the caller chose.
	window string
	// purchase is what a payment for the call buys.
	purchase api.Purchase
	// parsed are the reads of get, and answered are their answers.
	parsed   []api.ParsedRead
	answered []api.Answer
	// oneRead and oneAnswer are the memory of the reads and answers of most tools.
	oneRead   [1]*api.Read
	oneAnswer [1]api.Answer
	// metaAt is where meta begins in what envelope returned.
	metaAt int
}

// callTool answers tools/call. What a model can mend is a result, too.
func (s *Server) callTool(c *fiber.Ctx, m message, era string) (result, *call, *rpcError) {
	t, known := s.tools[m.Params.Name]
	if !known {
		return result{}, nil, &rpcError{status: http.StatusOK, Code: codeParams, Message: "there is no tool " + quoted(m.Params.Name)}
	}
	given, problems, ok := texts(m.Params.Arguments, t.params)
	if !ok {
		return result{}, nil, &rpcError{status: http.StatusOK, Code: codeParams, Message: "arguments must be an object"}
	}
	called := &call{server: s, tool: t, given: given, problems: problems, payment: paymentOf(m.Params)}
	return s.perform(c, called, era), called, nil
}

// perform runs a call, and notes its outcome.
func (s *Server) perform(c *fiber.Ctx, called *call, era string) result {
	began := time.Now()
	var span telemetry.Span
	if s.tracer != nil {
		var ctx context.Context
		ctx, span = s.tracer.Start(c.UserContext(), "tool "+called.tool.name, trace.SpanKindInternal)
		defer span.End()
		c.SetUserContext(ctx)
	}
	called.reader = s.node.NewReader(c)
	answered, err := called.run(era)
	var code api.Code
	if err != nil {
		failed := api.ErrorOf(err)
		answered, code = failureOf(failed, called.reader.RequestID()), failed.Code
		span.SetError(string(code))
	}
	called.reader.End(err == nil)
	api.NoteTool(c, called.tool.name, code)
	s.metrics.count(called.tool.name, code, time.Since(began))
	return answered
}

// run answers the call. The error is one of the API.
func (c *call) run(era string) (result, error) {
	if c.known != nil {
		c.parsedArgs, c.purchase = c.known.args, c.known.purchase
	} else {
		args, failed := api.ParseArguments(c.tool.params, c.given, c.problems)
		if failed != nil {
			return result{}, c.reader.Read(c.tool.routes[0]).Refuse(failed)
		}
		c.parsedArgs, c.purchase = args, c.purchaseOf(args)
	}
	c.args = c.parsedArgs
	c.chooseWindow()
	structured, err := c.tool.run(c)
	switch {
	case errors.Is(err, errKnown):
		return result{known: c.known, request: c.answered[0].Meta}, nil
	case errors.Is(err, errPurchased):
		structured, _ = c.reader.Purchased()
	case err != nil:
		return result{}, err
	default:
		c.learnResult(era, structured)
		if err := c.reader.Settle(structured); err != nil {
			return result{}, err
		}
	}
	return result{structured: structured, meta: receiptMeta(c.reader.Receipt())}, nil
}

// failureOf is the result of a call that failed, in words and as over HTTP.
func failureOf(failed *api.Error, requestID string) result {
	if terms := failed.Headers[x402.HeaderRequired]; terms != "" {
		return paymentRequired(failed, requestID, terms)
	}
	text := strings.TrimSpace(string(failed.Code)+": "+failed.Message+". "+advice(failed)) + " (request " + requestID + ")"
	members := appendString([]byte(`"isError":true,"content":[{"type":"text","text":`), text)
	members = append(append(members, `}],"structuredContent":`...), encode(failed.Envelope(requestID))...)
	return result{members: members}
}

// advice says what a model can do about an error.
func advice(failed *api.Error) string {
	// Where payments are not taken, the message says so, and there are no terms to pay by.
	if failed.Code == api.CodePaymentRequired {
		return failed.Advice()
	}
	return cmp.Or(failed.Advice(), failed.Code.Info().Fix)
}

// texts returns the arguments as the texts that a query has, and problems with those that
// are none. It reports false for arguments that are no object.
func texts(arguments json.RawMessage, params []api.Param) (map[string]string, []api.Problem, bool) {
	given, problems := map[string]string{}, []api.Problem(nil)
	if len(arguments) == 0 || string(arguments) == "null" {
		return given, nil, true
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &values); err != nil {
		return nil, nil, false
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, given1, ok := textOf(values[name])
		switch {
		case !ok:
			problems = append(problems, problemWith(name, params))
		case given1:
			given[name] = text
		}
	}
	return given, problems, true
}

// textOf returns the text of a value: of a list, its elements joined by commas. A null and
// an empty list are not given.
func textOf(value json.RawMessage) (text string, given, ok bool) {
	switch value[0] {
	case '"':
		ok = json.Unmarshal(value, &text) == nil
		return text, true, ok
	case '[':
		var list []string
		ok = json.Unmarshal(value, &list) == nil
		return strings.Join(list, ","), len(list) > 0, ok
	case '{':
		return "", false, false
	case 'n':
		return "", false, true
	}
	return string(value), true, true
}

// problemWith is the problem with an argument that is no text, number, boolean or list.
func problemWith(name string, params []api.Param) api.Problem {
	problem := api.Problem{Parameter: name, Message: "has a value of the wrong type", Allowed: "what the input schema says"}
	for _, param := range params {
		if param.Name == name {
			problem.Allowed = param.Allowed()
		}
	}
	return problem
}

// defaultWindow is how long the window is that a caller does not choose. It ends with the
// hour, so that calls of an hour share their pages.
const defaultWindow = 7 * 24 * time.Hour

// windowEnd ends the window that a cursor begins with. No cursor of the API has it.
const windowEnd = "."

// chooseWindow sets the ends of the window that are left out. The next page must have the
// same window, which its cursor therefore begins with.
func (c *call) chooseWindow() {
	if !c.tool.window {
		return
	}
	from, hasFrom := c.args["from"]
	to, hasTo := c.args["to"]
	if hasFrom && hasTo {
		return
	}
	end := c.server.now().UTC().Truncate(time.Hour).Add(time.Hour)
	if chosen, cursor, is := strings.Cut(c.args["cursor"], windowEnd); is {
		if unix, err := strconv.ParseInt(chosen, 10, 64); err == nil {
			end = time.Unix(unix, 0).UTC()
			c.args["cursor"] = cursor
		}
	}
	c.window = strconv.FormatInt(end.Unix(), 10)
	if !hasTo {
		to = end.Format(time.RFC3339)
	}
	if !hasFrom {
		begin := end
		if given, err := time.Parse(time.RFC3339, to); err == nil {
			begin = given
		}
		from = begin.Add(-defaultWindow).Format(time.RFC3339)
	}
	c.args["from"], c.args["to"] = from, to
}

// read begins and parses a read of a route with the arguments of the call.
func (c *call) read(routeID string) (*api.Read, error) {
	read, texts := c.reader.Read(routeID), map[string]string{}
	for _, param := range c.tool.byRoute[routeID].Params {
		if value, given := c.args[param.Name]; given {
			texts[param.Name] = value
		}
	}
	if routeID == routeTimeline {
		texts["metric"] = c.args[argTimeline]
	}
	return read, read.Parse(texts)
}

// get reads routes with the arguments of the call: all are parsed before any is authorized,
// and all are authorized before any is read. The error is errKnown where the result is known.
func (c *call) get(routeIDs ...string) ([]*api.Read, []api.Answer, error) {
	reads := c.oneRead[:0]
	if c.known != nil {
		c.parsed = c.known.reads
		for _, parsed := range c.parsed {
			reads = append(reads, c.reader.ReadParsed(parsed))
		}
	} else {
		for _, id := range routeIDs {
			read, err := c.read(id)
			if err != nil {
				return nil, nil, err
			}
			reads, c.parsed = append(reads, read), append(c.parsed, read.ParsedRead)
		}
	}
	answers, err := c.answers(reads)
	c.answered = answers
	if err == nil && c.known != nil && c.known.isResultOf(answers) {
		err = errKnown
	}
	return reads, answers, err
}

// answers returns the answers to all reads of the call, which were parsed.
func (c *call) answers(reads []*api.Read) ([]api.Answer, error) {
	if err := c.authorize(); err != nil {
		return nil, err
	}
	answers := c.oneAnswer[:0]
	for _, read := range reads {
		answer, err := read.Get()
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// typicalMetaBytes holds the meta of most answers and the envelope.
const typicalMetaBytes = 512

// envelope returns the JSON of data and meta.
func (c *call) envelope(data []byte, meta api.Meta) []byte {
	text := append(make([]byte, 0, len(data)+typicalMetaBytes), `{"data":`...)
	text = append(append(text, data...), `,"meta":`...)
	c.metaAt = len(text)
	return append(meta.Append(text), '}')
}

// object is an object in the making, from values that are JSON.
type object struct{ bytes.Buffer }

// add adds a member.
func (o *object) add(key string, value []byte) {
	separator := byte(',')
	if o.Len() == 0 {
		separator = '{'
	}
	o.WriteByte(separator)
	o.WriteString(`"` + key + `":`)
	o.Write(value)
}

// end returns the JSON of the object, which has a member.
func (o *object) end() []byte {
	o.WriteByte('}')
	return o.Bytes()
}
