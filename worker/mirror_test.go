package worker_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// onlyOne checks that one of two proposals is published, and all sums are sums of its two
// ballots.
func (h *harness) onlyOne(shown, hidden *record.Proposal) {
	h.t.Helper()
	here, there := keyAt(shown.Provider, shown.ExternalID), keyAt(hidden.Provider, hidden.ExternalID)
	h.waitForVotes(here, "2")
	h.waitForNone(cache.ProposalDetailKey(there), cache.VoteSummaryKey(there), cache.EvidenceKey(there))
	env.Until(h.t, func() error {
		detail, _, err := read[governance.DAODetail](h, cache.DAODetailKey("harbor"))
		want := governance.Participation{UniqueVoters: "2", TotalVotes: "2", TotalVotingPower: "12.5"}
		if diff := cmp.Diff(want, detail.Participation); err == nil && (diff != "" || detail.ProposalCounts.Total != 1) {
			err = fmt.Errorf("got %d proposals, want 1; participation (-want +got):\n%s", detail.ProposalCounts.Total, diff)
		}
		return err
	})
	h.waitForList(inOrder(query.Proposals{DAOID: "harbor"}), shown.ExternalID)
	// Pages of voters are fresh for seconds: these are what they are made from.
	votes := query.VoterVotes{Voter: "0x1"}
	votes.Limit = query.ShortPage
	env.Until(h.t, func() error {
		of, err := pages.VoterProfile(h.t.Context(), h.warehouse, "0x1")
		if err != nil {
			return err
		}
		rows, err := pages.ListVoterVotes(h.t.Context(), h.warehouse, votes)
		if err == nil && (of.VoteCount != "1" || of.TotalVotingPower != "5.5" || len(rows) != 1 || rows[0].Proposal.ProposalKey != here) {
			err = fmt.Errorf("got %+v and %+v, want one vote", of, rows)
		}
		return err
	})
	h.waitForEvents("harbor", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
}

// bothWithBallots returns the same proposal at its Governor and at Tally, each with the
// records of the same two votes.
func bothWithBallots() (onchain, mirror *record.Proposal, onchainRecords, mirrorRecords []record.Record) {
	onchain, mirror = chainProposal("85", "queued", -100, -50), tallyProposal("2085", "85")
	mirror.State = onchain.State
	records := func(p *record.Proposal) []record.Record {
		return []record.Record{
			p, ballotOn(p, "0x1", -90, map[string]string{"for": "5.5"}), ballotOn(p, "0x2", -80, map[string]string{"against": "7"}),
		}
	}
	return onchain, mirror, records(onchain), records(mirror)
}

func TestProposalOfGovernorAndTallyCountsOnce(t *testing.T) {
	t.Parallel()
	onchain, mirror, onchainRecords, mirrorRecords := bothWithBallots()
	for name, first := range map[string][]record.Record{"Tally first": mirrorRecords, "Governor first": onchainRecords} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.append(append([]record.Record{governorDAO()}, first...)...)
			h.startLeader(h.metrics)
			h.startFiller()
			if first[0] == record.Record(mirror) {
				h.onlyOne(mirror, onchain)
			}
			h.append(onchainRecords...)
			h.append(mirrorRecords...)
			h.onlyOne(onchain, mirror)
		})
	}
}

func TestMirrorComesBackWhenTheGovernorWithdraws(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	onchain, mirror, onchainRecords, mirrorRecords := bothWithBallots()
	h.append(append(append([]record.Record{governorDAO()}, onchainRecords...), mirrorRecords...)...)
	h.startLeader(h.metrics)
	h.startFiller()
	h.onlyOne(onchain, mirror)

	withdrawn := *onchain
	withdrawn.Withdrawn = true
	h.append(&withdrawn)
	h.onlyOne(mirror, onchain)

	h.append(onchain)
	h.onlyOne(onchain, mirror)
}

func TestMirrorFollowsTheOwnerOfItsGovernor(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	onchain, mirror, onchainRecords, mirrorRecords := bothWithBallots()
	claiming, alone := governorDAO(), governorDAO()
	alone.Sources = alone.Sources[1:]
	h.append(append(append([]record.Record{alone}, onchainRecords...), mirrorRecords...)...)
	h.startLeader(h.metrics)
	// Nobody claims the Governor: it is a DAO of its own.
	own := governance.Identity{DAOID: governorID, Provider: governance.Governor, ExternalID: onchain.ExternalID}.ProposalKey()
	h.waitForVotes(own, "2")
	h.waitForVotes(keyAt(mirror.Provider, mirror.ExternalID), "2")

	h.append(claiming)
	h.startFiller()
	h.onlyOne(onchain, mirror)

	// The first DAO in order of ids has a source that two claim.
	h.append(&record.DAO{ID: "anchor", Name: "Anchor", Sources: claiming.Sources[:1]})
	h.waitForVotes(governance.Identity{DAOID: "anchor", Provider: governance.Governor, ExternalID: onchain.ExternalID}.ProposalKey(), "2")
	h.waitForVotes(keyAt(mirror.Provider, mirror.ExternalID), "2")
}

func TestProposalThatLinksAMirrorIsComparedWithTheGovernors(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	onchain, mirror, onchainRecords, mirrorRecords := bothWithBallots()
	mirror.Title = "Renew"
	offChain := proposal("0xaa")
	offChain.Title, offChain.DiscussionURL = "Renew", mirror.SourceURL
	h.append(governorDAO(), offChain)
	h.append(mirrorRecords...)
	h.startLeader(h.metrics)
	h.waitForEvidence(keyOf("dao.eth", "0xaa"), func(e governance.Evidence) bool { return len(e.Warnings) == 0 })

	h.append(onchainRecords...)
	got := h.waitForEvidence(keyOf("dao.eth", "0xaa"), titleDiffers)
	want := keyAt(governance.Governor, onchain.ExternalID)
	if got.Warnings[0].Details["proposalKey"] != string(want) || len(got.Warnings) != 1 {
		t.Errorf("got warnings %v, want one, about %s", got.Warnings, want)
	}
	other := h.waitForEvidence(want, anyEvidence)
	if len(other.Warnings) != 1 || other.Warnings[0].Details["provider"] != string(governance.Snapshot) {
		t.Errorf("got warnings %v, want none about the mirror", other.Warnings)
	}
}
