package demo

import (
	"cmp"
	"context"
)

// ballotsPerReport is the number of ballots between two calls of progress, and
// between two checks of the context.
const ballotsPerReport = 1 << 14

// generator writes one data set, DAO by DAO.
type generator struct {
	options  Options
	plan     *plan
	texts    texts
	rng      random
	now      int64
	progress func(done, total int64)
	summary  Summary
	// reported is the number of ballots at the last report.
	reported int

	archive                              *archive
	daos, spaces, proposals              *file
	organizations, onChain, onChainVotes *file
	delegations                          *file
	// votes are the ballot files of the current DAO by space, topics the file of its
	// forum.
	votes      map[string]*file
	topics     *file
	categories []category
}

func newGenerator(o Options, p *plan, t texts, progress func(done, total int64)) *generator {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	a := &archive{dir: o.Dir}
	delegate := addressOf(deriveKey(o.Seed, streamVoter), delegateID)
	return &generator{
		options: o, plan: p, texts: t, rng: newRandom(), now: o.Now.Unix(), progress: progress,
		summary:       Summary{DAOs: o.DAOs, ActiveVoter: delegate.lower()},
		archive:       a,
		categories:    newCategories(t.words.ForumCategories),
		daos:          a.create("daos.ndjson"),
		spaces:        a.create("snapshot", "spaces.ndjson.gz"),
		proposals:     a.create("snapshot", "proposals.ndjson.gz"),
		organizations: a.create("tally", "organizations.ndjson.gz"),
		onChain:       a.create("tally", "proposals.ndjson.gz"),
		onChainVotes:  a.create("tally", "votes.ndjson.gz"),
		delegations:   a.create("delegations.ndjson.gz"),
	}
}

func (g *generator) run(ctx context.Context) error {
	serial := 0
	for index, proposals := range g.plan.proposalsPerDAO {
		dao := g.texts.newDAO(g.options, g.rng, index, proposals)
		if err := g.writeDAO(ctx, dao, serial); err != nil {
			return err
		}
		serial += proposals
	}
	for _, file := range []*file{
		g.daos, g.spaces, g.proposals, g.organizations, g.onChain, g.onChainVotes, g.delegations,
	} {
		file.close()
	}
	g.progress(int64(g.summary.Ballots), int64(g.options.Ballots))
	return ctx.Err()
}

// writeDAO writes one DAO. Its proposals are numbered from serial.
func (g *generator) writeDAO(ctx context.Context, dao *dao, serial int) error {
	g.writeSources(dao)
	g.writeDelegations(dao)
	for index := range g.plan.proposalsPerDAO[dao.index] {
		planned := g.plan.proposalAt(dao.index, serial+index, index)
		if err := g.writeProposal(ctx, g.newProposal(dao, planned)); err != nil {
			return err
		}
	}
	if dao.index == 0 {
		g.writeWaiting(dao)
	}
	for _, space := range dao.spaces {
		g.votes[space].close()
	}
	if g.topics != nil {
		g.topics.close()
	}
	return nil
}

// writeSources writes the records of the DAO's sources and creates their files.
func (g *generator) writeSources(dao *dao) {
	if !dao.unlisted {
		g.daos.write(dao.line())
	}
	g.votes, g.topics = map[string]*file{}, nil
	for _, space := range dao.spaces {
		g.summary.Spaces++
		g.votes[space] = g.archive.create("snapshot", "votes", space+".ndjson.gz")
		g.spaces.write(dao.spaceLine(space))
	}
	if dao.organization != "" {
		g.summary.Organizations++
		g.organizations.write(tallyOrganization{dao.organization, dao.name, dao.organization})
	}
	if dao.forum != "" {
		g.createForum(dao)
	}
}

func (g *generator) createForum(dao *dao) {
	g.summary.Forums++
	g.topics = g.archive.create("discourse", dao.forum, "topics.ndjson.gz")
	file := g.archive.create("discourse", dao.forum, "categories.ndjson.gz")
	defer file.close()
	for _, category := range g.categories {
		file.write(category)
	}
}

func (g *generator) writeProposal(ctx context.Context, p *proposal) error {
	g.writeDiscussion(p)
	g.writeUnrelatedTopic(p.dao, p)
	result, err := g.writeBallots(ctx, p)
	if err != nil {
		return err
	}
	if p.largest {
		g.summary.LargestProposal = p.id
	}
	if p.onChain {
		g.summary.OnChain++
		g.onChain.write(p.tallyLine(g.rng, result, g.now))
		return nil
	}
	g.summary.Proposals++
	passed := result.scores[0].exceeds(result.scores[1])
	if p.content.template.Question == yesOrNo && passed {
		p.dao.lastPassed = p
	}
	g.proposals.write(p.snapshotLine(g.rng, result))
	return nil
}

// writeBallots writes the ballots of a proposal and returns their result.
func (g *generator) writeBallots(ctx context.Context, p *proposal) (*voteResult, error) {
	ballots := g.newBallotGenerator(p)
	result := newVoteResult(ballots.choices)
	write := func(b *ballot) { g.writeBallot(p, b) }
	var first, again ballot
	for i := range ballots.voters {
		first = ballots.ballot(i)
		if ballots.votesAgain(i) {
			again = ballots.recast(i, &first)
			result.add(p.content.voteType, writeBoth(write, &first, &again, i%2 == 0))
		} else {
			write(&first)
			result.add(p.content.voteType, &first)
		}
		if i%ballotsPerReport == 0 {
			if err := g.report(ctx); err != nil {
				return nil, err
			}
		}
	}
	for i := range ballots.repeats {
		first = ballots.ballot(evenly(i, ballots.repeats, ballots.voters))
		write(&first)
	}
	g.summary.Recasts += ballots.recasts
	g.summary.Repeats += ballots.repeats
	return result, nil
}

// writeBoth writes two ballots of one voter, in reverse order of time unless inOrder
// is set, and returns the one that counts.
func writeBoth(write func(*ballot), first, again *ballot, inOrder bool) *ballot {
	if inOrder {
		write(first)
		write(again)
	} else {
		write(again)
		write(first)
	}
	if again.supersedes(first) {
		return again
	}
	return first
}

// writeBallot writes a ballot on a proposal into its file.
func (g *generator) writeBallot(p *proposal, b *ballot) {
	var reason *string
	switch b.reason {
	case noReason:
	case emptyReason:
		reason = new(string)
	default:
		reason = &g.texts.reasons[b.reason]
	}
	g.summary.Ballots++
	if p.onChain {
		g.onChainVotes.write(p.tallyVote(b, reason))
	} else {
		g.votes[p.space].write(p.snapshotVote(b, reason))
	}
}

// writeWaiting writes a few ballots on a proposal that no file contains.
func (g *generator) writeWaiting(dao *dao) {
	if g.plan.waiting == 0 {
		return
	}
	planned := proposalPlan{
		serial: g.options.Proposals, ballots: g.plan.waiting, ballotsOnly: true,
	}
	p := g.newProposal(dao, planned)
	p.content.voteType, p.content.choices = basic, basicChoices()
	ballots := g.newBallotGenerator(p)
	for i := range ballots.voters {
		b := ballots.ballot(i)
		g.writeBallot(p, &b)
	}
	g.summary.Waiting = g.plan.waiting
}

// report calls progress if enough ballots were written since the last call. The
// error means that generation must stop.
func (g *generator) report(ctx context.Context) error {
	if g.summary.Ballots-g.reported >= ballotsPerReport {
		g.reported = g.summary.Ballots
		g.progress(int64(g.reported), int64(g.options.Ballots))
	}
	return cmp.Or(g.archive.err, ctx.Err())
}
