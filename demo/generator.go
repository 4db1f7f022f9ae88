package demo

import (
	"context"
	"errors"
)

// errStopped ends the production of lines that can no longer be stored.
var errStopped = errors.New("generated data cannot be stored")

// progressEvery is after how many ballots progress is reported, and ctx looked at.
const progressEvery = 1 << 14

// generator writes one data set, DAO by DAO.
type generator struct {
	options  Options
	plan     *plan
	words    vocabulary
	dice     dice
	now      int64
	progress func(done, total int64)
	summary  Summary
	// reported is the progress reported last.
	reported int

	archive                              *archive
	claims, spaces, proposals            *file
	organizations, onChain, onChainVotes *file
	// votes are those of the DAO's spaces, topics those of its forum.
	votes      map[string]*file
	topics     *file
	categories []category
}

func newGenerator(o Options, p *plan, words vocabulary, progress func(done, total int64)) *generator {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	a := newArchive(o.Dir)
	return &generator{
		options: o, plan: p, words: words, dice: newDice(), now: o.Now.Unix(), progress: progress,
		summary: Summary{DAOs: o.DAOs, ActiveVoter: addressOf(keyOf(o.Seed, forVoter), theDelegate).lower()},
		archive: a, categories: categories(),
		claims:        a.create("daos.ndjson"),
		spaces:        a.create("snapshot", "spaces.ndjson.gz"),
		proposals:     a.create("snapshot", "proposals.ndjson.gz"),
		organizations: a.create("tally", "organizations.ndjson.gz"),
		onChain:       a.create("tally", "proposals.ndjson.gz"),
		onChainVotes:  a.create("tally", "votes.ndjson.gz"),
	}
}

// run writes everything.
func (g *generator) run(ctx context.Context) error {
	serial := 0
	for index, proposals := range g.plan.proposals {
		dao := g.words.newDAO(g.options, g.dice, index, proposals)
		if err := g.writeDAO(ctx, dao, serial); err != nil {
			return err
		}
		serial += proposals
	}
	for _, file := range []*file{g.claims, g.spaces, g.proposals, g.organizations, g.onChain, g.onChainVotes} {
		file.close()
	}
	g.progress(int64(g.summary.Ballots), int64(g.options.Ballots))
	return ctx.Err()
}

// writeDAO writes what belongs to one DAO.
func (g *generator) writeDAO(ctx context.Context, dao *dao, serial int) error {
	if err := g.writeSources(dao); err != nil {
		return err
	}
	for index := range g.plan.proposals[dao.index] {
		slot := g.plan.slot(dao.index, serial+index, index)
		if err := g.writeProposal(ctx, g.newProposal(dao, slot)); err != nil {
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

// writeSources writes the records of the DAO's sources and begins their files.
func (g *generator) writeSources(dao *dao) error {
	if !dao.unclaimed {
		if err := g.claims.record(dao.claim()); err != nil {
			return err
		}
	}
	g.votes, g.topics = map[string]*file{}, nil
	for _, space := range dao.spaces {
		g.summary.Spaces++
		g.votes[space] = g.archive.create("snapshot", "votes", space+".ndjson.gz")
		if err := g.spaces.record(dao.space(space)); err != nil {
			return err
		}
	}
	if dao.organization != "" {
		g.summary.Organizations++
		if err := g.organizations.record(tallyOrganization{dao.organization, dao.name, dao.organization}); err != nil {
			return err
		}
	}
	return g.openForum(dao)
}

func (g *generator) openForum(dao *dao) error {
	if dao.forum == "" {
		return nil
	}
	g.summary.Forums++
	g.topics = g.archive.create("discourse", dao.forum, "topics.ndjson.gz")
	file := g.archive.create("discourse", dao.forum, "categories.ndjson.gz")
	defer file.close()
	for _, category := range g.categories {
		if err := file.record(category); err != nil {
			return err
		}
	}
	return nil
}

// writeProposal writes a proposal with its ballots and what is said about it.
func (g *generator) writeProposal(ctx context.Context, p *proposal) error {
	if err := g.discuss(p); err != nil {
		return err
	}
	if err := g.chat(p.dao, p); err != nil {
		return err
	}
	count, err := g.writeBallots(ctx, p)
	if err != nil {
		return err
	}
	if p.largest {
		g.summary.LargestProposal = p.id
	}
	if p.onChain {
		g.summary.OnChain++
		return g.onChain.record(p.tally(g.dice, count, g.now))
	}
	g.summary.Proposals++
	if p.subject.family.shape == yesOrNo && count.scores[0].exceeds(count.scores[1]) {
		p.dao.voted = p
	}
	return g.proposals.record(p.snapshot(g.dice, count))
}

// writeBallots writes the ballots of a proposal and counts them.
func (g *generator) writeBallots(ctx context.Context, p *proposal) (*count, error) {
	poll := g.newPoll(p)
	count := newCount(poll.choices)
	write := g.lineWriter(p)
	var first, again ballot
	for i := range poll.unique {
		first = poll.ballot(i)
		if poll.recastAt(i) {
			again = poll.recast(i, &first)
			count.add(p.subject.kind, writeCasts(write, &first, &again, i%2 == 0))
		} else {
			write(&first)
			count.add(p.subject.kind, &first)
		}
		if i%progressEvery == 0 {
			if err := g.report(ctx); err != nil {
				return nil, err
			}
		}
	}
	for i := range poll.repeats {
		first = poll.ballot(evenly(i, poll.repeats, poll.unique))
		write(&first)
	}
	g.summary.Recasts += poll.recasts
	g.summary.Repeats += poll.repeats
	return count, nil
}

// writeCasts writes two casts of one voter, not always in the order of time, and
// returns the one that counts.
func writeCasts(write func(*ballot), first, again *ballot, inOrder bool) *ballot {
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

// lineWriter returns what writes a ballot on a proposal.
func (g *generator) lineWriter(p *proposal) func(*ballot) {
	if p.onChain {
		w := &ballotWriter{
			prefix:  `","proposal":{"id":"` + p.id + `"},"type":"`,
			reasons: g.words.reasons, choices: supports(),
		}
		return func(b *ballot) {
			g.onChainVotes.text = w.tally(g.onChainVotes.text, b)
			g.onChainVotes.endLine()
			g.summary.Ballots++
		}
	}
	file := g.votes[p.space]
	w := &ballotWriter{
		prefix:  `","proposal":{"id":"` + p.id + `"},"space":{"id":"` + p.space + `"},"voter":"`,
		reasons: g.words.reasons, voteOf: p.subject.kind,
	}
	return func(b *ballot) {
		file.text = w.snapshot(file.text, b)
		file.endLine()
		g.summary.Ballots++
	}
}

// writeWaiting writes a few ballots for proposals that do not exist.
func (g *generator) writeWaiting(dao *dao) {
	if g.plan.waiting == 0 {
		return
	}
	p := g.newProposal(dao, slot{serial: g.options.Proposals, ballots: g.plan.waiting, missing: true})
	p.subject.kind, p.subject.choices = basic, g.words.basicChoices
	poll := g.newPoll(p)
	write := g.lineWriter(p)
	for i := range poll.unique {
		b := poll.ballot(i)
		write(&b)
	}
	g.summary.Waiting = g.plan.waiting
}

// report reports progress from time to time, and says when to stop.
func (g *generator) report(ctx context.Context) error {
	if g.summary.Ballots-g.reported >= progressEvery {
		g.reported = g.summary.Ballots
		g.progress(int64(g.reported), int64(g.options.Ballots))
	}
	if g.archive.failed.Load() {
		return errStopped
	}
	return ctx.Err()
}
