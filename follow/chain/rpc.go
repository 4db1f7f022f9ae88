package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
)

const (
	// requestTimeout bounds one request with its retries: the next endpoint is asked instead of one that hangs.
	requestTimeout = 20 * time.Second
	// maxBatch bounds the calls of one batch. Providers refuse batches above 50 to 1000.
	maxBatch = 50
	// maxAddresses bounds the addresses of one eth_getLogs.
	maxAddresses = 500
)

// call is one JSON-RPC call and what came of it.
type call struct {
	method string
	params []any
	// result is the answer as JSON; nil after an error.
	result json.RawMessage
	// err is a *rpcError, or nil.
	err error
}

type rpcError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Error implements error.
func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", fetch.Clip(e.text()), e.Code) }

// endpoint is one JSON-RPC endpoint of a chain.
type endpoint struct {
	host *fetch.Host
	// span is the number of blocks of the next eth_getLogs, at most widest.
	span, widest atomic.Uint64
	// addresses is the number of addresses that one eth_getLogs names at most.
	addresses atomic.Int64
	// single is true after the endpoint refused a batch.
	single atomic.Bool
	// identified is true once it was found to be of the client's chain.
	identified atomic.Bool
}

// client asks the endpoints of one chain. Its methods may run concurrently.
type client struct {
	chainID   uint64
	endpoints []*endpoint
	clock     *clock.Clock
	// sent counts calls by method.
	sent *prometheus.CounterVec
}

func newClient(chainID uint64, hosts []*fetch.Host, c *clock.Clock, sent *prometheus.CounterVec) *client {
	all := &client{chainID: chainID, clock: c, sent: sent}
	for _, host := range hosts {
		e := &endpoint{host: host}
		e.span.Store(firstSpan)
		e.widest.Store(maxSpan)
		e.addresses.Store(maxAddresses)
		all.endpoints = append(all.endpoints, e)
	}
	return all
}

