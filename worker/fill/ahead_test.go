package fill_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/fill"
)

// walkedKey is the proposal whose ballots are walked through, and walkedRef its name upstream.
const walkedKey governance.ProposalKey = "p1_AAAAAAAAAAAAAAAAAAAAAA"

var walkedRef = record.ProposalRef{Provider: governance.Snapshot, ExternalID: "walked"}

// walkedBallots is no multiple of the sizes of pages: the last page is shorter.
const walkedBallots = 2050

// walked is a proposal with a sorted copy.
type walked struct {
	*testing.T

	warehouse *warehouse.Warehouse
	store     *cache.Store
	redis     redis.UniversalClient
	filler    *fill.Filler
}

func newWalked(t *testing.T) *walked {
	t.Helper()
	env.SkipShort(t, "an engine")
	url := env.EmbeddedRedis(t)
	store, err := cache.Open(url, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := &walked{T: t, warehouse: env.Warehouse(t), store: store, redis: env.RedisClient(t, url)}
	w.filler = fill.New(fill.Options{
		Warehouse: w.warehouse, Store: store, Timeout: time.Minute,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Metrics: prometheus.NewRegistry(),
	})
	writer := store.NewWriter(1)
	err = errors.Join(writer.SetPayload(t.Context(), cache.ProposalDetailKey(walkedKey), cache.View{}, governance.ProposalDetail{
		ProposalKey: walkedKey, Choices: []governance.Choice{{Key: "1", Label: "For"}, {Key: "2", Label: "Against"}},
		Identity: governance.Identity{Provider: walkedRef.Provider, ExternalID: walkedRef.ExternalID},
	}), writer.Flush(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	var cast []record.Record
	for i := range walkedBallots {
		cast = append(cast, w.ballot(i, int64(i/9)))
	}
	w.publish(1, cast...)
	return w
}

// ballot is one of many with equal power and equal times, and of some without a time.
func (w *walked) ballot(i int, power int64) *record.Ballot {
	choice := fmt.Sprint(1 + i%3)
	b := &record.Ballot{
		Proposal: walkedRef, VoteID: fmt.Sprintf("vote-%d-%d", i, power), Voter: fmt.Sprintf("0x%040x", (i*7919)%walkedBallots),
		Power: decimal.New(power, -2), Choices: []string{choice}, ChoiceKey: choice, RawChoice: choice,
	}
	if i%4 > 0 {
		at := governance.Timestamp(1_700_000_000_000 + int64(i/5)*1000)
		b.VotedAt = &at
	}
	return b
}

// publish writes ballots, and sorts all of them as a generation that is current from then on.
func (w *walked) publish(generation uint64, ballots ...record.Record) {
	w.Helper()
	run := warehouse.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	_, err := w.warehouse.Append(w.Context(), run, ballots)
	sorted := warehouse.SortedCopy{Kind: warehouse.BallotCopy, Subject: string(walkedKey), Ref: walkedRef.Hash()}
	writer := w.store.NewWriter(generation)
	err = errors.Join(err, w.warehouse.BuildSortedCopy(w.Context(), sorted, generation),
		writer.SetVersion(w.Context(), query.Ballots{Proposal: walkedKey}.Scope(), generation), writer.Flush(w.Context()))
	if err != nil {
		w.Fatal(err)
	}
}

// request is what a node requests for a caller who is shown so many rows.
func (w *walked) request(q query.Ballots, shown int) cache.PageRequest {
	q.Limit = query.PageSize(shown)
	r := cache.NewPageRequest(q)
	if q.After != nil {
		r.Shown = shown
	}
	return r
}

func fillOf(r cache.PageRequest) []cache.Fill {
	return []cache.Fill{{Page: r, Deadline: governance.TimestampOf(time.Now().Add(time.Hour))}}
}

// fresh returns a page if Redis has it, as a node decides that.
func (w *walked) fresh(r cache.PageRequest) (cache.View, bool) {
	w.Helper()
	v, version, err := w.store.Page(w.Context(), r)
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		w.Fatal(err)
	}
	return v, err == nil && v.IsFresh(version.Revision)
}

// read returns a page, and whether it had to be made. It calls made after that.
func (w *walked) read(r cache.PageRequest) (v cache.View, made bool) {
	w.Helper()
	v, stored := w.fresh(r)
	if !stored {
		w.filler.Fill(w.Context(), fillOf(r))
		if v, stored = w.fresh(r); !stored {
			w.Fatalf("the page %s was not made", r.Key())
		}
	}
	return v, !stored
}

// step is a page of a walk.
type step struct {
	Key      cache.Key
	Payload  string
	Revision uint64
}

// walk reads all pages by their cursors, and returns how many were made on request. Between
// two pages it calls between, if that is not nil, with the number of those that were read.
func (w *walked) walk(order query.BallotOrder, shown int, ahead bool, between func(read int)) (steps []step, voters []string, made int) {
	w.Helper()
	q := query.Ballots{Proposal: walkedKey, Order: order}
	for {
		r := w.request(q, shown)
		if !ahead {
			r.Shown = 0
		}
		if _, stored := w.fresh(r); !stored {
			made++
		}
		v, _ := w.read(r)
		steps = append(steps, step{r.Key(), string(v.Payload), v.Revision})
		var rows []governance.Ballot
		if err := v.Decode(&rows); err != nil {
			w.Fatal(err)
		}
		for _, row := range rows[:min(shown, len(rows))] {
			voters = append(voters, row.VoterIdentity)
		}
		if len(rows) <= shown {
			return steps, voters, made
		}
		after := q.PositionOf(rows[shown-1])
		q.After = &after
		if between != nil {
			between(len(steps))
		}
	}
}

// forget removes all pages.
func (w *walked) forget() {
	w.Helper()
	keys, err := w.redis.Keys(w.Context(), "*view:page:*").Result()
	if err == nil && len(keys) > 0 {
		err = w.redis.Del(w.Context(), keys...).Err()
	}
	if err != nil {
		w.Fatal(err)
	}
}

func TestPagesThatAreMadeInAdvanceAreThoseOfAWalk(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	for _, order := range []query.BallotOrder{query.BallotsByPower, query.BallotsByTime} {
		for _, shown := range []int{query.ShortPage, 70, 300} {
			t.Run(fmt.Sprintf("%d by %s", shown, order), func(t *testing.T) {
				w.forget()
				want, voters, each := w.walk(order, shown, false, nil)
				w.forget()
				got, _, some := w.walk(order, shown, true, nil)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("a walk with pages in advance differs (-without +with):\n%s", diff)
				}
				slices.Sort(voters)
				if all := len(slices.Compact(voters)); all != walkedBallots {
					t.Errorf("the walk shows %d voters, want %d", all, walkedBallots)
				}
				// The first two are nobody's next page. Of the others one in four is requested.
				if most := 2 + (len(want)+1)/4; each != len(want) || some != most {
					t.Errorf("got %d and %d pages made on request, want %d and %d", each, some, len(want), most)
				}
			})
		}
	}
}

func TestAPageMadeInAdvanceTellsWhichIsNext(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	const shown = query.ShortPage
	q := query.Ballots{Proposal: walkedKey, Order: query.BallotsByTime}
	var wanted []cache.Key // by those who walk
	var told []*cache.PageRequest
	_, _, _ = w.walk(q.Order, shown, true, nil)
	for {
		v, stored := w.fresh(w.request(q, shown))
		if !stored {
			t.Fatal("a page of the walk is gone")
		}
		wanted, told = append(wanted, w.request(q, shown).Key()), append(told, v.Next)
		var rows []governance.Ballot
		if err := v.Decode(&rows); err != nil {
			t.Fatal(err)
		}
		if len(rows) <= shown {
			break
		}
		after := q.PositionOf(rows[shown-1])
		q.After = &after
	}
	for i, next := range told {
		// Page 2 is requested, and 3, 4 and 5 are made with it: 4 tells of 6.
		tells := i%4 == 0 && i > 0 && i+2 < len(wanted)
		if tells != (next != nil) || tells && (next.Key() != wanted[i+2] || next.Shown != shown) {
			t.Errorf("page %d tells of %+v, want one: %t, of %q", i, next, tells, wanted[min(i+2, len(wanted)-1)])
		}
	}
}

func TestAWalkGoesOnInACopyThatReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	const shown = query.ShortPage
	for generation, order := range []query.BallotOrder{query.BallotsByPower, query.BallotsByTime} {
		var revisions []uint64
		before := uint64(1 + generation)
		steps, _, _ := w.walk(order, shown, true, func(read int) {
			if read == 5 { // in the middle of those that are in advance
				w.publish(before+1, w.ballot(3, 5000), w.ballot(walkedBallots-3, 0))
			}
		})
		for _, s := range steps {
			revisions = append(revisions, s.Revision)
		}
		for i, s := range steps {
			if want := before + min(uint64(i/5), 1); s.Revision != want {
				t.Errorf("by %s: page %d is of revision %d, want %d: got %v", order, i, s.Revision, want, revisions)
			}
		}
		// From there on it is what a walk in that copy is.
		w.forget()
		after, _, _ := w.walk(order, shown, false, nil)
		byKey := map[cache.Key]step{}
		for _, s := range after {
			byKey[s.Key] = s
		}
		for i, s := range steps[5:] {
			if same, is := byKey[s.Key]; is && same.Payload != s.Payload {
				t.Errorf("by %s: page %d is not that of the copy", order, i+5)
			}
		}
	}
}

