package mcp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/shopspring/decimal"
	"go.opentelemetry.io/otel/trace"

	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/governance"
)

type call struct {
	server *Server
	tool   *tool
	reader *api.Reader
	// given are the arguments as texts by name, and problems the problems of arguments that are no texts.
	given    map[string]string
	problems []param.Problem
	// payment is the payment that came with the call, as a header has it; empty for none.
	payment string
	// args are the canonical texts of the arguments, with defaults, for the tool's reads.
	args map[string]string
	// window is the window of time that the server chose, for cursors; empty where the caller chose.
	window string
	// purchase is what a payment for the call buys.
	purchase api.Purchase
}

// callTool answers tools/call. Correctable errors are results.
func (s *Server) callTool(c *fiber.Ctx, m message) (result, *rpcError) {
	t, known := s.tools[m.Params.Name]
	if !known {
		return nil, wrongParams("there is no tool " + quoted(m.Params.Name))
	}
	given, problems, ok := texts(m.Params.Arguments, t.params)
	if !ok {
		return nil, wrongParams("arguments must be an object")
	}
	return s.perform(c, &call{server: s, tool: t, given: given, problems: problems, payment: paymentOf(m.Params)}), nil
}

// perform runs a call, and notes its outcome.
func (s *Server) perform(c *fiber.Ctx, called *call) result {
	began := time.Now()
	ctx, span := s.options.Tracer.Start(c.UserContext(), "tool "+called.tool.Name, trace.SpanKindInternal)
	defer span.End()
	c.SetUserContext(ctx)
	called.reader = s.options.Node.NewReader(c)
	answered, err := called.run()
	var code apierror.Code
	if err != nil {
		failed := apierror.Of(err)
		answered, code = s.failureOf(failed, called.reader.RequestID()), failed.Code
		span.SetError(string(code))
	}
	called.reader.End(err == nil)
	api.NoteTool(c, called.tool.Name, code)
	s.metrics.count(called.tool.Name, code, time.Since(began))
	return answered
}

// run answers the call. The error is one of the API.
func (c *call) run() (result, error) {
	args, failed := api.ParseArguments(c.tool.params, c.given, c.problems)
	if failed != nil {
		return nil, c.reader.Read(c.tool.Routes[0]).Refuse(failed)
	}
	c.args, c.purchase = args, c.purchaseOf(args)
	c.chooseWindow()
	structured, err := c.tool.run(c)
	switch {
	case errors.Is(err, errPurchased):
		structured, _ = c.reader.Purchased()
	case err != nil:
		return nil, err
	default:
		if err := c.reader.Settle(structured); err != nil {
			return nil, err
		}
	}
	// Once as it is and once as text, for clients that show one or the other.
	return resultOf(structured, c.reader.Receipt(), string(structured)), nil
}

// resultOf is the result of a call: JSON, texts, and the receipt of a payment, base64 of its JSON; empty for none.
func resultOf(structured json.RawMessage, receipt string, texts ...string) result {
	content := []any{}
	for _, text := range texts {
		content = append(content, map[string]any{"type": "text", "text": text})
	}
	r := result{"content": content, "structuredContent": structured}
	if text, err := base64.StdEncoding.DecodeString(receipt); err == nil && receipt != "" {
		r["_meta"] = map[string]any{metaReceipt: json.RawMessage(text)}
	}
	return r
}

// failureOf is the result of a call that failed, in words and as over HTTP.
func (s *Server) failureOf(failed *apierror.Error, requestID string) result {
	if terms := failed.Headers[x402.HeaderRequired]; terms != "" {
		return paymentRequired(failed, requestID, terms)
	}
	text := strings.TrimSpace(string(failed.Code)+": "+apierror.Sentence(failed.Message)+" "+s.advice(failed)) + " (request " + requestID + ")"
	r := resultOf(encode(failed.Envelope(requestID)), "", text)
	r["isError"] = true
	return r
}

// advice says what a model can do about an error.
func (s *Server) advice(failed *apierror.Error) string {
	// Without payments, the message says so. Problems of parameters are in the text; a malformed payment has none.
	if failed.Code == apierror.CodePaymentRequired || failed.Code == apierror.CodeValidation {
		return failed.Advice()
	}
	if failed.Code == apierror.CodeNotFound { // the code's fix is about paths
		return "Take ids and keys from tools that list them."
	}
	return cmp.Or(failed.Advice(), api.InfoOf(failed.Code, s.options.Payments).Fix)
}

// texts returns the arguments as the texts that a query has, and problems with those that
// are none. It reports false for arguments that are no object: some clients send its JSON as a text.
func texts(arguments json.RawMessage, params []param.Param) (map[string]string, []param.Problem, bool) {
	given, problems := map[string]string{}, []param.Problem(nil)
	if len(arguments) > 0 && arguments[0] == '"' {
		var text string
		_ = json.Unmarshal(arguments, &text) // it is a text
		arguments = json.RawMessage(strings.TrimSpace(text))
		if _, problem := distinct(arguments); problem != "" {
			return nil, nil, false
		}
	}
	if len(arguments) == 0 || string(arguments) == "null" {
		return given, nil, true
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &values); err != nil {
		return nil, nil, false
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		one := paramOf(name, params)
		text, given1, ok := textOf(values[name], one.Kind == param.EnumList)
		switch {
		case !ok:
			problems = append(problems, problemWith(one))
		case given1:
			if text, given1 = asWritten(text, one); given1 {
				given[name] = text
			}
		}
	}
	return given, problems, true
}

