package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// endImport marks the source of the tests as read to its end.
func (h *harness) endImport(of ...record.SourceRef) {
	h.t.Helper()
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	of = append(of, record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"})
	if err := records.MarkSynced(h.t.Context(), h.warehouse, run, record.KindProposal, of); err != nil {
		h.t.Fatal(err)
	}
}

// corrections waits until a proposal has votes and evidence of the same publication, and
// returns its corrections without their times.
func (h *harness) corrections(key governance.ProposalKey, votes governance.Decimal) []governance.Correction {
	h.t.Helper()
	publishedAt := h.waitForVotes(key, votes).DataAsOf
	var evidence governance.Evidence
	env.Until(h.t, func() error {
		found, view, err := read[governance.Evidence](h, cache.EvidenceKey(key))
		if err == nil && view.DataAsOf < publishedAt {
			err = fmt.Errorf("got evidence as of %s, want %s", view.DataAsOf, publishedAt)
		}
		evidence = found
		return err
	})
	for i := range evidence.Corrections {
		if evidence.Corrections[i].At == 0 {
			h.t.Error("a correction has no time")
		}
		evidence.Corrections[i].At = 0
	}
	return evidence.Corrections
}

func correction(reason governance.CorrectionReason, field, from, to string) governance.Correction {
	return governance.Correction{Field: field, From: from, To: &to, Reason: reason}
}

func (h *harness) wantCorrections(key governance.ProposalKey, votes governance.Decimal, want ...governance.Correction) {
	h.t.Helper()
	if want == nil {
		want = []governance.Correction{}
	}
	if diff := cmp.Diff(want, h.corrections(key, votes)); diff != "" {
		h.t.Errorf("corrections (-want +got):\n%s", diff)
	}
}

func TestLateBallotsCorrectAFinalResult(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := keyOf("dao.eth", "a")
	h.append(proposal("a"), vote("a", "0x1", "1"))
	stop := h.startLeader(h.metrics)
	h.wantCorrections(key, "1")
	h.endImport()
	late := vote("a", "0x2", "1.5")
	late.Choices, late.ChoiceKey, late.RawChoice = []string{"2"}, "2", "2"
	h.append(late)
	want := []governance.Correction{
		correction(governance.LateBallots, "choices.2.votingPower", "0", "1.5"),
		correction(governance.LateBallots, "outcome", "passed", "failed"),
		correction(governance.LateBallots, "result.choiceKey", "1", "2"),
		correction(governance.LateBallots, "totals.votes", "1", "2"),
		correction(governance.LateBallots, "totals.votingPower", "1", "2.5"),
	}
	h.wantCorrections(key, "2", want...)

	// Neither a flush nor another worker makes more of them, or fewer.
	stop()
	env.FlushRedis(t, h.redis)
	h.startLeader(prometheus.NewRegistry())
	h.wantCorrections(key, "2", want...)
}

func TestUpstreamsRecountCorrectsAFinalResult(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stated := func(votes uint64, first, second string) *record.Proposal {
		p := proposal("a")
		p.State, p.ScoresState, p.StatedVotes = "closed", "final", &votes
		p.StatedScores = []decimal.Decimal{decimal.RequireFromString(first), decimal.RequireFromString(second)}
		return p
	}
	key := keyOf("dao.eth", "a")
	h.append(stated(2, "3", "1"))
	h.startLeader(h.metrics)
	h.wantCorrections(key, "2")
	// The ballots that come to what upstream states are no correction.
	against := vote("a", "0x2", "1.0000000001")
	against.Choices, against.ChoiceKey, against.RawChoice = []string{"2"}, "2", "2"
	h.append(vote("a", "0x1", "3"), against)
	env.Until(t, func() error {
		summary, _, err := h.summary(key)
		if err == nil && *summary.Basis != governance.BallotsBasis {
			err = fmt.Errorf("got basis %s, want %s", *summary.Basis, governance.BallotsBasis)
		}
		return err
	})
	h.wantCorrections(key, "2")
	h.append(stated(3, "3", "2"))
	h.wantCorrections(key, "3",
		correction(governance.UpstreamRecount, "choices.2.votingPower", "1.0000000001", "2"),
		correction(governance.UpstreamRecount, "totals.votes", "2", "3"),
		correction(governance.UpstreamRecount, "totals.votingPower", "4.0000000001", "5"))
}

func TestAFirstImportIsNoCorrection(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := keyOf("dao.eth", "a")
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	appendOf := func(all ...record.Record) {
		t.Helper()
		if _, err := records.Append(t.Context(), h.warehouse, run, all); err != nil {
			t.Fatal(err)
		}
	}
	appendOf(proposal("a"), vote("a", "0x1", "1"))
	h.startLeader(h.metrics)
	h.wantCorrections(key, "1")
	appendOf(vote("a", "0x2", "1"))
	h.wantCorrections(key, "2")
	h.append(vote("a", "0x3", "1")) // the half of another process
	h.wantCorrections(key, "3")
	h.endImport()
	appendOf(vote("a", "0x4", "1"))
	h.wantCorrections(key, "4")
}

func TestTheFirstBallotsOfAVoteAreNoCorrection(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first, second := proposal("a"), vote("a", "0x1", "1")
	first.Provider, second.Proposal.Provider = governance.Governor, governance.Governor
	first.State, first.Choices, first.VoteType = "defeated", nil, ""
	for _, choice := range governance.GovernorChoices() {
		first.Choices = append(first.Choices, choice.Label)
	}
	second.Choices, second.ChoiceKey, second.RawChoice = []string{"for"}, "for", `"for"`
	key := governance.Identity{DAOID: "dao.eth", Provider: governance.Governor, ExternalID: "a"}.ProposalKey()
	h.append(first)
	h.startLeader(h.metrics)
	h.wantCorrections(key, "0")
	h.endImport(record.SourceRef{Provider: governance.Governor, ID: "dao.eth"})
	h.append(second)
	h.wantCorrections(key, "1")
}

func TestRecordsThatArriveAreOneCorrection(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	batch, hash := uuid.New(), proposal("a").Hash()
	setSealed := func(sealed uint8) {
		t.Helper()
		const sql = "INSERT INTO batches (batch_id, import_id, sealed, proposals) VALUES (?, generateUUIDv4(), ?, [?])"
		if err := env.ConnectWarehouse(t, h.url).Exec(t.Context(), sql, batch, sealed, string(hash[:])); err != nil {
			t.Fatal(err)
		}
	}
	key := keyOf("dao.eth", "a")
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.endImport()
	h.startLeader(h.metrics)
	h.wantCorrections(key, "1")
	setSealed(0)
	h.append(vote("a", "0x2", "1"))
	h.wantCorrections(key, "2")
	setSealed(1)
	h.append(vote("a", "0x3", "1"))
	h.wantCorrections(key, "3",
		correction(governance.LateBallots, "choices.1.votingPower", "1", "3"),
		correction(governance.LateBallots, "totals.votes", "1", "3"),
		correction(governance.LateBallots, "totals.votingPower", "1", "3"))
}
