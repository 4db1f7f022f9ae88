package changelog_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/worker/changelog"
)

func TestMain(m *testing.M) { env.Main(m) }

// bench is a log with its copy. state is published, so that the copy may be read.
type bench struct {
	*testing.T
	warehouse *warehouse.Warehouse
	store     *cache.Store
	redisURL  string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	url := env.EmbeddedRedis(t)
	store := env.Store(t, url)
	return &bench{t, env.Warehouse(t), store, url}
}

func (b *bench) open(format string) *changelog.Log {
	return changelog.New(changelog.Options{
		Warehouse: b.warehouse, Store: b.store, Format: format, OnChanges: func(int, int64) {},
	})
}

func (b *bench) publish(log *changelog.Log) changelog.Told {
	b.Helper()
	told := env.Must(log.Open(b.Context()))(b)
	lease := b.store.NewLease(time.Minute)
	env.MustDo(b, lease.Acquire(b.Context()))
	token := env.Must(lease.BeginFullPublication(b.Context()))(b)
	env.MustDo(b, lease.SetPublicationState(b.Context(), cache.PublicationState{Revision: 1, ChangesEpoch: told.Epoch}, token))
	env.MustDo(b, lease.Release(b.Context()))
	return told
}

func (b *bench) add(log *changelog.Log, keys ...string) {
	var changes []governance.Change
	for _, key := range keys {
		changes = append(changes, governance.Change{Kind: governance.TopicChange, Key: key, DAOID: "dao", ChangedAt: 1, Revision: "2"})
	}
	env.WantError(b, nil, log.Add(b.Context(), changes, nil))
}

func (b *bench) read(after cache.ChangeID) (keys []string, slice cache.ChangeSlice) {
	b.Helper()
	slice = env.Must(b.store.Changes(b.Context(), after, 100_000))(b)
	for _, row := range slice.Rows {
		keys = append(keys, row.Key)
	}
	return keys, slice
}

func TestChangesOutliveAFlush(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.open("")
	b.publish(first)
	b.add(first, "a", "b")
	_, place := b.read(cache.ChangeID{})
	b.add(first, "c")
	env.FlushRedis(t, env.RedisClient(t, b.redisURL))
	b.add(first, "d") // before anything else notices
	second := b.open("")
	b.publish(second)
	b.add(second, "e")
	keys, slice := b.read(place.Last)
	if want := []string{"c", "d", "e"}; !slices.Equal(keys, want) || place.Last.Before(slice.First) || slice.State.ChangesEpoch != place.State.ChangesEpoch {
		t.Errorf("got %v in epoch %d from %v, want %v in %d, from %v or before",
			keys, slice.State.ChangesEpoch, slice.First, want, place.State.ChangesEpoch, place.Last)
	}
}

func TestARowThatRedisNeverGotIsServed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := b.open("")
	epoch := b.publish(log).Epoch
	b.add(log, "a")
	_, place := b.read(cache.ChangeID{})
	// A worker that dies between the warehouse and Redis.
	row := counts.LoggedChange{AtMs: place.Last.Time + 1, Change: governance.Change{Kind: "dao", Key: "lost", DAOID: "lost", Revision: "3"}}
	env.MustDo(t, counts.NewChangeLog(b.warehouse).Append(t.Context(), epoch, []counts.LoggedChange{row}))
	b.publish(b.open(""))
	if keys, _ := b.read(place.Last); !slices.Equal(keys, []string{"lost"}) {
		t.Errorf("got %v, want the lost row", keys)
	}
}

func TestWorkersAtOnceLoseNoRow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.publish(b.open(""))
	_, begin := b.read(cache.ChangeID{})
	var workers sync.WaitGroup
	want := map[string]bool{}
	for w := range 2 {
		log := b.open("")
		for i := range 20 {
			want[fmt.Sprint(w, "-", i)] = true
		}
		workers.Go(func() {
			for i := range 20 {
				b.add(log, fmt.Sprint(w, "-", i))
			}
		})
	}
	seen := map[string]bool{}
	place := begin.Last
	read := func() {
		keys, slice := b.read(place)
		for _, key := range keys {
			seen[key] = true
		}
		if len(slice.Rows) > 0 {
			place = slice.Rows[len(slice.Rows)-1].ID
		}
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		read()
	}
	env.FlushRedis(t, env.RedisClient(t, b.redisURL))
	b.publish(b.open(""))
	copied, slice := b.read(begin.Last)
	all := map[string]bool{}
	for _, key := range copied {
		all[key] = true
	}
	if len(seen) != len(want) || len(all) != len(want) || place.Before(slice.First) {
		t.Errorf("read %d keys as they came and %d from the log, want %d", len(seen), len(all), len(want))
	}
}

func TestChangesOlderThanAWeekExpire(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := counts.NewChangeLog(b.warehouse)
	now := time.Now()
	began := now.Add(-30 * 24 * time.Hour)
	epoch := uint64(began.UnixMicro())
	var rows []counts.LoggedChange
	for _, days := range []int{9, 8, 6, 1} {
		rows = append(rows, counts.LoggedChange{
			AtMs:   uint64(now.AddDate(0, 0, -days).UnixMilli()),
			Change: governance.Change{Kind: "dao", Key: fmt.Sprint(days), DAOID: "d", Revision: "1"},
		})
	}
	env.MustDo(t, log.Append(t.Context(), epoch, rows))
	env.MustDo(t, log.SetPosition(t.Context(), counts.LogPosition, counts.ChangePosition{Epoch: epoch}))
	b.publish(b.open(""))
	keys, slice := b.read(cache.ChangeID{})
	week := uint64(now.Add(-cache.ChangeTTL).UnixMilli())
	if !slices.Equal(keys, []string{"6", "1"}) || slice.First.Time < week || slice.First.Time > week+uint64(time.Hour.Milliseconds()) {
		t.Errorf("got %v from %v, want those of a week from %d", keys, slice.First, week)
	}
}

func TestAnotherFormatIsToldInFull(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, step := range []struct {
		format            string
		known, everything bool
	}{{"1", false, false}, {"1", true, false}, {"2", true, true}, {"2", true, false}} {
		log := b.open(step.format)
		told := b.publish(log)
		if (told.Position != nil) != step.known || told.Everything != step.everything {
			t.Errorf("%+v: got %+v", step, told)
		}
		want := counts.ChangePosition{CommittedThrough: 5, Revision: 6, LaggingDAOs: []string{"d"}}
		if told.Position != nil && (told.Position.CommittedThrough != 5 || told.Position.Revision != 6 || !slices.Equal(told.Position.LaggingDAOs, want.LaggingDAOs)) {
			t.Errorf("got position %+v, want %+v", told.Position, want)
		}
		env.MustDo(t, log.Advance(t.Context(), want))
	}
}

func TestWhatAVersionWithoutTheLogPublishedIsToldInFull(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	state := counts.ProposalState{Revision: 7}
	env.MustDo(t, counts.WriteProposalStates(t.Context(), b.warehouse, []counts.ProposalState{state}))
	log := b.open("")
	if told := b.publish(log); told.Position != nil || !told.Everything {
		t.Errorf("got %+v, want everything told", told)
	}
	before := uint64(time.Now().Add(-20 * time.Hour).UnixMilli())
	if _, slice := b.read(cache.ChangeID{}); slice.First.Time > before {
		t.Errorf("the log begins at %v, want it readable from a time before the upgrade", slice.First)
	}
	env.MustDo(t, log.Advance(t.Context(), counts.ChangePosition{Revision: 8}))
	if told := b.publish(b.open("")); told.Everything {
		t.Errorf("got %+v, want it told once", told)
	}
}
