package source_test

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

func TestTallyOrganizationIDIsItsSlug(t *testing.T) {
	t.Parallel()

	checkRecords(t, "Tally organization", []recordTest{{
		"all stated", `{"id":"2206072050315953936","name":"Harbor","slug":"harbor"}`,
		&record.Source{SourceRef: record.SourceRef{Provider: governance.Tally, ID: "harbor"}, Name: "Harbor", Slug: "harbor"},
	}})
	checkRejections(t, "Tally organization", []rejectionTest{
		{"slug null", `{"id":"7","name":"Harbor","slug":null}`, `slug is null; want a string`},
		{"a category", `{"id":7,"name":"Harbor","slug":"harbor"}`, `is a Discourse category in a file of another format; want a Tally organization`},
	})
}

func TestTallyProposalBecomesAProposal(t *testing.T) {
	t.Parallel()

	voters := uint64(7)
	ref := record.ProposalRef{Provider: governance.Tally, ExternalID: "harbor-17"}
	governor := []string{"For", "Against", "Abstain"}
	checkRecords(t, "Tally proposal", []recordTest{
		{
			"the voters of each choice", `{"id":"harbor-17","onchainId":null,"metadata":null,"organization":{"slug":"harbor"},"status":"active","voteStats":[{"type":"abstain","votesCount":"0","votersCount":0},` +
				`{"type":"against","votesCount":"0","votersCount":2},{"type":"for","votesCount":"0","votersCount":5}]}`,
			&record.Proposal{
				ProposalRef: ref, SourceID: "harbor", SourceURL: "https://www.tally.xyz/gov/harbor/proposal/harbor-17",
				VoteType: governance.SingleChoice, State: "active", Choices: governor,
				StatedScores: []decimal.Decimal{*number("0"), *number("0"), *number("0")}, StatedVotes: &voters, StatedChoiceVotes: []uint64{5, 2, 0},
			},
		},
		{
			"all stated", `{"id":"harbor-17","onchainId":"17/1","organization":{"slug":"harbor"},"status":"EXECUTED","quorum":"4000000000000000000",` +
				`"metadata":{"title":" Budget ","description":"One\r\nTwo","discourseURL":"","snapshotURL":"https://snapshot.example/1"},` +
				`"proposer":{"address":"0xFEed"},"start":{"timestamp":"2026-01-02T03:04:05Z"},"end":{"timestamp":"2026-01-05T03:04:05+02:00"},` +
				`"createdAt":"2026-01-01T00:00:00.5Z","events":[{"type":"CREATED","txHash":"0xc","block":{"timestamp":"2026-01-01T00:00:00Z"}},{"type":"executed","block":null}],` +
				`"voteStats":[{"type":"against","votesCount":"1","votersCount":2},{"type":"for","votesCount":"5000000000000000000","votersCount":5},{"type":"pendingfor","votesCount":"9","votersCount":9}]}`,
			&record.Proposal{
				ProposalRef: ref, SourceID: "harbor", Title: "Budget", Body: "One\nTwo", ProposerID: "0xfeed",
				SourceURL: "https://www.tally.xyz/gov/harbor/proposal/17%2F1", DiscussionURL: "https://snapshot.example/1", SnapshotURL: "https://snapshot.example/1",
				VoteType: governance.SingleChoice, State: "executed", Choices: governor,
				QuorumRaw: "4000000000000000000", Quorum: number("4"),
				CreatedAt: moment("2026-01-01T00:00:00.5Z"), StartAt: moment("2026-01-02T03:04:05Z"), EndAt: moment("2026-01-05T01:04:05Z"),
				StatedScores: []decimal.Decimal{*number("5"), *number("1e-18"), *number("0")}, StatedVotes: &voters,
				Milestones: []record.Milestone{
					{Type: "created", At: moment("2026-01-01"), TxHash: "0xc"},
					{Type: "executed"},
				},
			},
		},
		{
			"stated by the events and the chain alone", `{"id":"harbor-17","onchainId":"17","organization":{"slug":"harbor"},"metadata":{},"proposer":null,"creator":{"address":"0xFEed"},` +
				`"start":{"timestamp":"0001-01-01T00:00:00Z"},"end":{"timestamp":"9999-12-31T23:59:59Z"},"events":[{"type":"created","block":null,"createdAt":"2026-01-01T00:00:00Z"}]}`,
			&record.Proposal{
				ProposalRef: ref, SourceID: "harbor", ProposerID: "0xfeed", SourceURL: "https://www.tally.xyz/gov/harbor/proposal/17",
				VoteType: governance.SingleChoice, Choices: governor, CreatedAt: moment("2026-01-01"),
				Milestones: []record.Milestone{{Type: "created", At: moment("2026-01-01")}},
			},
		},
		{
			"nothing stated", `{"id":"harbor-17","onchainId":null,"organization":{"slug":"harbor"},"metadata":null,"voteStats":null,"events":null,"proposer":{"address":null},"end":{"timestamp":null}}`,
			&record.Proposal{
				ProposalRef: ref, SourceID: "harbor", SourceURL: "https://www.tally.xyz/gov/harbor/proposal/harbor-17",
				VoteType: governance.SingleChoice, Choices: governor,
			},
		},
	})
}

