package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/test/check"
)

// calls records which keys were read together.
type calls struct {
	mu   sync.Mutex
	keys [][]int
}

// double returns twice each key; it fails for a negative one.
func (c *calls) double(_ context.Context, _ *Warehouse, keys []int) ([]int, error) {
	c.mu.Lock()
	c.keys = append(c.keys, slices.Sorted(slices.Values(keys)))
	c.mu.Unlock()
	values := make([]int, len(keys))
	for i, key := range keys {
		if key < 0 {
			return nil, errors.New("a key is negative")
		}
		values[i] = 2 * key
	}
	return values, nil
}

// runSet runs the members of a set to their end.
func runSet(t *testing.T, members ...func(context.Context) error) {
	t.Helper()
	set := NewSet(len(members))
	var running sync.WaitGroup
	for _, member := range members {
		running.Go(func() {
			defer set.Leave()
			check.WantError(t, nil, member(set.With(t.Context())))
		})
	}
	running.Wait()
}

func TestReadsOfOneShapeAreAnsweredTogether(t *testing.T) {
	t.Parallel()
	var even, odd calls
	var members []func(context.Context) error
	for key := range 6 {
		members = append(members, func(ctx context.Context) error {
			of, shape := &even, "even"
			if key%2 == 1 {
				of, shape = &odd, "odd"
			}
			for _, wanted := range []int{key, key + 10} {
				got, err := Share(ctx, nil, shape, wanted, of.double)
				if err != nil || got != 2*wanted {
					return fmt.Errorf("got %d for %d, %w", got, wanted, err)
				}
			}
			return nil
		})
	}
	members = append(members, func(context.Context) error { return nil }) // reads nothing
	runSet(t, members...)
	for name, c := range map[string]struct {
		of   *calls
		want string
	}{"even": {&even, "[[0 2 4] [10 12 14]]"}, "odd": {&odd, "[[1 3 5] [11 13 15]]"}} {
		check.Want(t, c.want, fmt.Sprint(c.of.keys), name, "keys were read")
	}
}

func TestAnErrorIsThatOfTheReadsItAnswers(t *testing.T) {
	t.Parallel()
	var some, others calls
	read := func(shape string, of *calls, key int, fails bool) func(context.Context) error {
		return func(ctx context.Context) error {
			if _, err := Share(ctx, nil, shape, key, of.double); (err != nil) != fails {
				return fmt.Errorf("%s %d: got the error %w, want one: %t", shape, key, err, fails)
			}
			return nil
		}
	}
	runSet(t, read("some", &some, 1, true), read("some", &some, -1, true), read("other", &others, 2, false))
}

func TestAReadThatIsAloneIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	var together calls
	answered := make(chan struct{})
	member := func(ctx context.Context) error {
		_, err := Share(ctx, nil, "shape", 1, together.double)
		answered <- struct{}{}
		return err
	}
	runSet(t, member, member, func(ctx context.Context) error {
		_, err := Alone(ctx, func(context.Context) (int, error) {
			<-answered
			<-answered
			return 0, nil
		})
		return err
	})
	check.Want(t, "[[1 1]]", fmt.Sprint(together.keys), "keys of both reads in one")
}

// serving returns turns of a server with so many threads, and a caller that waits.
func serving(threads uint64) *turns {
	t := newTurns(threads)
	t.serving.Add(1)
	return t
}

func TestStatementsThatYieldRunOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := serving(2)
		_, end := turns.yield(Yielding(t.Context()))
		began, next := time.Now(), make(chan time.Duration)
		go func() {
			_, end := turns.yield(Yielding(t.Context()))
			next <- time.Since(began)
			end()
		}()
		<-time.After(maxTurnWait / 2)
		end()
		check.Want(t, maxTurnWait/2, <-next, "the second statement began after", "it at the end of the first, after")
		end() // again, as by a second Close
		if _, end := turns.yield(Yielding(t.Context())); end == nil {
			t.Error("got no turn for the third statement, want one")
		}
	})
}

func TestNoStatementWaitsLongForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := serving(2)
		turns.yield(Yielding(t.Context()))
		for range 3 {
			began := time.Now()
			threads, end := turns.yield(Yielding(t.Context()))
			if got := time.Since(began); got != maxTurnWait || threads != 1 || end != nil {
				t.Errorf("got %d threads after %s, want 1 after %s", threads, got, maxTurnWait)
			}
		}
		ended, stop := context.WithCancel(Yielding(t.Context()))
		stop()
		began := time.Now()
		turns.yield(ended)
		check.Want(t, 0, time.Since(began), "a statement that is no longer wanted waited")
	})
}

// Whether or not callers wait, publications have the other cores for themselves.
func TestStatementsInTheBackgroundRunOneAtATime(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string]func() *turns{
		"callers wait": func() *turns { return serving(2) }, "nobody waits": func() *turns { return newTurns(2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turns, began := turns(), time.Now()
				ended := make(chan time.Duration)
				for range 3 {
					go func() {
						_, end := turns.yield(InBackground(t.Context()))
						<-time.After(time.Second)
						end()
						ended <- time.Since(began)
					}()
				}
				for i := range 3 {
					check.Want(t, time.Duration(i+1)*time.Second, <-ended, "statement", i, "ended after")
				}
				if _, end := turns.yield(Yielding(t.Context())); time.Since(began) != 3*time.Second {
					t.Errorf("got a turn after %s, want one at once", time.Since(began))
				} else if end != nil {
					end()
				}
			})
		})
	}
}

func TestNoStatementInTheBackgroundWaitsLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, began := newTurns(2), time.Now()
		_, first := turns.yield(InBackground(t.Context()))
		threads, end := turns.yield(InBackground(t.Context()))
		if got := time.Since(began); got != maxBackgroundWait || threads != 1 || end != nil {
			t.Errorf("got %d threads after %s, want 1 after %s", threads, got, maxBackgroundWait)
		}
		first()
		if _, end := turns.yield(InBackground(t.Context())); end == nil || time.Since(began) != maxBackgroundWait {
			t.Errorf("got a turn after %s, want one at once", time.Since(began))
		}
	})
}

func TestNoStatementInTheBackgroundBeginsDuringAPublication(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, began := &Warehouse{Conn: connection{turns: newTurns(2)}}, time.Now()
		ended := w.HoldBackground(t.Context())
		if w.Conn.turns.yield(Yielding(t.Context())); time.Since(began) != 0 {
			t.Error("a statement of the publication waits")
		}
		time.AfterFunc(time.Second, ended)
		_, end := w.Conn.turns.yield(InBackground(t.Context()))
		if got := time.Since(began); got != time.Second || end == nil {
			t.Errorf("got a turn after %s, want one after the publication", got)
		}
		end()
		defer w.HoldBackground(t.Context())()
		if w.Conn.turns.yield(InBackground(t.Context())); time.Since(began) != time.Second+maxBackgroundWait {
			t.Errorf("got a turn after %s, want one after %s", time.Since(began), time.Second+maxBackgroundWait)
		}
	})
}

func TestCallersAreExpectedForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &Warehouse{Conn: connection{turns: newTurns(2)}}
		one, two := w.Serve(), w.Serve()
		one()
		<-time.After(servingFor)
		if !w.Conn.turns.areNeeded() {
			t.Error("one caller still waits: got no turns, want turns")
		}
		two()
		if !w.Conn.turns.areNeeded() {
			t.Error("a moment later: got no turns, want turns")
		}
		<-time.After(servingFor)
		if w.Conn.turns.areNeeded() {
			t.Error("when nobody has waited for long: got turns, want none")
		}
	})
}
