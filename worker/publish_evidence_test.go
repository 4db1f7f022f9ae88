package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

func (h *house) evidence(key governance.ProposalKey) (evidence governance.Evidence, err error) {
	view, err := h.store.View(h.t.Context(), cache.EvidenceKey(key))
	if err == nil {
		err = view.Decode(&evidence)
	}
	return evidence, err
}

// hasEvidence waits until a proposal's evidence is as it should be.
func (h *house) hasEvidence(key governance.ProposalKey, right func(governance.Evidence) bool) governance.Evidence {
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

func available(e governance.Evidence) bool {
	return e.Intelligence.Status == governance.IntelligenceAvailable
}

func TestAnAnalysisWaitsForItsProposalAndIsReplacedByALaterOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("bare"), analysis("late", `{"score":1234567890.123456789012345678}`))
	h.work(h.metrics)
	bare, late := keyOf("dao.eth", "bare"), keyOf("dao.eth", "late")
	none := h.hasEvidence(bare, func(governance.Evidence) bool { return true })
	if available(none) || none.Intelligence.Dossier != nil {
		t.Errorf("got %+v where no analysis is held, want none", none.Intelligence)
	}
	if _, err := h.evidence(late); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("got %v for a proposal that is not held, want a miss", err)
	}

	h.append(proposal("late"))
	got := h.hasEvidence(late, available).Intelligence
	if string(got.Dossier) != `{"score":1234567890.123456789012345678}` || string(got.Warnings) != `["Two currencies."]` ||
		string(got.SourceRefs) != `[{"url":"https://a.example"}]` || *got.ArtifactVersion != "3" || *got.GeneratedAt != 1700000000000 {
		t.Errorf("got %+v, want the analysis as it was imported", got)
	}
	h.append(analysis("late", `{"score":0.10}`))
	h.hasEvidence(late, func(e governance.Evidence) bool { return string(e.Intelligence.Dossier) == `{"score":0.10}` })
}

func TestARecastIsFlaggedAndASecondVersionOfACastIsNot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	corrected := vote("a", "0x1", "2")
	again := vote("b", "0x1", "1")
	again.VoteID = "again"
	h.append(proposal("a"), vote("a", "0x1", "1"), corrected, proposal("b"), vote("b", "0x1", "1"), again)
	h.work(h.metrics)
	for id, recast := range map[string]bool{"a": false, "b": true} {
		got := h.hasEvidence(keyOf("dao.eth", id), func(governance.Evidence) bool { return true })
		if slices.Contains(got.QualityFlags, rules.RecastsPresent) != recast {
			t.Errorf("%s: got flags %v, want %s: %t", id, got.QualityFlags, rules.RecastsPresent, recast)
		}
	}
}

func TestEvidenceMovesWithItsProposal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), analysis("a", `{}`))
	h.work(h.metrics)
	h.hasEvidence(keyOf("dao.eth", "a"), available)
	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.hasEvidence(keyOf("dao", "a"), available)
	env.Until(h.t, func() error {
		if _, err := h.evidence(keyOf("dao.eth", "a")); !errors.Is(err, cache.ErrMiss) {
			return fmt.Errorf("the former key still has evidence (%w)", err)
		}
		return nil
	})
}

func warnedOf(code governance.WarningCode) func(governance.Evidence) bool {
	return func(e governance.Evidence) bool {
		return slices.ContainsFunc(e.Warnings, func(w governance.Warning) bool { return w.Code == code })
	}
}

func TestTheTwoFormsOfAProposalAreHeldAgainstEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
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
	h.work(h.metrics)
	tally := governance.Identity{DAOID: "dao", Provider: governance.Tally, ExternalID: "7"}.ProposalKey()
	anything := func(governance.Evidence) bool { return true }
	if got := h.hasEvidence(tally, anything); len(got.Warnings) > 0 {
		t.Errorf("got warnings %v, want none while titles agree", got.Warnings)
	}

	// Only this one is touched: its counterpart is published with it.
	offChain := proposal("0xaa")
	offChain.Title = "Renew the budget"
	h.append(offChain)
	h.hasEvidence(keyOf("dao.eth", "0xaa"), warnedOf(rules.TitleDiffers))
	h.hasEvidence(tally, warnedOf(rules.TitleDiffers))
	for _, id := range []string{"0xcc", "0xbb"} {
		if got := h.hasEvidence(keyOf("dao.eth", id), anything); len(got.Warnings) > 0 {
			t.Errorf("%s: got warnings %v, want none", id, got.Warnings)
		}
	}
	renamed := proposal("0xcc")
	renamed.Title, renamed.DiscussionURL = "Repeal", mirrored.DiscussionURL
	h.append(renamed)
	h.hasEvidence(keyOf("dao.eth", "0xcc"), warnedOf(rules.TitleDiffers))
}

func TestNumbersThatDoNotAddUpAreFlaggedInTheEvidence(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.work(h.metrics)
	h.hasVotes(keyOf("dao.eth", "a"), "1")
	twice := vote("a", "0x2", "5")
	twice.Choices = []string{"1", "2"}
	h.append(twice)
	h.hasEvidence(keyOf("dao.eth", "a"), func(e governance.Evidence) bool {
		return slices.Contains(e.QualityFlags, rules.TotalsDisagree)
	})
}