func TestInvalidTallyProposalIsRejectedWithItsField(t *testing.T) {
	t.Parallel()

	line := func(fields string) string {
		return `{"id":"1","organization":{"slug":"harbor"},"metadata":{},` + fields + `}`
	}
	checkRejections(t, "Tally proposal", []rejectionTest{
		{"no slug", `{"id":"1","organization":{},"metadata":{}}`, `organization.slug is missing; want a string`},
		{"id as a number", `{"id":1,"organization":{"slug":"harbor"},"metadata":{}}`, `id is a number; want a string`},
		{"no such time", line(`"end":{"timestamp":"soon"}`), `end.timestamp is "soon"; want seconds or milliseconds since 1970, or an RFC 3339 time, up to the year 2261`},
		{"event null", line(`"events":[null]`), `events[0] is null; want an object`},
		{"quorum with a fraction", line(`"quorum":"1.5"`), `quorum is refused: not a decimal number of smallest units: "1.5"; want a whole number of smallest units from 0`},
		{"score negative", line(`"voteStats":[{"type":"for","votesCount":"-1"}]`), `voteStats[0].votesCount is refused: negative: "-1"; want a whole number of smallest units from 0`},
		{
			"voters beyond counting", line(`"voteStats":[{"type":"for","votersCount":1},{"type":"against","votersCount":18446744073709551615}]`),
			`voteStats[1].votersCount is 18446744073709551615; want a sum of voters below 2^64`,
		},
	})
}

