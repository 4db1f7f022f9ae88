package explore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/apinode"
)

// Keys and ids of the sample.
const (
	sampleKey   governance.ProposalKey = "p1_f_XfJz_6yGy1gCgoSU2qbg"
	unknownKey  governance.ProposalKey = "p1_AAAAAAAAAAAAAAAAAAAAAA"
	sampleVoter                        = "0x0000000000000000000000000000000000000001"
)

// Sizes of the sample.
const (
	sampleDAOs     = 130
	sampleBallots  = 2300
	sampleEarlier  = 30
	sampleHistory  = 70
	sampleProvider = governance.Tally
)

// hostileTitle is what a stranger may call a proposal.
const hostileTitle = "</title></h1><script>alert(1)</script><a href=\"javascript:alert(2)\">x</a>\u2028 'on' \"click\"=` <img src=x onerror=alert(3)>"

// earlierKey is the key of an earlier proposal.
func earlierKey(i int) governance.ProposalKey {
	return governance.Identity{DAOID: "dao-000", Provider: sampleProvider, ExternalID: fmt.Sprint(i)}.ProposalKey()
}

// sampleViews are what workers publish.
func sampleViews() map[cache.Key]any {
	views := map[cache.Key]any{
		cache.DAODetailKey("dao-000"): governance.DAODetail{
			DAOID: "dao-000", Name: hostileTitle, ProposalCounts: governance.ProposalCounts{Total: 12345, Closed: 12345},
			Outcomes: governance.Outcomes{Passed: 12000, Failed: 300, Unknown: 45}, SourceTypes: []governance.Provider{sampleProvider},
			Participation: governance.Participation{UniqueVoters: "1234567", TotalVotes: "7654321", TotalVotingPower: "98765432109876543210.123456789012345678"},
		},
		cache.TimelineKey("dao-000", "votes_cast"): governance.Timeline{DAOID: "dao-000", Metric: "votes_cast", Buckets: []governance.TimelineBucket{
			{Month: "2025-11", Value: "12345678901234567890"}, {Month: "2026-01", Value: "7"},
		}},
		cache.TimelineKey("dao-000", "proposals_created"): governance.Timeline{DAOID: "dao-000", Metric: "proposals_created"},
		cache.ProposalDetailKey(sampleKey): governance.ProposalDetail{
			ProposalKey: sampleKey, Identity: governance.Identity{DAOID: "dao-000", Provider: sampleProvider}, Title: new(hostileTitle), BodyText: new("text"),
			ProposerID: new(sampleVoter), LifecycleStatus: governance.Closed, Outcome: governance.Passed, Choices: governance.GovernorChoices(),
			StartAt: new(apinode.AsOf - 100_000_000), EndAt: new(apinode.AsOf),
		},
		cache.VoteSummaryKey(sampleKey): sampleSummary(),
		cache.EvidenceKey(sampleKey): governance.Evidence{
			Proposal: governance.EvidenceProposal{ProposalKey: sampleKey}, Intelligence: governance.Intelligence{Status: governance.IntelligenceUnavailable},
			QualityFlags: []governance.QualityFlag{rules.BallotsPartial},
		},
	}
	open := sampleSummary()
	open.Choices[0].VotingPower, open.Choices[2].VotingPower = "10000000", "20000000"
	open.Choices[1].VotingPower = "20000000.000000000000000007"
	views[cache.VoteSummaryKey(openKey)] = open
	views[cache.VoteSummaryKey(emptyKey)] = governance.VoteSummary{Totals: &governance.VoteTotals{VotingPower: "0"}}
	for i := range sampleEarlier {
		views[cache.VoteSummaryKey(earlierKey(i))] = governance.VoteSummary{
			Totals: &governance.VoteTotals{Votes: new(governance.Decimal(fmt.Sprint(100 + i))), UniqueVoters: new(governance.Decimal("1")), VotingPower: governance.Decimal(fmt.Sprintf("%d.000000000000000001", 5000+i))},
		}
	}
	return views
}

