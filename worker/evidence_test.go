package worker_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/record"
)

func (h *harness) evidence(key governance.ProposalKey) (governance.Evidence, error) {
	evidence, _, err := read[governance.Evidence](h, cache.EvidenceKey(key))
	return evidence, err
}

// waitForEvidence waits until right returns true for a proposal's evidence.
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
