package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/fill"
)

// How much is worked out at a time: enough that a query is worth its while, few
// enough to bound memory and the rows one query may read. A proposal with more casts
// is read alone.
const (
	proposalsAtOnce = 4000
	castsAtOnce     = 1_000_000
	daosAtOnce      = 200
)

// everyDAO asks for all of them, in place of a set.
var everyDAO map[string]bool //nolint:gochecknoglobals // the nil map, by name

// publication is the work on one revision.
type publication struct {
	worker   *Publisher
	revision uint64
	at       time.Time
	began    time.Time
	writer   *cache.Writer
	catalog  *warehouse.Catalog
	// daos are those that published proposals belong, or belonged, to.
	daos map[string]bool
	// unsettled are the DAOs whose numbers did not agree, and before those of which
	// that was so at the publication before.
	unsettled, before map[string]bool
	// participation is that of before, counted at the same time as the proposals.
	participation map[string]warehouse.Participation
	// topics are to be published whatever is held of them, and of the forums those
	// that have changed. since is the last publication that is complete.
	topics   []warehouse.TopicRef
	forums   map[string]bool
	since    uint64
	relinked bool

	proposals, finished, topicsDone int
	// classes are those of the DAOs that were looked at, and sealedAt when the oldest
	// batch was sealed; zero for none.
	classes  map[string]class
	sealedAt time.Time
	// counterparts are the same proposals at other providers.
	counterparts map[record.RefHash][]record.RefHash
	list         *proposalList
	// voteCoverage is that of every DAO, by id, as the publications before have left it;
	// nil in the first one of a session.
	voteCoverage map[string]governance.VoteCoverage
}

func newPublication(w *Publisher, revision uint64, at time.Time) *publication {
	return &publication{
		worker: w, revision: revision, at: at, began: time.Now(),
		writer: w.store.NewWriter(revision), daos: map[string]bool{}, unsettled: map[string]bool{},
		forums: map[string]bool{}, classes: map[string]class{},
	}
}

// run works out and writes the proposals, then the DAOs, those given and those of
// the proposals, then the topics, which show some of them.
func (p *publication) run(ctx context.Context, refs []record.RefHash, daos map[string]bool) error {
	if err := p.loadCatalog(ctx); err != nil {
		return err
	}
	var err error
	if p.list, err = p.newProposalList(ctx, daos == nil); err != nil {
		return err
	}
	if err := p.countTogether(ctx, refs); err != nil {
		return err
	}
	// What was voted on shows before all DAOs are summed up.
	if err := p.writer.Flush(ctx); err != nil {
		return err
	}
	if err := p.list.publish(ctx); err != nil {
		return err
	}
	maps.Copy(p.daos, daos)
	if daos == nil {
		for id := range p.catalog.DAOs {
			p.daos[id] = true
		}
	}
	if err := p.publishDAOs(ctx); err != nil {
		return err
	}
	if err := p.publishTopics(ctx); err != nil {
		return err
	}
	return p.writer.Flush(ctx)
}

// countTogether works the proposals out, and counts the ballots of the DAOs that were
// unsettled at the same moment: whatever lands while the rest is written cannot set the
// two at odds again.
func (p *publication) countTogether(ctx context.Context, refs []record.RefHash) error {
	together, ctx := errgroup.WithContext(ctx)
	together.Go(func() error { return p.publishProposals(ctx, refs) })
	if len(p.before) > 0 {
		together.Go(func() (err error) {
			p.participation, err = p.worker.warehouse.Participation(ctx, slices.Sorted(maps.Keys(p.before)))
			return err
		})
	}
	return together.Wait()
}

// loadCatalog reads the catalog once, after the batches were, so that it knows
// every source that they touch.
func (p *publication) loadCatalog(ctx context.Context) error {
	if p.catalog != nil {
		return nil
	}
	catalog, err := p.worker.warehouse.Catalog(ctx)
	if err != nil {
		return err
	}
	p.catalog = &catalog
	return nil
}

// writtenChunk is what was written of a chunk: the proposals whose evidence follows,
// those whose numbers are new, and those with ballots enough for pages of their own.
type writtenChunk struct {
	shown, counted, large []*assessment
}