// second returns the requests for the second page of a walk and those after it. The first of
// them is one that is expected.
func (w *walked) second(pages int) []cache.PageRequest {
	w.Helper()
	const shown = query.ShortPage
	q := query.Ballots{Proposal: walkedKey, Order: query.BallotsByPower}
	rows, err := w.warehouse.ListBallots(w.Context(), warehouse.BallotSource{Ref: walkedRef.Hash(), Generation: 1}, query.Ballots{
		Order: q.Order, Paging: query.Paging[query.BallotPosition]{Limit: walkedBallots},
	})
	if err != nil {
		w.Fatal(err)
	}
	var requests []cache.PageRequest
	for page := 1; page <= pages; page++ {
		after := q.PositionOf(rows[page*shown-1].Ballot)
		q.After = &after
		requests = append(requests, w.request(q, shown))
	}
	w.expect(requests[0])
	return requests
}

// expect marks a page as one that follows another that was read with a cursor.
func (w *walked) expect(r cache.PageRequest) {
	w.Helper()
	before := cache.CompletedFill{Page: w.request(query.Ballots{Proposal: "before"}, query.ShortPage), View: &cache.View{}, Next: &r}
	if err := w.store.CompleteFills(w.Context(), []cache.CompletedFill{before})[0]; err != nil {
		w.Fatal(err)
	}
}

