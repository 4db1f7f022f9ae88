package fill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// voterFreshFor is how long the pages of a voter are taken to be fresh: there is
// no mark for each of a million voters.
const voterFreshFor = 5 * time.Second

// pageMaker works out one page.
type pageMaker struct {
	*Filler
	request cache.PageRequest
	head    cache.View
}

// absent is the answer about something that does not exist.
func (p pageMaker) absent() cache.View {
	p.head.Absent = true
	return p.head
}

// fromCopy reads from the generation that the mark of what is asked for names; without
// a mark there is nothing to read. A generation that is replaced meanwhile may be gone,
// and a part of the page with it: it is read again from the next.
func (p *pageMaker) fromCopy(
	ctx context.Context, read func(generation uint64) error,
) (there bool, err error) {
	mark, there, err := p.mark(ctx)
	for there && err == nil {
		before := mark
		if err := read(before.Generation); err != nil {
			return false, err
		}
		if mark, there, err = p.mark(ctx); there && mark.Generation == before.Generation {
			p.head.Revision = before.Revision
			return true, nil
		}
	}
	return false, err
}

// mark reads the mark of what is asked for.
func (p *pageMaker) mark(ctx context.Context) (mark cache.Version, there bool, err error) {
	mark, err = p.store.Version(ctx, p.request.Kind, p.request.Subject)
	if errors.Is(err, cache.ErrMiss) {
		return cache.Version{}, false, nil
	}
	return mark, err == nil, err
}

// ballots makes a page of a proposal's ballots.
func (p pageMaker) ballots(ctx context.Context) (cache.View, error) {
	var detail governance.ProposalDetail
	var rows []warehouse.LatestBallot
	there, err := p.fromCopy(ctx, func(generation uint64) (err error) {
		if detail, err = p.proposal(ctx); err != nil {
			return err
		}
		ref := record.ProposalRef{Provider: detail.Identity.Provider, ExternalID: detail.Identity.ExternalID}
		rows, err = p.readBallots(ctx, warehouse.BallotSource{Ref: ref.Hash(), Generation: generation})
		return err
	})
	if err != nil || !there {
		return p.absent(), err
	}
	return cache.NewView(p.head, BallotRows(rows, LabelsOf(detail.Choices)))
}

// proposal reads what a page of ballots needs to know of the proposal, which is
// published already.
func (p *pageMaker) proposal(
	ctx context.Context,
) (detail governance.ProposalDetail, err error) {
	view, err := p.store.View(ctx, cache.ProposalDetailKey(governance.ProposalKey(p.request.Subject)))
	if err == nil {
		err = view.Decode(&detail)
	}
	if err != nil {
		return governance.ProposalDetail{}, fmt.Errorf("read the proposal: %w", err)
	}
	return detail, nil
}

func LabelsOf(choices []governance.Choice) map[string]string {
	labels := make(map[string]string, len(choices))
	for _, choice := range choices {
		labels[choice.Key] = choice.Label
	}
	return labels
}

func (p pageMaker) readBallots(
	ctx context.Context, at warehouse.BallotSource,
) ([]warehouse.LatestBallot, error) {
	after := p.request.After
	// One more than is shown tells whether there is another page.
	limit := p.request.Limit + 1
	if p.request.Order == cache.ByTime {
		if after == nil {
			return p.warehouse.BallotsByTime(ctx, at, nil, limit)
		}
		return p.warehouse.BallotsByTime(ctx, at, &warehouse.TimePosition{VotedAt: after.At, Voter: after.Key}, limit)
	}
	position, err := powerPosition(after)
	if err != nil {
		return nil, err
	}
	return p.warehouse.BallotsByPower(ctx, at, position, limit)
}

func powerPosition(after *cache.Position) (*warehouse.PowerPosition, error) {
	if after == nil {
		return nil, nil //nolint:nilnil // no position is the first page
	}
	power, err := decimal.NewFromString(string(after.Power))
	if err != nil {
		return nil, fmt.Errorf("position of a page: %w", err)
	}
	return &warehouse.PowerPosition{Power: power, Voter: after.Key}, nil
}

func BallotRows(rows []warehouse.LatestBallot, labels map[string]string) []governance.Ballot {
	page := make([]governance.Ballot, len(rows))
	shown := map[string]string{} // most ballots are like others
	for i, row := range rows {
		label, known := shown[row.RawChoice]
		if !known {
			label = ballotLabel(row.RawChoice, labels)
			shown[row.RawChoice] = label
		}
		page[i] = governance.Ballot{
			VoteID:          row.VoteID,
			VoterIdentity:   row.Voter,
			VoterAddress:    voterAddress(row.Voter),
			ChoiceKey:       governance.OptionalText(row.ChoiceKey),
			Choice:          governance.ChoiceLabel{Label: label},
			VotingPower:     governance.DecimalOf(row.Power),
			VotedAt:         row.VotedAt,
			TransactionHash: governance.OptionalText(row.TxHash),
		}
	}
	return page
}

