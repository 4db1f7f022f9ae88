package explore

import (
	"fmt"

	"github.com/shopspring/decimal"

	"pnyx/api/param"
	"pnyx/governance"
)

// Bounds of the page of a proposal. It reads four routes unless its visitor asks for more.
const (
	// ballotsPerRead is how many ballots one request reads, maxBallots how many a curve may have.
	ballotsPerRead = "500"
	maxBallots     = "2000"
	maxBallotReads = 4
	// topVoters is how many ballots the table of the most power lists.
	topVoters = 10
	// maxEarlier is how many earlier proposals the turnout is compared with.
	maxEarlier = "10"
)

// Parameters of the page of a proposal, which make it read more.
const (
	argBallots = "ballots"
	argCompare = "compare"
)

type proposalPage struct {
	Trail []crumb
	Key   string
	// Proposal is the proposal itself, Dossier what it does and who decided it, and Summary the count of its votes.
	Proposal part[governance.ProposalDetail]
	Dossier  dossierPart
	Summary  part[governance.VoteSummary]
	// Lacking says in words where the numbers are not the sums of all ballots.
	Lacking string
	Choices []bar
	Ballots part[[]governance.Ballot]
	// CutShort is why some of the ballots that were asked for are not there; nil where all are.
	CutShort *box
	// Curve is the course of the vote; nil where nothing is known of it.
	Curve *curve
	// MoreBallots is the address of a curve of more ballots; empty where it has all, or may have no more.
	MoreBallots string
	// Top are the ballots with the most power, TopPower their power and TopShare its part of all.
	Top      []topBallot
	TopPower governance.Decimal
	TopShare string
	// Compare is the address of the page with Turnout; empty where it is shown.
	Compare string
	// Turnout compares the vote with earlier ones of the DAO, the newest first. Compared says that it was asked
	// for.
	Turnout  []turnout
	Compared bool
	Earlier  part[[]governance.ProposalListItem]
	// Missing is why the numbers of some earlier proposals are not shown; nil where all are.
	Missing *box
}

type topBallot struct {
	governance.Ballot

	// Share is which part of all power it has, and Width how long its bar is.
	Share, Width string
}

type turnout struct {
	// Key and Title belong to the proposal, and EndAt is when its voting ended.
	Key   governance.ProposalKey
	Title *string
	EndAt *governance.Timestamp
	// Votes and Power are its totals; empty while they are not known.
	Votes, Power           governance.Decimal
	VotesWidth, PowerWidth string
	// Own says that it is the proposal of the page.
	Own bool
}

func showProposal(v *visit) (shown, error) {
	key, err := v.param(argProposal)
	if err != nil {
		return shown{}, err
	}
	query, err := v.query(
		param.Param{Name: argBallots, Kind: param.Enum, Enum: []string{ballotsPerRead, maxBallots}, Default: ballotsPerRead},
		param.Param{Name: argCompare, Kind: param.Boolean, Default: "false"},
	)
	if err != nil {
		return shown{}, err
	}
	data := proposalPage{Key: key, Compared: query[argCompare] == "true"}
	if data.Proposal, err = loadMain[governance.ProposalDetail](v, "proposals.detail", texts{argProposal: key}); err != nil {
		return shown{}, err
	}
	if err := data.load(v, query); err != nil {
		return shown{}, err
	}
	if dao := data.Proposal.Data.Identity.DAOID; dao != "" {
		data.Trail = []crumb{{dao, address(pathDAO, dao, nil)}}
	}
	data.Trail = append(data.Trail, crumb{Text: "Proposal"})
	title := "Proposal " + key
	if stated := data.Proposal.Data.Title; stated != nil {
		title = *stated
	}
	return shown{view: viewProposal, data: data, title: title, description: "The vote on one proposal: its course, its choices and its voters."}, nil
}

// load reads what is beside the proposal itself.
func (p *proposalPage) load(v *visit, query texts) (err error) {
	key := texts{argProposal: p.Key}
	if err := p.loadDossier(v); err != nil {
		return err
	}
	if p.Summary, err = load[governance.VoteSummary](v, "proposals.vote-summary", key); err != nil {
		return err
	}
	p.Lacking = lacking(p.Summary.Data)
	if q := p.Summary.Data.Quorum; q != nil {
		p.Dossier.Rejects = q.Type == governance.QuorumOfRejection
	}
	p.setChoices()
	if err := p.loadBallots(v, query[argBallots]); err != nil {
		return err
	}
	p.setTop()
	p.Curve = newCurve(curveInput{proposal: p.Proposal.Data, summary: p.Summary.Data, ballots: p.Ballots.Data, whole: p.Ballots.Next == "", asOf: v.asOf})
	wider, compared := with(nil), with(nil)
	if p.Compared {
		wider[argCompare] = "true"
	}
	if query[argBallots] == maxBallots {
		compared[argBallots] = maxBallots
	}
	if p.Ballots.Next != "" && query[argBallots] != maxBallots {
		p.MoreBallots = address(pathProposal, p.Key, with(wider, argBallots, maxBallots))
	}
	if !p.Compared {
		p.Compare = address(pathProposal, p.Key, with(compared, argCompare, "true"))
		return nil
	}
	return p.loadTurnout(v)
}