// wantStored checks which pages Redis has at a moment.
func (w *walked) wantStored(moment string, pages []cache.PageRequest, want []bool) {
	w.Helper()
	var stored []bool
	for _, r := range pages {
		_, is := w.fresh(r)
		stored = append(stored, is)
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		w.Errorf("%s (-want +got):\n%s", moment, diff)
	}
}

// wantNonePending checks that nobody is kept from requesting a page.
func (w *walked) wantNonePending() {
	w.Helper()
	pending, err := w.redis.Keys(w.Context(), "*pending:*").Result()
	if err != nil || len(pending) > 0 {
		w.Errorf("got the pending pages %q, %v, want none", pending, err)
	}
}

func TestNothingIsMadeAfterAPageThatNobodyWalkedTo(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	pages := w.second(6)
	w.filler.Fill(t.Context(), fillOf(pages[1]))
	w.wantStored("after one page", pages, []bool{false, true, false, false, false, false})
	w.filler.Fill(t.Context(), fillOf(pages[2]))
	w.wantStored("after the next one", pages, []bool{false, true, true, true, true, true})
	w.wantNonePending()
}

func TestAPageIsAnsweredBeforeThoseAfterItAreMade(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	pages := w.second(5)
	ahead := w.filler.Answer(t.Context(), fillOf(pages[0]))
	w.wantStored("once the page is answered, there are others", pages, []bool{true, false, false, false, false})
	// Whoever wants the next one meanwhile waits for it.
	if err := w.store.EnqueueFill(t.Context(), fillOf(pages[1])[0]); err != nil {
		t.Fatal(err)
	}
	if queued, err := w.store.FillQueueLength(t.Context(), []query.Kind{query.KindBallots}); err != nil || queued > 0 {
		t.Errorf("got %d requests, %v, want none: the page is being made", queued, err)
	}
	ahead()
	w.wantStored("in the end", pages, []bool{true, true, true, true, false})
	w.wantNonePending()
}

