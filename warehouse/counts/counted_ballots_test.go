package counts

import (
	"slices"
	"testing"

	"pnyx/warehouse/record"
)

func TestBallotsThatArriveDuringReadAreDetected(t *testing.T) {
	t.Parallel()
	a, b, other := record.RefHash{1}, record.RefHash{1, 0, 9}, record.RefHash{2}
	if refBucketOf(a) != refBucketOf(b) || refBucketOf(a) == refBucketOf(other) {
		t.Fatalf("got buckets %d, %d and %d, want the first two equal", refBucketOf(a), refBucketOf(b), refBucketOf(other))
	}
	voters := repeatedVoters{single: map[refBucket]uint64{refBucketOf(a): 5, refBucketOf(other): 7}}
	for name, c := range map[string]struct {
		taken map[record.RefHash]uint64
		want  []record.RefHash
	}{
		"nothing landed":                     {map[record.RefHash]uint64{a: 2, b: 3, other: 7}, nil},
		"on one of two that are told as one": {map[record.RefHash]uint64{a: 2, b: 4, other: 7}, []record.RefHash{a, b}},
		"a second row of a voter":            {map[record.RefHash]uint64{a: 2, b: 3, other: 8}, []record.RefHash{other}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := voters.changedDuringRead(c.taken)
			slices.SortFunc(got, func(x, y record.RefHash) int { return slices.Compare(x[:], y[:]) })
			want := slices.SortedFunc(slices.Values(c.want), func(x, y record.RefHash) int { return slices.Compare(x[:], y[:]) })
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %d moving, want %d", name, len(got), len(want))
			}
		})
	}
}
