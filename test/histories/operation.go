// Package histories checks recorded histories of a deployment against models. A history is
// what clients did and saw while parts of the deployment failed: operations with the times
// of call and return. A model says which histories are possible; it is a pure function of
// the history, so that a recorded one can be checked again.
//
// What has a sequential specification of its own (the month of a token, the validity of a
// token at a node) is checked for linearizability with porcupine. Invariants over pairs or
// sets of operations are checked by plain functions.
package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is what an operation does.
type Kind string

// The kinds of operations.
const (
	// Request reads a path, with or without a token.
	Request Kind = "request"
	// Issue creates a token, Rotate replaces its secret without overlap, and Revoke ends it.
	Issue  Kind = "issue"
	Rotate Kind = "rotate"
	Revoke Kind = "revoke"
	// Import casts a ballot of the vote in progress.
	Import Kind = "import"
	// Walk reads the ballots of the vote by pages, the newest first.
	Walk Kind = "walk"
	// Export reads one part of an export of the vote.
	Export Kind = "export"
	// Pay sends a payment for a path, and Transfer is money that moved.
	Pay      Kind = "pay"
	Transfer Kind = "transfer"
	// Publish is an event that is in the feed, and Deliver its message at a receiver.
	Publish Kind = "publish"
	Deliver Kind = "deliver"
	// Follow reads changes, and Copy is the copy of who read them all: Casts of the ballots in its Rows.
	Follow Kind = "follow"
	Copy   Kind = "copy"
	// Change gives a record of a followed system, its Subject, the state Casts, which only grows. Show is an
	// answer.
	Change Kind = "change"
	Show   Kind = "show"
	// Fault breaks something. It returns when everything has recovered.
	Fault Kind = "fault"
)

// Operation is one call of a client. Fields that its kind does not have are empty.
type Operation struct {
	Kind Kind `json:"kind"`
	// Client is the number of the client, whose operations follow each other.
	Client int `json:"client,omitempty"`
	// Node is the process that was called.
	Node string `json:"node,omitempty"`
	// Call and Return are the times since the history began, by one monotonic clock.
	Call   time.Duration `json:"call"`
	Return time.Duration `json:"return"`
	// Status is the HTTP status; 0 for an outcome that is not known. A command that succeeded has 200.
	Status int    `json:"status,omitempty"`
	Code   string `json:"code,omitempty"`
	// Subject is a payment's nonce, an export's revision, an event's id, a followed record, or a fault's name.
	Subject string `json:"subject,omitempty"`
	Path    string `json:"path,omitempty"`
	// Token is the id of the token, and Secret the number of times that it was rotated before.
	Token  string `json:"token,omitempty"`
	Secret int    `json:"secret,omitempty"`
	// Limit is the number of answers a month of an issued token; 0 for one whose month is not checked.
	Limit int `json:"limit,omitempty"`
	// ETag is an answer's, and Body a hash of everything that it has to name.
	ETag string `json:"etag,omitempty"`
	Body string `json:"body,omitempty"`
	// AsOf is the dataAsOf of an answer, in Unix milliseconds: of each page of a walk.
	AsOf []int64 `json:"asOf,omitempty"`
	// Casts is how many ballots an answer shows, the number of an imported one, or the state of a record.
	Casts int `json:"casts,omitempty"`
	// Rows are the numbers of the ballots of a walk or export, in their order.
	Rows []int `json:"rows,omitempty"`
	// Wrong is what an answer contradicts by itself; empty for nothing.
	Wrong string `json:"wrong,omitempty"`
	// Redis says that a fault keeps a node or worker from Redis, or empties it.
	Redis bool `json:"redis,omitempty"`
	// Rewinds says that a fault may bring back an earlier state of Redis.
	Rewinds bool `json:"rewinds,omitempty"`
	// SetsClock says that a fault sets a clock, by which answers say as of when they are.
	SetsClock bool `json:"setsClock,omitempty"`
}

// String describes an operation in a line.
func (o *Operation) String() string {
	about := slices.DeleteFunc([]string{o.Node, o.Subject, o.Path, o.Token}, func(text string) bool { return text == "" })
	return fmt.Sprintf("%s by client %d (%s) from %s to %s: %d %s", o.Kind, o.Client, strings.Join(about, " "),
		o.Call.Round(time.Millisecond), o.Return.Round(time.Millisecond), o.Status, o.Code)
}

// overlaps reports whether an operation was under way at any time between two moments.
func (o *Operation) overlaps(from, to time.Duration) bool { return o.Call <= to && o.Return >= from }

// answered reports whether the operation returned data.
func (o *Operation) answered() bool { return o.Status == 200 || o.Status == 206 }

// History is what happened in one run, in the order of returns.
type History []Operation

// of returns the operations of a kind.
func (h History) of(kind Kind) (found []*Operation) {
	for i := range h {
		if h[i].Kind == kind {
			found = append(found, &h[i])
		}
	}
	return found
}

// during returns the faults that overlap a time and that a condition holds for.
func (h History) during(from, to time.Duration, is func(*Operation) bool) (faults []*Operation) {
	for _, fault := range h.of(Fault) {
		if fault.overlaps(from, to) && is(fault) {
			faults = append(faults, fault)
		}
	}
	return faults
}

// Violation is a part of a history that a model rules out.
type Violation struct {
	// Problem says what contradicts the model.
	Model, Problem string
}

// String is the violation in a line.
func (v Violation) String() string { return v.Model + ": " + v.Problem }

// Disturbed reports whether an operation was under way during a fault of Redis.
func (h History) Disturbed(o *Operation) bool {
	return len(h.during(o.Call, o.Return, func(f *Operation) bool { return f.Redis })) > 0
}
