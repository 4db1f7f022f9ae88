package governance

// BallotExport lists the parts of all ballots of a proposal, as they were at one moment.
type BallotExport struct {
	// ProposalKey is the proposal.
	ProposalKey ProposalKey `json:"proposalKey"`
	// Revision names the ballots that the parts have, in their order, with their labels.
	Revision string `json:"revision"`
	// Votes is the number of ballots in all parts.
	Votes Decimal `json:"votes"`
	// VotingPower is the sum of their voting power.
	VotingPower Decimal `json:"votingPower"`
	// Basis and Totals are the vote summary's.
	Basis  *Basis      `json:"basis"`
	Totals *VoteTotals `json:"totals"`
	// Flagged is true if the provider marks the proposal as spam.
	Flagged bool `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	// Final says that the vote is closed and that the parts have all of its ballots.
	Final bool `json:"final"`
	// Parts are the parts, in their order; empty without votes.
	Parts []ExportPart `json:"parts"`
}

// ExportPart is a part of an export.
type ExportPart struct {
	// Href is the path of the part.
	Href string `json:"href"`
	// First is how many ballots come before the part.
	First int `json:"first"`
	// Rows is the number of its ballots.
	Rows int `json:"rows"`
}
