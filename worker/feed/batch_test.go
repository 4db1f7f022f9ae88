package feed

import (
	"testing"

	"pnyx/test/check"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

func TestLaterVotesAreProcessedBeforeThoseThatArePending(t *testing.T) {
	t.Parallel()
	a, b, c, d := record.RefHash{1}, record.RefHash{2}, record.RefHash{3}, record.RefHash{4}
	for name, test := range map[string]struct {
		pending, later []feed.ProposalSize
		want           [][]record.RefHash
	}{
		"none":       {nil, nil, nil},
		"none later": {[]feed.ProposalSize{{Ref: b, Votes: 2}, {Ref: a, Votes: 1}, {Ref: a, Votes: 1}}, nil, [][]record.RefHash{{a, b}}},
		"larger ones, of two chunks": {
			[]feed.ProposalSize{{Ref: a, Votes: 1}},
			[]feed.ProposalSize{{Ref: d, Votes: 9}, {Ref: c, Votes: 8}, {Ref: d, Votes: 9}},
			[][]record.RefHash{{c, d}, {a}},
		},
		"one that is pending itself": {
			[]feed.ProposalSize{{Ref: a, Votes: 1}, {Ref: b, Votes: 2}},
			[]feed.ProposalSize{{Ref: b, Votes: 3}},
			[][]record.RefHash{{a, b}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.WantSame(t, "batches", test.want, batchesOf(test.pending, test.later))
		})
	}
}
