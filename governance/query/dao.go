package query

import "pnyx/governance"

// DAOs selects DAOs, in order of their ids.
type DAOs struct {
	HasVoteData  *bool               `param:"hasVoteData" doc:"Only DAOs with ballots (true) or without (false)." example:"true"`
	HasForumData *bool               `param:"hasForumData" doc:"Only DAOs with forum topics (true) or without (false)." example:"true"`
	Coverage     governance.Coverage `param:"coverageStatus" doc:"Only DAOs with this coverage." example:"complete"`
	Flagged      *bool               `param:"flagged" doc:"Also what the provider marks as spam." example:"true" addition:"true"`

	Paging[DAOPosition] `default:"50" max:"100"`
}

// WithFlagged reports whether the query selects spam as well.
func (q DAOs) WithFlagged() bool { return q.Flagged != nil && *q.Flagged }

// DAOPosition is the id of a DAO.
type DAOPosition string

// PositionOf returns the place of a DAO in the list.
func (DAOs) PositionOf(dao governance.DAOListItem) DAOPosition { return DAOPosition(dao.DAOID) }
