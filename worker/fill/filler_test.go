package fill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

func newFiller(store *cache.Store, timeout time.Duration, log io.Writer) *Filler {
	return New(Options{Store: store, Timeout: timeout, Logger: slog.New(slog.NewTextHandler(log, nil)), Metrics: prometheus.NewRegistry()})
}

func TestAPageIsReadAgainWhenItsCopyIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	replace := func(revision, generation uint64) {
		writer := store.NewWriter(revision)
		writer.SetVersion(t.Context(), query.Ballots{Proposal: "p1_large"}.Scope(), generation)
		env.MustDo(t, writer.Flush(t.Context()))
	}
	scope := query.Ballots{Proposal: "p1_large"}.Scope()
	building := page{Filler: &Filler{Options: Options{Store: store}}}
	var read []uint64
	from := func(generation uint64) error {
		read = append(read, generation)
		if generation == 10 {
			replace(2, 20)
		}
		return nil
	}
	if err := building.fromSortedCopy(t.Context(), scope, from); !errors.Is(err, errAbsent) {
		t.Fatalf("without a version: got %v, want nothing", err)
	}
	replace(1, 10)
	env.MustDo(t, building.fromSortedCopy(t.Context(), scope, from))
	if !slices.Equal(read, []uint64{10, 20}) || building.head.Revision != 2 {
		t.Errorf("read generations %v at revision %d, want 10, then 20, at revision 2", read, building.head.Revision)
	}
}

// Only a removal, or a subject that nobody has published, says that there is no page.
func TestAPageWhoseVersionIsLostIsNotAbsent(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	env.MustDo(t, env.AnnounceState(t.Context(), store, cache.PublicationState{Revision: 5}))
	write := func(revision uint64, change func(*cache.Writer)) {
		writer := store.NewWriter(revision)
		change(writer)
		env.MustDo(t, writer.Flush(t.Context()))
	}
	building := page{Filler: &Filler{Options: Options{Store: store}}}
	for i, c := range []struct {
		write func(*cache.Writer)
		at    uint64
		lost  bool
	}{
		{func(*cache.Writer) {}, 5, false},
		{func(w *cache.Writer) { w.SetView(t.Context(), cache.DAODetailKey("dao"), cache.View{}) }, 6, false},
		{func(w *cache.Writer) { w.SetView(t.Context(), cache.ProposalDetailKey("p1_lost"), cache.View{}) }, 5, true},
		{func(w *cache.Writer) { w.RemoveVersion(t.Context(), query.Ballots{Proposal: "p1_lost"}.Scope()) }, 5, false},
	} {
		write(c.at, c.write)
		var errs [2]error
		for j, scope := range []query.Scope{query.Ballots{Proposal: "p1_lost"}.Scope(), query.Voters{DAOID: "dao"}.Scope()} {
			errs[j] = building.fromSortedCopy(t.Context(), scope, func(uint64) error { return nil })
		}
		if !errors.Is(errs[1], errAbsent) || errors.Is(errs[0], cache.ErrCorrupt) != c.lost {
			t.Errorf("%d: got %v, want the version lost: %t", i, errs, c.lost)
		}
	}
	env.Want(t, true, env.Must(store.Standing(t.Context()))(t).RepublishRequested, "everything to be published again")
	for _, lost := range []bool{false, true} {
		if _, err := building.fromList(t.Context(), query.Proposals{}.Scope(), nil); errors.Is(err, cache.ErrCorrupt) != lost {
			t.Errorf("list of proposals: got %v, want its version lost: %t", err, lost)
		}
		write(5, func(w *cache.Writer) { w.SetView(t.Context(), cache.DataStatusKey(""), cache.View{}) })
	}
}

