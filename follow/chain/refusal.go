package chain

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

var (
	// errBatchRefused reports an endpoint that takes no batches.
	errBatchRefused = errors.New("the endpoint takes no batches")
	// errBehind reports an endpoint that lacks blocks that another has.
	errBehind = errors.New("the endpoint is behind the head")
	// errReplaced reports blocks that were replaced while they were read.
	errReplaced = errors.New("blocks were replaced while they were read")
)

const (
	// firstSpan is the number of blocks that the first eth_getLogs asks for, maxSpan that to
	// which it grows.
	firstSpan, maxSpan = 500, 10_000
	// limitCode is the code of any limit: on the rate, or on the range or its logs.
	limitCode = -32005
)

// The texts by which endpoints refuse, as providers word them. A pattern with two groups
// names the first and last block of a range that works, one with one group the number of
// blocks.
//
//nolint:gochecknoglobals // tables
var (
	limitText = regexp.MustCompile(`(?i)\brate\b|count exceeded|too many requests|request limit|compute units|capacity|quota|throttl|\blimit exceeded`)
	hexRange  = regexp.MustCompile(`(?i)\[0x([0-9a-f]+), ?0x([0-9a-f]+)\]`)
	decRange  = regexp.MustCompile(`(?i)retry with the range (\d+)-(\d+)`)
	maxBlocks = []*regexp.Regexp{
		regexp.MustCompile(`(?i)limited to (?:a )?([\d,]+) (?:block|range)`),
		regexp.MustCompile(`(?i)max(?:imum)?(?: block)? range:? ([\d,]+)`),
		regexp.MustCompile(`(?i)maximum is set to ([\d,]+)`),
		regexp.MustCompile(`(?i)up to a ([\d,]+) block range`),
		regexp.MustCompile(`(?i)ranges over ([\d,]+) blocks`),
		regexp.MustCompile(`(?i)max is (\d+k) blocks`),
	}
	halved = regexp.MustCompile(`(?i)exceeds? (?:max|limit|the max)|(?:range|size|results?|logs|blocks) [a-z ]*exceed|exceed[a-z ]* (?:range|size|results?|logs|blocks)|` +
		`too (?:large|wide|big|many)|response size|time(?:d ?)?out|query returned more than|no backend is currently healthy`)
	prunedText = regexp.MustCompile(`(?i)missing trie node|history has been pruned|state is not available|old data not available`)
	// stateText are the words for the state of an old block that is gone.
	stateText = regexp.MustCompile(`(?i)\bstate\b.{0,80}(?:unavailable|not (?:be )?(?:available|found)|pruned|discarded|indexed)|(?:no|historical) state|\barchive\b|` +
		`is pruned|out ?of ?range ?error|distance to target block|metadata is not found`)
	aheadText    = regexp.MustCompile(`(?i)invalid block range params|unknown block|header not found|block not found|beyond (?:the )?head`)
	revertedText = regexp.MustCompile(`(?i)revert|invalid opcode|invalid jump|out of gas|stack underflow`)
	fundsText    = regexp.MustCompile(`(?i)insufficient (?:funds|balance)`)
	// unsupportedText are the words for a method that the endpoint does not have.
	unsupportedText = regexp.MustCompile(`(?i)method.{0,80}(?:not found|not supported|not available|not allowed|unknown|disabled|does not exist)|unsupported method`)
	unknownTag      = regexp.MustCompile(`(?i)invalid block tag|tag.*not supported|finalized.*not|unknown block tag`)
)

// isLimit reports a limit on the rate, not on the range: by a code that says so, or by words
// that name no range.
func (e *rpcError) isLimit() bool {
	switch e.Code {
	case 429, -32007, -32016, -32029: // Alchemy, QuickNode, Base, Moralis
		return true
	}
	if limitText.MatchString(e.Message) {
		_, stated := statedSpan(e.Message, maxSpan)
		return !stated
	}
	_, ofRange := refusedSpan(e, maxSpan)
	return e.Code == limitCode && !ofRange
}

// isUnderstood reports an error that says more than that the endpoint does not answer now: the
// call is wrong, or what it asks for is not there or too much.
func (e *rpcError) isUnderstood() bool {
	switch e.Code {
	case -32700, -32600, -32601, -32602:
		return true
	}
	_, ofRange := refusedSpan(e, maxSpan)
	return ofRange || e.isPruned() || stateText.MatchString(e.Message) || e.isAhead() || e.isFailure() || e.isUnsupported() || e.isUnknownTag()
}

// isPruned reports that the endpoint keeps neither the state nor the logs so far back.
func (e *rpcError) isPruned() bool { return prunedText.MatchString(e.Message) }

// isAhead reports that the endpoint does not have the block yet, or no longer.
func (e *rpcError) isAhead() bool { return aheadText.MatchString(e.Message) }

// isReverted reports that the contract refused a call: what is asked for does not exist.
func (e *rpcError) isReverted() bool { return e.Code == 3 || revertedText.MatchString(e.Message) }

// isFailure reports that executing a call fails, for a reason of the contract or for want of money.
func (e *rpcError) isFailure() bool { return e.isReverted() || fundsText.MatchString(e.Message) }

// isUnsupported reports that the endpoint does not know the method.
func (e *rpcError) isUnsupported() bool {
	return e.Code == -32601 || unsupportedText.MatchString(e.Message)
}

// isUnknownTag reports that the endpoint knows no final block.
func (e *rpcError) isUnknownTag() bool { return unknownTag.MatchString(e.Message) }

// refusedSpan returns how many blocks to ask for after asked were refused; known is false
// for an error that says nothing about the range.
func refusedSpan(e *rpcError, asked uint64) (span uint64, known bool) {
	span, known = statedSpan(e.Message, asked)
	if !known && !halved.MatchString(e.Message) {
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
