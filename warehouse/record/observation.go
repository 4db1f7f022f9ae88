package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"pnyx/governance"
)

// Observation is what calls to the nodes of a chain showed of what a proposal executes.
type Observation struct {
	Proposal ProposalRef
	// Payload is the hash of the actions that it is about, as PayloadOf returns it.
	Payload string
	// Block is the last block of which something was asked, At its time.
	Block uint64
	At    governance.Timestamp
	// Addresses are those that the actions involve.
	Addresses []ObservedAddress
	// Simulation is the latest, Earlier the last one before with another result; nil for none.
	Simulation, Earlier *governance.DossierSimulation
}

// ObservedAddress is what a node says of an address as of a block.
type ObservedAddress struct {
	Address string // in lower case
	Block   uint64
	// Contract is true if the address has code; nil if the node did not say.
	Contract *bool
	// Executor is true of the address in whose name the Governor executes.
	Executor bool `json:",omitempty"`
	// Implementation is the code that a proxy by EIP-1967 runs; empty for none.
	Implementation string
	// Symbol and Decimals are a token's; empty and nil where it states none.
	Symbol   string
	Decimals *uint8
	// Settings are the values that calls replace, by the function that sets them.
	Settings map[string]string `json:",omitempty"`
}

// Kind implements Record.
func (*Observation) Kind() Kind { return KindObservation }

// Key returns the hash of the proposal's reference.
func (o *Observation) Key() Key { return Key{o.Proposal.Hash().text()} }

// PayloadOf returns a hash of what actions execute, in hexadecimal.
func PayloadOf(actions []Action) string {
	digest := sha256.New()
	for _, a := range actions {
		fmt.Fprintf(digest, "%q %q %q %q %x %t\n", a.Chain, a.Target, a.Value, a.Signature, a.Calldata, a.Delegate)
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}
