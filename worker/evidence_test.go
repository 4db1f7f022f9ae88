package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func (h *harness) evidence(key governance.ProposalKey) (governance.Evidence, error) {
	evidence, _, err := read[governance.Evidence](h, cache.EvidenceKey(key))
	return evidence, err
}

func (h *harness) waitForEvidence(key governance.ProposalKey, right func(governance.Evidence) bool) governance.Evidence {
	h.t.Helper()
	found, _ := waitFor(h, cache.EvidenceKey(key), right)
	return found
}

func analysis(proposalID, dossier string) *record.Evidence {
	return &record.Evidence{
		Proposal:        record.ProposalRef{Provider: governance.Snapshot, ExternalID: proposalID},
		ArtifactVersion: "3", GeneratedAt: governance.TimestampOf(time.UnixMilli(1700000000000)),
		Dossier: dossier, SourceRefs: `[{"url":"https://a.example"}]`, Warnings: `["Two currencies."]`,
	}
}

func anyEvidence(governance.Evidence) bool { return true }

func hasAnalysis(e governance.Evidence) bool {
	return e.Intelligence.Status == governance.IntelligenceAvailable
}

func TestLaterAnalysisReplacesAnEarlierOne(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("bare"), analysis("late", `{"score":1234567890.123456789012345678}`))
	h.startLeader(h.metrics)
	bare, late := keyOf("dao.eth", "bare"), keyOf("dao.eth", "late")
	none := h.waitForEvidence(bare, anyEvidence)
	if hasAnalysis(none) || none.Intelligence.Dossier != nil {
		t.Errorf("got %+v without an analysis, want none", none.Intelligence)
	}
	if _, err := h.evidence(late); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("got %v for an unknown proposal, want a miss", err)
	}

	h.append(proposal("late"))
	got := h.waitForEvidence(late, hasAnalysis).Intelligence
	if string(got.Dossier) != `{"score":1234567890.123456789012345678}` || string(got.Warnings) != `["Two currencies."]` ||
		string(got.SourceRefs) != `[{"url":"https://a.example"}]` || *got.ArtifactVersion != "3" || *got.GeneratedAt != 1700000000000 {
		t.Errorf("got %+v, want the imported analysis unchanged", got)
	}
	h.append(analysis("late", `{"score":0.10}`))
	h.waitForEvidence(late, func(e governance.Evidence) bool { return string(e.Intelligence.Dossier) == `{"score":0.10}` })
}

func titleDiffers(e governance.Evidence) bool {
	return slices.ContainsFunc(e.Warnings, func(w governance.Warning) bool { return w.Code == rules.TitleDiffers })
}

func TestProposalIsComparedWithItsCounterpart(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	onChain := &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Tally, ExternalID: "7"}, SourceID: "dao", Title: "Renew",
		SourceURL: "https://www.tally.xyz/gov/dao/proposal/700", State: "executed",
		SnapshotURL: "https://snapshot.org/#/dao.eth/proposal/0xaa",
	}
	mirrored := proposal("0xcc")
	mirrored.Title, mirrored.DiscussionURL = "Renew", "https://www.tally.xyz/gov/dao/proposal/700?chain=1"
	unrelated := proposal("0xbb")
	unrelated.DiscussionURL = "https://snapshot.org/#/dao.eth/proposal/0xaa"
	h.append(onChain, mirrored, unrelated)
	h.startLeader(h.metrics)
	tally := governance.Identity{DAOID: "dao", Provider: governance.Tally, ExternalID: "7"}.ProposalKey()
	if got := h.waitForEvidence(tally, anyEvidence); len(got.Warnings) > 0 {
		t.Errorf("got warnings %v, want none while titles agree", got.Warnings)
	}

	// Only this one is imported. Its counterpart is published with it.
	offChain := proposal("0xaa")
	offChain.Title = "Renew the budget"
	h.append(offChain)
	h.waitForEvidence(keyOf("dao.eth", "0xaa"), titleDiffers)
	h.waitForEvidence(tally, titleDiffers)
	for _, id := range []string{"0xcc", "0xbb"} {
		if got := h.waitForEvidence(keyOf("dao.eth", id), anyEvidence); len(got.Warnings) > 0 {
			t.Errorf("%s: got warnings %v, want none", id, got.Warnings)
		}
	}
	renamed := proposal("0xcc")
	renamed.Title, renamed.DiscussionURL = "Repeal", mirrored.DiscussionURL
	h.append(renamed)
	h.waitForEvidence(keyOf("dao.eth", "0xcc"), titleDiffers)
}

