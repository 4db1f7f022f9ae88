package publish

import (
	"slices"
	"testing"

	"pnyx/warehouse/record"
)

func TestDivideBoundsProposalsAndCasts(t *testing.T) {
	t.Parallel()
	refs := make([]record.RefHash, proposalBatchSize+3)
	for i := range refs {
		refs[i] = record.RefHash{byte(i >> 8), byte(i)}
	}
	largest := refs[1]
	for name, test := range map[string]struct {
		casts map[record.RefHash]uint64
		want  []int
	}{
		"few casts":                 {nil, []int{proposalBatchSize, 3}},
		"one proposal is too large": {map[record.RefHash]uint64{refs[0]: 1, largest: 2 * maxCasts, refs[2]: 1}, []int{1, 1, proposalBatchSize, 1}},
		"two fill a chunk":          {map[record.RefHash]uint64{refs[0]: maxCasts / 2, largest: maxCasts / 2, refs[2]: 1}, []int{2, proposalBatchSize, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chunks := divide(refs, func(ref record.RefHash) uint64 { return test.casts[ref] }, maxCasts)
			var got []int
			for _, chunk := range chunks {
				got = append(got, len(chunk))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got chunks of %v, want %v", got, test.want)
			}
			if !slices.Equal(slices.Concat(chunks...), refs) {
				t.Errorf("the chunks are not all of the proposals in their order")
			}
		})
	}
	if chunks := divide[record.RefHash](nil, nil, maxCasts); len(chunks) != 0 {
		t.Errorf("got %d chunks of nothing, want none", len(chunks))
	}
}
