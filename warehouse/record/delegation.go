package record

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// MaxDelegates bounds the delegates among whom a holder splits.
const MaxDelegates = 1000

// Placed is where and when something about a token or a registry was stated.
type Placed struct {
	// Scope is where the statement applies: a token, eip155:<chain>:<address>, or a space of a
	// registry of delegations, eip155:<chain>:<address>/<space>. An empty space is every space.
	Scope string
	// Block and LogIndex order the statements of a scope.
	Block    uint64
	LogIndex uint32
	// BlockHash is 32 bytes in hexadecimal; empty for a file.
	BlockHash string
	At        *governance.Timestamp // of the block; nil where it is not stated
	// Withdrawn is true if the block was replaced by another, or upstream has taken the statement back.
	Withdrawn bool
}

// place returns the place as a key. It is ordered as the chain is, and a log of a block that was
// replaced has another place than the one that stands.
func (p *Placed) place() string {
	const placeBytes = 20 // the length of a place: block, log index, and the beginning of the block's hash
	key := binary.BigEndian.AppendUint64(make([]byte, 0, placeBytes), p.Block)
	key = binary.BigEndian.AppendUint32(key, p.LogIndex)
	hash, err := hex.DecodeString(strings.TrimPrefix(p.BlockHash, "0x"))
	if err != nil || len(hash) < placeBytes-len(key) {
		hash = make([]byte, placeBytes)
	}
	return string(append(key, hash[:placeBytes-len(key)]...))
}

// Delegation is to whom a holder delegates from a block on: all of it, so that the latest one of
// a holder is what applies.
type Delegation struct {
	Placed
	Delegator string
	// Delegates are those who vote for the holder; none where the delegation ends.
	Delegates []string
	// Shares are the delegates' parts, which add up to at most 1; empty for one delegate with everything.
	Shares []decimal.Decimal
}

// Add adds a delegate with a part, or with everything for nil. The zero address votes for nobody, and a
// delegate who is named again has both parts.
func (d *Delegation) Add(delegate string, part *decimal.Decimal) {
	at := slices.Index(d.Delegates, delegate)
	switch {
	case strings.Trim(delegate, "0") == "x":
	case at < 0:
		d.Delegates = append(d.Delegates, delegate)
		if part != nil {
			d.Shares = append(d.Shares, *part)
		}
	case part != nil:
		d.Shares[at] = d.Shares[at].Add(*part)
	}
}

// Kind implements Record.
func (*Delegation) Kind() Kind { return KindDelegation }

// Key returns the scope, the holder and the place.
func (d *Delegation) Key() Key { return Key{d.Scope, d.Delegator, d.place()} }

// DelegatePower is the voting power of a delegate from a block on, as the token states it. A power of the zero
// address, after all logs of a block, says that powers of earlier blocks are not known any more: the token changes
// them without a log.
type DelegatePower struct {
	Placed
	Delegate string
	Power    decimal.Decimal // in whole tokens
}

// Kind implements Record.
func (*DelegatePower) Kind() Kind { return KindDelegatePower }

// Key returns the token, the delegate and the place.
func (d *DelegatePower) Key() Key { return Key{d.Scope, d.Delegate, d.place()} }

// TokenSupply is the supply of a token from a block on.
type TokenSupply struct {
	Placed
	Supply decimal.Decimal // in whole tokens
}

// Kind implements Record.
func (*TokenSupply) Kind() Kind { return KindTokenSupply }

// Key returns the token and the place.
func (s *TokenSupply) Key() Key { return Key{s.Scope, s.place()} }
