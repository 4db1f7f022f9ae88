package worker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

const governorID = "eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa"

// governorDAO is a DAO with a Governor, and the organization that shows it at Tally.
func governorDAO() *record.DAO {
	return &record.DAO{ID: "harbor", Name: "Harbor", Sources: []record.SourceRef{
		{Provider: governance.Governor, ID: governorID}, {Provider: governance.Tally, ID: "harbor"},
	}}
}

func chainProposal(number, state string, start, end int) *record.Proposal {
	return &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Governor, ExternalID: governorID + "/" + number},
		SourceID:    governorID, OnchainID: governorID + "/" + number, Title: "Renew the budget", State: state,
		VoteType: governance.SingleChoice, Choices: []string{"For", "Against", "Abstain"},
		CreatedAt: new(hour(start - 1)), StartAt: new(hour(start)), EndAt: new(hour(end)),
		Origin: "eip155:1 block 19000000 0x6b27",
	}
}

func tallyProposal(id, number string) *record.Proposal {
	p := chainProposal(number, "executed", -100, -50)
	p.Provider, p.ExternalID, p.SourceID, p.Origin = governance.Tally, id, "harbor", ""
	p.SourceURL = "https://www.tally.xyz/gov/harbor/proposal/" + number
	return p
}

func keyAt(provider governance.Provider, externalID string) governance.ProposalKey {
	return governance.Identity{DAOID: "harbor", Provider: provider, ExternalID: externalID}.ProposalKey()
}

func ballotOn(p *record.Proposal, voter string, at int, sides map[string]string) *record.Ballot {
	b := &record.Ballot{Proposal: p.ProposalRef, VoteID: p.ExternalID + "/" + voter, Voter: voter, VotedAt: new(hour(at)), TxHash: "0xt"}
	var keys []string
	var powers []decimal.Decimal
	for _, choice := range governance.GovernorChoices() {
		if power, voted := sides[choice.Key]; voted {
			keys, powers = append(keys, choice.Key), append(powers, decimal.RequireFromString(power))
		}
	}
	b.Power = decimal.Sum(decimal.Zero, powers...)
	if len(keys) == 1 {
		b.Choices, b.ChoiceKey, b.RawChoice = keys, keys[0], `"`+keys[0]+`"`
		return b
	}
	b.SetWeights(keys, powers)
	raw, err := json.Marshal(sides)
	if err != nil {
		panic(err)
	}
	b.RawChoice = string(raw)
	return b
}

func TestVotesInPartsAreCountedExactly(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := chainProposal("85", "", -200, -50)
	p.VoteType, p.Provisional = governance.Weighted, true
	p.QuorumRaw, p.Quorum, p.QuorumChoices = "300", new(decimal.New(300, 0)), []string{"for"}
	h.append(governorDAO(), p,
		ballotOn(p, "0x1", -190, map[string]string{"for": "100.000000000000000001"}),
		ballotOn(p, "0x2", -180, map[string]string{"for": "199.999999999999999999", "against": "50", "abstain": "0.000000000000000001"}),
		ballotOn(p, "0x3", -170, map[string]string{"abstain": "1000"}))
	h.start()
	key := keyAt(governance.Governor, p.ExternalID)
	h.waitForVotes(key, "3")

	t.Run("each side has the sum of its parts", func(t *testing.T) {
		got, _, err := h.summary(key)
		if err != nil {
			t.Fatal(err)
		}
		want := []governance.ChoiceTotal{
			{Key: "for", Label: "For", Votes: new(governance.Decimal("2")), VotingPower: "300"},
			{Key: "against", Label: "Against", Votes: new(governance.Decimal("1")), VotingPower: "50"},
			{Key: "abstain", Label: "Abstain", Votes: new(governance.Decimal("2")), VotingPower: "1000.000000000000000001"},
		}
		env.WantSame(t, "choices", want, got.Choices)
		if got.Totals.VotingPower != "1350.000000000000000001" || got.Proposal.Outcome != governance.Passed {
			t.Errorf("got %+v and outcome %s, want all power, and passed", got.Totals, got.Proposal.Outcome)
		}
		env.WantSame(t, "quorum", &governance.Quorum{Raw: "300", Progress: "1", Reached: new(true), Type: governance.QuorumOfApproval}, got.Quorum)
	})
	t.Run("a ballot shows all of its parts", func(t *testing.T) {
		q := query.Ballots{Proposal: key, Order: query.BallotsByPower}
		q.Limit = query.ShortPage
		waitForRows(h, q, func(row governance.Ballot) string {
			return fmt.Sprintf("%s %s %s", row.VoterIdentity, *row.ChoiceKey, row.Choice.Label)
		},
			"0x3 abstain Abstain", "0x2 for 0% for Abstain, 20% for Against, 80% for For", "0x1 for For")
	})
	t.Run("a voter's history shows them too", func(t *testing.T) {
		q := query.VoterVotes{Voter: "0x2"}
		q.Limit = query.ShortPage
		waitForRows(h, q, func(row governance.VoterVote) string { return fmt.Sprint(row.VotingPower, " ", row.Choice.Label) },
			"250 0% for Abstain, 20% for Against, 80% for For")
	})
	t.Run("the quorum is reached by the parts that count", func(t *testing.T) {
		h.waitForEvents("harbor", "voting_ended exact -50", "quorum_reached derived -180", "voting_started exact -200", "proposal_created exact -201")
	})
	t.Run("the evidence names the block, and that it is not final", func(t *testing.T) {
		got := h.waitForEvidence(key, anyEvidence)
		if got.Provenance[0].Origin == nil || *got.Provenance[0].Origin != p.Origin ||
			!slices.Contains(got.QualityFlags, rules.Provisional) {
			t.Errorf("got %+v and flags %v, want the block, and the flag", got.Provenance[0], got.QualityFlags)
		}
	})
}