// publishChunk writes some proposals that are worked out.
func (p *publication) publishChunk(ctx context.Context, c *chunk) error {
	var written writtenChunk
	for i := range c.assessments {
		if err := p.publishProposal(ctx, c, &c.assessments[i], &written); err != nil {
			return err
		}
	}
	if err := p.publishEvidence(ctx, written.shown); err != nil {
		return err
	}
	// Results show before the ballots of large proposals are sorted, and before DAOs
	// are summed up.
	if err := p.show(ctx); err != nil {
		return err
	}
	// What was written, and retracted, is there before the warehouse says so: cut off
	// in between, it is done again.
	if err := p.writeFirstPages(ctx, written.large); err != nil {
		return err
	}
	p.proposals += len(written.counted)
	return p.keepStates(ctx, c.refs, written.counted)
}

// publishProposal writes a proposal of a chunk, unless its last good numbers stay.
func (p *publication) publishProposal(ctx context.Context, c *chunk, a *assessment, written *writtenChunk) error {
	former, wasPublished := c.before[a.proposal.Ref]
	kept := a.count.unbalanced != nil && wasPublished
	if a.count.unbalanced != nil {
		if err := p.holdBack(ctx, a, wasPublished); err != nil {
			return err
		}
	}
	if kept {
		standing, err := p.stands(ctx, cache.VoteSummaryKey(former.ProposalKey()))
		if err != nil {
			return err
		}
		if standing && former == a.identity {
			written.shown = append(written.shown, a)
		}
		if standing {
			return nil
		}
	}
	if wasPublished && former != a.identity {
		if err := p.retract(ctx, former); err != nil {
			return err
		}
	}
	if err := p.writeProposal(ctx, a); err != nil {
		return err
	}
	if err := p.list.add(ctx, a.listed(p.revision), c.listed); err != nil {
		return err
	}
	p.daos[a.identity.DAOID] = true
	written.shown = append(written.shown, a)
	if a.count.votes >= warehouse.SortedCopyThreshold {
		written.large = append(written.large, a)
	}
	if !kept {
		written.counted = append(written.counted, a)
	}
	return nil
}

// show has everybody see what is written so far.
func (p *publication) show(ctx context.Context) error {
	if err := p.writer.Flush(ctx); err != nil {
		return err
	}
	p.worker.invalidate(ctx, p.writer)
	return nil
}

// holdBack keeps the last good numbers of a proposal, or none, in place of some
// that do not add up.
func (p *publication) holdBack(ctx context.Context, a *assessment, wasPublished bool) error {
	p.worker.reportUnbalanced(ctx, a.count.unbalanced, slog.String("proposal_key", string(a.key)))
	a.withhold()
	if !wasPublished {
		return nil
	}
	return p.worker.warehouse.AddQualityFlag(ctx, a.proposal.Ref, rules.TotalsDisagree, p.revision)
}

// stands says whether Redis has last good numbers to keep. After a flush it has none,
// and what is not written would look as if it did not exist.
func (p *publication) stands(ctx context.Context, key cache.Key) (bool, error) {
	_, err := p.worker.store.View(ctx, key)
	if errors.Is(err, cache.ErrMiss) {
		return false, nil
	}
	return err == nil, err
}

// keepStates writes what the sums of DAOs, and the links of topics, are made from.
func (p *publication) keepStates(ctx context.Context, refs []record.RefHash, counted []*assessment) error {
	if len(counted) == 0 {
		return nil
	}
	states := make([]warehouse.ProposalState, len(counted))
	links := make([]warehouse.ProposalLink, len(counted))
	for i, a := range counted {
		states[i], links[i] = a.state(p.revision), a.link()
	}
	if err := p.worker.warehouse.WriteProposalStates(ctx, states); err != nil {
		return err
	}
	return p.linkProposals(ctx, refs, links)
}