func TestTallyVoteBecomesABallot(t *testing.T) {
	t.Parallel()

	ballot := func(choice, raw, power string) *record.Ballot {
		return &record.Ballot{
			Proposal: record.ProposalRef{Provider: governance.Tally, ExternalID: "harbor-17"},
			VoteID:   "v-1", Voter: "0xfeed", Power: *number(power),
			Choices: []string{choice}, ChoiceKey: choice, RawChoice: raw,
			VotedAt: moment("2026-01-02T03:04:05Z"), TxHash: "0xc", Reason: "Yes.",
		}
	}
	line := func(choice, amount string) string {
		return `{"id":"v-1","proposal":{"id":"harbor-17"},"type":` + choice + `,"voter":{"address":"0xFEED"},"amount":` + amount +
			`,"reason":"Yes. ","txHash":"0xc","block":{"timestamp":"2026-01-02T03:04:05Z"}}`
	}
	checkRecords(t, "Tally vote", []recordTest{
		{"for", line(`"for"`, `"1500000000000000000"`), ballot("for", `"for"`, "1.5")},
		{"against, the smallest amount", line(`"against"`, `"1"`), ballot("against", `"against"`, "0.000000000000000001")},
		{"abstain, a number", line(`"abstain"`, `123456789012345678901234567890`), ballot("abstain", `"abstain"`, "123456789012.34567890123456789")},
		{"zero", line(`"for"`, `"0"`), ballot("for", `"for"`, "0")},
	})
	checkRejections(t, "Tally vote", []rejectionTest{
		{"other type", line(`"maybe"`, `"1"`), `type is "maybe"; want one of for, against, abstain`},
		{"no type", line(`null`, `"1"`), `type is null; want a string`},
		{"amount negative", line(`"for"`, `"-1"`), `amount is refused: negative: "-1"; want a whole number of smallest units from 0`},
		{"amount with a fraction", line(`"for"`, `0.5`), `amount is refused: not a decimal number of smallest units: "0.5"; want a whole number of smallest units from 0`},
		{"amount empty", line(`"for"`, `""`), `amount is refused: not a decimal number: ""; want a whole number of smallest units from 0`},
		{"amount null", line(`"for"`, `null`), `amount is null; want a string`},
		{"amount as an object", line(`"for"`, `{}`), `amount is an object; want a number`},
		{"no voter", `{"id":"v","proposal":{"id":"p"},"type":"for","amount":"1"}`, `voter.address is missing; want a string`},
		{"voter as a text", `{"id":"v","proposal":{"id":"p"},"type":"for","voter":"0x1","amount":"1"}`, `voter is a string; want an object`},
	})
}

func TestTallyAmountsAreInTheTokensOwnUnit(t *testing.T) {
	t.Parallel()

	vote := func(decimals string) string {
		return `{"id":"v-1","proposal":{"id":"harbor-17","governor":{"token":{"decimals":` + decimals + `}}},"type":"for",` +
			`"voter":{"address":"0xFEED"},"amount":"1500000"}`
	}
	ballot := func(power string) *record.Ballot {
		return &record.Ballot{
			Proposal: record.ProposalRef{Provider: governance.Tally, ExternalID: "harbor-17"}, VoteID: "v-1", Voter: "0xfeed",
			Power: *number(power), Choices: []string{"for"}, ChoiceKey: "for", RawChoice: `"for"`,
		}
	}
	rounded := ballot("0.000000000000000002")
	rounded.PowerRounded = true
	checkRecords(t, "Tally vote", []recordTest{
		{"no decimals", vote("0"), ballot("1500000")},
		{"six", vote("6"), ballot("1.5")},
		{"eighteen", vote("18"), ballot("0.0000000000015")},
		{"not stated", vote("null"), ballot("0.0000000000015")},
		{"in another letter case", strings.Replace(vote("6"), `"for"`, `"For"`, 1), ballot("1.5")},
		{"more than power has", vote("24"), rounded},
	})
	checkRejections(t, "Tally vote", []rejectionTest{
		{"more than a number has", vote("78"), `proposal.governor.token.decimals is 78; want at most 77 decimals`},
		{
			"more whole tokens than can be counted", strings.Replace(vote("0"), "1500000", strings.Repeat("9", 41), 1),
			`amount is refused: more than 40 digits before the decimal point: "` + strings.Repeat("9", 41) + `"; want a whole number of smallest units from 0`,
		},
	})
	checkRecords(t, "Tally proposal", []recordTest{{
		"a proposal", `{"id":"harbor-17","organization":{"slug":"harbor"},"metadata":{},"quorum":"2000000","governor":{"type":"governorbravo","token":{"decimals":6}},` +
			`"voteStats":[{"type":"for","votesCount":"1500000"}]}`,
		&record.Proposal{
			ProposalRef: record.ProposalRef{Provider: governance.Tally, ExternalID: "harbor-17"}, SourceID: "harbor",
			SourceURL: "https://www.tally.xyz/gov/harbor/proposal/harbor-17", VoteType: governance.SingleChoice,
			Choices: []string{"For", "Against", "Abstain"}, QuorumRaw: "2000000", Quorum: number("2"), QuorumChoices: []string{governance.GovernorFor},
			StatedScores: []decimal.Decimal{*number("1.5"), *number("0"), *number("0")},
		},
	}})
}
