package publish

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

func TestGroupsAreReadAheadAndWrittenInOrder(t *testing.T) {
	t.Parallel()
	var reading, most atomic.Int64
	held := make(chan struct{})
	var written []int
	err := readAhead(t.Context(), []int{0, 1, 2, 3, 4},
		func(_ context.Context, group int) (int, error) {
			most.Store(max(most.Load(), reading.Add(1)))
			defer reading.Add(-1)
			switch group {
			case 0:
				<-held // until the second is read too
			case 1:
				close(held)
			}
			return 10 * group, nil
		},
		func(_ context.Context, rows int) error {
			written = append(written, rows)
			return nil
		})
	if want := []int{0, 10, 20, 30, 40}; err != nil || !slices.Equal(written, want) {
		t.Errorf("wrote %v (%v), want %v", written, err, want)
	}
	if most.Load() > 3 {
		t.Errorf("%d groups were read at a time, want at most three", most.Load())
	}
}

func TestReadingAheadEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, test := range map[string]struct{ readError, writeError error }{
		"read": {readError: failed}, "write": {writeError: failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var written atomic.Int64
			err := readAhead(t.Context(), []int{0, 1, 2, 3, 4, 5, 6, 7},
				func(ctx context.Context, group int) (int, error) {
					if group == 2 && test.readError != nil {
						return 0, test.readError
					}
					return group, ctx.Err()
				},
				func(_ context.Context, group int) error {
					written.Add(1)
					if group == 2 {
						return test.writeError
					}
					return nil
				})
			if !errors.Is(err, failed) || written.Load() > 3 {
				t.Errorf("wrote %d groups and got %v, want at most three and the error", written.Load(), err)
			}
		})
	}
}