// voterAddress is the identity where that is an address.
func voterAddress(voter string) *string {
	if !strings.HasPrefix(voter, "0x") {
		return nil
	}
	return &voter
}

// voters makes a page of a DAO's ranking.
func (p pageMaker) voters(ctx context.Context) (cache.View, error) {
	after, err := powerPosition(p.request.After)
	if err != nil {
		return cache.View{}, err
	}
	var rows []warehouse.RankedVoter
	there, err := p.fromCopy(ctx, func(generation uint64) (err error) {
		rows, err = p.warehouse.RankedVoters(ctx, p.request.Subject, generation, after, p.request.Limit+1)
		return err
	})
	if err != nil || !there {
		return p.absent(), err
	}
	page := make([]governance.DAOVoter, len(rows))
	for i, row := range rows {
		votes := governance.CountOf(row.Votes)
		page[i] = governance.DAOVoter{
			Rank: row.Rank, VoterIdentity: row.Voter, VoterAddress: voterAddress(row.Voter),
			TotalVotingPower: governance.DecimalOf(row.Power), VoteCount: votes, ProposalCount: votes,
		}
	}
	return cache.NewView(p.head, page)
}

// voterHead completes the head of a voter's pages.
func (p *pageMaker) voterHead(ctx context.Context) error {
	published, err := p.store.PublicationState(ctx)
	if err != nil {
		return err
	}
	p.head.Revision = published.Revision
	until := governance.TimestampOf(time.Now().Add(voterFreshFor))
	p.head.FreshUntil = &until
	return nil
}

// profile makes a voter's profile.
func (p pageMaker) profile(ctx context.Context) (cache.View, error) {
	if err := p.voterHead(ctx); err != nil {
		return cache.View{}, err
	}
	voter := p.request.Subject
	daos, err := p.warehouse.VoterProfile(ctx, voter)
	if err != nil {
		return cache.View{}, err
	}
	if len(daos) == 0 {
		return p.absent(), nil
	}
	var votes uint64
	power := decimal.Zero
	profile := governance.VoterProfile{
		VoterIdentity: voter, VoterAddress: voterAddress(voter),
		DAOCount: governance.CountOf(uint64(len(daos))), DAOs: make([]governance.VoterDAO, len(daos)),
	}
	for i, dao := range daos {
		votes += dao.Votes
		power = power.Add(dao.Power)
		count := governance.CountOf(dao.Votes)
		profile.DAOs[i] = governance.VoterDAO{
			DAOID: dao.DAOID, VoteCount: count, ProposalCount: count,
			TotalVotingPower: governance.DecimalOf(dao.Power),
			FirstVoteAt:      dao.FirstVoteAt, LastVoteAt: dao.LastVoteAt,
		}
	}
	profile.VoteCount, profile.ProposalCount = governance.CountOf(votes), governance.CountOf(votes)
	profile.TotalVotingPower = governance.DecimalOf(power)
	return cache.NewView(p.head, profile)
}

// history makes a page of a voter's history.
func (p pageMaker) history(ctx context.Context) (cache.View, error) {
	if err := p.voterHead(ctx); err != nil {
		return cache.View{}, err
	}
	wanted := p.request.Filter
	filter := warehouse.HistoryFilter{DAOID: wanted.DAOID, From: wanted.From, To: wanted.To}
	if after := p.request.After; after != nil {
		filter.After = &warehouse.HistoryPosition{VotedAt: after.At, Key: governance.ProposalKey(after.Key)}
	}
	rows, err := p.warehouse.VoterHistory(ctx, p.request.Subject, filter, p.request.Limit+1)
	if err != nil {
		return cache.View{}, err
	}
	if len(rows) == 0 {
		// No row may mean that the filter lets none through, or that there is no such voter.
		daos, err := p.warehouse.VoterProfile(ctx, p.request.Subject)
		if err != nil || len(daos) == 0 {
			return p.absent(), err
		}
	}
	page := make([]governance.VoterVote, len(rows))
	for i, row := range rows {
		page[i] = governance.VoterVote{
			Proposal:        governance.VotedProposal{ProposalKey: row.Key, Title: governance.OptionalText(row.Title)},
			ChoiceKey:       governance.OptionalText(row.ChoiceKey),
			VotingPower:     governance.DecimalOf(row.Power),
			VotedAt:         row.VotedAt,
			TransactionHash: governance.OptionalText(row.TxHash),
		}
	}
	return cache.NewView(p.head, page)
}