// sampleSummary is the count of the sample's ballots.
func sampleSummary() governance.VoteSummary {
	return governance.VoteSummary{
		Proposal: governance.SummaryProposal{ProposalKey: sampleKey, Title: new(hostileTitle), Outcome: governance.Passed},
		Totals:   &governance.VoteTotals{Votes: new(governance.Decimal("2300")), UniqueVoters: new(governance.Decimal("2300")), VotingPower: "50000000.000000000000000007"},
		Quorum:   &governance.Quorum{Raw: "10000000000000000000000000", Progress: "3", Reached: new(true), Type: governance.QuorumOfApproval},
		Choices: []governance.ChoiceTotal{
			{Key: "for", Label: "For <b>", Votes: new(governance.Decimal("1200")), VotingPower: "20000000"},
			{Key: "against", Label: "Against", Votes: new(governance.Decimal("1000")), VotingPower: "20000000.000000000000000007"},
			{Key: "abstain", Label: "Abstain", Votes: new(governance.Decimal("100")), VotingPower: "10000000"},
		},
		Basis: new(governance.BallotsBasis), CoverageStatus: governance.Complete,
		Held: governance.HeldTotals{Votes: "2300", VotingPower: "50000000.000000000000000007"},
	}
}

// sampleKinds lists the kinds of pages that the sample has.
func sampleKinds() []query.Kind {
	return []query.Kind{query.KindBallots, query.KindProposals, query.KindVoters, query.KindDelegates, query.KindVoterVotes, query.KindProfile, query.KindSignals, query.KindDossier}
}

// samplePage returns the payload of a page, and whether its subject exists.
func samplePage(request cache.PageRequest) (payload any, known bool, err error) {
	switch request.Kind {
	case query.KindBallots:
		var q query.Ballots
		err := request.Decode(&q)
		return apinode.Cut(ballots(), q.After, q.Limit, func(b governance.Ballot, p query.BallotPosition) bool { return b.VoterIdentity == p.Voter }), q.Proposal == sampleKey, err
	case query.KindProposals:
		var q query.Proposals
		err := request.Decode(&q)
		rows := proposals()
		if slices.Contains(q.Lifecycles, governance.Active) {
			rows = rows[:0]
			for _, item := range openVotes() {
				rows = append(rows, cache.ProposalRow{Item: item, Position: query.ProposalPosition{At: item.EndAt, Key: item.ProposalKey}})
			}
		}
		return apinode.Cut(rows, q.After, q.Limit, func(r cache.ProposalRow, p query.ProposalPosition) bool { return r.Position.Key == p.Key }), true, err
	case query.KindSignals:
		rows := []governance.SignalRow{}
		for _, signal := range sampleSignals() {
			rows = append(rows, governance.SignalRow{Signal: signal})
		}
		return rows, true, nil
	case query.KindVoters:
		var q query.Voters
		err := request.Decode(&q)
		return []governance.DAOVoter{{Rank: 1, VoterIdentity: sampleVoter, TotalVotingPower: "7777777.5", VoteCount: "31", ProposalCount: "30"}}, q.DAOID == "dao-000", err
	case query.KindDelegates:
		var q query.Delegates
		err := request.Decode(&q)
		return []governance.Delegate{{
			Rank: 1, VoterIdentity: sampleVoter, VoterName: &governance.VoterName{Name: "\u202e<b>ada</b>", Source: governance.NameOfSnapshot, Suspect: true},
			VotingPower: new(governance.Decimal("7777777.5")), BallotsOfLast50: governance.BallotsOfLast{Cast: "41", Of: "50"},
		}}, q.DAOID == "dao-000", err
	case query.KindVoterVotes:
		var q query.VoterVotes
		err := request.Decode(&q)
		return apinode.Cut(history(), q.After, q.Limit, func(v governance.VoterVote, p query.VoterVotePosition) bool {
			return v.Proposal.ProposalKey == p.Proposal
		}), q.Voter == sampleVoter, err
	case query.KindDossier:
		var q query.Dossier
		err := request.Decode(&q)
		intelligence, failed := sampleDossier()
		return intelligence, q.Proposal == sampleKey, errors.Join(err, failed)
	case query.KindProfile:
		var q query.Profile
		err := request.Decode(&q)
		return governance.VoterProfile{
			VoterIdentity: sampleVoter, DAOCount: "1", VoteCount: "70", ProposalCount: "70", TotalVotingPower: "123456789.123456789",
			DAOs: []governance.VoterDAO{{DAOID: "a/b c.eth", VoteCount: "70", ProposalCount: "70", TotalVotingPower: "123456789.123456789", FirstVoteAt: new(apinode.AsOf)}},
		}, q.Voter == sampleVoter, err
	default:
		return nil, false, fmt.Errorf("no sample of %s", request.Kind)
	}
}

