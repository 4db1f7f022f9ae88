package chain

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

var (
	errBatchRefused = errors.New("the endpoint takes no batches")
	// errBehind reports an endpoint that lacks blocks that another has.
	errBehind   = errors.New("the endpoint is behind the head")
	errReplaced = errors.New("blocks were replaced while they were read")
)

const (
	// firstSpan is the number of blocks of the first eth_getLogs, maxSpan that to which it grows.
	firstSpan, maxSpan = 500, 10_000
	// limitCode is the code of any limit: on the rate, or on the range or its logs.
	limitCode = -32005
)

// The texts by which endpoints refuse, as providers word them. A pattern with two groups names the
// first and last block of a range that works, one with one group the number of blocks.
//
//nolint:gochecknoglobals // tables
var (
	rateText  = regexp.MustCompile(`(?i)\brate\b|request count|too many requests|request limit|compute units|capacity|quota|throttl`)
	limitText = regexp.MustCompile(`(?i)count exceeded|\blimit exceeded|` + rateText.String())
	hexRange  = regexp.MustCompile(`(?i)\[0x([0-9a-f]+), ?0x([0-9a-f]+)\]`)
	decRange  = regexp.MustCompile(`(?i)retry with the range (\d+)-(\d+)`)
	maxBlocks = []*regexp.Regexp{
		regexp.MustCompile(`(?i)limited to (?:a |0 - )?([\d,]+) (?:block|range)`),
		regexp.MustCompile(`(?i)max(?:imum)?(?: block)? range:? ([\d,]+)`),
		regexp.MustCompile(`(?i)maximum is set to ([\d,]+)`),
		regexp.MustCompile(`(?i)up to a ([\d,]+) block range`),
		regexp.MustCompile(`(?i)ranges over ([\d,]+) blocks`),
		regexp.MustCompile(`(?i)max is (\d+k) blocks`),
		regexp.MustCompile(`(?i)(?:requested blocks is|blocks distance:|too wide \(maximum) ([\d,]+)`),
		regexp.MustCompile(`(?i)(?:at most|for more than) ([\d,]+) blocks`),
	}
	halved = regexp.MustCompile(`(?i)exceeds? (?:max|limit|the max)|(?:range|size|results?|logs|blocks) [a-z ]*exceed|exceed[a-z ]* (?:range|size|results?|logs|blocks)|` +
		`too (?:large|wide|big|many)|response size|time(?:d ?)?out|deadline exceeded|query returned more than|no backend is currently healthy`)
	// goneText are the words for the state or the logs of an old block that the endpoint does not keep.
	goneText = regexp.MustCompile(`(?i)missing trie node|history has been pruned|state is not available|old data not available|` +
		`\bstate\b.{0,80}(?:unavailable|not (?:be )?(?:available|found)|pruned|discarded|indexed)|(?:no|historical) state|\barchive\b|` +
		`is pruned|out ?of ?range ?error|distance to target block|metadata is not found`)
	aheadText = regexp.MustCompile(`(?i)invalid block range params|unknown block|header not found|block not found|` +
		`(?:beyond|greater than) (?:the |current |latest )*(?:head|block|executed)|blocks? .{0,80}cannot be found`)
	revertedText = regexp.MustCompile(`(?i)revert|invalid ?(?:fe)?opcode|(?:invalid|bad) (?:jump|instruction)|out ?of ?gas|vm execution error|` +
		`stack ?(?:underflow|overflow|limit reached)|opcode ?not ?found|return data out of bounds|out ?of ?offset|gas uint64 overflow`)
	// addressText are the words for too many addresses in one filter.
	addressText = regexp.MustCompile(`(?i)(?:less number of|fewer|too many|max(?:imum)?(?: number of)?) addresses`)
	fundsText   = regexp.MustCompile(`(?i)insufficient (?:funds|balance)`)
	// unsupportedText are the words for a method that the endpoint does not have.
	unsupportedText = regexp.MustCompile(`(?i)method.{0,80}(?:not found|not supported|not available|not allowed|unknown|disabled|does not exist)|unsupported method`)
	unknownTag      = regexp.MustCompile(`(?i)invalid block tag|tag.*not supported|finalized.*not|unknown block tag`)
)

