package source

import (
	"pnyx/governance"
	"pnyx/warehouse/record"
)

// readName reads the name of a voter as a source other than ENS states it, whose names are verified on chain.
func readName(in object) *record.Name {
	n := &record.Name{
		Voter: readHolder(in.get("voter")), Source: governance.NameOfFile, Name: in.get("name").text(), Withdrawn: in.get("withdrawn").boolOr(false),
	}
	if stated := in.get("source"); !stated.absent() {
		n.Source = oneOf(stated, governance.NameSources()[1:]...)
	}
	if n.Source == governance.NameOfFile {
		n.Origin = "import" // the sources file withdraws its own names alone
	}
	if n.Source == governance.NameOfForum {
		n.Origin = in.get("forum").identifier()
	}
	if len(n.Name) > governance.MaxName {
		in.get("name").reject("has %d bytes; want at most %d", len(n.Name), governance.MaxName)
	}
	return n
}
