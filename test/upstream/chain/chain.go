// Package chain is an EVM chain that follows a script, with the JSON-RPC of a node in front
// of it: blocks with logs, reorganizations, answers of contracts, and the faults of
// providers, each with a switch.
package chain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pnyx/test/check"
)

// BlockTime is the time between two blocks of a new chain.
const BlockTime = 12 * time.Second

// Log is a log of a contract. The chain fills in where it is.
type Log struct {
	// Topics and Data are in hexadecimal.
	Address string // the contract's
	Topics  []string
	Data    string
	// Note is the test's own: what the log states. No answer has it.
	Note any
}

type block struct {
	number, at   uint64
	hash, parent string
	logs         []Log
}

// Refusal is an answer with an error object.
type Refusal struct {
	Status  int // 0 for 200
	Code    int
	Message string
}

// Faults are the ways in which an RPC fails. The zero value answers well.
type Faults struct {
	// Logs refuses eth_getLogs of some ranges; nil, or a nil result, refuses none.
	Logs func(first, last uint64) *Refusal
	// Addresses is how many addresses eth_getLogs may name; 0 for any number.
	Addresses int
	// Forget leaves logs out of answers.
	Forget func(number uint64) bool
	// Lacks is the number of the last blocks of which the RPC has neither headers nor logs.
	Lacks uint64
	// Hollow, above 0, is the last block whose header the RPC has, although its head goes on.
	Hollow uint64
	// HeadBack is the number of blocks by which the head goes back, although the RPC has them.
	HeadBack uint64
	// Batches is the answer to every batch; empty for the answers to its calls.
	Batches string
	// NoFinal refuses the tag finalized, NoTimes leaves the times out of logs.
	NoFinal, NoTimes bool
	// MaxLogs cuts answers without a word; 0 cuts none.
	MaxLogs int
	// NoCalls fails eth_call with an error of the server.
	NoCalls bool
	// Aborts is a contract whose calls the node gives up.
	Aborts string
	// NoState, above 0, is the first block of which the RPC does not have the state yet.
	NoState uint64
	// Pruned is true for an RPC without the state of blocks before the head.
	Pruned bool
}

// Chain is the chain, with an RPC of its own. It is an http.Handler, safe for concurrent use.
type Chain struct {
	*Endpoint

	mu       check.Mutex
	id       uint64
	started  uint64
	finality uint64
	pace     time.Duration
	blocks   []block
	branch   int
	faults   Faults // of the endpoint that answers
	answers  map[string][]answerFrom
	created  map[string]uint64
	calls    map[string]int
}

// New returns a chain with a first block at a time. finality is the depth at which a block is final.
func New(id uint64, started time.Time, finality uint64) *Chain {
	c := &Chain{
		id: id, started: uint64(started.Unix()), finality: finality, pace: BlockTime, //nolint:gosec // after 1970
		answers: map[string][]answerFrom{}, created: map[string]uint64{}, calls: map[string]int{},
	}
	c.Endpoint = c.AnotherEndpoint()
	c.append(nil)
	return c
}

func (c *Chain) append(logs []Log) uint64 {
	number := uint64(len(c.blocks))
	b := block{number: number, at: c.started + number*uint64(c.pace.Seconds()), logs: logs, parent: "0x" + strings.Repeat("0", 64)}
	if number > 0 {
		b.parent = c.blocks[number-1].hash
	}
	b.hash = Keccak(fmt.Sprintf("%d of branch %d after %s", number, c.branch, b.parent))
	c.blocks = append(c.blocks, b)
	return number
}

// Pace sets the time between two blocks, whole seconds, before there is a second one.
func (c *Chain) Pace(between time.Duration) { c.mu.Do(func() { c.pace = between }) }

// Standing returns the logs of the blocks that stand, in their order.
func (c *Chain) Standing() (logs []Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.blocks {
		logs = append(logs, b.logs...)
	}
	return logs
}

// Last returns the logs of each of the last blocks.
func (c *Chain) Last(blocks int) (logs [][]Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.blocks[len(c.blocks)-blocks:] {
		logs = append(logs, b.logs)
	}
	return logs
}

// Mine adds a block with logs and returns its number.
func (c *Chain) Mine(logs ...Log) uint64 {
	return check.Locked(&c.mu, func() uint64 { return c.append(logs) })
}

// MineEmpty adds empty blocks.
func (c *Chain) MineEmpty(blocks int) {
	for range blocks {
		c.Mine()
	}
}

// Head returns the number of the last block, and its hash.
func (c *Chain) Head() (number uint64, hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.blocks[len(c.blocks)-1]
	return last.number, last.hash
}