// sampleDossier is an example of the documents, with what a stranger may write in it.
func sampleDossier() (i governance.Intelligence, err error) {
	text, err := os.ReadFile("../docs/examples/dossiers/nested_batch.json")
	if err != nil {
		return i, err
	}
	hostile, err := json.Marshal(hostileTitle)
	if err != nil {
		return i, err
	}
	for _, stated := range []string{`"For"`, `"https://forum.harbor.example/t/7"`} {
		text = bytes.ReplaceAll(text, []byte(stated), hostile)
	}
	text = bytes.Replace(text, []byte(`"strongest":[]`), []byte(`"strongest":[{"voterIdentity":"`+sampleVoter+`","yearPower":"5","ballot":null}]`), 1)
	return i, json.Unmarshal(text, &i)
}

// ballots are the ballots of the sample's proposal, the most power first.
func ballots() []governance.Ballot {
	choices, rows := governance.GovernorChoices(), make([]governance.Ballot, sampleBallots)
	for i := range rows {
		choice := choices[i%len(choices)]
		rows[i].ExportedBallot = governance.ExportedBallot{
			VoteID: fmt.Sprintf("0x%064x", i), VoterIdentity: fmt.Sprintf("0x%040x", i+1), ChoiceKey: &choice.Key,
			Choice: governance.ChoiceLabel{Label: choice.Label + " " + hostileTitle}, VotingPower: governance.Decimal(fmt.Sprintf("%d.000000000000000001", 10_000-i)),
			VotedAt: new(apinode.AsOf - governance.Timestamp((i*7919)%100_000)*1000),
		}
	}
	return rows
}

func proposals() []cache.ProposalRow {
	rows := make([]cache.ProposalRow, sampleEarlier)
	for i := range rows {
		rows[i] = cache.ProposalRow{
			Item: governance.ProposalListItem{
				ProposalKey: earlierKey(i), Identity: governance.Identity{DAOID: "dao-000", Provider: sampleProvider}, Title: new(hostileTitle),
				SourceURL: new("javascript:alert(4)"), EndAt: new(apinode.AsOf), LifecycleStatus: governance.Closed, Outcome: governance.Failed,
			},
			Position: query.ProposalPosition{At: new(apinode.AsOf), Key: earlierKey(i)},
		}
	}
	return rows
}

func history() []governance.VoterVote {
	rows := make([]governance.VoterVote, sampleHistory)
	for i := range rows {
		rows[i] = governance.VoterVote{
			Proposal: governance.VotedProposal{ProposalKey: earlierKey(i), Title: new(hostileTitle), Flagged: i == 0}, Choice: governance.ChoiceLabel{Label: "For"},
			VotingPower: governance.Decimal(fmt.Sprintf("%d.5", 10+i)), VotedAt: new(apinode.AsOf),
		}
	}
	return rows
}
