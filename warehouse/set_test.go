package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
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
			if err := member(set.With(t.Context())); err != nil {
				t.Error(err)
			}
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
		if got := fmt.Sprint(c.of.keys); got != c.want {
			t.Errorf("%s keys were read as %s, want %s", name, got, c.want)
		}
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
	if got := fmt.Sprint(together.keys); got != "[[1 1]]" {
		t.Errorf("got the reads %s, want both in one", got)
	}
}