func (h *harness) endImport(of ...record.SourceRef) {
	h.t.Helper()
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	of = append(of, record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"})
	env.MustDo(h.t, records.MarkSynced(h.t.Context(), h.warehouse, run, record.KindProposal, of, false))
}

// corrections waits until a proposal has votes and evidence of the same publication.
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
	env.WantSame(h.t, "corrections", want, h.corrections(key, votes))
}

// Nothing of a first import is a correction, from which process or run it comes.
func TestLateBallotsCorrectAFinalResult(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := keyOf("dao.eth", "a")
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	appendOf := func(all ...record.Record) {
		t.Helper()
		env.Must(records.Append(t.Context(), h.warehouse, run, all))(t)
	}
	appendOf(proposal("a"), vote("a", "0x1", "1"))
	stop := h.startLeader(h.metrics)
	h.wantCorrections(key, "1")
	appendOf(vote("a", "0x2", "1"))
	h.wantCorrections(key, "2")
	h.append(vote("a", "0x3", "1")) // the half of another process
	h.wantCorrections(key, "3")
	h.endImport()
	appendOf(vote("a", "0x4", "1"))
	h.wantCorrections(key, "4")

	late := vote("a", "0x5", "5.5")
	late.Choices, late.ChoiceKey, late.RawChoice = []string{"2"}, "2", "2"
	h.append(late)
	want := []governance.Correction{
		correction(governance.LateBallots, "choices.2.votingPower", "0", "5.5"),
		correction(governance.LateBallots, "outcome", "passed", "failed"),
		correction(governance.LateBallots, "result.choiceKey", "1", "2"),
		correction(governance.LateBallots, "totals.votes", "4", "5"),
		correction(governance.LateBallots, "totals.votingPower", "4", "9.5"),
	}
	h.wantCorrections(key, "5", want...)
	h.arrivingIsOneCorrection()
	h.firstBallotsAreNone()

	// Neither a flush nor another worker makes more of them, or fewer.
	stop()
	env.FlushRedis(t, h.redis)
	h.startLeader(prometheus.NewRegistry())
	h.wantCorrections(key, "5", want...)
}

// firstBallotsAreNone corrects no vote on a chain that had no ballots before.
func (h *harness) firstBallotsAreNone() {
	h.t.Helper()
	first, second := proposal("a"), vote("a", "0x1", "1")
	first.Provider, first.SourceID, second.Proposal.Provider = governance.Governor, "chain.eth", governance.Governor
	first.State, first.Choices, first.VoteType = "defeated", nil, ""
	for _, choice := range governance.GovernorChoices() {
		first.Choices = append(first.Choices, choice.Label)
	}
	second.Choices, second.ChoiceKey, second.RawChoice = []string{"for"}, "for", `"for"`
	key := governance.Identity{DAOID: "chain.eth", Provider: governance.Governor, ExternalID: "a"}.ProposalKey()
	h.append(first)
	h.wantCorrections(key, "0")
	h.endImport(record.SourceRef{Provider: governance.Governor, ID: "chain.eth"})
	h.append(second)
	h.wantCorrections(key, "1")
}

// arrivingIsOneCorrection corrects a vote once, when the batch is complete whose ballots arrive.
func (h *harness) arrivingIsOneCorrection() {
	h.t.Helper()
	batch, hash := uuid.New(), proposal("b").Hash()
	setSealed := func(sealed uint8) {
		h.t.Helper()
		const sql = "INSERT INTO batches (batch_id, import_id, sealed, proposals) VALUES (?, generateUUIDv4(), ?, [?])"
		env.MustDo(h.t, env.ConnectWarehouse(h.t, h.url).Exec(h.t.Context(), sql, batch, sealed, string(hash[:])))
	}
	key := keyOf("dao.eth", "b")
	h.append(proposal("b"), vote("b", "0x1", "1"))
	h.wantCorrections(key, "1")
	setSealed(0)
	h.append(vote("b", "0x2", "1"))
	h.wantCorrections(key, "2")
	setSealed(1)
	h.append(vote("b", "0x3", "1"))
	h.wantCorrections(key, "3",
		correction(governance.LateBallots, "choices.1.votingPower", "1", "3"),
		correction(governance.LateBallots, "totals.votes", "1", "3"),
		correction(governance.LateBallots, "totals.votingPower", "1", "3"))
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
