package chain

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

type RPCError = rpcError

func RefusedSpan(e *RPCError, asked uint64) (span uint64, known bool) { return refusedSpan(e, asked) }

func IsLimit(e *RPCError) bool { return e.isLimit() }

func IsUnknown(e *RPCError) bool {
	_, ofRange := refusedSpan(e, 500)
	return !e.isUnderstood() && !ofRange
}
func IsReverted(e *RPCError) bool { return e.isReverted() && !e.isLimit() }

func IsGone(e *RPCError) bool  { return e.isGone() }
func IsAhead(e *RPCError) bool { return e.isAhead() }

// NodeOf exports nodeOf, in hexadecimal.
func NodeOf(name string) string { return fmt.Sprintf("0x%064x", nodeOf(name)) }

// ActionsOf returns what a proposal executes by some of its logs, each in a block of its own, and
// how many it states.
func ActionsOf(logs ...records.ChainLog) (stated *uint64, actions []*record.Action) {
	p, _ := foldProposal(logs)
	r := &record.Proposal{SourceID: "eip155:1:0x00000000000000000000000000000000000000aa"}
	p.setActions(r)
	return r.StatedActions, r.Actions
}

// TimelockOf returns what the logs of a proposal say of its timelock, which keeps it for some seconds, and
// of the actions.
func TimelockOf(grace uint64, logs ...records.ChainLog) *record.Proposal {
	p, _ := foldProposal(logs)
	r := &record.Proposal{SourceID: "eip155:1:0x00000000000000000000000000000000000000aa", Milestones: p.milestones}
	g := &governor{facts: facts{grace: grace, token: "0x00000000000000000000000000000000000000bb"}}
	g.addTimelock(r, p)
	return r
}

func Topics() []string { return slices.Collect(maps.Keys(layouts())) }

type Parsed struct {
	Proposal, Voter, Text string
	Sides                 [3]string
}

func Parse(logTopics []string, data string) (Parsed, error) {
	e, err := parse(logTopics, data)
	p := Parsed{Proposal: e.proposal, Voter: e.voter, Text: e.text}
	for i, side := range e.powers(rules{}) {
		if side != nil {
			p.Sides[i] = side.String()
		}
	}
	return p, err
}

func Title(description string) string { return title(description) }

// Answered reads the answers of a host as a chain with one Governor: logs with
// their blocks, and the calls to the contract.
func Answered(ctx context.Context, host *fetch.Host, address string) []record.Record {
	c := New(Options{ChainID: 1, Endpoints: []*fetch.Host{host}, Governors: []Governor{{Address: address}}, Logger: slog.New(slog.DiscardHandler)})
	c.journal = &follow.Journal{}
	c.client.endpoints[0].single.Store(true)
	c.client.endpoints[0].identified.Store(true)
	g := c.governors[0]
	_ = c.probe(ctx, g)
	_, _ = consultant{c}.clockNow(ctx)
	got, err := c.client.read(ctx, c.client.endpoints[0], filterOf(c.governors), 1, 1, false, true)
	if err != nil {
		got.logs = nil
	}
	c.refuseForeign(got)
	return c.foldAll(got.logs)
}

// AnsweredLogs reads a text as the logs of a block.
func AnsweredLogs(text []byte, address string) []record.Record {
	c := New(Options{ChainID: 1, Governors: []Governor{{Address: address}}, Logger: slog.New(slog.DiscardHandler)})
	c.journal = &follow.Journal{}
	got := blocks{first: 1, last: 1}
	if fetch.Decode(text, &got.logs) != nil {
		return nil
	}
	zero := quantity(0)
	got.end = header{Number: 1, Hash: "0x" + strings.Repeat("0", 64)}
	for i := range got.logs {
		got.logs[i].BlockTime = &zero
	}
	if err := c.client.complete(context.Background(), nil, filterOf(c.governors), &got, false); err != nil {
		return nil
	}
	return c.foldAll(got.logs)
}

// foldAll returns the records of logs that are all there is.
func (c *Chain) foldAll(logs []chainLog) []record.Record {
	byKey := map[records.ChainLogKey][]records.ChainLog{}
	for _, row := range c.decodeAll(logs) {
		byKey[row.ChainLogKey] = append(byKey[row.ChainLogKey], row)
	}
	var proposals []proposal
	for key, logs := range byKey {
		if p, known := foldProposal(logs); known && key.Voter == "" {
			proposals = append(proposals, p)
		}
	}
	return c.recordsOf(c.governors[0], proposals, byKey, 0)
}
