package warehouse_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/warehouse"
)

// participationByRange returns the participation of a DAO, summed up over ranges of its voters.
func participationByRange(t *testing.T, w *warehouse.Warehouse, daoID string, size uint64) (ranges int, sum warehouse.Participation) {
	t.Helper()
	starts, err := w.DAORangeStarts(t.Context(), daoID, size)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := w.RangeParticipation(t.Context(), daoID, warehouse.RangesOf(starts))
	if err != nil {
		t.Fatal(err)
	}
	return len(parts), warehouse.SumParticipation(parts)
}

// checkParticipation checks the participation of the DAO "dao", counted whole and by ranges.
func checkParticipation(t *testing.T, w *warehouse.Warehouse, want warehouse.Participation) {
	t.Helper()
	got, err := w.Participation(t.Context(), []string{"dao"})
	if err != nil || got["dao"] != want {
		t.Errorf("got %+v, %v, want %+v", got["dao"], err, want)
	}
	stored, err := w.StoredParticipation(t.Context(), []string{"dao"})
	if err != nil || stored["dao"] != want {
		t.Errorf("stored: got %+v, %v, want %+v", stored["dao"], err, want)
	}
	for _, size := range []uint64{1, 8, 1 << 20} {
		if ranges, sum := participationByRange(t, w, "dao", size); sum != want {
			t.Errorf("%d ranges: got %+v, want %+v", ranges, sum, want)
		}
	}
}

// The cost of a ballot follows the range of its voter, not the DAO.
func TestRangeOfALargeDAOReadsFewRows(t *testing.T) {
	t.Parallel()
	const proposals, voters, size = 8, 50_000, 1024
	w, url := openURL(t)
	states := make([]warehouse.ProposalState, proposals)
	for p := range proposals {
		hash := ref(fmt.Sprint("large-", p)).Hash()
		states[p] = warehouse.ProposalState{Ref: hash, Votes: voters, Power: decimal.Zero, Revision: 1}
		states[p].Identity.DAOID = "dao"
		insert := fmt.Sprintf(`INSERT INTO ballots (proposal_ref, voter, vote_id, provider, external_id, power, choices, choice_key, version)
			SELECT unhex('%s'), concat('0x', lower(hex(sipHash128(number)))), toString(number), 'snapshot', 'large-%d', 1.5, ['1'], '1', 1
			FROM numbers(%d)`, hexOf(hash), p, voters)
		if err := raw(t, url).Exec(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteProposalStates(t.Context(), states); err != nil {
		t.Fatal(err)
	}
	starts, err := w.DAORangeStarts(t.Context(), "dao", size)
	if err != nil {
		t.Fatal(err)
	}
	ranges := warehouse.RangesOf(starts)
	var counted []warehouse.Participation
	read := rowsRead(t, func(ctx context.Context) (err error) {
		counted, err = w.RangeParticipation(ctx, "dao", ranges[len(ranges)/2:len(ranges)/2+1])
		return err
	})
	// A range is read from its first granule to its last, of each proposal or part of the table.
	if limit := counted[0].Votes + proposals*4*1024; counted[0].Votes == 0 || read > limit {
		t.Errorf("got %d rows read for %+v, of %d votes in %d ranges, want at most %d",
			read, counted[0], proposals*voters, len(ranges), limit)
	}
}
