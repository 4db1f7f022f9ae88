// Package feed derives events and signals from what is published and imported, and
// writes them to the warehouse.
package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/backoff"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// chronicleEvery is how often it is looked for what came due, and chronicleAnyway how
	// often for what was published without a hint.
	chronicleEvery  = time.Second
	chronicleAnyway = time.Minute
	// ballotsAtOnce bounds the ballots of a chapter: what one query sorts by time.
	proposalsAtOnce = 4000
	ballotsAtOnce   = 300_000
)

// Options configures a Builder.
type Options struct {
	// Warehouse is read and written, and Store holds the versions of the lists.
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	// Invalidate tells API nodes and edge caches what has changed. It returns at once.
	Invalidate func(ctx context.Context, written *cache.Writer)
	// Logger receives failed attempts, and Errors counts them.
	Logger *slog.Logger
	Errors prometheus.Counter
}

// Builder keeps the events and signals up with what is published, beside
// publication: no vote waits for them.
type Builder struct {
	warehouse  *warehouse.Warehouse
	store      *cache.Store
	invalidate func(context.Context, *cache.Writer)
	logger     *slog.Logger
	errors     prometheus.Counter
	published  chan struct{}
	// progress is what the Run under way remembers.
	progress
}

// progress is what one Run of a Builder remembers.
type progress struct {
	revision uint64
	// edition tells the rules at work from those of another version of the program.
	edition uint64
	// shown is up to when everything that came due is marked; zero before the first
	// look.
	shown governance.Timestamp
	// names are those that the DAOs were shown by when their marks were last moved for it.
	names map[string]string
}

// New returns a Builder that does nothing until Run.
func New(o Options) *Builder {
	return &Builder{
		warehouse: o.Warehouse, store: o.Store, invalidate: o.Invalidate, logger: o.Logger, errors: o.Errors,
		published: make(chan struct{}, 1),
	}
}

// Wake tells the Builder that something was published.
func (c *Builder) Wake() {
	select {
	case c.published <- struct{}{}:
	default:
	}
}