// assess reads the proposals with their ballots and works them out.
func (p *publication) assess(ctx context.Context, refs []record.RefHash) ([]assessment, error) {
	var proposals []warehouse.Proposal
	var tallies map[record.RefHash]warehouse.VoteTotals
	reading, both := errgroup.WithContext(ctx)
	reading.Go(func() (err error) {
		proposals, err = p.worker.warehouse.Proposals(both, refs)
		return err
	})
	reading.Go(func() (err error) {
		tallies, err = p.worker.warehouse.VoteTotals(both, refs)
		return err
	})
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	var ranked []record.RefHash
	for _, proposal := range proposals {
		if proposal.VoteType == governance.RankedChoice {
			ranked = append(ranked, proposal.Ref)
		}
	}
	rankings, err := p.worker.warehouse.Rankings(ctx, ranked)
	if err != nil {
		return nil, err
	}
	assessments := make([]assessment, len(proposals))
	for i, proposal := range proposals {
		daoID := p.catalog.OwnerOf(record.SourceRef{Provider: proposal.Provider, ID: proposal.SourceID})
		counted := ballots{tally: tallies[proposal.Ref], rankings: rankings[proposal.Ref]}
		assessments[i] = assess(proposal, daoID, counted, p.at)
	}
	return assessments, nil
}

// writeProposal writes the views of a proposal.
func (p *publication) writeProposal(ctx context.Context, a *assessment) error {
	head := p.head()
	head.FreshUntil = a.nextChangeAt
	detail, err := cache.NewView(head, a.detail())
	if err != nil {
		return err
	}
	if !a.count.ready {
		head.Readiness = governance.ReadinessUnavailable
	}
	summary, err := cache.NewView(head, a.summary())
	if err != nil {
		return err
	}
	if err := p.writer.SetView(ctx, cache.ProposalDetailKey(a.key), detail); err != nil {
		return err
	}
	if err := p.writer.SetView(ctx, cache.VoteSummaryKey(a.key), summary); err != nil {
		return err
	}
	if a.count.votes >= warehouse.SortedCopyThreshold {
		// Its pages stay at their revision until the copy that they are read from is
		// built again; writeFirstPages runs ahead of that.
		return p.writer.InitVersion(ctx, cache.BallotPage, string(a.key))
	}
	return p.writer.SetVersion(ctx, cache.BallotPage, string(a.key), 0)
}

// firstPagesAtOnce is how many first pages are read at the same time: a look at few rows
// waits more than it works.
const firstPagesAtOnce = 4