// text is what the error says: some nodes say it in its data alone.
func (e *rpcError) text() string {
	var data string
	if json.Unmarshal(e.Data, &data) != nil || data == "" || strings.HasPrefix(data, "0x") {
		return e.Message
	}
	return e.Message + ": " + data
}

// isLimit reports a limit on the rate, not on the range: by its code, or by words that name no range.
func (e *rpcError) isLimit() bool {
	switch e.Code {
	case 429, -32007, -32016, -32029: // Alchemy, QuickNode, Base, Moralis
		return true
	}
	if limitText.MatchString(e.text()) {
		_, stated := statedSpan(e.text(), maxSpan)
		return !stated
	}
	_, ofRange := refusedSpan(e, maxSpan)
	return e.Code == limitCode && !ofRange
}

// isUnderstood reports an error that says more than that the endpoint does not answer now: the call is wrong, or
// what it asks for is not there or too much.
func (e *rpcError) isUnderstood() bool {
	switch e.Code {
	case -32700, -32600, -32601, -32602:
		return true
	}
	_, ofRange := refusedSpan(e, maxSpan)
	return ofRange || e.isGone() || e.isAhead() || e.isFailure() || e.isUnsupported() || e.isUnknownTag()
}

// isGone reports that the endpoint does not keep the state or the logs so far back.
func (e *rpcError) isGone() bool { return goneText.MatchString(e.text()) }

// isAhead reports that the endpoint does not have the block yet, or no longer.
func (e *rpcError) isAhead() bool { return aheadText.MatchString(e.text()) }

// isReverted reports that the contract refused a call: what is asked for does not exist.
func (e *rpcError) isReverted() bool { return e.Code == 3 || revertedText.MatchString(e.text()) }

// isFailure reports that executing a call fails, for a reason of the contract or for want of money.
func (e *rpcError) isFailure() bool { return e.isReverted() || fundsText.MatchString(e.text()) }

// isUnsupported reports that the endpoint does not know the method.
func (e *rpcError) isUnsupported() bool {
	return e.Code == -32601 || unsupportedText.MatchString(e.text())
}

// isUnknownTag reports that the endpoint knows no final block.
func (e *rpcError) isUnknownTag() bool { return unknownTag.MatchString(e.text()) }

// refusedSpan returns how many blocks to ask for after a refusal; known is false if it is not of the range.
func refusedSpan(e *rpcError, asked uint64) (span uint64, known bool) {
	span, known = statedSpan(e.text(), asked)
	if !known && !halved.MatchString(e.text()) {
		return 0, false
	}
	if span == 0 || span >= asked {
		span = asked / 2
	}
	return span, true
}

// statedSpan reads the number of blocks that a refusal allows.
func statedSpan(text string, asked uint64) (span uint64, known bool) {
	for base, pattern := range map[int]*regexp.Regexp{16: hexRange, 10: decRange} {
		if found := pattern.FindStringSubmatch(text); found != nil {
			first, errFirst := strconv.ParseUint(found[1], base, 64)
			last, errLast := strconv.ParseUint(found[2], base, 64)
			if errFirst == nil && errLast == nil && first <= last {
				return last - first + 1, true
			}
		}
	}
	for _, pattern := range maxBlocks {
		if found := pattern.FindStringSubmatch(text); found != nil {
			digits := strings.NewReplacer(",", "", "k", "000").Replace(found[1])
			n, err := strconv.ParseUint(digits, 10, 64)
			return n, err == nil && n > 0
		}
	}
	switch {
	case strings.Contains(text, "block range is too wide"):
		return 3_000, true
	case strings.Contains(text, "Block range limit exceeded"):
		if asked > 10_000 {
			return 10_000, true
		}
		return 100, true // on free plans
	}
	return 0, false
}
