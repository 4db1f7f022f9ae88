package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/test/env"
)

// It is not parallel: it takes the machine for itself.
func TestAThousandCallersOfAColdAnswerShareItsRead(t *testing.T) {
	// few allow for callers that arrive after the others, or before a publication that the
	// node learns of meanwhile.
	const callers, few = 1000, 10
	redis := env.Redis(t)
	n := startNode(t, settings{redisURL: redis.URL})
	n.client.Timeout = 10 * soon // the node gives up first
	monitored := redis.Monitor()
	redis.Pause()
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.base+hotPath, http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			response, err := n.client.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Errorf("got %d, want 200", response.StatusCode)
			}
		})
	}
	env.Until(t, func() error {
		if got := n.counts("pnyx_cache_joined_reads_total")[""]; got < callers-few {
			return fmt.Errorf("%v callers wait for another, want %d", got, callers-few)
		}
		return nil
	})
	redis.Resume()
	calling.Wait()
	if got := monitored(string(cache.DAODetailKey("uniswap"))); len(got) == 0 || len(got) > few {
		t.Errorf("got %d reads, want 1 to %d: %q", len(got), few, got)
	}
}

func TestAReadSurvivesTheCallerThatBeganIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, begun := api.NewJoinedReads(), 0
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
			if got, err := reads.Join(ctx, "a", 0, read(ctx)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("first caller: got %q, %v, want that its time is up", got, err)
			}
		})
		synctest.Wait()
		for range 10 {
			calling.Go(func() {
				if got, err := reads.Join(t.Context(), "a", 0, read(t.Context())); err != nil || string(got) != "data" {
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
		reads, release := api.NewJoinedReads(), make(chan struct{})
		var calling sync.WaitGroup
		calling.Go(func() {
			got, err := reads.Join(t.Context(), "a", 0, func() ([]byte, error) { <-release; return []byte("data"), nil })
			if err != nil || string(got) != "data" {
				t.Errorf("first caller: got %q, %v, want data", got, err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := reads.Join(ctx, "a", 0, func() ([]byte, error) { return nil, errors.New("it reads itself") })
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
		answer string
		drops  uint64
		want   int
	}{
		"the same answer":     {"a", 0, 1},
		"another answer":      {"b", 0, 2},
		"after a publication": {"a", 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reads, release := api.NewJoinedReads(), make(chan struct{})
				var begun atomic.Int64
				read := func() ([]byte, error) { begun.Add(1); <-release; return []byte("data"), nil } //nolint:unparam // as reads are
				var calling sync.WaitGroup
				for _, key := range []struct {
					answer string
					drops  uint64
				}{{"a", 0}, {c.answer, c.drops}} {
					calling.Go(func() {
						if got, err := reads.Join(t.Context(), key.answer, key.drops, read); err != nil || string(got) != "data" {
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
		reads, release := api.NewJoinedReads(), make(chan struct{})
		var calling sync.WaitGroup
		calling.Go(func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is swallowed")
				}
			}()
			_, _ = reads.Join(t.Context(), "a", 0, func() ([]byte, error) { <-release; panic("broken") })
		})
		synctest.Wait()
		calling.Go(func() {
			if got, err := reads.Join(t.Context(), "a", 0, func() ([]byte, error) { return []byte("data"), nil }); err != nil || string(got) != "data" {
				t.Errorf("got %q, %v, want data", got, err)
			}
		})
		synctest.Wait()
		close(release)
		calling.Wait()
	})
}