func TestSignalsUseThePartsOfDividedBallots(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := chainProposal("85", "succeeded", -200, -50)
	p.VoteType, p.Quorum = governance.Weighted, new(decimal.New(100, 0))
	h.append(governorDAO(), p,
		// Against has more until the last day; of the first ballot 30 count towards the quorum.
		ballotOn(p, "0x1", -190, map[string]string{"for": "30", "against": "40"}),
		ballotOn(p, "0x2", -180, map[string]string{"for": "1"}), ballotOn(p, "0x3", -170, map[string]string{"for": "1"}),
		ballotOn(p, "0x4", -160, map[string]string{"abstain": "1"}), ballotOn(p, "0x5", -150, map[string]string{"against": "1"}),
		ballotOn(p, "0x6", -51, map[string]string{"for": "76", "abstain": "50"}))
	for n := range 4 {
		h.append(ballotOn(p, fmt.Sprintf("0x0%d", n), -50, map[string]string{"against": "0"}))
	}
	h.start()
	h.waitForSignals("harbor",
		"proposal_deadline_reminder 65", // the quorum was not reached by then
		"late_swing 49",                 // 126 of 200 on the last day: 65 + 63 × 0.3, of ten ballots
		"decisive_ballot 41",            // 76 of 200 for the winner, whose lead is 67: 50 + 38 ÷ 2
		"voting_opened 40",
		"quorum_at_risk 36", // 33 of 100: 55 + 33 × 0.35, of five ballots
		"voting_opens_soon 35",
	)
	titled := func(name string) {
		t.Helper()
		env.Until(t, func() error {
			rows, err := h.signals("harbor")
			for _, row := range rows {
				if !strings.HasPrefix(row.Title, name+" · ") || !strings.HasSuffix(row.Title, "“Renew the budget”") {
					err = errors.Join(err, fmt.Errorf("got title %q, want it to name %s and the proposal", row.Title, name))
				}
			}
			return err
		})
	}
	titled("Harbor")
	renamed := governorDAO()
	renamed.Name = "Port"
	h.append(renamed)
	titled("Port")
}

func TestGovernorProposalIsResolvedByItsIDsAndItsPagesAtTally(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	onchain, _, onchainRecords, mirrorRecords := bothWithBallots()
	dao := governorDAO()
	dao.Sources = append(dao.Sources, record.SourceRef{Provider: governance.Tally, ID: "Wharf"})
	h.append(append(append([]record.Record{dao, chainProposal("86", "active", -10, 50)}, mirrorRecords...), onchainRecords...)...)
	h.start()
	byID, byURL := []string{onchain.ExternalID + " external_id_exact [externalId]"}, []string{onchain.ExternalID + " url_exact [sourceUrl]"}
	for filter, want := range map[query.Resolve][]string{
		{ExternalID: onchain.ExternalID}:                                      byID,
		{ExternalID: "85"}:                                                    byID,
		{ExternalID: "0x55"}:                                                  byID,
		{ExternalID: "85", Provider: "tally"}:                                 nil,
		{ExternalID: "5"}:                                                     nil,
		{URL: "https://www.tally.xyz/gov/harbor/proposal/85"}:                 byURL,
		{URL: "https://www.tally.xyz/gov/harbor/proposal/2085"}:               byURL, // the id of its mirror
		{URL: "tally.xyz/gov/Harbor/proposal/85?utm_source=x"}:                byURL,
		{URL: "https://www.tally.xyz/gov/wharf/proposal/85"}:                  byURL,
		{URL: "https://www.tally.xyz/gov/" + governorID + "/proposal/85"}:     byURL,
		{URL: "https://www.tally.xyz/gov/quay/proposal/85"}:                   nil,
		{URL: "https://www.tally.xyz/gov/harbor/proposal/85", DAOID: "wharf"}: nil,
	} {
		h.waitForResolved(filter, want...)
	}
}

func TestGovernorProposalWithoutVotesIsReady(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := chainProposal("85", "active", -10, 50)
	p.Title = ""
	h.append(governorDAO(), p)
	h.startLeader(h.metrics)
	key := keyAt(governance.Governor, p.ExternalID)
	h.waitForVotes(key, "0")
	got := h.waitForEvidence(key, anyEvidence)
	env.WantSame(t, "flags of a proposal with an empty description", []governance.QualityFlag{rules.BodyMissing, rules.TitleMissing}, got.QualityFlags)
}

