package record

import (
	"fmt"
	"math/big"
)

// The bounds of what a proposal executes.
const (
	// MaxActions bounds the actions of a proposal that are kept, MaxCalldata their bytes, and
	// MaxSignature the bytes of a signature that a contract states.
	MaxActions   = 2000
	MaxCalldata  = 2 << 20
	MaxSignature = 1 << 10
)

// Action is a call that a proposal executes if it passes.
type Action struct {
	Proposal ProposalRef
	// Index is the position among the proposal's actions, from 0.
	Index uint32 `ch:"position"`
	// Chain is "eip155:<number>"; empty if upstream states none.
	Chain string
	// Executor is the address that calls, such as a Safe, in lower case; empty if upstream states none.
	Executor string
	Target   string
	// Value is the native amount in wei, in decimal.
	Value string
	// Signature is the function's signature if upstream states it. Calldata then has no selector.
	Signature string
	Calldata  []byte
	// Delegate is true if the target's code runs in the name of the caller.
	Delegate bool
	// Block, TxHash and LogIndex are where a chain states the action; zero for a file or an API.
	Block     uint64
	TxHash    string
	LogIndex  uint32
	Withdrawn bool
}

// Kind implements Record.
func (*Action) Kind() Kind { return KindAction }

// Key returns the hash of the proposal's reference and the position.
func (a *Action) Key() Key { return Key{a.Proposal.Hash().text(), fmt.Sprintf("%06d", a.Index)} }

// SetActions sets the actions of a proposal, of which it leaves out those beyond what a
// proposal may have, and how many upstream states, which may be none.
func (p *Proposal) SetActions(stated int, actions []*Action) {
	count := uint64(stated) //nolint:gosec // a length
	size, kept := 0, 0
	for kept < min(len(actions), MaxActions) && size+len(actions[kept].Calldata) <= MaxCalldata {
		size += len(actions[kept].Calldata)
		kept++
	}
	p.StatedActions, p.Actions = &count, actions[:kept]
}

// WithActions returns records and, behind each proposal, its actions, which it removes from the proposal.
func WithActions(records []Record) []Record {
	all := make([]Record, 0, len(records))
	for _, r := range records {
		all = append(all, r)
		if p, is := r.(*Proposal); is {
			for i, a := range p.Actions {
				a.Proposal, a.Index, a.Withdrawn = p.ProposalRef, uint32(i), p.Withdrawn
				all = append(all, a)
			}
			p.Actions = nil
		}
	}
	return all
}

// IsWei reports whether a text is a whole number of at most 256 bits in decimal.
func IsWei(text string) bool {
	const maxDigits = 78 // of 256 bits: reading more takes the square of their number
	n, ok := new(big.Int).SetString(text[:min(len(text), maxDigits+1)], 10)
	return ok && n.Sign() >= 0 && n.BitLen() <= 256 && n.String() == text
}
