package publish

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/panics"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// Input is what one publication is made from. Publish does not change it.
type Input struct {
	// Revision orders publications: Redis refuses to replace a value with one of an earlier revision.
	Revision uint64
	// At is the warehouse's time: everything committed by then is in, and views state it as dataAsOf.
	At time.Time
	// CommittedAt is when the oldest batch in the scope was committed. It is zero when none is.
	CommittedAt time.Time
	// Scope is Everything or Changes.
	Scope Scope
	// Batches are those that the scope covers.
	Batches []records.CommittedBatch
	// Lagging holds the DAOs that kept previous numbers before. Their ballots are counted together with the
	// proposals, so that records which land meanwhile cannot make the two differ again.
	Lagging map[string]bool
	// VoteCoverage is the coverage of every DAO after the publication before; nil in the first of a
	// term, which sums up all DAOs.
	VoteCoverage map[string]governance.VoteCoverage
}

// Result is what one publication did.
type Result struct {
	daoResult
	// Proposals, DAOs and Topics count what was published.
	Proposals, DAOs, Topics int
	// Catalog is the one that was published, as far as WrittenDAOs goes.
	Catalog records.Catalog
	// Written is what was written to Redis. Its last part is not announced yet.
	Written *cache.Writer
	// Took is how long the publication took.
	Took time.Duration
}

// daoResult is what a publication did to DAOs.
type daoResult struct {
	// Lagging holds the DAOs whose proposals do not sum to their ballots yet: they kept previous numbers, and the
	// next publication has them.
	Lagging map[string]bool
	// Withheld holds those among them that have no previous numbers.
	Withheld map[string]bool
	// WrittenDAOs holds the DAOs whose data status was written.
	WrittenDAOs map[string]bool
	// Classes are the size classes of the DAOs that were computed.
	Classes map[string]daoClass
	// VoteCoverage is the next publication's Input.VoteCoverage.
	VoteCoverage map[string]governance.VoteCoverage
}

func (r Result) attrs(revision uint64) []slog.Attr {
	return []slog.Attr{
		slog.Uint64("revision", revision),
		slog.Int("proposals", r.Proposals),
		slog.Int("topics", r.Topics),
		slog.Int("daos", r.DAOs),
		slog.Int("values", r.Written.Written()),
		slog.Duration("duration", r.Took),
	}
}

// Publish computes what in.Scope covers, and writes it. Proposals come first, DAOs are sums over them, and topics
// refer to them.
//
// One that is cut off anywhere is completed by the next: values are in Redis before the warehouse states that they
// were published, and versions of lists change after the lists. Two publishers at once do unnecessary work but no
// harm, as Redis keeps the later revision.
func (p *Publisher) Publish(ctx context.Context, in Input) (Result, error) {
	began := time.Now()
	work, err := in.Scope.load(ctx, p, in.Lagging)
	if err != nil {
		return Result{}, err
	}
	r := &run{Publisher: p, Input: in, workload: work, writer: p.Store.NewWriter(in.Revision)}
	r.writer.SetVersion(ctx, cache.Names(), 0)
	list, err := r.newProposalList(ctx)
	if err != nil {
		return Result{}, err
	}
	proposals := proposalPublication{run: r, list: list}
	daos := daoPublication{run: r, daoResult: daoResult{
		Lagging: map[string]bool{}, Withheld: map[string]bool{}, WrittenDAOs: map[string]bool{},
		Classes: map[string]daoClass{}, VoteCoverage: maps.Clone(in.VoteCoverage),
	}}
	topics := topicPublication{run: r, daos: map[string]bool{}}
	if err := countTogether(ctx, &proposals, &daos); err != nil {
		return Result{}, err
	}
	// Results show before all DAOs are summed up.
	if err := r.writer.Flush(ctx); err != nil {
		return Result{}, err
	}
	if r.catalog, err = records.WithRecords(ctx, p.Warehouse, r.catalog); err != nil {
		return Result{}, err
	}
	if r.everything { // DAOs that the warehouse does not have are removed
		listed, err := p.Store.DAOIDs(ctx, query.DAOs{Flagged: new(true)})
		if err != nil {
			return Result{}, err
		}
		addAll(r.daos, listed)
	}
	if err := r.publishFollowing(ctx, list, &daos, &topics); err != nil {
		return Result{}, err
	}
	if err := r.publishNames(ctx); err != nil {
		return Result{}, err
	}
	// Before the publication counts as complete: what is cut off is announced by the next.
	if err := r.writeChanges(ctx); err != nil {
		return Result{}, err
	}
	return Result{
		daoResult: daos.daoResult, Proposals: proposals.published, DAOs: len(daos.WrittenDAOs), Topics: topics.published,
		Catalog: r.catalog, Written: r.writer, Took: time.Since(began),
	}, nil
}

func countTogether(ctx context.Context, proposals *proposalPublication, daos *daoPublication) error {
	group, ctx := panics.WithContext(ctx)
	group.Go(func() error { return proposals.publish(ctx) })
	if len(daos.Input.Lagging) > 0 {
		group.Go(func() (err error) {
			ids := slices.Sorted(maps.Keys(daos.Input.Lagging))
			daos.counted, daos.ranged, err = daos.voters.of(ctx, daos.Warehouse, ids)
			return err
		})
	}
	return group.Wait()
}

// run is what the parts of one publication share. Proposals add to its workload the DAOs to sum up again, and that
// topics are linked in another way.
type run struct {
	*Publisher
	Input
	workload
	// writer buffers what is written to Redis. One goroutine uses it at a time.
	writer *cache.Writer
}

