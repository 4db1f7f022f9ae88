package record

import "pnyx/governance"

// Name is the name of a voter, as one source states it.
type Name struct {
	Voter  string
	Source governance.NameSource
	// Origin is the forum of a name of a forum, and "import" for a name of an import that is in place of the sources
	// file; empty for others.
	Origin string
	Name   string // empty where the source was asked and states none
	// Verified is true for a primary name whose own record leads to the voter.
	Verified  bool
	Withdrawn bool
}

// Kind implements Record.
func (*Name) Kind() Kind { return KindName }

// Key returns the voter, the source and the forum.
func (n *Name) Key() Key { return Key{n.Voter, string(n.Source), n.Origin} }
