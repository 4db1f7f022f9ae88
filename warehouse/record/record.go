// Package record defines the rows that imports append to the warehouse: upstream data
// in a common form, with every digit and every recast.
//
// Each [Record] has a [Kind], which is also its table, and a key, under which a later version replaces it.
// [Fingerprint] hashes its content, so that importing the same data twice changes nothing.
package record

import (
	"crypto/sha256"

	"pnyx/governance"
)

// Kind is a kind of record and the name of its table.
type Kind string

// The kinds of records in import order: a record comes before those that refer to it.
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
	KindAction   Kind = "actions"

	KindDelegation    Kind = "delegations"
	KindDelegatePower Kind = "delegate_power"
	KindTokenSupply   Kind = "token_supply"
	KindObservation   Kind = "observations"
	KindName          Kind = "names"
)

// Kinds returns every Kind in import order.
func Kinds() []Kind {
	return []Kind{
		KindDAO, KindSource, KindCategory, KindProposal, KindTopic,
		KindBallot, KindEvent, KindSignal, KindEvidence, KindAction,
		KindDelegation, KindDelegatePower, KindTokenSupply, KindObservation, KindName,
	}
}

// Record is one row of one of the kinds.
type Record interface {
	Kind() Kind
	// Key identifies the record within its kind: a later version replaces an earlier one with the same key.
	Key() Key
}

// Key has the values of a table's sorting key. Those beyond its columns are empty.
type Key [3]string

// SourceRef identifies an upstream source: a space, an organization, a Governor or a forum.
type SourceRef struct {
	Provider governance.Provider
	// ID is the space, the organization's slug or the forum's host.
	ID string `ch:"source_id"`
}

// ProposalRef identifies a proposal by its upstream id. Ballots refer to proposals by it, because a ballot may be
// imported before its proposal, and so before its DAO.
type ProposalRef struct {
	Provider governance.Provider
	// ExternalID is the proposal's id there.
	ExternalID string
}

// RefHash is the 128-bit identifier of a proposal in the warehouse.
type RefHash [16]byte

// Hash returns the first 128 bits of the SHA-256 of provider and external id, separated by a zero byte.
func (r ProposalRef) Hash() RefHash {
	text := make([]byte, 0, 128) // on the stack; fits nearly every reference
	text = append(append(append(text, r.Provider...), 0), r.ExternalID...)
	sum := sha256.Sum256(text)
	return RefHash(sum[:len(RefHash{})])
}

func (h RefHash) text() string { return string(h[:]) }