// Reorganize replaces the last blocks by others with other hashes.
func (c *Chain) Reorganize(depth int, instead ...[]Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.branch++
	c.blocks = c.blocks[:len(c.blocks)-depth]
	for _, logs := range instead {
		c.append(logs)
	}
}

// Branch returns a function that makes the present blocks the chain's again.
func (c *Chain) Branch() (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := slices.Clone(c.blocks)
	return func() { c.mu.Do(func() { c.blocks = slices.Clone(kept) }) }
}

// Shrink removes the last blocks, as a node does that goes back.
func (c *Chain) Shrink(depth int) { c.mu.Do(func() { c.blocks = c.blocks[:len(c.blocks)-depth] }) }

// answerFrom is what a call returns from a block on; empty for nothing: it reverts.
type answerFrom struct {
	number uint64
	result string
}

// Answer sets what a method of a contract, by its signature and arguments, returns at every block. Others revert.
func (c *Chain) Answer(contract, signature string, args []any, results ...any) {
	c.answer(contract, signature, args, results, false)
}

// Change sets what a contract returns from the next block on, and at the head. Without results, it reverts.
func (c *Chain) Change(contract, signature string, args []any, results ...any) {
	c.answer(contract, signature, args, results, true)
}

func (c *Chain) answer(contract, signature string, args, results []any, isChange bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data := Keccak(signature)[:10] + strings.TrimPrefix(Encode(args...), "0x")
	result := Encode(results...)
	if len(results) == 1 {
		if _, isDynamic := dynamic(results[0]); isDynamic {
			result = Encode(results[0])
		}
	}
	if len(results) == 0 {
		result = ""
	}
	key := strings.ToLower(contract) + data
	if !isChange {
		c.answers[key] = []answerFrom{{0, result}}
		return
	}
	c.answers[key] = append(c.answers[key], answerFrom{uint64(len(c.blocks)), result})
}

// Create gives a contract code from a block on.
func (c *Chain) Create(contract string, number uint64) {
	c.mu.Do(func() { c.created[strings.ToLower(contract)] = number })
}

// Calls returns how often a method was called.
func (c *Chain) Calls(method string) int {
	return check.Locked(&c.mu, func() int { return c.calls[method] })
}

type request struct {
	ID     json.RawMessage
	Method string
	Params []json.RawMessage
}

// Endpoint is an RPC of a chain with faults of its own. It is an http.Handler.
type Endpoint struct {
	chain   *Chain
	failing Faults
}

// AnotherEndpoint returns one more RPC of the chain.
func (c *Chain) AnotherEndpoint() *Endpoint { return &Endpoint{chain: c} }

// Fail sets how the endpoint fails from now on.
func (e *Endpoint) Fail(faults Faults) { e.chain.mu.Do(func() { e.failing = faults }) }

// ServeHTTP answers JSON-RPC. The answers to a batch are in the reverse order.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := e.chain
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = e.failing
	var batch []request
	if json.Unmarshal(raw, &batch) != nil {
		var single request
		if err := json.Unmarshal(raw, &single); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, status := c.respond(single)
		write(w, status, answer)
		return
	}
	if answer := c.faults.Batches; answer != "" {
		write(w, http.StatusOK, json.RawMessage(answer))
		return
	}
	answers := make([]map[string]any, len(batch))
	status := http.StatusOK
	for i, single := range batch {
		var of int
		answers[i], of = c.respond(single)
		status = max(status, of)
	}
	slices.Reverse(answers)
	write(w, status, answers)
}

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the caller may be gone
}

func (r Refusal) answer(id json.RawMessage) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": r.Code, "message": r.Message}}
}

func (c *Chain) respond(r request) (answer map[string]any, status int) {
	c.calls[r.Method]++
	result, refused := c.result(r)
	if refused != nil {
		return refused.answer(r.ID), max(refused.Status, http.StatusOK)
	}
	return map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result}, http.StatusOK
}

