// Package record defines the rows that imports append to the warehouse: what
// upstream systems publish, in our terms, with every digit and every recast kept.
// A record knows the key under which later versions replace it and a fingerprint
// of its content, so that importing the same thing twice changes nothing.
package record

import (
	"crypto/sha256"

	"pnyx/governance"
)

// Kind names a kind of record; it is also the name of its table.
type Kind string

// The kinds of records, in the order in which they should be imported: what
// others refer to comes first.
const (
	KindDAO      Kind = "daos"
	KindSource   Kind = "sources"
	KindCategory Kind = "categories"
	KindProposal Kind = "proposals"
	KindTopic    Kind = "topics"
	KindBallot   Kind = "ballots"
	KindEvent    Kind = "events"
	KindSignal   Kind = "signals"
	KindEvidence Kind = "evidence"
)

// Kinds lists every Kind in order of import.
func Kinds() []Kind {
	return []Kind{
		KindDAO, KindSource, KindCategory, KindProposal, KindTopic,
		KindBallot, KindEvent, KindSignal, KindEvidence,
	}
}

// Record is one row of one of the kinds.
type Record interface {
	// Kind says which table the record belongs to.
	Kind() Kind
	// Key identifies the record within its kind: the values of its table's
	// sorting key. A later version replaces an earlier one with the same key.
	Key() []string
}

// SourceRef names one upstream source: a Snapshot space, a Tally organization,
// a Discourse host.
type SourceRef struct {
	Provider governance.Provider
	ID       string
}

// ProposalRef names a proposal as its upstream system does. Ballots refer to
// proposals by it, because a ballot may be known before its proposal, and so
// before its DAO.
type ProposalRef struct {
	Provider   governance.Provider
	ExternalID string
}

// RefHash is the 128-bit name of a proposal inside the warehouse.
type RefHash [16]byte

// Hash returns the name under which the warehouse knows the proposal: the first
// 128 bits of SHA-256 of provider and external id, separated by a zero byte.
func (r ProposalRef) Hash() RefHash {
	text := make([]byte, 0, 128) // room for nearly all, on the stack
	text = append(append(append(text, r.Provider...), 0), r.ExternalID...)
	sum := sha256.Sum256(text)
	return RefHash(sum[:len(RefHash{})])
}