// paramOf returns the parameter with a name; for an unknown one, one without a kind.
func paramOf(name string, params []param.Param) param.Param {
	if at := slices.IndexFunc(params, func(p param.Param) bool { return p.Name == name }); at >= 0 {
		return params[at]
	}
	return param.Param{Name: name}
}

// textOf returns the text of a value. A list is joined by commas; it has one element unless many. null is not
// given.
func textOf(value json.RawMessage, many bool) (text string, given, ok bool) {
	switch value[0] {
	case '"':
		ok = json.Unmarshal(value, &text) == nil
		return text, true, ok
	case '[':
		var list []string
		if ok = json.Unmarshal(value, &list) == nil && (many || len(list) == 1); len(list) == 0 {
			return "[]", true, ok
		}
		return strings.Join(list, ","), true, ok
	case '{':
		return "", false, false
	case 'n':
		return "", false, true
	}
	return string(value), true, true
}

// asWritten returns a text as its parameter wants it: clients write 5.0 for an integer, and a list
// as the text of its JSON. An empty list is not given, unless there is a default that it replaces.
func asWritten(text string, as param.Param) (wanted string, given bool) {
	switch as.Kind {
	case param.Integer:
		number, err := decimal.NewFromString(text)
		if err == nil && number.Exponent() >= -maxZeros && number.Exponent() <= maxZeros && number.IsInteger() {
			return number.String(), true
		}
	case param.EnumList:
		var list []string
		if json.Unmarshal([]byte(text), &list) == nil && list != nil {
			return strings.Join(list, ","), len(list) > 0 || as.Default != ""
		}
		return strings.ReplaceAll(text, ", ", ","), true
	case param.Boolean:
		return strings.ToLower(text), true
	case param.Text, param.Voter, param.Enum, param.Instant, param.Month, param.Cursor, param.ProposalKey, param.TopicKey:
	}
	return text, true
}

// maxZeros bounds the zeros of a number that is read as an integer.
const maxZeros = 20

// problemWith is the problem with an argument that is no text, number, boolean or list.
func problemWith(one param.Param) param.Problem {
	problem := param.Problem{Parameter: one.Name, Message: "has a value of the wrong type", Allowed: "what the input schema says"}
	if one.Kind != "" {
		problem.Allowed = one.Allowed()
	}
	return problem
}

// defaultWindow is the length of a window that is not chosen. It ends with the hour, so that calls share pages.
const defaultWindow = 7 * 24 * time.Hour

// windowEnd ends the window that a cursor begins with. No cursor of the API has it.
const windowEnd = "."

// chooseWindow sets the ends of the window that are left out. The cursor keeps them, for the next page.
func (c *call) chooseWindow() {
	if !c.tool.Window {
		return
	}
	from, hasFrom := c.args["from"]
	to, hasTo := c.args["to"]
	if hasFrom && hasTo {
		return
	}
	end := c.server.now().UTC().Truncate(time.Hour).Add(time.Hour)
	if chosen, cursor, is := strings.Cut(c.args["cursor"], windowEnd); is && cursor != "" {
		// What was altered stays a cursor of no list.
		unix, _ := strconv.ParseInt(chosen, 10, 64)
		if at, err := governance.TimestampOfUnix(unix); err == nil && at.Time().After(time.UnixMilli(0).Add(defaultWindow)) {
			end, c.args["cursor"] = at.Time(), cursor
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

// get reads routes with the call's arguments: all are parsed, then authorized, before any is read.
func (c *call) get(routeIDs ...string) ([]*api.Read, []api.Answer, error) {
	var reads []*api.Read
	for _, id := range routeIDs {
		read, err := c.read(id)
		if err != nil {
			return nil, nil, err
		}
		reads = append(reads, read)
	}
	answers, err := c.answers(reads)
	for i, answer := range answers {
		if answer.Meta.Hint != "" { // a model takes a list without rows for the answer
			return nil, nil, reads[i].Refuse(&apierror.Error{Status: http.StatusNotFound, Code: apierror.CodeNotFound, Message: answer.Meta.Hint})
		}
	}
	return reads, answers, err
}

// answers returns the answers to all reads of the call, which were parsed. Where the first can be answered, others that
// cannot at the moment have no Data, see missing. A payment buys all or nothing.
func (c *call) answers(reads []*api.Read) ([]api.Answer, error) {
	if err := c.authorize(); err != nil {
		return nil, err
	}
	var answers []api.Answer
	for i, read := range reads {
		answer, err := read.Get()
		if err != nil && (i == 0 || c.payment != "" || apierror.Of(err).Status != http.StatusServiceUnavailable) {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

func envelope(data []byte, meta api.Meta) []byte {
	about, _ := json.Marshal(meta) // texts, numbers and times have JSON
	return slices.Concat([]byte(`{"data":`), data, []byte(`,"meta":`), about, []byte("}"))
}

// object is an object in the making, from values that are JSON.
type object struct{ bytes.Buffer }

// add adds a member. One without a value is left out.
func (o *object) add(key string, value []byte) {
	if value == nil {
		return
	}
	separator := byte(',')
	if o.Len() == 0 {
		separator = '{'
	}
	o.WriteByte(separator)
	o.WriteString(`"` + key + `":`)
	o.Write(value)
}

// end returns the JSON of the object.
func (o *object) end() []byte {
	if o.Len() == 0 {
		o.WriteByte('{')
	}
	o.WriteByte('}')
	return o.Bytes()
}
