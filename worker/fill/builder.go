package fill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/panics"
	"pnyx/warehouse/pages"
)

// builder returns the payload of a page, or errAbsent or errWithheld. It completes the head of the page.
type builder func(context.Context, *page, cache.PageRequest) (any, error)

type kindOfPage struct {
	build builder
	// setSize is how many pages are built with shared statements, sets how many sets one worker has in work.
	setSize, sets int
	// gather bounds how long a set waits for the one before, so that one slow page delays the others no longer.
	gather time.Duration
}

const (
	// maxSet is the size of a set: enough to share the planning of a statement, few enough for well below a second.
	maxSet       = 64
	setsTogether = 2 // one set in work, and one that gathers
	// partsTogether is the number of parts of exports, which take more memory and time than pages.
	partsTogether = 1
	// setsAlone is for kinds whose pages are built alone. It leaves one of fillConcurrency to other kinds.
	setsAlone = fillConcurrency - 1
	// gatherTime is how long sets of pages wait for those before them; sets of dossiers take longer.
	gatherTime     = 50 * time.Millisecond
	gatherDossiers = 500 * time.Millisecond
)

// kindsOfPages is the table of the kinds of pages. Versions and tags follow from the scope of the query.
func kindsOfPages() map[query.Kind]kindOfPage {
	return map[query.Kind]kindOfPage{
		query.KindBallots:          {build((*page).ballots), maxSet, setsTogether, gatherTime},
		query.KindBallotExport:     {build((*page).ballotExport), 1, setsAlone, 0},
		query.KindBallotPart:       {build((*page).ballotPart), 1, partsTogether, 0},
		query.KindDAOExport:        {build((*page).daoExport), 1, partsTogether, 0},
		query.KindDAOPart:          {build((*page).daoPart), 1, partsTogether, 0},
		query.KindVoters:           {build((*page).voters), 1, setsAlone, 0},
		query.KindProfile:          {build(byName((*page).profile, func(q *query.Profile) *query.Voter { return &q.Voter })), maxSet, setsTogether, gatherTime},
		query.KindDelegates:        {build((*page).delegates), 1, setsAlone, 0},
		query.KindVoterDelegations: {build(byName((*page).voterDelegations, func(q *query.VoterDelegations) *query.Voter { return &q.Voter })), 1, setsAlone, 0},
		query.KindOpenVotes:        {build(byName((*page).openVotes, func(q *query.OpenVotes) *query.Voter { return &q.Voter })), 1, setsAlone, 0},
		query.KindDossier:          {build((*page).dossier), maxSet, setsTogether, gatherDossiers},
		query.KindVoterVotes:       {build(byName((*page).voterVotes, func(q *query.VoterVotes) *query.Voter { return &q.Voter })), maxSet, setsTogether, gatherTime},
		query.KindProposals:        {build((*page).proposals), maxSet, setsTogether, gatherTime},
		query.KindResolve:          {build((*page).resolve), 1, setsAlone, 0},
		query.KindTopics:           {build((*page).topics), 1, setsAlone, 0},
		query.KindEvents:           {build((*page).events), 1, setsAlone, 0},
		query.KindSignals:          {build((*page).signals), 1, setsAlone, 0},
	}
}

// build decodes the query of a request. Lists read one row more than a page shows.
func build[Query query.Page](read func(*page, context.Context, Query) (any, error)) builder {
	return func(ctx context.Context, p *page, r cache.PageRequest) (any, error) {
		var q Query
		if err := r.Decode(&q); err != nil {
			return nil, err
		}
		if list, is := any(&q).(interface{ ReadAhead() }); is {
			list.ReadAhead()
		}
		return read(p, ctx, q)
	}
}

// topics builds a page of topics. Without a version, none is published yet: the first makes the page stale.
func (p *page) topics(ctx context.Context, q query.Topics) (any, error) {
	version, _, err := p.version(ctx, q.Scope())
	if err != nil {
		return nil, err
	}
	p.head.Revision = version.Revision
	return pages.ListTopics(ctx, p.Warehouse, q)
}