// Run works until ctx ends. A failure is logged and tried again.
func (c *Builder) Run(ctx context.Context) {
	c.progress = progress{edition: rules.ChronicleEdition(), names: map[string]string{}}
	ticker := time.NewTicker(chronicleEvery)
	defer ticker.Stop()
	var looked, rested time.Time
	for pending := true; ctx.Err() == nil; {
		err := c.showDue(ctx)
		pending = pending || time.Since(looked) > chronicleAnyway
		if err == nil && pending && time.Now().After(rested) {
			looked = time.Now()
			err = c.catchUp(ctx)
			pending = err != nil
			// Rest as long as the work took: while an import goes on, publication comes first.
			rested = time.Now().Add(min(time.Since(looked), backoff.Max))
		}
		if err != nil && ctx.Err() == nil {
			c.errors.Inc()
			c.logger.LogAttrs(ctx, slog.LevelError, "chronicle", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
		case <-c.published:
			pending = true
		case <-ticker.C:
		}
	}
}

// showDue moves the marks of the lists in which rows came due since the last look;
// of all of them on the first, and when Redis was flushed.
func (c *Builder) showDue(ctx context.Context) error {
	now, err := c.nextRevision(ctx)
	if err != nil {
		return err
	}
	_, err = c.store.Version(ctx, cache.EventPage, "")
	if errors.Is(err, cache.ErrMiss) {
		c.shown, err = 0, nil
	}
	if err != nil {
		return err
	}
	var due map[string]warehouse.DAOChanges
	if c.shown == 0 {
		due, err = c.everywhere(ctx)
	} else {
		due, err = c.warehouse.BecameVisible(ctx, c.shown, now)
	}
	if err != nil {
		return err
	}
	c.shown = now
	return c.mark(ctx, due)
}

// nextRevision reads the warehouse's clock, and makes a later revision of it.
func (c *Builder) nextRevision(ctx context.Context) (governance.Timestamp, error) {
	now, err := c.warehouse.Now(ctx)
	if err != nil {
		return 0, err
	}
	c.revision = max(uint64(now.UnixMicro()), c.revision+1)
	return governance.TimestampOf(now), nil
}

func (c *Builder) everywhere(ctx context.Context) (map[string]warehouse.DAOChanges, error) {
	catalog, err := c.warehouse.Catalog(ctx)
	due := map[string]warehouse.DAOChanges{"": {Events: true, Signals: true}}
	for id := range catalog.DAOs {
		due[id] = warehouse.DAOChanges{Events: true, Signals: true}
	}
	return due, err
}

// mark moves the marks of lists that changed, and of those of all DAOs together.
func (c *Builder) mark(ctx context.Context, changes map[string]warehouse.DAOChanges) error {
	if len(changes) == 0 {
		return nil
	}
	writer := c.store.NewWriter(c.revision)
	changes = maps.Clone(changes)
	all := changes[""]
	for _, change := range changes {
		all.Events, all.Signals = all.Events || change.Events, all.Signals || change.Signals
	}
	changes[""] = all
	for daoID, change := range changes {
		if change.Events {
			if err := writer.SetVersion(ctx, cache.EventPage, daoID, 0); err != nil {
				return err
			}
		}
		if change.Signals {
			if err := writer.SetVersion(ctx, cache.SignalPage, daoID, 0); err != nil {
				return err
			}
		}
	}
	if err := writer.Flush(ctx); err != nil {
		return err
	}
	c.invalidate(ctx, writer)
	return nil
}

// catchUp works out whatever was published or imported since the last time.
func (c *Builder) catchUp(ctx context.Context) error {
	catalog, err := c.warehouse.Catalog(ctx)
	if err != nil {
		return err
	}
	if err := c.markRenamed(ctx, catalog); err != nil {
		return err
	}
	if err := c.copyImported(ctx); err != nil {
		return err
	}
	behind, err := c.warehouse.PendingFeedProposals(ctx, c.edition)
	if err != nil {
		return err
	}
	if err := c.deriveProposals(ctx, behind); err != nil {
		return err
	}
	return c.deriveTopics(ctx, catalog)
}

// markRenamed moves the marks of DAOs that are shown by another name now: it is in their
// events, though not in what is stored of them. A name that is not published yet waits
// for the look after its publication: pages made until then show the one before.
func (c *Builder) markRenamed(ctx context.Context, catalog warehouse.Catalog) error {
	maps.DeleteFunc(c.names, func(id, _ string) bool {
		_, there := catalog.DAOs[id]
		return !there
	})
	renamed := map[string]warehouse.DAOChanges{}
	for id, dao := range catalog.DAOs {
		if c.names[id] == dao.Name {
			continue
		}
		shown, err := c.store.DAORow(ctx, id)
		if err != nil && !errors.Is(err, cache.ErrMiss) {
			return err
		}
		if err == nil && shown.Name == dao.Name {
			renamed[id] = warehouse.DAOChanges{Events: true}
		}
	}
	if len(renamed) == 0 {
		return nil
	}
	if _, err := c.nextRevision(ctx); err != nil {
		return err
	}
	if err := c.mark(ctx, renamed); err != nil {
		return err
	}
	for id := range renamed {
		c.names[id] = catalog.DAOs[id].Name
	}
	return nil
}

// deriveProposals works out proposals, and those whose usual turnout they are part
// of, a bounded number of ballots at a time.
func (c *Builder) deriveProposals(ctx context.Context, behind []warehouse.ProposalSize) error {
	if len(behind) == 0 {
		return nil
	}
	for chunk := range slices.Chunk(slices.Clone(behind), proposalsAtOnce) {
		followers, err := c.warehouse.LaterVotes(ctx, refsOf(chunk))
		if err != nil {
			return err
		}
		behind = append(behind, followers...)
	}
	slices.SortFunc(behind, func(a, b warehouse.ProposalSize) int {
		return cmp.Or(cmp.Compare(a.Votes, b.Votes), slices.Compare(a.Ref[:], b.Ref[:]))
	})
	for _, chapter := range chapters(slices.Compact(behind)) {
		if err := c.deriveChapter(ctx, chapter); err != nil {
			return err
		}
	}
	return nil
}

func refsOf(weighed []warehouse.ProposalSize) []record.RefHash {
	refs := make([]record.RefHash, len(weighed))
	for i, w := range weighed {
		refs[i] = w.Ref
	}
	return refs
}

// chapters divides proposals into such numbers as are worked out at a time.
func chapters(proposals []warehouse.ProposalSize) [][]record.RefHash {
	var chapters [][]record.RefHash
	var chapter []record.RefHash
	var ballots uint64
	for _, proposal := range proposals {
		if len(chapter) > 0 && (len(chapter) == proposalsAtOnce || ballots+proposal.Votes > ballotsAtOnce) {
			chapters, chapter, ballots = append(chapters, chapter), nil, 0
		}
		chapter, ballots = append(chapter, proposal.Ref), ballots+proposal.Votes
	}
	if len(chapter) > 0 {
		chapters = append(chapters, chapter)
	}
	return chapters
}

// chapterRows is what follows from some items.
type chapterRows struct {
	items   []warehouse.FeedProgress
	events  []warehouse.FeedEvent
	signals []warehouse.FeedSignal
	// heldEvents and heldSignals are the rows that followed from the items before.
	heldEvents, heldSignals []warehouse.StoredFeedRow
}

// hold reads what the chronicle has of the items.
func (c *Builder) hold(ctx context.Context, items []warehouse.FeedItem) (rows chapterRows, err error) {
	if rows.heldEvents, err = c.warehouse.StoredFeedEvents(ctx, items); err != nil {
		return rows, err
	}
	rows.heldSignals, err = c.warehouse.StoredFeedSignals(ctx, items)
	return rows, err
}

// discoveries says when the events held were first seen here; those that have not
// happened by now do not count.
func (r chapterRows) discoveries(now governance.Timestamp) map[string]governance.Timestamp {
	seen := make(map[string]governance.Timestamp, len(r.heldEvents))
	for _, held := range r.heldEvents {
		if held.DiscoveredAt <= now {
			seen[held.ID] = held.DiscoveredAt
		}
	}
	return seen
}

// write replaces what followed from the items before, and moves the marks of the
// lists in which something changed.
func (c *Builder) write(ctx context.Context, rows chapterRows) error {
	changes := map[string]warehouse.DAOChanges{}
	events, err := c.warehouse.ReplaceFeedEvents(ctx, c.revision, rows.heldEvents, rows.events)
	if err != nil {
		return err
	}
	signals, err := c.warehouse.ReplaceFeedSignals(ctx, c.revision, rows.heldSignals, rows.signals)
	if err != nil {
		return err
	}
	for daoID := range maps.Keys(events) {
		changes[daoID] = warehouse.DAOChanges{Events: true, Signals: signals[daoID]}
	}
	for daoID := range maps.Keys(signals) {
		changes[daoID] = warehouse.DAOChanges{Events: events[daoID], Signals: true}
	}
	// Pages made since c.revision may lack what was written since.
	if _, err := c.nextRevision(ctx); err != nil {
		return err
	}
	if err := c.mark(ctx, changes); err != nil {
		return fmt.Errorf("mark what changed: %w", err)
	}
	return nil
}

// deriveChapter works out some proposals.
func (c *Builder) deriveChapter(ctx context.Context, refs []record.RefHash) error {
	now, err := c.nextRevision(ctx)
	if err != nil {
		return err
	}
	rows, err := c.hold(ctx, refs)
	if err != nil {
		return err
	}
	stories, err := c.readStories(ctx, refs, now)
	if err != nil {
		return err
	}
	seen := rows.discoveries(now)
	for _, s := range stories {
		rows.items = append(rows.items, warehouse.FeedProgress{
			Item: s.proposal.Ref, DAOID: s.state.Identity.DAOID, Revision: s.state.Revision,
		})
		rows.events = append(rows.events, s.events(seen)...)
		signals, err := s.signals()
		if err != nil {
			return err
		}
		rows.signals = append(rows.signals, signals...)
	}
	if err := c.write(ctx, rows); err != nil {
		return err
	}
	return c.warehouse.WriteFeedProgress(ctx, c.edition, rows.items)
}