// each tries the endpoints in turn, from a position on, until one succeeds. It returns all errors if none does.
func (c *client) each(ctx context.Context, first int, try func(*endpoint) error) error {
	var failed error
	for i := range c.endpoints {
		e := c.endpoints[(first+i)%len(c.endpoints)]
		err := c.identify(ctx, e)
		if err == nil {
			err = try(e)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// identify refuses an endpoint of another chain: all that is held would be replaced there.
func (c *client) identify(ctx context.Context, e *endpoint) error {
	if e.identified.Load() {
		return nil
	}
	result, err := c.one(ctx, e, "eth_chainId")
	if err != nil {
		return err
	}
	var id quantity
	if err := fetch.Decode(result, &id); err != nil {
		return fmt.Errorf("read the chain id: %w", err)
	}
	if uint64(id) != c.chainID {
		return fmt.Errorf("the endpoint %s is of chain %d: %w; correct the endpoints of chain %d", e.host.Name(), id, follow.ErrStopped, c.chainID)
	}
	e.identified.Store(true)
	return nil
}

// do makes calls in order, as batches where the endpoint takes them. It returns a request's error; each call has
// its own.
func (c *client) do(ctx context.Context, e *endpoint, calls ...*call) error {
	for len(calls) > 0 {
		some := calls[:min(len(calls), maxBatch)]
		if e.single.Load() {
			some = calls[:1]
		}
		err := c.send(ctx, e, some)
		if errors.Is(err, errBatchRefused) {
			e.single.Store(true)
			continue
		}
		if err != nil {
			return err
		}
		calls = calls[len(some):]
	}
	return nil
}

type request struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params"`
}

type answer struct {
	ID     json.RawMessage `json:"id"`
	Result fetch.Part      `json:"result"`
	Error  *rpcError       `json:"error"`
}

func (c *client) send(ctx context.Context, e *endpoint, calls []*call) error {
	requests := make([]request, len(calls))
	for i, call := range calls {
		requests[i] = request{"2.0", i + 1, call.method, call.params}
		c.sent.WithLabelValues(call.method).Inc()
	}
	var content any = requests
	if len(calls) == 1 {
		content = requests[0]
	}
	body, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", calls[0].method, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var answers []answer
	var unread error
	if _, err := e.host.Do(ctx, fetch.Request{
		Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Accepts: isRefusal,
		Limit: func(body []byte) string {
			answers, unread = parseAnswers(body, len(calls))
			return limitOf(answers, calls)
		},
	}); err != nil {
		return err
	}
	if unread != nil {
		return unread
	}
	return assign(calls, answers)
}

// isRefusal reports whether an answer with an error status is a JSON-RPC error. 429 says enough by itself.
func isRefusal(status int, body []byte) bool {
	answers, err := parseAnswers(body, 1)
	return err == nil && status != http.StatusTooManyRequests &&
		slices.ContainsFunc(answers, func(a answer) bool { return a.Error != nil })
}

// limitOf returns what answers say of a limit on requests; empty for nothing. An unknown refusal counts as one, unless
// it is of a contract beside calls that are answered. An error for a whole batch may refuse batches.
func limitOf(answers []answer, calls []*call) string {
	whole := len(calls) > 1 && len(answers) == 1
	answered := slices.ContainsFunc(answers, func(a answer) bool { return a.Error == nil || a.Error.isUnderstood() && !a.Error.isLimit() })
	isOfContract := func(a answer) bool {
		n, err := strconv.Atoi(string(a.ID))
		return answered && err == nil && n > 0 && n <= len(calls) && calls[n-1].method == callMethod
	}
	for _, a := range answers {
		isOfBatch := whole && a.Error != nil && strings.Contains(strings.ToLower(a.Error.text()), "batch")
		if a.Error != nil && !isOfBatch && (a.Error.isLimit() || !whole && !isOfContract(a) && !a.Error.isUnderstood()) {
			return a.Error.Error()
		}
	}
	return ""
}

// parseAnswers reads the answer to a number of calls: an array, or an object. The error is errBatchRefused when
// one error answers a batch, which geth puts into an array.
func parseAnswers(body []byte, calls int) ([]answer, error) {
	var answers []answer
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		if err := fetch.Decode(body, &answers); err != nil {
			return nil, fmt.Errorf("read the answer to %d calls: %w", calls, err)
		}
		if calls > 1 && len(answers) == 1 && answers[0].Error != nil {
			return answers, errBatchRefused
		}
		return answers, nil
	}
	answers = make([]answer, 1)
	if err := fetch.Decode(body, &answers[0]); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if calls > 1 {
		return answers, errBatchRefused
	}
	return answers, nil
}

// assign gives each call its answer; answers come in any order.
func assign(calls []*call, answers []answer) error {
	byID := make(map[string]*answer, len(answers))
	for i := range answers {
		byID[string(answers[i].ID)] = &answers[i]
	}
	for i, call := range calls {
		found := byID[strconv.Itoa(i+1)]
		if found == nil && len(calls) == 1 && len(answers) == 1 && answers[0].Error != nil {
			found = &answers[0] // an error may come without the id of its call
		}
		// A block that is not there is null, and so may be what a node cannot do. Any other result is none.
		mayBeNull := call.method == headerMethod || call.method == simulateMethod
		isNull := found != nil && found.Error == nil && string(found.Result.RawMessage) == "null"
		switch {
		case isNull && call.method == "eth_getCode": // of a block whose state Besu does not have
			call.err, call.result = &rpcError{Message: "state is not available"}, nil
		case found == nil, isNull && !mayBeNull:
			return fmt.Errorf("%s: the answer has no result for call %d of %d", call.method, i+1, len(calls))
		case found.Error != nil:
			call.err, call.result = found.Error, nil
		default:
			call.err, call.result = nil, found.Result.RawMessage
		}
	}
	return nil
}

// one makes one call and returns its result.
func (c *client) one(ctx context.Context, e *endpoint, method string, params ...any) (json.RawMessage, error) {
	asked := &call{method: method, params: params}
	if err := c.do(ctx, e, asked); err != nil {
		return nil, err
	}
	if asked.err != nil {
		return nil, fmt.Errorf("%s: %w", method, asked.err)
	}
	return asked.result, nil
}

// quantity is a number as JSON-RPC writes it.
type quantity uint64

// UnmarshalJSON implements json.Unmarshaler.
func (q *quantity) UnmarshalJSON(text []byte) error {
	digits, isHex := strings.CutPrefix(strings.Trim(string(text), `"`), "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || !isHex {
		return fmt.Errorf("%s is no quantity of at most 64 bits", fetch.Clip(string(text)))
	}
	*q = quantity(n)
	return nil
}

func hexOf(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }
