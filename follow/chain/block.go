package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// header tells where the chain is. The hash is read, not computed: chains differ in what their headers hold.
type header struct {
	Number quantity `json:"number"`
	Hash   string   `json:"hash"`
	Parent string   `json:"parentHash"`
	Time   quantity `json:"timestamp"`
}

func (h header) at() time.Time { return time.Unix(int64(h.Time), 0).UTC() } //nolint:gosec // hostile times are checked where they are stored

func (h header) number() uint64 { return uint64(h.Number) }

const headerMethod = "eth_getBlockByNumber"

// headerCall asks for the header of a block: a tag, or a number in hexadecimal.
func headerCall(block string) *call {
	return &call{method: headerMethod, params: []any{block, false}}
}

// header returns the header that a call got; errBehind where the endpoint has no such block.
func (c *call) header() (header, error) {
	if refused, ok := errors.AsType[*rpcError](c.err); ok && refused.isAhead() {
		return header{}, fmt.Errorf("block %v: %w", c.params[0], errBehind)
	}
	if c.err != nil {
		return header{}, fmt.Errorf("read block %v: %w", c.params[0], c.err)
	}
	var found *header
	if err := fetch.Decode(c.result, &found); err != nil {
		return header{}, fmt.Errorf("read block %v: %w", c.params[0], err)
	}
	if found == nil || found.Hash == "" {
		return header{}, fmt.Errorf("block %v: %w", c.params[0], errBehind)
	}
	asked, _ := c.params[0].(string) // a tag or a number
	switch {
	case strings.HasPrefix(asked, "0x") && asked != hexOf(found.number()):
		return header{}, fmt.Errorf("block %s: the endpoint answers block %d", asked, found.number())
	case found.number() > maxBlock || found.Time > maxBlockTime:
		return header{}, fmt.Errorf("block %s: number %d and time %d are beyond any chain", asked, found.number(), found.Time)
	case found.Time == 0 && found.number() > 0:
		return header{}, fmt.Errorf("block %s: the endpoint states no time", asked)
	case !isHash(found.Hash):
		return header{}, fmt.Errorf("block %s: %q is no hash", asked, fetch.Clip(found.Hash))
	}
	return *found, nil
}

const (
	// maxBlock and maxBlockTime are beyond any chain: a block each 10 ms for three hundred years, and the year 2261.
	maxBlock, maxBlockTime = 1 << 40, 9_200_000_000
	// maxIndex is the greatest number of a log in its block, maxTopics the topics that a log may have.
	maxIndex, maxTopics = 1<<32 - 1, 4
)

func isHash(text string) bool {
	bytes, err := unhex(text)
	return err == nil && len(bytes) == wordBytes
}

func (c *client) newest(ctx context.Context, e *endpoint) (header, error) {
	asked := headerCall(latest)
	if err := c.do(ctx, e, asked); err != nil {
		return header{}, err
	}
	return asked.header()
}

// headers returns the headers of blocks by number. A block that the endpoint lacks is errBehind.
func (c *client) headers(ctx context.Context, e *endpoint, numbers []uint64) (map[uint64]header, error) {
	calls := warehouse.Values(numbers, func(number uint64) *call { return headerCall(hexOf(number)) })
	if err := c.do(ctx, e, calls...); err != nil {
		return nil, err
	}
	found := make(map[uint64]header, len(numbers))
	for i, number := range numbers {
		h, err := calls[i].header()
		if err != nil {
			return nil, err
		}
		found[number] = h
	}
	return found, nil
}

type chainLog struct {
	Address     string    `json:"address"`
	Topics      []string  `json:"topics"`
	Data        string    `json:"data"`
	BlockHash   string    `json:"blockHash"`
	BlockNumber quantity  `json:"blockNumber"`
	BlockTime   *quantity `json:"blockTimestamp"`
	TxHash      string    `json:"transactionHash"`
	LogIndex    *quantity `json:"logIndex"`
	Removed     bool      `json:"removed"`
}

// index returns the number of the log in its block; one beyond all where none is stated.
func (l *chainLog) index() uint64 {
	if l.LogIndex == nil {
		return maxIndex + 1
	}
	return uint64(*l.LogIndex)
}

// says reports whether a log states what another does: one place has one log.
func (l *chainLog) says(other chainLog) bool {
	return strings.EqualFold(l.Address, other.Address) && l.Data == other.Data && slices.Equal(l.Topics, other.Topics)
}

type blocks struct {
	first, last uint64
	end         header
	// logs are the filter's logs, each with the time of its block.
	logs []chainLog
	// hashes are the hashes of the blocks with logs, where they were asked for.
	hashes map[uint64]string
	// foreign are logs that were answered although they were not asked for.
	foreign []chainLog
}

type filter struct {
	// addresses are the contracts whose logs are all read.
	addresses []string
	// delegating are those whose statements are read.
	delegating []string
}

// calls returns the requests for the logs of a range, by some addresses each: without one, a request would get all.
func (f filter) calls(first, last uint64, most int) (calls []*call) {
	of := func(addresses []string) map[string]any {
		return map[string]any{"address": addresses, "fromBlock": hexOf(first), "toBlock": hexOf(last)}
	}
	for some := range slices.Chunk(f.addresses, most) {
		calls = append(calls, &call{method: "eth_getLogs", params: []any{of(some)}})
	}
	for some := range slices.Chunk(f.delegating, most) {
		logs := of(some)
		logs["topics"] = [][]string{slices.Sorted(maps.Keys(statements()))}
		calls = append(calls, &call{method: "eth_getLogs", params: []any{logs}})
	}
	return calls
}

// refuseForeign keeps the logs that were not asked for as rejected.
func (c *Chain) refuseForeign(got blocks) {
	for _, l := range got.foreign {
		c.journal.Reject(record.SourceRef{}, fmt.Sprintf("block %d log %d", l.BlockNumber, l.index()),
			fmt.Errorf("%w: a log of %q was not asked for, or has the place of another", follow.ErrForeign, fetch.Clip(l.Address)))
	}
}

// read reads some blocks, no more than the endpoint allows: from the first on, or from the last one down. With recent,
// the hash of every block with logs is compared with its header: such blocks may be replaced.
func (c *client) read(ctx context.Context, e *endpoint, f filter, first, last uint64, downwards, recent bool) (blocks, error) {
	for {
		got := blocks{first: first, last: last}
		if span := e.span.Load(); last-first+1 > span {
			if downwards {
				got.first = last - span + 1
			} else {
				got.last = first + span - 1
			}
		}
		logs := f.calls(got.first, got.last, int(e.addresses.Load()))
		// The header of the last block tells that the endpoint has it: without it, an empty answer means nothing.
		end := headerCall(hexOf(got.last))
		err := c.do(ctx, e, append(slices.Clone(logs), end)...)
		if errors.Is(err, fetch.ErrTooLarge) && len(logs) > 0 {
			logs[0].err = &rpcError{Message: "response size exceeded"}
		} else if err != nil {
			e.doubt(err, got.last-got.first+1)
			return blocks{}, err
		}
		if refused := firstRefusal(logs); refused != nil {
			if e.split(refused, f) {
				continue
			}
			if err := e.narrow(refused, got.last-got.first+1); err != nil {
				return blocks{}, fmt.Errorf("read the logs of blocks %d to %d: %w", got.first, got.last, err)
			}
			continue
		}
		if got.end, err = end.header(); err != nil {
			return blocks{}, err
		}
		for _, of := range logs {
			var some []chainLog
			if err := fetch.Decode(of.result, &some); err != nil {
				return blocks{}, fmt.Errorf("read the logs of blocks %d to %d: %w", got.first, got.last, err)
			}
			got.logs = append(got.logs, some...)
		}
		span := e.span.Load()
		e.span.Store(min(span+max(span/20, 1), e.widest.Load())) // grows after a success
		return got, c.complete(ctx, e, f, &got, recent)
	}
}