func (c *Chain) result(r request) (any, *Refusal) {
	switch r.Method {
	case "eth_chainId":
		return hexOf(c.id), nil
	case "eth_getBlockByNumber":
		return c.header(textOf(r.Params[0]))
	case "eth_getLogs":
		return c.logs(r.Params[0])
	case "eth_getTransactionReceipt":
		for _, b := range c.blocks {
			if Keccak(b.hash) == textOf(r.Params[0]) {
				return map[string]any{"blockNumber": hexOf(b.number)}, nil
			}
		}
		return nil, nil
	case "eth_call":
		if c.faults.NoCalls {
			return nil, &Refusal{Code: -32603, Message: "internal error"}
		}
		var call struct{ To, Data string }
		if err := json.Unmarshal(r.Params[0], &call); err != nil {
			return nil, &Refusal{Code: -32602, Message: err.Error()}
		}
		if strings.EqualFold(call.To, c.faults.Aborts) {
			return nil, &Refusal{Code: -32000, Message: "execution aborted (timeout = 5s)"}
		}
		return c.called(strings.ToLower(call.To)+call.Data, textOf(r.Params[1]))
	case "eth_getCode":
		if c.faults.Pruned {
			return nil, &Refusal{Code: -32000, Message: "missing trie node 00 (path ) state is not available"}
		}
		from, known := c.created[strings.ToLower(textOf(r.Params[0]))]
		if at := numberOf(textOf(r.Params[1])); known && at >= from {
			return "0x60", nil
		}
		return "0x", nil
	}
	return nil, &Refusal{Code: -32601, Message: "the method " + r.Method + " does not exist"}
}

// called returns what a call returns as of a block.
func (c *Chain) called(key, block string) (any, *Refusal) {
	number := uint64(len(c.blocks))
	if block != "latest" {
		switch number = numberOf(block); {
		case number > c.head(), c.faults.NoState > 0 && number >= c.faults.NoState:
			return nil, &Refusal{Code: -32000, Message: "header not found"}
		case c.faults.Pruned && number < c.head():
			return nil, &Refusal{Code: -32000, Message: "missing trie node 00 (path ) state is not available"}
		}
	}
	result := ""
	for _, answer := range c.answers[key] {
		if answer.number <= number {
			result = answer.result
		}
	}
	if result == "" {
		return nil, &Refusal{Code: 3, Message: "execution reverted"}
	}
	return result, nil
}

func (c *Chain) head() uint64 { return uint64(len(c.blocks)) - 1 - c.faults.Lacks }

func (c *Chain) header(tag string) (any, *Refusal) {
	var number uint64
	switch tag {
	case "latest":
		number = c.head() - c.faults.HeadBack
	case "finalized":
		if c.faults.NoFinal {
			return nil, &Refusal{Code: -32602, Message: "invalid block tag: finalized"}
		}
		number = c.head() - min(c.head(), c.finality)
	default:
		number = numberOf(tag)
	}
	if number > c.head() || c.faults.Hollow > 0 && number > c.faults.Hollow && tag != "latest" {
		return nil, nil
	}
	b := c.blocks[number]
	return map[string]any{"number": hexOf(b.number), "hash": b.hash, "parentHash": b.parent, "timestamp": hexOf(b.at)}, nil
}

func (c *Chain) logs(raw json.RawMessage) (any, *Refusal) {
	var filter struct {
		Address            []string
		Topics             [][]string
		FromBlock, ToBlock string
	}
	if err := json.Unmarshal(raw, &filter); err != nil {
		return nil, &Refusal{Code: -32602, Message: err.Error()}
	}
	if most := c.faults.Addresses; most > 0 && len(filter.Address) > most {
		return nil, &Refusal{Code: -32602, Message: "Please, specify less number of addresses"}
	}
	first, last := numberOf(filter.FromBlock), numberOf(filter.ToBlock)
	if c.faults.Logs != nil {
		if refused := c.faults.Logs(first, last); refused != nil {
			return nil, refused
		}
	}
	found := []map[string]any{}
	for number := first; number <= min(last, c.head()); number++ {
		b := c.blocks[number]
		for i, l := range b.logs {
			wanted := slices.Contains(filter.Address, strings.ToLower(l.Address)) &&
				(len(filter.Topics) == 0 || slices.Contains(filter.Topics[0], l.Topics[0]))
			if !wanted || c.faults.Forget != nil && c.faults.Forget(number) {
				continue
			}
			log := map[string]any{
				"address": l.Address, "topics": l.Topics, "data": l.Data, "blockHash": b.hash, "blockNumber": hexOf(number),
				"transactionHash": Keccak(b.hash), "transactionIndex": "0x0", "logIndex": hexOf(uint64(i)), "removed": false,
			}
			if !c.faults.NoTimes {
				log["blockTimestamp"] = hexOf(b.at)
			}
			found = append(found, log)
		}
	}
	if c.faults.MaxLogs > 0 && len(found) > c.faults.MaxLogs {
		found = found[:c.faults.MaxLogs]
	}
	return found, nil
}

func textOf(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

func hexOf(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// numberOf reads a quantity; a text that is none is block 0.
func numberOf(text string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	return n
}
