package joined_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api/apierror"
	"pnyx/api/joined"
)

func newReads() *joined.Reads[[]byte] {
	return joined.NewReads[[]byte](prometheus.NewCounter(prometheus.CounterOpts{}))
}

func TestAReadSurvivesTheCallerThatBeganIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, begun := newReads(), 0
		read := func(ctx context.Context) func() ([]byte, error) {
			return func() ([]byte, error) {
				begun++ // one at a time
				if begun == 1 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return []byte("data"), nil
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var calling sync.WaitGroup
		calling.Go(func() {
			if got, err := reads.Join(ctx, joined.Key{Name: "a"}, read(ctx)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("first caller: got %q, %v, want that its time is up", got, err)
			}
		})
		synctest.Wait()
		for range 10 {
			calling.Go(func() {
				if got, err := reads.Join(t.Context(), joined.Key{Name: "a"}, read(t.Context())); err != nil || string(got) != "data" {
					t.Errorf("got %q, %v, want data", got, err)
				}
			})
		}
		calling.Wait()
	})
}

func TestACallerWaitsForAReadUntilItsOwnDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, release := newReads(), make(chan struct{})
		var calling sync.WaitGroup
		calling.Go(func() {
			got, err := reads.Join(t.Context(), joined.Key{Name: "a"}, func() ([]byte, error) { <-release; return []byte("data"), nil })
			if err != nil || string(got) != "data" {
				t.Errorf("first caller: got %q, %v, want data", got, err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := reads.Join(ctx, joined.Key{Name: "a"}, func() ([]byte, error) { return nil, errors.New("it reads itself") })
		failed, is := errors.AsType[*apierror.Error](err)
		if !is || failed.Code != apierror.CodeUnavailable {
			t.Errorf("second caller: got %q, %v, want %s", got, err, apierror.CodeUnavailable)
		}
		close(release)
		calling.Wait()
	})
}

func TestReadsAreJoinedForOneAnswerBetweenTwoPublications(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second joined.Key
		want   int
	}{
		"the same answer":     {joined.Key{Name: "a"}, 1},
		"another answer":      {joined.Key{Name: "b"}, 2},
		"after a publication": {joined.Key{Name: "a", Drops: 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reads, release := newReads(), make(chan struct{})
				var begun atomic.Int64
				read := func() ([]byte, error) { begun.Add(1); <-release; return []byte("data"), nil } //nolint:unparam // as reads are
				var calling sync.WaitGroup
				for _, key := range []joined.Key{{Name: "a"}, c.second} {
					calling.Go(func() {
						if got, err := reads.Join(t.Context(), key, read); err != nil || string(got) != "data" {
							t.Errorf("got %q, %v, want data", got, err)
						}
					})
				}
				synctest.Wait()
				close(release)
				calling.Wait()
				if got := begun.Load(); got != int64(c.want) {
					t.Errorf("got %d reads, want %d", got, c.want)
				}
			})
		})
	}
}

func TestAReadThatPanicsIsTriedAgainByTheNextCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, release := newReads(), make(chan struct{})
		var calling sync.WaitGroup
		calling.Go(func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is swallowed")
				}
			}()
			_, _ = reads.Join(t.Context(), joined.Key{Name: "a"}, func() ([]byte, error) { <-release; panic("broken") })
		})
		synctest.Wait()
		calling.Go(func() {
			if got, err := reads.Join(t.Context(), joined.Key{Name: "a"}, func() ([]byte, error) { return []byte("data"), nil }); err != nil || string(got) != "data" {
				t.Errorf("got %q, %v, want data", got, err)
			}
		})
		synctest.Wait()
		close(release)
		calling.Wait()
	})
}
