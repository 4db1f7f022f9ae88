package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

func (h *harness) evidence(key governance.ProposalKey) (evidence governance.Evidence, err error) {
	view, err := h.store.View(h.t.Context(), cache.EvidenceKey(key))
	if err == nil {
		err = view.Decode(&evidence)
	}
	return evidence, err
}

// waitForEvidence waits until right returns true for a proposal's evidence.
func (h *harness) waitForEvidence(key governance.ProposalKey, right func(governance.Evidence) bool) governance.Evidence {
	h.t.Helper()
	var found governance.Evidence
	env.Until(h.t, func() error {
		evidence, err := h.evidence(key)
		if err == nil && !right(evidence) {
			err = fmt.Errorf("got %+v", evidence)
		}
		found = evidence
		return err
	})
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

func TestRecastsAreFlaggedButCorrectionsAreNot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	corrected := vote("a", "0x1", "2")
	recast := vote("b", "0x1", "1")
	recast.VoteID = "recast"
	h.append(proposal("a"), vote("a", "0x1", "1"), corrected, proposal("b"), vote("b", "0x1", "1"), recast)
	h.startLeader(h.metrics)
	for name, c := range map[string]struct {
		proposalID string
		flagged    bool
	}{
		"second version of a cast": {"a", false},
		"second cast of a voter":   {"b", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := h.waitForEvidence(keyOf("dao.eth", c.proposalID), anyEvidence)
			if slices.Contains(got.QualityFlags, rules.RecastsPresent) != c.flagged {
				t.Errorf("got flags %v, want %s: %t", got.QualityFlags, rules.RecastsPresent, c.flagged)
			}
		})
	}
}

func TestEvidenceMovesWithItsProposal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), analysis("a", `{}`))
	h.startLeader(h.metrics)
	h.waitForEvidence(keyOf("dao.eth", "a"), hasAnalysis)
	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.waitForEvidence(keyOf("dao", "a"), hasAnalysis)
	env.Until(h.t, func() error {
		if _, err := h.evidence(keyOf("dao.eth", "a")); !errors.Is(err, cache.ErrMiss) {
			return fmt.Errorf("got %w for the former key, want a miss", err)
		}
		return nil
	})
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

func TestMismatchedSumsAreFlaggedInEvidence(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.startLeader(h.metrics)
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	twice := vote("a", "0x2", "5")
	twice.Shares = []decimal.Decimal{decimal.NewFromInt(4)}
	h.append(twice)
	h.waitForEvidence(keyOf("dao.eth", "a"), func(e governance.Evidence) bool {
		return slices.Contains(e.QualityFlags, rules.TotalsDisagree)
	})
}
