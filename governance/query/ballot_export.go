package query

import "pnyx/governance"

// ExportRows is the number of ballots in a part of an export; the last part has fewer.
const ExportRows = 20_000

// BallotExport asks for the parts of an export, which stays what it is while ballots arrive: only time makes it stale.
type BallotExport struct {
	Proposal governance.ProposalKey `param:"proposalKey" in:"path" doc:"The proposal's key." example:"p1_AAAAAAAAAAAAAAAAAAAAAA"`
}

// Kind implements Page.
func (BallotExport) Kind() Kind { return KindBallotExport }

// BallotPart selects one part of an export. It never becomes stale: the revision names its ballots.
type BallotPart struct {
	Proposal governance.ProposalKey  `param:"proposalKey" in:"path" doc:"The proposal's key." example:"p1_AAAAAAAAAAAAAAAAAAAAAA"`
	Revision string                  `param:"revision" in:"path" doc:"The revision of the manifest." example:"c4fz6kd0r2m-3q5n8w2x"`
	Part     int                     `param:"part" in:"path" min:"1" max:"10000" doc:"The number of the part, from 1." example:"1"`
	Format   governance.ExportFormat `param:"format" default:"ndjson" doc:"The format of the rows." example:"csv"`
}

// Kind implements Page.
func (BallotPart) Kind() Kind { return KindBallotPart }
