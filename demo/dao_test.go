package demo

import "testing"

func TestVotersHaveOneRank(t *testing.T) {
	t.Parallel()
	dao := &dao{index: 3, key: 99, minPoolStep: 2}
	held := map[voterID]uint64{}
	for rank := range uint64(50_000) {
		voter := dao.member(rank)
		if other, twice := held[voter]; twice || voter == delegateID {
			t.Fatalf("got voter %x for ranks %d and %d, want two voters", voter, other, rank)
		}
		held[voter] = rank
	}
}
