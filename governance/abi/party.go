package abi

import "slices"

// MaxParties bounds the addresses that a proposal involves, as Parties lists them.
const MaxParties = 100

// Visit calls a function with a call and the calls inside, in order.
func (d *Decoded) Visit(with func(*Decoded)) {
	with(d)
	for i := range d.Calls {
		d.Calls[i].Visit(with)
	}
}

// Receiver returns the address that a function gives power to or takes it from; empty for none.
func (d *Decoded) Receiver() string {
	return d.Argument("account", "newOwner", "newAdmin", "spender", "operator", "who", "implementation", "module", "controller", "guardian",
		"delegate", "guard", "handler", "authority", "plugin", "to", "timelock", "governor", "member", "keeper", "management", "manager", "avatar", "verifier")
}

// Party is an address that calls involve.
type Party struct {
	Chain, Address string
	// Called, Paid and Empowered say how. Token is true for a token that moves.
	Called, Paid, Empowered, Token bool
}

// Parties returns the addresses that are called, get money or get power, in the order of the calls, at most MaxParties.
func Parties(calls []Decoded) (parties []Party) {
	add := func(chain, address string, mark func(*Party)) {
		at := slices.IndexFunc(parties, func(p Party) bool { return p.Chain == chain && p.Address == address })
		if at < 0 && (len(parties) == MaxParties || !IsAddress(address)) {
			return
		}
		if at < 0 {
			at, parties = len(parties), append(parties, Party{Chain: chain, Address: address})
		}
		mark(&parties[at])
	}
	for i := range calls {
		calls[i].Visit(func(d *Decoded) {
			add(d.Chain, d.Target, func(p *Party) { p.Called = true })
			for _, of := range d.Payments() {
				add(d.Chain, of.To, func(p *Party) { p.Paid = true })
				add(d.Chain, of.Token, func(p *Party) { p.Token = true })
			}
			switch d.Kind {
			case Role, Ownership, Approval, Upgrade, Safe:
				add(d.Chain, d.Receiver(), func(p *Party) { p.Empowered = true })
			default:
			}
		})
	}
	return parties
}
