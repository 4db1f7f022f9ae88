package warehouse_test

import (
	"testing"

	"pnyx/test/check"
	"pnyx/warehouse"
)

func TestDivideBoundsRowsAndSizes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rows []uint64
		want [][]uint64
	}{
		"none":             {nil, nil},
		"many small":       {[]uint64{0, 1, 2, 3, 4}, [][]uint64{{0, 1, 2}, {3, 4}}},
		"one is too large": {[]uint64{1, 20, 1}, [][]uint64{{1}, {20}, {1}}},
		"two fill a group": {[]uint64{5, 5, 1}, [][]uint64{{5, 5}, {1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.WantSame(t, "groups", test.want, warehouse.Divide(test.rows, 3, func(size uint64) uint64 { return size }, 10))
		})
	}
}