func TestPagesThatWaitForAPublicationToAnEmptyRedisLogOneLine(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	var log bytes.Buffer
	filler := newFiller(store, time.Minute, &log)
	deadline := governance.TimestampOf(time.Now().Add(time.Hour))
	for _, voter := range []query.Voter{"0x1", "0x2", "0x3"} {
		filler.fill(t.Context(), []cache.Fill{{Page: cache.NewPageRequest(query.Profile{Voter: voter}), Deadline: deadline}}, func() {})
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=INFO") {
		t.Errorf("got %q, want one line of level INFO", got)
	}
}

func TestAPageThatWasStoredMeanwhileIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	wanted := query.Ballots{Proposal: "p1_large"}
	request := cache.NewPageRequest(wanted)
	writer := store.NewWriter(7)
	writer.SetVersion(t.Context(), wanted.Scope(), 0)
	env.MustDo(t, writer.Flush(t.Context()))
	var log bytes.Buffer
	// Without a warehouse, a page that is made fails, and that is logged.
	filler := newFiller(store, time.Minute, &log)
	for _, c := range []struct {
		revision uint64
		made     bool
	}{{6, true}, {7, false}, {8, false}} {
		t.Run(fmt.Sprintf("revision %d", c.revision), func(t *testing.T) {
			log.Reset()
			filler.unpublishedLogged.Store(0)
			env.MustDo(t, errors.Join(store.Fills().Complete(t.Context(), []cache.CompletedFill{{Page: request, View: &cache.View{Revision: c.revision}}})...))
			filler.fill(t.Context(), []cache.Fill{{Page: request, Deadline: governance.TimestampOf(time.Now().Add(time.Hour))}}, func() {})
			if made := log.Len() > 0; made != c.made {
				t.Errorf("got made %t, want %t for version 7: %s", made, c.made, &log)
			}
		})
	}
}

func TestWhenThereIsTooMuchToDoTheNewestRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	now := time.Now()
	asked := func(ago, left time.Duration) cache.Fill {
		return cache.Fill{EnqueuedAt: governance.TimestampOf(now.Add(-ago)), Deadline: governance.TimestampOf(now.Add(left))}
	}
	for name, c := range map[string]struct {
		fill cache.Fill
		next cache.QueueEnd
		late bool
	}{
		"no time in the queue":        {asked(time.Millisecond, 5*time.Second), cache.Oldest, false},
		"no time, and little to make": {asked(time.Millisecond, 100*time.Millisecond), cache.Oldest, false},
		"long in the queue":           {asked(2*time.Second, 3*time.Second), cache.Newest, false},
		"long, and little left":       {asked(4900*time.Millisecond, 100*time.Millisecond), cache.Newest, true},
		"nobody is there any more":    {asked(6*time.Second, -time.Second), cache.Newest, true},
		"of a version without a time": {cache.Fill{Deadline: governance.TimestampOf(now.Add(time.Second))}, cache.Oldest, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if next, late := nextEnd(c.fill, now), isTooLate(c.fill, now); next != c.next || late != c.late {
				t.Errorf("%s: got the %s next, too late %v, want %s, %v", name, next, late, c.next, c.late)
			}
		})
	}
}

// A dossier whose callers do not wait is made however late and slow, or it would be pending for ever.
func TestAKeptPageIsMadeAfterTheDeadlineAndTheTimeout(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	filler := newFiller(store, time.Nanosecond, io.Discard)
	made := 0
	filler.kinds[query.KindDossier] = kindOfPage{build: func(ctx context.Context, p *page, _ cache.PageRequest) (any, error) {
		made++
		expired := governance.TimestampOf(time.Now().Add(-time.Second))
		p.head.FreshUntil = &expired
		return "made", ctx.Err()
	}, setSize: 1, sets: 1}
	past := governance.TimestampOf(time.Now().Add(-time.Hour))
	wanted := cache.Fill{Page: cache.NewPageRequest(query.Dossier{Proposal: "p1_slow"}), EnqueuedAt: past, Deadline: past}
	for _, c := range []struct {
		kept bool
		made int
	}{{false, 0}, {true, 1}, {true, 1}} {
		wanted.Kept = c.kept
		filler.fill(t.Context(), []cache.Fill{wanted}, func() {})
		if _, _, err := store.Page(t.Context(), wanted.Page); made != c.made || (err == nil) != c.kept {
			t.Errorf("kept %t: made %d times, read: %v; want %d", c.kept, made, err, c.made)
		}
	}
	if nextEnd(wanted, time.Now()) != cache.Oldest {
		t.Error("got the newest next, want the oldest")
	}
}