// isPartial reports whether a vote is counted by a part of its ballots, which decides nothing.
func isPartial(s governance.VoteSummary) bool {
	return s.Basis != nil && *s.Basis == governance.BallotsBasis && s.CoverageStatus == governance.Partial
}

// lacking says in words where the numbers are not the sums of all ballots; empty where they are.
func lacking(s governance.VoteSummary) string {
	if s.Basis == nil {
		return ""
	}
	held := fmt.Sprintf("%s ballots with a voting power of %s", governance.GroupDigits(string(s.Held.Votes)), short(string(s.Held.VotingPower)))
	fromUpstream := *s.Basis == governance.UpstreamBasis
	switch {
	case fromUpstream && s.CoverageStatus == governance.CoverageUnavailable:
		return "The totals are those that upstream states. None of the ballots is held here."
	case fromUpstream && s.CoverageStatus == governance.Partial:
		return "The totals are those that upstream states. Of the ballots only a part is held here: " + held + ". The course and the voters below are of these."
	case fromUpstream:
		return "The totals are those that upstream states. They differ from what the ballots that are held come to: " + held + "."
	case isPartial(s):
		return "Ballots are missing: upstream has more than the " + held + " that are held here. The numbers are of these, and do not decide."
	}
	return ""
}

func (p *proposalPage) loadBallots(v *visit, most string) error {
	reads := 1
	if most == maxBallots {
		reads = maxBallotReads
	}
	for range reads {
		read, err := load[[]governance.Ballot](v, "proposals.votes", with(nil, argProposal, p.Key, argLimit, ballotsPerRead, argCursor, p.Ballots.Next))
		if err != nil {
			return err
		}
		all := p.Ballots.Data
		if read.Box != nil && len(all) > 0 {
			p.CutShort = read.Box
			return nil
		}
		read.Data = append(all, read.Data...)
		if p.Ballots = read; read.Next == "" {
			return nil
		}
	}
	return nil
}

func (p *proposalPage) setChoices() {
	total, top := decimal.Zero, governance.Decimal("0")
	for _, choice := range p.Summary.Data.Choices {
		total = total.Add(number(choice.VotingPower))
		if number(choice.VotingPower).GreaterThan(number(top)) {
			top = choice.VotingPower
		}
	}
	for _, choice := range p.Summary.Data.Choices {
		p.Choices = append(p.Choices, bar{
			Label: choice.Label, Value: choice.VotingPower, Share: percent(number(choice.VotingPower), total), Width: width(choice.VotingPower, top),
		})
	}
}

func (p *proposalPage) setTop() {
	ballots := p.Ballots.Data[:min(len(p.Ballots.Data), topVoters)]
	if len(ballots) == 0 || p.Summary.Data.Totals == nil {
		return
	}
	total, sum := number(p.Summary.Data.Totals.VotingPower), decimal.Zero
	for _, ballot := range ballots {
		power := number(ballot.VotingPower)
		p.Top = append(p.Top, topBallot{ballot, percent(power, total), width(ballot.VotingPower, ballots[0].VotingPower)})
		sum = sum.Add(power)
	}
	p.TopPower, p.TopShare = governance.DecimalOf(sum), percent(sum, total)
}

// loadTurnout reads the proposals before this one, and the count of each.
func (p *proposalPage) loadTurnout(v *visit) (err error) {
	proposal := p.Proposal.Data
	if p.Proposal.Box != nil || proposal.StartAt == nil {
		return nil
	}
	p.Earlier, err = load[[]governance.ProposalListItem](v, "proposals.list", texts{
		argDAO: proposal.Identity.DAOID, "timeField": "startAt", "to": proposal.StartAt.String(), "sort": "createdDesc", argLimit: maxEarlier,
	})
	if err != nil {
		return err
	}
	own := turnout{Key: proposal.ProposalKey, Title: proposal.Title, EndAt: proposal.EndAt, Own: true}
	own.setTotals(p.Summary.Data)
	p.Turnout = []turnout{own}
	for _, earlier := range p.Earlier.Data {
		row := turnout{Key: earlier.ProposalKey, Title: earlier.Title, EndAt: earlier.EndAt}
		if p.Missing == nil { // what refuses one count refuses the next
			read, err := load[governance.VoteSummary](v, "proposals.vote-summary", texts{argProposal: string(earlier.ProposalKey)})
			if err != nil {
				return err
			}
			row.setTotals(read.Data)
			p.Missing = read.Box
		}
		p.Turnout = append(p.Turnout, row)
	}
	scale(p.Turnout)
	return nil
}

func (t *turnout) setTotals(s governance.VoteSummary) {
	if s.Totals == nil || isPartial(s) {
		return
	}
	t.Power = s.Totals.VotingPower
	if s.Totals.Votes != nil {
		t.Votes = *s.Totals.Votes
	}
}

// scale sets the lengths of the bars: the longest fills the width.
func scale(rows []turnout) {
	votes, power := decimal.Zero, decimal.Zero
	for _, row := range rows {
		votes, power = decimal.Max(votes, number(row.Votes)), decimal.Max(power, number(row.Power))
	}
	for i := range rows {
		rows[i].VotesWidth = width(rows[i].Votes, governance.DecimalOf(votes))
		rows[i].PowerWidth = width(rows[i].Power, governance.DecimalOf(power))
	}
}