// One statement for four pages takes the others that wait less time than four.
func TestPagesAreMadeInAdvanceAlsoWhileOthersWait(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	pages := w.second(5)
	ahead := w.filler.Answer(t.Context(), fillOf(pages[0]))
	if err := w.store.EnqueueFill(t.Context(), fillOf(cache.NewPageRequest(query.Profile{Voter: "0x1"}))[0]); err != nil {
		t.Fatal(err)
	}
	ahead()
	w.wantStored("while another request waits", pages, []bool{true, true, true, true, false})
}

func TestWalksOfOneSetHavePagesMadeInAdvance(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	const apart = 4 // pages that a statement reads
	const walks = fill.MaxAheads + 1
	pages := w.second(walks * apart)
	var requested []cache.Fill
	for i := range walks {
		requested = append(requested, fillOf(pages[i*apart])...)
		w.expect(pages[i*apart])
	}
	w.filler.Fill(t.Context(), requested)
	made := 0
	for i := range walks {
		if _, stored := w.fresh(pages[i*apart]); !stored {
			t.Errorf("walk %d has no page", i)
		}
		after := pages[i*apart+1 : (i+1)*apart]
		if _, stored := w.fresh(after[0]); stored {
			made++
			w.wantStored("after a page of a walk", after, []bool{true, true, true})
		} else {
			w.wantStored("after a page that is one too many", after, []bool{false, false, false})
		}
	}
	if made != fill.MaxAheads {
		t.Errorf("%d of %d walks have pages made in advance, want %d", made, walks, fill.MaxAheads)
	}
	w.wantNonePending()
	// The places are free again.
	w.forget()
	w.expect(pages[0])
	w.filler.Fill(t.Context(), requested[:1])
	w.wantStored("later", pages[:apart+1], []bool{true, true, true, true, false})
}

func TestAPageMadeInAdvanceReplacesNone(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	pages := w.second(5)
	w.filler.Fill(t.Context(), fillOf(pages[2])) // as if others had read it
	w.filler.Fill(t.Context(), fillOf(pages[0]))
	ttl, err := w.redis.TTL(t.Context(), string(pages[2].Key())).Result()
	if err != nil || ttl <= time.Minute {
		t.Errorf("a page that was requested is kept for %s, %v, want it kept as long as before", ttl, err)
	}
	w.forget()
	ahead := w.filler.Answer(t.Context(), fillOf(pages[0]))
	w.publish(2, w.ballot(1, 0)) // one of the last
	w.filler.Fill(t.Context(), fillOf(pages[1]))
	ahead()
	if v, fresh := w.fresh(pages[1]); !fresh || v.Revision != 2 {
		t.Errorf("got revision %d for the next page, want the newer one kept", v.Revision)
	}
}