// writeFirstPages writes the first pages of large proposals.
func (p *publication) writeFirstPages(ctx context.Context, large []*assessment) error {
	orders := []string{cache.ByPower, cache.ByTime}
	pages := make([]cache.View, len(large)*len(orders))
	reading, readCtx := errgroup.WithContext(ctx)
	reading.SetLimit(firstPagesAtOnce)
	for i := range pages {
		reading.Go(func() (err error) {
			pages[i], err = p.firstPage(readCtx, large[i/len(orders)], orders[i%len(orders)])
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	for i, page := range pages {
		request := cache.PageRequest{
			Kind: cache.BallotPage, Subject: string(large[i/len(orders)].key), Order: orders[i%len(orders)], Limit: cache.ShortPage,
		}
		if err := p.writer.SetPage(ctx, request, page); err != nil {
			return err
		}
	}
	return p.writer.Flush(ctx)
}

func (p *publication) firstPage(ctx context.Context, a *assessment, order string) (cache.View, error) {
	rows, err := p.firstBallots(ctx, a.proposal.Ref, order)
	if err != nil {
		return cache.View{}, err
	}
	return cache.NewView(p.head(), fill.BallotRows(rows, fill.LabelsOf(a.count.choices)))
}

// firstBallots reads from the table itself, whose copy is behind.
func (p *publication) firstBallots(
	ctx context.Context, ref record.RefHash, order string,
) ([]warehouse.LatestBallot, error) {
	at := warehouse.BallotSource{Ref: ref}
	if order == cache.ByTime {
		return p.worker.warehouse.BallotsByTime(ctx, at, nil, cache.ShortPage+1)
	}
	return p.worker.warehouse.BallotsByPower(ctx, at, nil, cache.ShortPage+1)
}

// retract removes the views of a proposal that moved to another DAO, and with it
// to another key.
func (p *publication) retract(ctx context.Context, former governance.Identity) error {
	p.daos[former.DAOID] = true
	if err := p.writer.RemoveView(ctx, cache.ProposalDetailKey(former.ProposalKey())); err != nil {
		return err
	}
	if err := p.writer.RemoveView(ctx, cache.VoteSummaryKey(former.ProposalKey())); err != nil {
		return err
	}
	if err := p.writer.RemoveView(ctx, cache.EvidenceKey(former.ProposalKey())); err != nil {
		return err
	}
	return p.writer.RemoveVersion(ctx, cache.BallotPage, string(former.ProposalKey()))
}

// publishDAOs writes the DAOs that are touched, and the global status.
func (p *publication) publishDAOs(ctx context.Context) error {
	ids := slices.Sorted(maps.Keys(p.daos))
	totals, err := p.totalsOf(ctx, ids)
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(ids, daosAtOnce) {
		participation, err := p.participationOf(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := p.publishDAO(ctx, id, totals[id], participation[id]); err != nil {
				return err
			}
		}
	}
	return p.writeGlobalStatus(ctx)
}

// totalsOf sums up the DAOs to publish, and keeps what the global status needs of them.
// The others are as they were, as every state that changed is one of a DAO to publish;
// they are all summed up once in a session.
func (p *publication) totalsOf(ctx context.Context, ids []string) (totals map[string]warehouse.DAOTotals, err error) {
	if p.voteCoverage != nil && len(ids) <= daosAtOnce {
		totals, err = p.worker.warehouse.DAOTotalsOf(ctx, ids)
	} else {
		totals, err = p.worker.warehouse.DAOTotals(ctx)
		ids = slices.Collect(maps.Keys(p.catalog.DAOs))
		p.voteCoverage = make(map[string]governance.VoteCoverage, len(ids))
	}
	for _, id := range ids {
		p.voteCoverage[id] = daoVoteCoverage(totals[id])
	}
	return totals, err
}

// writeGlobalStatus writes the status of all DAOs together.
func (p *publication) writeGlobalStatus(ctx context.Context) error {
	global := newGlobalStatus()
	for id, dao := range p.catalog.DAOs {
		a := assessDAO(dao, *p.catalog, warehouse.DAOTotals{})
		if votes, known := p.voteCoverage[id]; known {
			a.votes = votes
		}
		global.add(a.dataStatus())
	}
	status, err := cache.NewView(p.head(), global.dataStatus())
	if err != nil {
		return err
	}
	return p.writer.SetView(ctx, cache.DataStatusKey(""), status)
}

// participationOf counts the ballots of DAOs that are not counted yet.
func (p *publication) participationOf(ctx context.Context, ids []string) (map[string]warehouse.Participation, error) {
	uncounted := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return p.before[id] })
	if len(uncounted) == 0 {
		return p.participation, nil
	}
	found, err := p.worker.warehouse.Participation(ctx, uncounted)
	if err != nil {
		return nil, err
	}
	maps.Copy(found, p.participation)
	return found, nil
}

func (p *publication) publishDAO(
	ctx context.Context, id string, totals warehouse.DAOTotals, participation warehouse.Participation,
) error {
	dao, exists := p.catalog.DAOs[id]
	if !exists {
		return p.removeDAO(ctx, id)
	}
	a := assessDAO(dao, *p.catalog, totals)
	a.participation = participation
	p.classes[id] = classOf(totals.Votes)
	if err := a.balance(); err != nil {
		// Ballots that land while we count are the usual reason, and their own batch
		// or the next try settles it.
		if p.before[id] {
			p.worker.reportUnbalanced(ctx, err, slog.String("dao_id", id))
		}
		p.unsettled[id] = true
		standing, err := p.outdateDAO(ctx, id)
		if err != nil || standing {
			return err
		}
		a.unsettled = true
	}
	p.finished++
	return p.writeDAO(ctx, a)
}

// outdateDAO notes on a DAO's last good numbers since when newer ones are due: an answer
// says that it is stale if it takes long. It reports whether there are any.
func (p *publication) outdateDAO(ctx context.Context, id string) (standing bool, err error) {
	key := cache.DAODetailKey(id)
	view, err := p.worker.store.View(ctx, key)
	switch {
	case errors.Is(err, cache.ErrMiss):
		return false, nil
	case err != nil || view.FreshUntil != nil:
		return err == nil, err
	}
	since := p.at
	if !p.sealedAt.IsZero() {
		since = p.sealedAt
	}
	due := governance.TimestampOf(since)
	view.FreshUntil = &due
	return true, p.writer.SetView(ctx, key, view)
}

// writeDAO writes the views of a DAO.
func (p *publication) writeDAO(ctx context.Context, a daoAssessment) error {
	if err := p.writeDAODetail(ctx, a); err != nil {
		return err
	}
	payloads := map[cache.Key]any{cache.DataStatusKey(a.dao.ID): a.dataStatus()}
	for _, timeline := range a.timelines() {
		payloads[cache.TimelineKey(a.dao.ID, timeline.Metric)] = timeline
	}
	for key, payload := range payloads {
		view, err := cache.NewView(p.head(), payload)
		if err != nil {
			return err
		}
		if err := p.writer.SetView(ctx, key, view); err != nil {
			return err
		}
	}
	if err := p.markVoters(ctx, a); err != nil {
		return err
	}
	return p.writer.SetDAO(ctx, p.head(), a.listItem())
}

// writeDAODetail writes the one view in which the DAO's ballots are summed up.
func (p *publication) writeDAODetail(ctx context.Context, a daoAssessment) error {
	view, err := cache.NewView(p.head(), a.detail())
	if a.unsettled {
		view, err = cache.Withheld(p.head())
	}
	if err != nil {
		return err
	}
	return p.writer.SetView(ctx, cache.DAODetailKey(a.dao.ID), view)
}

// markVoters moves the mark of the DAO's ranking, unless it is read from a copy
// that is still to be built.
func (p *publication) markVoters(ctx context.Context, a daoAssessment) error {
	if a.totals.Votes >= warehouse.SortedCopyThreshold {
		return p.writer.InitVersion(ctx, cache.VoterPage, a.dao.ID)
	}
	return p.writer.SetVersion(ctx, cache.VoterPage, a.dao.ID, 0)
}

// removeDAO takes a DAO away all of whose sources another has claimed.
func (p *publication) removeDAO(ctx context.Context, id string) error {
	keys := []cache.Key{cache.DAODetailKey(id), cache.DataStatusKey(id)}
	for _, metric := range governance.TimelineMetrics() {
		keys = append(keys, cache.TimelineKey(id, metric))
	}
	for _, key := range keys {
		if err := p.writer.RemoveView(ctx, key); err != nil {
			return err
		}
	}
	if err := p.writer.RemoveVersion(ctx, cache.VoterPage, id); err != nil {
		return err
	}
	return p.writer.RemoveDAO(ctx, p.head(), id)
}

// head is what the views of the publication have in common.
func (p *publication) head() cache.View {
	return cache.View{DataAsOf: governance.TimestampOf(p.at), Readiness: governance.Ready}
}

func (p *publication) attrs() []slog.Attr {
	return []slog.Attr{
		slog.Uint64("revision", p.revision),
		slog.Int("proposals", p.proposals),
		slog.Int("topics", p.topicsDone),
		slog.Int("daos", p.finished),
		slog.Int("values", p.writer.Written()),
		slog.Duration("took", time.Since(p.began)),
	}
}

// withhold keeps back the numbers of a count that does not add up.
func (a *assessment) withhold() {
	a.count.ready = false
	a.conflicts = a.conflictsWithin()
	a.flags = slices.DeleteFunc(append(a.flags, rules.TotalsDisagree), func(flag governance.QualityFlag) bool {
		return flag == rules.TotalsDifferUpstream
	})
	slices.Sort(a.flags)
}

// reportUnbalanced makes numbers that do not agree visible.
func (p *Publisher) reportUnbalanced(ctx context.Context, err error, subject slog.Attr) {
	p.metrics.unbalanced.Inc()
	p.logger.LogAttrs(ctx, slog.LevelWarn, "numbers do not agree, keeping the last good ones",
		subject, slog.String("reason", fmt.Sprint(err)))
}
