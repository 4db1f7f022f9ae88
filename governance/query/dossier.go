package query

import "pnyx/governance"

// Dossier selects what is computed about one proposal for its evidence.
type Dossier struct {
	Proposal governance.ProposalKey `param:"proposalKey"`
}

// Kind implements Page: a dossier rests on records of which no version is kept.
func (Dossier) Kind() Kind { return KindDossier }