func TestAPageThatCannotBeMadeFailsNoOtherOfItsSet(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	filler := newFiller(store, time.Minute, io.Discard)
	bad := cache.NewPageRequest(query.Profile{Voter: "bad"}).Key()
	var built sync.Map
	filler.kinds[query.KindProfile] = kindOfPage{build: func(_ context.Context, _ *page, r cache.PageRequest) (any, error) {
		// What is shared fails for all pages, and then the page that is the cause.
		if _, again := built.LoadOrStore(r.Key(), true); !again {
			return nil, errors.New("a statement failed")
		}
		if r.Key() == bad {
			panic("a fault in what makes the page")
		}
		return "made", nil
	}, setSize: maxSet, sets: 1}
	var fills []cache.Fill
	for _, voter := range []query.Voter{"0x1", "bad", "0x2"} {
		fills = append(fills, cache.Fill{
			Page: cache.NewPageRequest(query.Profile{Voter: voter}), Deadline: governance.TimestampOf(time.Now().Add(time.Hour)),
		})
	}
	read := 0
	filler.fill(t.Context(), fills, func() { read++ })
	env.Want(t, 1, read, "times that the set has read what it needs")
	for _, fill := range fills {
		_, _, err := store.Page(t.Context(), fill.Page)
		if missing := errors.Is(err, cache.ErrMiss); missing != (fill.Page.Key() == bad) {
			t.Errorf("%s: got %v, want the page missing only if it cannot be made", fill.Page.Key(), err)
		}
	}
}

func TestEachKindLeavesATurnToOthers(t *testing.T) {
	t.Parallel()
	filler := New(Options{Metrics: prometheus.NewRegistry()})
	for kind, k := range filler.kinds {
		t.Run(string(kind), func(t *testing.T) {
			turns := New(Options{Metrics: prometheus.NewRegistry()}).turns
			var last *turn
			for range k.sets {
				if !slices.Contains(turns.open(), kind) {
					t.Fatalf("got no turn below %d", k.sets)
				}
				last = turns.take(kind)
			}
			if slices.Contains(turns.open(), kind) {
				t.Errorf("got another turn after %d", k.sets)
			}
			if len(turns.open()) != len(filler.kinds)-1 || k.sets >= fillConcurrency {
				t.Errorf("got the open kinds %v and %d turns, want all others and a turn left", turns.open(), k.sets)
			}
			last.release()
			if open := turns.open(); open[len(open)-1] != kind {
				t.Errorf("got the open kinds %v, want %s last: it was taken last", open, kind)
			}
		})
	}
}

func TestASetWaitsForThePreviousOneOfItsKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(Options{Metrics: prometheus.NewRegistry()}).turns
		waited := func(next *turn) (time.Duration, bool) {
			began := time.Now()
			more := next.gather(t.Context())
			return time.Since(began), more
		}
		first, other, single := turns.take(query.KindBallots), turns.take(query.KindProfile), turns.take(query.KindTopics)
		for name, next := range map[string]*turn{"first": first, "another kind": other, "pages alone": single, "pages alone again": turns.take(query.KindTopics)} {
			if took, more := waited(next); took > 0 || more {
				t.Errorf("%s: waited %s, want no wait", name, took)
			}
		}
		second := turns.take(query.KindBallots)
		if took, more := waited(second); took != gatherTime || !more {
			t.Errorf("after a slow set: waited %s, %t, want %s", took, more, gatherTime)
		}
		first.release()
		third := turns.take(query.KindBallots)
		time.AfterFunc(gatherTime/2, second.release)
		if took, more := waited(third); took != gatherTime/2 || !more {
			t.Errorf("after a quick set: waited %s, %t, want %s", took, more, gatherTime/2)
		}
		fourth := turns.take(query.KindBallots)
		time.AfterFunc(gatherTime/4, third.endReading)
		if took, more := waited(fourth); took != gatherTime/4 || !more {
			t.Errorf("while a set is stored: waited %s, %t, want %s", took, more, gatherTime/4)
		}
		third.release()
	})
}

func TestOneIdleWorkerWaitsForAllKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(Options{Metrics: prometheus.NewRegistry()}).turns
		type wait struct {
			kinds []query.Kind
			end   func()
		}
		waits := make(chan wait, fillConcurrency)
		ctx, stop := context.WithCancel(t.Context())
		ended := false
		worker := func() {
			kinds, end := turns.await(ctx, func() { ended = true })
			waits <- wait{kinds, end}
		}
		want := func(what string, open int) (found wait) {
			t.Helper()
			synctest.Wait()
			select {
			case found = <-waits:
			default:
			}
			if len(found.kinds) != open {
				t.Fatalf("%s: got a worker that waits for %d kinds, want %d", what, len(found.kinds), open)
			}
			return found
		}
		all := len(turns.kinds)
		go worker()
		first := want("alone", all)
		go worker()
		want("while another waits for all kinds", 0)
		first.end()
		first.end()
		second := want("when the other has a request", all)
		second.end()
		// A worker that waits while a kind has no turn left does not wait for that kind.
		var taken []*turn
		for range turns.kinds[query.KindBallots].sets {
			taken = append(taken, turns.take(query.KindBallots))
		}
		go worker()
		third := want("without one kind", all-1)
		go worker()
		want("and another", 0)
		taken[0].release()
		want("when the kind has a turn again", 0)
		if !ended {
			t.Fatal("the wait without that kind goes on, want it ended")
		}
		third.end()
		want("when that wait has ended", all)
		go worker()
		want("and another", 0)
		stop()
		if found := want("at the end", 0); found.end == nil {
			t.Error("got a worker that waits on, want it to end with its context")
		}
	})
}

// lateHeartbeat holds the first heartbeat back until the fill is completed, or no longer wants it.
type lateHeartbeat struct {
	begun, completed, ended chan struct{}
}

func (h lateHeartbeat) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h lateHeartbeat) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook holds the pipeline that begins with SET back, and waits for the pipeline of Fills.Complete.
func (h lateHeartbeat) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		switch cmds[0].Name() {
		case "set":
			close(h.begun)
			defer close(h.ended)
			select {
			case <-h.completed:
				return next(context.WithoutCancel(ctx), cmds)
			case <-ctx.Done():
				cmds[0].SetErr(ctx.Err())
				return ctx.Err()
			}
		case "eval":
			defer close(h.completed)
		}
		return next(ctx, cmds)
	}
}

func TestAttackALateHeartbeatDoesNotHoldACompletedPage(t *testing.T) {
	t.Parallel()
	url := env.EmbeddedRedis(t)
	store := env.Store(t, url)
	hook := lateHeartbeat{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	cache.Client(store.Conn()).AddHook(hook)
	filler := New(Options{
		Store: store, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	filler.kinds[query.KindBallots] = kindOfPage{build: func(context.Context, *page, cache.PageRequest) (any, error) {
		<-hook.begun
		return nil, errAbsent
	}, setSize: 1}
	filler.fill(t.Context(), []cache.Fill{{
		Page:     cache.NewPageRequest(query.Ballots{Proposal: "p1_x"}),
		Deadline: governance.TimestampOf(time.Now().Add(time.Minute)),
	}}, func() {})
	<-hook.ended
	pending := env.Must(env.RedisClient(t, url).Keys(t.Context(), "*pending:*").Result())(t)
	env.Want(t, 0, len(pending), "the pending pages", pending, "none: the page would not be enqueued again")
}
