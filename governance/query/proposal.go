package query

import (
	"time"

	"pnyx/governance"
)

// ProposalOrder is an order of the list of proposals.
type ProposalOrder string

// The orders of proposals.
const (
	ProposalsByUpdate   ProposalOrder = "updatedDesc"
	ProposalsByCreation ProposalOrder = "createdDesc"
	// ProposalsEndingSoon lists active proposals, then pending ones, each by their end,
	// the soonest first; then closed ones, the last that ended first.
	ProposalsEndingSoon ProposalOrder = "endingSoon"
	// ProposalsEnded lists closed proposals alone, by their end, the latest first.
	ProposalsEnded ProposalOrder = "endedDesc"
)

// ProposalTime is one of the times of a proposal.
type ProposalTime string

// The times of a proposal.
const (
	ProposalCreatedAt ProposalTime = "createdAt"
	ProposalStartAt   ProposalTime = "startAt"
	ProposalEndAt     ProposalTime = "endAt"
	ProposalUpdatedAt ProposalTime = "updatedAt"
)

// MaxProposalWindow is the maximum length of a window, and the length of a window with one stated end.
const MaxProposalWindow = 365 * 24 * time.Hour

// Proposals selects proposals of all DAOs.
type Proposals struct {
	DAOID      string                 `param:"daoId" doc:"Of this DAO." example:"uniswap"`
	Provider   string                 `param:"provider" doc:"From this upstream." example:"snapshot"`
	Proposer   Voter                  `param:"proposerId" doc:"By this proposer." example:"0x0000000000000000000000000000000000000001"`
	Lifecycles []governance.Lifecycle `param:"lifecycleStatus" doc:"In one of these states." example:"active,pending"`
	Outcomes   []governance.Outcome   `param:"outcome" doc:"With these outcomes." example:"passed,executed"`
	Title      string                 `param:"q" doc:"In the title: three characters or more, in any case." example:"treasury" addition:"true"`
	Flagged    *bool                  `param:"flagged" doc:"Also what the provider marks as spam." example:"true" addition:"true"`
	Time       ProposalTime           `param:"timeField" default:"updatedAt" doc:"The time of from and to; what has none is left out." example:"endAt"`
	From       *governance.Timestamp  `param:"from" doc:"At or after; else 365 days before to." example:"2026-01-01"`
	To         *governance.Timestamp  `param:"to" doc:"Before; else 365 days after from." example:"2026-07-01"`
	Order      ProposalOrder          `param:"sort" default:"updatedDesc" doc:"Latest update or creation; ending next, open votes first; or ended last, without open ones." example:"endingSoon"`

	Paging[ProposalPosition] `default:"25" max:"100"`
}

// Kind implements Page.
func (Proposals) Kind() Kind { return KindProposals }

// Scope implements Versioned.
func (q Proposals) Scope() Scope { return Scope{KindProposals, q.DAOID} }

// MinPartialTitle is the minimum length of a text that titles are searched for: shorter ones match too many.
const MinPartialTitle = 3

// Canonical returns the query with both ends of its window, the missing one computed
// from the other, or without a time where it has no window. Spam that is not asked for is nil.
func (q Proposals) Canonical() Proposals {
	q.Title = governance.NormalizeTitle(q.Title)
	if q.Flagged != nil && !*q.Flagged {
		q.Flagged = nil
	}
	switch {
	case q.From == nil && q.To == nil:
		q.Time = ""
	case q.From == nil:
		q.From = new(governance.TimestampOf(q.To.Time().Add(-MaxProposalWindow)))
	case q.To == nil:
		q.To = new(governance.TimestampOf(q.From.Time().Add(MaxProposalWindow)))
	}
	return q
}

// ProposalPosition is a place in an order of proposals.
type ProposalPosition struct {
	// Band is the part of the order that the place is in.
	Band int64 `msgpack:"n,omitempty"`
	// At is the time that the order compares; nil where it is unknown.
	At  *governance.Timestamp  `msgpack:"t,omitempty"`
	Key governance.ProposalKey `msgpack:"k"`
}

// MaxCandidates is the maximum number of proposals that a Resolve finds.
const MaxCandidates = 20

// Resolve selects the proposals that one of URL, Title and ExternalID may mean.
type Resolve struct {
	URL        string `param:"url" doc:"The address of the proposal, in any of its forms, or of its discussion." example:"https://snapshot.org/#/uniswap/proposal/0x538c49304ef485ba4ea09ebce3dfd0548e6e230b5d338b2ba428928e3848f912"`
	Title      string `param:"title" doc:"The title, or three characters of it or more; case does not matter." example:"deploy uniswap v4" sample:"true"`
	ExternalID string `param:"externalId" doc:"The id in the upstream system; the case of a 0x… id does not matter." example:"0x538c49304ef485ba4ea09ebce3dfd0548e6e230b5d338b2ba428928e3848f912"`
	DAOID      string `param:"daoId" doc:"Only proposals of this DAO." example:"uniswap"`
	Provider   string `param:"provider" doc:"Only proposals from this upstream system." example:"snapshot"`
	Limit      int    `param:"limit" default:"5" min:"1" max:"20" doc:"Candidates at the most."`
}

// Kind implements Page.
func (Resolve) Kind() Kind { return KindResolve }

// Scope implements Versioned: candidates become stale with the list of proposals.
func (q Resolve) Scope() Scope { return Scope{KindProposals, q.DAOID} }

// Canonical returns the query with its texts as the warehouse compares them, for all candidates.
func (q Resolve) Canonical() Resolve {
	q.URL = governance.CanonicalURL(q.URL)
	q.Title = governance.NormalizeTitle(q.Title)
	q.ExternalID = governance.NormalizeExternalID(q.ExternalID)
	q.Limit = MaxCandidates
	return q
}
