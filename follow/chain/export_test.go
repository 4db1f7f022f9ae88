package chain

// RPCError is an error object of an answer.
type RPCError = rpcError

// RefusedSpan exports refusedSpan.
func RefusedSpan(e *RPCError, asked uint64) (span uint64, known bool) { return refusedSpan(e, asked) }

// IsLimit, IsPruned and IsAhead export what an error says.
func IsLimit(e *RPCError) bool  { return e.isLimit() }
func IsPruned(e *RPCError) bool { return e.isPruned() }
func IsAhead(e *RPCError) bool  { return e.isAhead() }

// Topics exports topics.
func Topics() []string { return topics() }

// Parsed is what Parse exports of a log.
type Parsed struct {
	Proposal, Voter, Text string
	Sides                 [3]string
}

// Parse exports parse.
func Parse(logTopics []string, data string) (Parsed, error) {
	e, err := parse(logTopics, data)
	p := Parsed{Proposal: e.proposal, Voter: e.voter, Text: e.text}
	for i, side := range e.sides {
		if side != nil {
			p.Sides[i] = side.String()
		}
	}
	return p, err
}

// Title exports title.
func Title(description string) string { return title(description) }
