package dossier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// day is in milliseconds.
const day = 24 * hour

func (c *composer) process() {
	p := &c.d.Process
	p.Topics, p.Similar = []governance.DossierTopic{}, []governance.DossierSimilar{}
	var first *governance.Timestamp
	for _, t := range c.Topics {
		topic := governance.DossierTopic{
			Host: t.Host, ExternalID: t.ExternalID, Title: t.Title, CreatedAt: t.CreatedAt, Replies: governance.CountOf(max(t.Posts, 1) - 1),
			ByProposer: t.Author != "" && strings.EqualFold(t.Author, c.proposerID()),
		}
		if t.Participants != nil {
			topic.Participants = new(governance.CountOf(*t.Participants))
		}
		if t.CreatedAt != nil && (first == nil || *t.CreatedAt < *first) {
			first = t.CreatedAt
		}
		p.Topics = append(p.Topics, topic)
	}
	if first != nil && c.Detail.StartAt != nil {
		p.DiscussionDays = signed(wholeDays(*c.Detail.StartAt - *first))
	}
	c.medianDiscussion()
	c.votingTime()
	if c.Proposal.UpdatedAt != nil && c.Detail.StartAt != nil {
		p.UpdatedAfterStart = new(*c.Proposal.UpdatedAt > *c.Detail.StartAt)
	}
	c.milestones()
	if p.UpdatedAfterStart != nil && *p.UpdatedAfterStart && p.ActionsChangedAt == nil && len(c.Actions) > 0 {
		c.unknown("missing_data", "whether the calls changed after the start", "a vote before the change was for other calls", "the history of the proposal at the provider")
	}
	c.similar()
	c.proposer()
}

func (c *composer) milestones() {
	p := &c.d.Process
	for _, m := range c.Proposal.Milestones {
		switch rules.EventOfMilestone(m.Type) {
		case rules.VotingExtended:
			p.Extended = true
		case rules.ProposalQueued:
			p.QueuedAt = m.At
		case rules.ProposalExecuted:
			p.ExecutedAt = m.At
		}
		switch m.Type {
		case record.ExecutableMilestone:
			p.ExecutableAt = m.At
		case record.ExpiresMilestone:
			p.ExpiresAt = m.At
		case record.ActionsChangedMilestone:
			p.ActionsChangedAt = m.At
		}
	}
}

func (c *composer) medianDiscussion() {
	var days []decimal.Decimal
	for _, k := range c.earlier {
		if opened, is := c.OpenedAt[k.Ref]; is && k.StartAt != nil && opened <= c.end() {
			days = append(days, powerOf(*wholeDays(*k.StartAt - opened)))
		}
	}
	c.d.Process.MedianDiscussionDays = signed(median(days))
}

func (c *composer) votingTime() {
	p := &c.d.Process
	hours := func(start, end *governance.Timestamp) (decimal.Decimal, bool) {
		if start == nil || end == nil || *end <= *start {
			return decimal.Zero, false
		}
		return powerOf(ratio(decimal.NewFromInt(int64(*end-*start)), decimal.NewFromInt(int64(hour)))), true
	}
	if own, known := hours(c.Detail.StartAt, c.Detail.EndAt); known {
		p.VotingHours = decimalOf(own)
	}
	var all []decimal.Decimal
	for _, k := range c.earlier {
		if of, known := hours(k.StartAt, k.EndAt); known {
			all = append(all, of)
		}
	}
	p.MedianVotingHours = median(all)
}

func (c *composer) similar() {
	var own uint64 // the hash of the proposal's own actions
	if at := slices.IndexFunc(c.Known, func(k pages.KnownProposal) bool { return k.Ref == c.Proposal.Ref }); at >= 0 {
		own = c.Known[at].Payload
	}
	title := words(c.Proposal.Title)
	for _, k := range c.Known {
		if k.DAOID != c.Detail.Identity.DAOID || k.Ref == c.Proposal.Ref || !createdBefore(k, c.Proposal) {
			continue
		}
		s := governance.DossierSimilar{
			ProposalKey: k.Key, Outcome: c.outcomeAt(k, c.end()), EndAt: k.EndAt, SameActions: own != 0 && k.Payload == own,
			SimilarTitle: len(title) >= 3 && alike(title, words(k.Title)),
		}
		if s.SameActions || s.SimilarTitle {
			c.d.Process.Similar = append(c.d.Process.Similar, s)
		}
	}
	const most = 20
	if of := c.d.Process.Similar; len(of) > most {
		c.unknown("missing_data", fmt.Sprintf("%d similar proposals before the last %d", len(of)-most, most), "what they came to tells how this one may go",
			"the DAO's list of proposals")
		c.d.Process.Similar = of[len(of)-most:]
	}
}

func createdBefore(k pages.KnownProposal, p records.Proposal) bool {
	own := governance.FirstKnown(p.CreatedAt, p.StartAt)
	at := governance.FirstKnown(k.CreatedAt, k.StartAt)
	return own != nil && at != nil && *at < *own
}

// words returns the different words of a text in lower case, without numbers: they number proposals.
func words(text string) map[string]bool {
	found := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && r < 0x80 }) {
		found[word] = true
	}
	return found
}

func alike(a, b map[string]bool) bool {
	shared := 0
	for word := range a {
		if b[word] {
			shared++
		}
	}
	return 5*shared >= 4*(len(a)+len(b)-shared)
}

func (c *composer) proposer() {
	id := c.proposerID()
	if id == "" {
		c.unknown("identity", "who proposed it", "the history of a proposer tells whether a proposal is usual", "the proposal's page at the provider")
		return
	}
	p := &governance.DossierProposer{
		ProposerID: id, Here: map[governance.Outcome]int{}, Elsewhere: map[governance.Outcome]int{},
		FirstSeenAt: governance.FirstKnown(c.Proposal.CreatedAt, c.Proposal.StartAt),
	}
	for _, k := range c.Known {
		if k.ProposerID != id || k.Ref == c.Proposal.Ref {
			continue
		}
		here := k.DAOID == c.Detail.Identity.DAOID
		if here && overlap(k, c.Detail) {
			p.OpenHere++
		}
		if !createdBefore(k, c.Proposal) {
			continue
		}
		if at := governance.FirstKnown(k.CreatedAt, k.StartAt); at != nil && (p.FirstSeenAt == nil || *at < *p.FirstSeenAt) {
			p.FirstSeenAt = at
		}
		outcome := c.outcomeAt(k, c.end())
		if here {
			p.Here[outcome]++
		} else {
			p.Elsewhere[outcome]++
		}
	}
	for _, b := range c.Ballots {
		if b.Voter == id {
			p.OwnBallot = c.ballot(b)
		}
	}
	if created := c.createdAt(); created == 0 || c.lackBallots(0, created-1) {
		c.unknown("missing_data", "how often the proposer has voted", "ballots on earlier proposals are missing, or the time of this one is not known", "the proposer's page at the provider")
	} else {
		p.VotesCast = new(governance.CountOf(c.Histories[id].Ballots))
	}
	c.d.Proposer = p
}

func overlap(k pages.KnownProposal, detail governance.ProposalDetail) bool {
	return k.StartAt != nil && k.EndAt != nil && detail.StartAt != nil && detail.EndAt != nil && *k.StartAt < *detail.EndAt && *detail.StartAt < *k.EndAt
}

func wholeDays(span governance.Timestamp) *governance.Decimal {
	return decimalOf(decimal.NewFromInt(int64(span / day)))
}