var (
	// errAbsent makes a page say that its subject does not exist, errWithheld that it is not there yet.
	errAbsent   = errors.New("the subject does not exist")
	errWithheld = errors.New("the page is not there yet")
)

// build makes the page of a request. version is its scope's if it was read a moment ago, or zero.
func (f *Filler) build(ctx context.Context, r cache.PageRequest, version cache.Version) (_ cache.View, err error) {
	defer panics.Caught(&err)
	kind, known := f.kinds[r.Kind]
	if !known {
		return cache.View{}, fmt.Errorf("unknown kind of page: %s", r.Kind) // of another version
	}
	p := &page{Filler: f, scope: r.Scope, read: version, head: cache.View{
		DataAsOf: governance.TimestampOf(time.Now()), Readiness: governance.Ready,
	}}
	payload, err := kind.build(ctx, p, r)
	switch {
	case errors.Is(err, errAbsent):
		p.head.Absent = true
		return p.head, nil
	case errors.Is(err, errWithheld):
		return cache.Withheld(p.head)
	case err != nil:
		return cache.View{}, err
	}
	return cache.NewView(p.head, payload)
}

type page struct {
	*Filler
	head cache.View
	// scope is what the version is of, and read that version until it is used; zero where it is to be read.
	scope query.Scope
	read  cache.Version
}

// readView decodes a published view. The error is cache.ErrMiss if there is none.
func readView[Payload any](ctx context.Context, p *page, key cache.Key) (payload Payload, err error) {
	view, err := p.Store.View(ctx, key)
	if err == nil {
		err = view.Decode(&payload)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", key, err)
	}
	return payload, err
}

// version reads the version of a scope; without one, there is false, and the revision is its removal's.
func (p *page) version(ctx context.Context, scope query.Scope) (version cache.Version, there bool, err error) {
	if scope == p.scope && p.read != (cache.Version{}) {
		version, p.read = p.read, cache.Version{}
		return version, true, nil
	}
	version, err = p.Store.Version(ctx, scope)
	if errors.Is(err, cache.ErrMiss) {
		if version.Revision == 0 {
			return version, false, p.checkUnpublished(ctx, cache.SubjectKey(scope))
		}
		return version, false, nil
	}
	return version, err == nil, err
}

// checkUnpublished returns an error where the subject of a scope without a version is published: Redis has lost the
// version. Everything is then published again.
func (p *page) checkUnpublished(ctx context.Context, subject cache.Key) error {
	if subject == "" {
		return nil
	}
	view, err := p.Store.View(ctx, subject)
	if errors.Is(err, cache.ErrMiss) {
		return nil
	} else if err != nil {
		return err
	}
	published, err := p.Store.CompletePublication(ctx)
	if err != nil || view.Revision > published.Revision { // what is being published gets its version next
		return err
	}
	return errors.Join(fmt.Errorf("%w: the version that follows %s is lost", cache.ErrCorrupt, subject), p.Store.RequestRepublish(ctx))
}

// fromSortedCopy calls read with the generation of the sorted copy that a version names, zero for none. The error
// is errAbsent without a version. A generation that is replaced meanwhile may be gone: read is called again with
// the next.
func (p *page) fromSortedCopy(ctx context.Context, scope query.Scope, read func(generation uint64) error) error {
	version, there, err := p.version(ctx, scope)
	for there && err == nil {
		before := version
		if err := read(before.Generation); err != nil {
			return err
		}
		if before.Generation != 0 {
			version, there, err = p.version(ctx, scope)
		}
		if there && version.Generation == before.Generation {
			if p.head.Revision = before.Revision; before.Generation != 0 { // as of the numbers that the copy matches
				p.head.DataAsOf = governance.TimestampOfRevision(before.Revision)
			}
			return nil
		}
	}
	// A tombstone replaces the page that was there.
	p.head.Revision = version.Revision
	return cmp.Or(err, errAbsent)
}
