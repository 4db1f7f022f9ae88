package routes

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

const (
	// ChangesPerRead is how many rows one read returns, and maxScannedChanges how many one page is selected from.
	ChangesPerRead    = 1000
	maxScannedChanges = 10_000
	// changeOverlap is how much before a time a page begins: the clocks of Redis and the caller may differ.
	changeOverlap = time.Minute
)

func changeRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "changes.list", Path: "/v2/changes", Tier: governance.Standard, Addition: true, Stream: true,
			Title:   "List changes",
			Summary: "The keys of what was published since a cursor, oldest first, to ask for again; a page without rows costs nothing.",
			Returns: []governance.Change{},
			Fresh:   httpcache.Expiring("A full page never changes; one that may grow, `no-store`, is kept by nobody."),
		}, (*Backend).listChanges),
	}
}

// ChangeParams are the parameters of GET /v2/changes.
type ChangeParams struct {
	DAOID string                  `param:"daoId" doc:"Only what belongs to this DAO." example:"uniswap"`
	Kinds []governance.ChangeKind `param:"kind" doc:"Only these kinds of changes." example:"proposal,dao"`
	// From is where to begin without a cursor; nil begins now.
	From *governance.Timestamp `param:"from" bound:"false" doc:"Without a cursor, begin at this time instead of now: at most seven days ago."`
	Wait int                   `param:"wait" max:"25" bound:"false" doc:"Seconds to hold a page without rows until there is one; with a token only, and not for text/event-stream."`

	query.Paging[changePosition] `default:"100" max:"500"`
}

type changePosition struct {
	Epoch uint64 `msgpack:"e"`
	// ID is the id of the last row that was read.
	ID cache.ChangeID `msgpack:"i"`
}

func (b *Backend) listChanges(ctx context.Context, r *Request, p ChangeParams) (Answer, error) {
	cursors, err := b.openCursor(ctx, r, &p.After)
	if err != nil {
		return Answer{}, err
	}
	page := changePage{params: p, at: map[string]int{}}
	state, err := b.readChanges(ctx, r, &page)
	if err != nil {
		return Answer{}, err
	}
	next, err := cursors.encode(r, page.position)
	if err != nil {
		return Answer{}, err
	}
	found := Answer{
		Data: page.changes(), Source: httpcache.SourceRedis, Live: !page.full, Empty: page.rows == 0,
		Page: &Page{Limit: p.Limit, HasMore: page.hasMore, NextCursor: &next},
		View: cache.View{Revision: state.Revision, DataAsOf: state.HeartbeatAt, Readiness: governance.Ready},
	}
	if page.full { // the same on every node, and for good
		last := page.kept[len(page.kept)-1]
		found.View.DataAsOf = last.ChangedAt
		if found.View.Revision, err = strconv.ParseUint(string(last.Revision), 10, 64); err != nil {
			return Answer{}, apierror.Unavailable(err)
		}
	}
	return found, nil
}

// readChanges reads rows until a page is full or there are no more, and returns the state of publication.
func (b *Backend) readChanges(ctx context.Context, r *Request, page *changePage) (cache.PublicationState, error) {
	begin := page.params.After
	for scanned := 0; ; {
		after := EndOfChanges()
		if begin != nil {
			after = begin.ID
		}
		read := b.Store.Changes
		if r.held {
			read = b.HeldChanges
		}
		slice, err := read(ctx, after, ChangesPerRead)
		if err != nil {
			return slice.State, b.unavailable(ctx, err)
		}
		epoch := slice.State.ChangesEpoch
		if begin == nil {
			if begin, err = b.beginChanges(page.params.From, slice); err != nil {
				return slice.State, err
			}
			if begin.ID != slice.Last {
				continue
			}
		}
		if begin.Epoch != epoch || begin.ID.Before(slice.First) {
			return slice.State, apierror.CursorExpired(governance.Timestamp(slice.First.Time)) //nolint:gosec // a time
		}
		page.position = *begin
		if page.add(slice.Rows); page.full || !slice.HasMore {
			page.hasMore = page.full
			return slice.State, nil
		}
		if scanned += len(slice.Rows); scanned >= maxScannedChanges {
			page.hasMore = true
			return slice.State, nil
		}
		begin = &page.position
	}
}

// EndOfChanges is a place after all rows.
func EndOfChanges() cache.ChangeID { return cache.ChangeID{Time: math.MaxUint64} }

// beginChanges returns where a page begins without a cursor: at the end of the stream, or at a time.
func (b *Backend) beginChanges(from *governance.Timestamp, slice cache.ChangeSlice) (*changePosition, error) {
	begin := &changePosition{slice.State.ChangesEpoch, slice.Last}
	if from == nil {
		return begin, nil
	}
	if from.Time().After(b.Now().Add(changeOverlap)) {
		return nil, apierror.Validation([]param.Problem{{
			Parameter: "from", Given: from.String(), Message: "is in the future", Allowed: "a time of the last seven days",
			Fix: "leave from out to begin now",
		}}, 0)
	}
	id := cache.ChangeID{Time: uint64(max(0, *from))}
	if id.Before(cache.ChangeID{Time: slice.First.Time}) {
		return nil, apierror.CursorExpired(governance.Timestamp(slice.First.Time)) //nolint:gosec // a time
	}
	if id.Time -= uint64(changeOverlap.Milliseconds()); id.Before(slice.First) { //nolint:gosec // a minute
		id = slice.First
	}
	if id.Before(begin.ID) {
		begin.ID = id
	}
	return begin, nil
}

// changePage selects the rows of a page: the last row of each key.
type changePage struct {
	params ChangeParams
	// position is the place of the last row that was looked at.
	position changePosition
	// kept are rows, replaced ones without a kind; at is the index of each key, and rows how many there are.
	kept []governance.Change
	at   map[string]int
	rows int
	// full says that a further row has no place, and hasMore that rows follow.
	full, hasMore bool
}

// add adds rows until the page is full.
func (p *changePage) add(rows []cache.ChangeRow) {
	for _, row := range rows {
		if p.selects(row.Change) {
			key := string(row.Kind) + " " + row.DAOID + " " + row.Key
			before, known := p.at[key]
			if !known && p.rows == p.params.Limit {
				p.full = true
				return
			}
			if known {
				p.kept[before].Kind = ""
			} else {
				p.rows++
			}
			p.at[key] = len(p.kept)
			p.kept = append(p.kept, row.Change)
		}
		p.position.ID = row.ID
	}
}

func (p *changePage) selects(change governance.Change) bool {
	return (p.params.DAOID == "" || p.params.DAOID == change.DAOID) &&
		(len(p.params.Kinds) == 0 || slices.Contains(p.params.Kinds, change.Kind))
}

func (p *changePage) changes() []governance.Change {
	rows := slices.DeleteFunc(slices.Clone(p.kept), func(c governance.Change) bool { return c.Kind == "" })
	if rows == nil {
		return []governance.Change{}
	}
	return rows
}