func firstRefusal(calls []*call) *rpcError {
	for _, of := range calls {
		if refused, ok := errors.AsType[*rpcError](of.err); ok {
			return refused
		}
	}
	return nil
}

// narrow takes a smaller span after a refusal, or returns the error that the refusal is.
func (e *endpoint) narrow(refused *rpcError, asked uint64) error {
	if refused.isAhead() {
		return fmt.Errorf("%w: %w", errBehind, refused)
	}
	if refused.isGone() || refused.isUnsupported() || asked == 1 {
		return refused
	}
	span, known := refusedSpan(refused, asked)
	if !known {
		span = asked / 2
	}
	if _, stated := statedSpan(refused.text(), asked); stated && span < asked {
		e.widest.Store(min(e.widest.Load(), max(span, 1)))
	}
	e.span.Store(max(span, 1))
	return nil
}

// split has each request name fewer addresses after a refusal of their number.
func (e *endpoint) split(refused *rpcError, of filter) bool {
	most := min(e.addresses.Load(), int64(max(len(of.addresses), len(of.delegating))))
	if most == 1 || !addressText.MatchString(refused.text()) {
		return false
	}
	e.addresses.Store(most / 2)
	return true
}

// doubt takes a smaller span for the next request after an error that may be of the range: a limit that says
// nothing about a rate, a status for what is too large or takes too long.
func (e *endpoint) doubt(err error, asked uint64) {
	limited, isLimited := errors.AsType[*fetch.LimitedError](err)
	answered, isAnswered := errors.AsType[*fetch.StatusError](err)
	if isLimited && limited.Said != "" && !rateText.MatchString(limited.Said) ||
		isAnswered && (answered.Status == http.StatusRequestEntityTooLarge || answered.Status == http.StatusGatewayTimeout) {
		e.span.Store(max(asked/2, 1))
	}
}

func (f filter) isAsked(l chainLog, got *blocks) bool {
	number, address := uint64(l.BlockNumber), strings.ToLower(l.Address)
	return number >= got.first && number <= got.last && len(l.Topics) > 0 &&
		(slices.Contains(f.addresses, address) || slices.Contains(f.delegating, address) && statements()[l.Topics[0]] != 0) &&
		len(l.Topics) <= maxTopics &&
		isHash(l.BlockHash) && isHash(l.TxHash) && l.index() <= maxIndex && !slices.ContainsFunc(l.Topics, func(topic string) bool { return !isHash(topic) }) &&
		(l.BlockTime == nil || *l.BlockTime <= maxBlockTime)
}

// complete drops what was not asked for, gives each log the time of its block, and compares hashes.
func (c *client) complete(ctx context.Context, e *endpoint, f filter, got *blocks, recent bool) error {
	seen := map[place]chainLog{}
	got.logs = slices.DeleteFunc(got.logs, func(l chainLog) bool {
		at := place{l.BlockHash, l.index()}
		first, again := seen[at]
		switch {
		case l.Removed || again && l.says(first):
			return true
		case !again && f.isAsked(l, got):
			seen[at] = l
			return false
		}
		got.foreign = append(got.foreign, l)
		return true
	})
	var wanted []uint64
	for _, l := range got.logs {
		if number := uint64(l.BlockNumber); (recent || l.BlockTime == nil || *l.BlockTime == 0) && number != got.last && !slices.Contains(wanted, number) {
			wanted = append(wanted, number)
		}
	}
	found, err := c.headers(ctx, e, wanted)
	if err != nil {
		return err
	}
	found[got.last] = got.end
	got.hashes = map[uint64]string{}
	for number, h := range found {
		got.hashes[number] = h.Hash
	}
	for i := range got.logs {
		l := &got.logs[i]
		h, known := found[uint64(l.BlockNumber)]
		if known && h.Hash != l.BlockHash {
			return fmt.Errorf("block %d has hash %s and logs of %s: %w", l.BlockNumber, fetch.Clip(h.Hash), fetch.Clip(l.BlockHash), errReplaced)
		}
		if known {
			l.BlockTime = &h.Time // some nodes state 0 in logs
		}
	}
	return nil
}