// onlyOne checks that one of two proposals is published, and sums are of its two ballots.
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

// bothWithBallots returns a proposal at its Governor and at Tally, with records of the same two votes.
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

// A Governor that its DAO's record names no more is a DAO of its own again, also where the record names nothing then.
func TestProposalsLeaveADAOWithTheirSource(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	onchain, mirror := chainProposal("85", "", -200, -50), chainProposal("1", "", -200, -50)
	mirror.ProposalRef, mirror.SourceID, mirror.OnchainID, mirror.Title = record.ProposalRef{Provider: governance.Tally, ExternalID: "1"}, "harbor", "", "Another one"
	h.append(governorDAO(), onchain, mirror)
	h.start()
	alone := governance.Identity{DAOID: governorID, Provider: governance.Governor, ExternalID: onchain.ExternalID}.ProposalKey()
	claimed, left := keyAt(governance.Governor, onchain.ExternalID), keyAt(governance.Tally, "1")
	h.waitForVotes(claimed, "0")
	without := governorDAO()
	for without.Sources = without.Sources[1:]; ; without.Sources = nil {
		h.append(without)
		h.waitForVotes(alone, "0")
		h.waitForNone(cache.ProposalDetailKey(claimed))
		if without.Sources == nil {
			break
		}
		waitFor(h, cache.ProposalDetailKey(left), func(governance.ProposalDetail) bool { return true })
		h.append(governorDAO())
		h.waitForVotes(claimed, "0")
		h.waitForNone(cache.ProposalDetailKey(alone))
	}
}

// Whichever is read first, and whoever owns the Governor: a proposal that Governor and Tally show counts once.
func TestProposalOfGovernorAndTallyCountsOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	onchain, mirror, onchainRecords, mirrorRecords := bothWithBallots()
	claiming, alone := governorDAO(), governorDAO()
	alone.Sources = alone.Sources[1:]
	h.append(append([]record.Record{alone}, mirrorRecords...)...)
	h.start()
	h.onlyOne(mirror, onchain)

	// Nobody claims the Governor: it is a DAO of its own.
	key := func(daoID string) governance.ProposalKey {
		return governance.Identity{DAOID: daoID, Provider: governance.Governor, ExternalID: onchain.ExternalID}.ProposalKey()
	}
	h.append(onchainRecords...)
	h.waitForVotes(key(governorID), "2")
	h.waitForVotes(keyAt(mirror.Provider, mirror.ExternalID), "2")
	h.append(claiming)
	h.onlyOne(onchain, mirror)

	withdraw := func(p record.Proposal) {
		p.Withdrawn = true
		h.append(&p)
	}
	withdraw(*onchain) // the mirror comes back
	h.onlyOne(mirror, onchain)
	h.append(onchain)
	h.onlyOne(onchain, mirror)
	withdraw(*onchain)
	h.waitForVotes(keyAt(mirror.Provider, mirror.ExternalID), "2")
	withdraw(*mirror)
	h.waitForNone(cache.ProposalDetailKey(keyAt(mirror.Provider, mirror.ExternalID)))
	h.append(onchain) // Governor first
	h.waitForVotes(keyAt(onchain.Provider, onchain.ExternalID), "2")
	h.append(mirrorRecords...)
	h.onlyOne(onchain, mirror)

	// The first DAO in order of ids has a source that two claim.
	h.append(&record.DAO{ID: "anchor", Name: "Anchor", Sources: claiming.Sources[:1]})
	h.waitForVotes(key("anchor"), "2")
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

// What a chain says that a proposal executes counts; another provider that states other calls is contradicted, and one
// that writes the function into the data is not.
func TestProviderThatStatesOtherCallsIsContradicted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const target, signature = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "transfer(address,uint256)"
	selector, words := abi.SelectorOf(signature), make([]byte, 64)
	stated := []record.Record{governorDAO()}
	for number, value := range map[string]string{"85": "0", "86": "5"} {
		p, mirror := chainProposal(number, "", -200, -50), tallyProposal("tally-"+number, number)
		p.SetActions(1, []*record.Action{{Chain: "eip155:1", Target: target, Value: "0", Signature: signature, Calldata: words}})
		mirror.SetActions(1, []*record.Action{{Chain: "eip155:1", Target: target, Value: value, Calldata: append(selector[:], words...)}})
		stated = append(stated, record.WithActions([]record.Record{p, mirror})...)
	}
	h.append(stated...)
	h.start()
	for number, want := range map[string][]governance.Warning{"85": {}, "86": {rules.NewWarning(rules.ActionsDiffer, map[string]string{
		"provider": "tally", "here": "1", "there": "1", "action": "0",
	})}} {
		got := h.waitForEvidence(keyAt(governance.Governor, governorID+"/"+number), anyEvidence).Warnings
		env.WantSame(t, "warnings of "+number, want, slices.DeleteFunc(got, func(w governance.Warning) bool { return w.Code != rules.ActionsDiffer }))
	}
}
