package source

import (
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// readDelegation reads to whom a holder delegates: one delegate, several with shares, or none.
func readDelegation(in object) *record.Delegation {
	d := &record.Delegation{Placed: readPlaced(in, true), Delegator: readHolder(in.get("delegator"))}
	parts := in.get("delegates")
	if parts.absent() {
		if stated := in.get("delegate"); !stated.absent() {
			d.Add(readHolder(stated), nil)
		}
		return d
	}
	var sum decimal.Decimal
	for part := range parts.objects() {
		share := part.get("share")
		if power, rounded := share.power(); power != nil && !rounded && power.IsPositive() {
			d.Add(readHolder(part.get("delegate")), power)
			sum = sum.Add(*power)
			continue
		}
		share.rejectUnlike("a part above 0 with at most 18 decimal places")
	}
	if sum.GreaterThan(decimal.NewFromInt(1)) || len(d.Delegates) > record.MaxDelegates {
		parts.reject("has %d parts that add up to %s; want at most %d that add up to at most 1", len(d.Delegates), sum, record.MaxDelegates)
	}
	return d
}

// readPlaced reads the token of a statement, or the space of a registry if allowed, and its place.
func readPlaced(in object, registry bool) record.Placed {
	contract, space := in.get("token"), ""
	if registry && contract.absent() && in.has("registry") {
		contract, space = in.get("registry"), "/"+in.get("space").text()
	}
	p := record.Placed{
		Scope: readContract(contract) + space, Block: in.get("block").countOrZero(), LogIndex: in.get("logIndex").below(1 << 31),
		At: in.get("at").time(), Withdrawn: in.get("withdrawn").boolOr(false),
	}
	if in.get("block").absent() {
		in.get("block").require(typeNumber)
	}
	return p
}

// readContract reads the id of a contract, eip155:<chain>:<address>, in lower case.
func readContract(stated value) string {
	if !stated.require(typeString) {
		return ""
	}
	id := strings.ToLower(stated.text())
	if !governance.IsGovernorID(id) {
		stated.rejectUnlike("eip155:<chain>:<address>")
	}
	return id
}

func readHolder(stated value) string { return governance.VoterIdentity(stated.identifier()) }

// readAmount reads an amount of whole tokens.
func readAmount(stated value) (amount decimal.Decimal) {
	read, _ := stated.power()
	if read == nil {
		stated.reject("is missing; want a number from 0")
		return amount
	}
	return *read
}