func (r *run) withWriter() *run {
	other := *r
	other.writer = r.Store.NewWriter(r.Revision)
	return &other
}

// publishFollowing publishes lists, DAOs and topics, which follow from proposals but not from each other.
func (r *run) publishFollowing(ctx context.Context, list *proposalList, daos *daoPublication, topics *topicPublication) error {
	list.run, topics.run = r.withWriter(), r.withWriter()
	group, groupCtx := panics.WithContext(ctx)
	group.Go(func() error { return list.publish(groupCtx) })
	group.Go(func() error { return daos.publish(groupCtx) })
	group.Go(func() error { return topics.publish(groupCtx, r.topics) })
	if err := group.Wait(); err != nil {
		return err
	}
	return errors.Join(r.writer.Join(ctx, list.writer), r.writer.Join(ctx, topics.writer))
}

func (r *run) noteChange(kind governance.ChangeKind, key, daoID string) {
	r.writer.AddChange(kind, key, daoID, governance.TimestampOf(r.At))
}

func (r *run) noteProposal(ref record.RefHash, key governance.ProposalKey, daoID string) {
	if !r.untold.hasProposal(ref) {
		return
	}
	r.noteChange(governance.ProposalChange, string(key), daoID)
	if r.untold != nil {
		r.untold.daos[daoID] = true
	}
}

// publishNames makes the pages stale that show names which batches have changed: ballots, rankings and signals.
// Other pages of voters are stale anyway. The log of changes tells no names: an active voter is in the ballots of
// thousands of proposals, whose own answers stay as they are.
func (r *run) publishNames(ctx context.Context) error {
	subjects, err := records.NamedSubjects(ctx, r.Warehouse, r.Batches)
	if err != nil {
		return err
	}
	daos := map[string]bool{}
	for _, s := range subjects {
		r.writer.RaiseVersion(ctx, query.Ballots{Proposal: s.Key}.Scope())
		daos[s.DAOID] = true
	}
	for id := range daos {
		r.writer.RaiseVersion(ctx, query.Voters{DAOID: id}.Scope())
		r.writer.RaiseVersion(ctx, query.Signals{DAOID: id}.Scope())
	}
	if len(daos) > 0 {
		r.writer.RaiseVersion(ctx, query.Signals{}.Scope())
	}
	return r.writer.Flush(ctx)
}

// writeChanges flushes what was written so far, and adds its keys to the log of changes. The warehouse must not
// state yet that it is published: what is cut off is written by the next publication.
func (r *run) writeChanges(ctx context.Context) error {
	changes, err := r.writer.TakeChanges(ctx)
	if err != nil {
		return err
	}
	return r.Changes.Add(ctx, changes, nil)
}

func (r *run) head() cache.View {
	return cache.View{DataAsOf: governance.TimestampOf(r.At), Readiness: governance.Ready}
}

// hasView reports whether Redis holds a view: flushed and not written again, it would look as if it did not exist.
func (r *run) hasView(ctx context.Context, key cache.Key) (bool, error) {
	_, err := r.Store.View(ctx, key)
	if errors.Is(err, cache.ErrMiss) {
		return false, nil
	}
	return err == nil, err
}

// reportUnbalanced reports sums, counted at a time, that do not match their parts, unless records of the subject
// arrive: they landed between two counts.
func (p *Publisher) reportUnbalanced(
	ctx context.Context, err error, subject slog.Attr, at time.Time, refs []record.RefHash, sources []record.SourceRef,
) {
	arriving, unknown := records.Arriving(ctx, p.Warehouse, refs, sources, at)
	if unknown == nil && arriving {
		p.Logger.LogAttrs(ctx, slog.LevelDebug, "sums are counted again, records arrive", subject, slog.Any("reason", err))
		return
	}
	p.metrics.unbalanced.Inc()
	p.Logger.LogAttrs(ctx, slog.LevelWarn, "sums do not match their parts, previous numbers stay",
		subject, slog.Any("reason", err))
}

// Bounds of what is evaluated together: a query is worth its overhead, and memory is bounded.
const (
	proposalBatchSize = 4000
	maxCasts          = 1_000_000
	daoBatchSize      = 200
)

type chunk struct {
	refs []record.RefHash
	// shown are the proposals whose evidence is written next, and counted those with new numbers.
	shown, counted []*evaluation
	evaluations    []evaluation
	// published are the states published before, but of withdrawn proposals; listed the versions that lists show.
	published map[record.RefHash]counts.ProposalState
	listed    map[record.RefHash]pages.ListedVersion
}

// readAhead reads the next groups while one is written: a statement seldom uses all cores of the server. They are
// written in order, and at most three are read, waiting or written.
func readAhead[G, R any](
	ctx context.Context, groups []G,
	read func(ctx context.Context, group G) (R, error), write func(ctx context.Context, rows R) error,
) error {
	running, ctx := panics.WithContext(ctx)
	// One group is here, one waits for that place, and one is awaited or written.
	ahead := make(chan chan R, 1)
	running.Go(func() error {
		defer close(ahead)
		for _, group := range groups {
			rows := make(chan R, 1)
			running.Go(func() error {
				found, err := read(ctx, group)
				if err == nil {
					rows <- found
				}
				return err
			})
			select {
			case ahead <- rows:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	running.Go(func() error {
		for rows := range ahead {
			select {
			case found := <-rows:
				if err := write(ctx, found); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return running.Wait()
}
