package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

func TestSnapshotSpaceBecomesASource(t *testing.T) {
	t.Parallel()

	harbor := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
	checkRecords(t, "Snapshot space", []recordTest{
		{
			"all stated", `{"id":"harbor.eth","name":" Harbor DAO ","network":"1","symbol":"HRB","flagged":true,"about":{"unknown":[1]}}`,
			&record.Source{SourceRef: harbor, Name: "Harbor DAO", Network: "1", Symbol: "HRB", Flagged: true},
		},
		{"id only", `{"id":"harbor.eth","name":null,"network":null}`, &record.Source{SourceRef: harbor}},
	})
	checkRejections(t, "Snapshot space", []rejectionTest{
		{"no id", `{"name":"Harbor","symbol":"HRB"}`, `id is missing; want a string`},
		{"empty id", `{"id":" ","name":"Harbor","symbol":"HRB"}`, `id is empty; want an identifier`},
		{"other type", `{"id":"harbor.eth","name":7,"symbol":"HRB"}`, `name is a number; want a string`},
		{
			"a proposal", `{"id":"0x1","space":{"id":"harbor.eth"},"title":"Budget"}`,
			`is a Snapshot proposal in a file of another format; want a Snapshot space`,
		},
		{
			"of no known shape", `{"id":"harbor.eth","colour":"blue"}`,
			`has fields id, colour; want the fields of a Snapshot space: id, name, network, symbol`,
		},
	})
}

func TestSnapshotProposalBecomesAProposal(t *testing.T) {
	t.Parallel()

	votes, quorum, total := uint64(3), number("1e3"), number("30.75")
	ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0xAB"}
	checkRecords(t, "Snapshot proposal", []recordTest{
		{
			"all stated", `{"id":"0xAB","space":{"id":"harbor.eth"},"author":"0xFEed","created":1700000000,"updated":1700000060,` +
				`"start":1700003600,"end":1700090000,"start_day":"2020-01-01","type":"Approval","title":" Budget\n","body":"  One\r\nTwo\n",` +
				`"discussion":" https://forum.example.org/t/1 ","choices":["Yes "," No"],"quorum":1e3,"state":"CLOSED",` +
				`"link":"https://snapshot.example/0xAB","scores":[30.5,2.5e-1],"scores_total":30.75,"scores_state":"Pending","votes":3,"flagged":true,` +
				`"quorumType":"rejection",` +
				`"source_id":"d-1","source_type":"grant","source_status":"enacted"}`,
			&record.Proposal{
				ProposalRef: ref, SourceID: "harbor.eth", Title: "Budget", Body: "  One\nTwo\n", ProposerID: "0xfeed",
				SourceURL: "https://snapshot.example/0xAB", DiscussionURL: "https://forum.example.org/t/1",
				VoteType: governance.Approval, State: "closed", Choices: []string{"Yes ", " No"},
				QuorumRaw: "1e3", Quorum: quorum,
				CreatedAt: moment("2023-11-14T22:13:20Z"), UpdatedAt: moment("2023-11-14T22:14:20Z"),
				StartAt: moment("2023-11-14T23:13:20Z"), EndAt: moment("2023-11-15T23:13:20Z"),
				StatedScores: []decimal.Decimal{*number("30.5"), *number("0.25")}, StatedScoresTotal: total,
				StatedVotes: &votes, Flagged: true, ScoresState: "pending", QuorumType: governance.QuorumOfRejection,
				UpstreamID: "d-1", UpstreamType: "grant", UpstreamStatus: "enacted",
			},
		},
		{"nothing stated", `{"id":"0xAB","space":{"id":"harbor.eth"}}`, &record.Proposal{ProposalRef: ref, SourceID: "harbor.eth"}},
		{
			"a null among scores costs the scores", `{"id":"0xAB","space":{"id":"harbor.eth"},"scores":[60,null,0],"scores_total":60,"votes":3,"quorumType":"default"}`,
			&record.Proposal{ProposalRef: ref, SourceID: "harbor.eth", StatedScoresTotal: number("60"), StatedVotes: &votes},
		},
		{
			"everything null or blank", `{"id":"0xAB","space":{"id":"harbor.eth"},"author":null,"created":null,"start":null,"title":" ","body":" \r\n",` +
				`"choices":null,"quorum":null,"scores":[],"scores_total":null,"votes":null,"flagged":null,"type":null}`,
			&record.Proposal{ProposalRef: ref, SourceID: "harbor.eth"},
		},
		{
			"days, a quorum of zero, a type of the future", `{"id":"0xAB","space":{"id":"harbor.eth"},"start":null,` +
				`"start_day":"2023-11-14","end_day":"2023-11-15","quorum":0,"type":"plural"}`,
			&record.Proposal{
				ProposalRef: ref, SourceID: "harbor.eth", VoteType: "plural", QuorumRaw: "0", Quorum: number("0"),
				StartAt: moment("2023-11-14"), StartDayOnly: true, EndAt: moment("2023-11-15"), EndDayOnly: true,
			},
		},
	})
}

func TestNumbersAndTimesAreReadAsToolsWriteThem(t *testing.T) {
	t.Parallel()

	line := func(format string, args ...any) string {
		return `{"id":"0xAB","space":{"id":"harbor.eth"},` + fmt.Sprintf(format, args...) + `}`
	}
	var tests []recordTest
	for text, want := range map[string]string{
		`1700000000`: "2023-11-14T22:13:20Z", `"1700000000"`: "2023-11-14T22:13:20Z", `1700000000.0`: "2023-11-14T22:13:20Z",
		`1.7e9`: "2023-11-14T22:13:20Z", `"1.7E+9"`: "2023-11-14T22:13:20Z", `1700000000.25`: "2023-11-14T22:13:20.25Z",
		`1700000000.9999`: "2023-11-14T22:13:20.999Z", `1700000000250`: "2023-11-14T22:13:20.25Z", `1700000000250.75`: "2023-11-14T22:13:20.25Z",
		`1700000000250000`: "2023-11-14T22:13:20.25Z", `1700000000250000000`: "2023-11-14T22:13:20.25Z",
		`"2023-11-14T22:13:20.25Z"`: "2023-11-14T22:13:20.25Z", `1`: "1970-01-01T00:00:01Z", `9214646399`: "2261-12-31T23:59:59Z",
	} {
		proposal := record.Proposal{ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0xAB"}, SourceID: "harbor.eth"}
		proposal.EndAt = moment(want)
		tests = append(tests, recordTest{"end " + text, line(`"end":%s`, text), &proposal})
	}
	for _, text := range []string{`9999999999`, `20000000000.5`, `1e18446744073709551615`, `"2262-01-01T00:00:00Z"`} {
		proposal := record.Proposal{ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0xAB"}, SourceID: "harbor.eth"}
		tests = append(tests, recordTest{"no end before " + text, line(`"end":%s`, text), &proposal})
	}
	for _, text := range []string{`0`, `"0"`, `0.0`, `"1970-01-01T00:00:00Z"`} {
		proposal := record.Proposal{ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0xAB"}, SourceID: "harbor.eth"}
		proposal.StartAt, proposal.StartDayOnly = moment("2023-11-14"), true
		tests = append(tests, recordTest{"no time " + text, line(`"created":%[1]s,"updated":%[1]s,"start":%[1]s,"end":%[1]s,"start_day":"2023-11-14"`, text), &proposal})
	}
	five := uint64(5)
	for _, text := range []string{`5`, `5.0`, `"5"`, `"5.00"`, `5e0`, `0.5e1`, `500E-2`} {
		proposal := record.Proposal{ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0xAB"}, SourceID: "harbor.eth"}
		proposal.StatedVotes, proposal.StatedScoresTotal = &five, number("5")
		tests = append(tests, recordTest{"votes " + text, line(`"votes":%[1]s,"scores_total":%[1]s`, text), &proposal})
	}
	checkRecords(t, "Snapshot proposal", tests)
}

func TestInvalidSnapshotProposalIsRejectedWithItsField(t *testing.T) {
	t.Parallel()

	line := func(fields string) string { return `{"id":"0xAB","space":{"id":"harbor.eth"},` + fields + `}` }
	checkRejections(t, "Snapshot proposal", []rejectionTest{
		{"no id", `{"space":{"id":"harbor.eth"},"title":"Budget"}`, `id is missing; want a string`},
		{"no space", `{"id":"0xAB","author":"0xfe","title":"Budget"}`, `space.id is missing; want a string`},
		{"null space", `{"id":"0xAB","space":null}`, `space.id is missing; want a string`},
		{"space as a text", `{"id":"0xAB","space":"harbor.eth"}`, `space is a string; want an object`},
		{"title as a list", line(`"title":[]`), `title is an array; want a string`},
		{"choice as a number", line(`"choices":["Yes",2]`), `choices[1] is a number; want a string`},
		{"choice null", line(`"choices":[null]`), `choices[0] is null; want a string`},
		{"votes below zero", line(`"votes":-1`), `votes is -1; want a whole number from 0`},
		{"votes with a fraction", line(`"votes":1.5`), `votes is 1.5; want a whole number from 0`},
		{"score below zero", line(`"scores":[1,-2]`), `scores[1] is refused: negative: "-2"; want a number from 0`},
		{"quorum too large", line(`"quorum":1e90`), `quorum is refused: ` + governance.ErrTooLarge.Error() + `: "1e90"; want a number from 0`},
		{"flagged as a number", line(`"flagged":1`), `flagged is a number; want a boolean`},
		{"start after the last year", line(`"start":9999999999`), `start is 9999999999; want seconds or milliseconds since 1970, or an RFC 3339 time, up to the year 2261`},
		{"end before 1970", line(`"end":-0.5`), `end is -0.5; want seconds or milliseconds since 1970, or an RFC 3339 time, up to the year 2261`},
		{"day with a time", line(`"end_day":"2023-11-15T00:00:00Z"`), `end_day is "2023-11-15T00:00:00Z"; want a day between 1970 and 2261 as YYYY-MM-DD`},
		{"no such day", line(`"end_day":"2023-11-31"`), `end_day is "2023-11-31"; want a day between 1970 and 2261 as YYYY-MM-DD`},
		{
			"a vote", `{"id":"v","proposal":{"id":"0xAB"},"space":{"id":"harbor.eth"},"voter":"0x1","choice":1,"vp":1}`,
			`is a Snapshot vote in a file of another format; want a Snapshot proposal`,
		},
	})
}

// vote returns a line with a ballot's choice and power.
func vote(choice, vp string) string {
	return `{"id":"v-1","proposal":{"id":"0xAB"},"space":{"id":"harbor.eth"},"voter":"0xFEed","created":1700000000,"choice":` +
		choice + `,"vp":` + vp + `,"reason":" Why not? "}`
}

func TestSnapshotVoteBecomesABallot(t *testing.T) {
	t.Parallel()

	ballot := func(change func(*record.Ballot)) *record.Ballot {
		b := &record.Ballot{
			Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0xAB"},
			VoteID:   "v-1", Voter: "0xfeed", Power: *number("10"), Reason: "Why not?",
			VotedAt: moment("2023-11-14T22:13:20Z"),
		}
		change(b)
		return b
	}
	supports := func(raw string, keys ...string) func(*record.Ballot) {
		return func(b *record.Ballot) { b.RawChoice, b.Choices, b.ChoiceKey = raw, keys, keys[0] }
	}
	checkRecords(t, "Snapshot vote", []recordTest{
		{"one choice", vote("2", "10"), ballot(supports("2", "2"))},
		{"the highest choice", vote("65535", "10"), ballot(supports("65535", "65535"))},
		{"a list", vote("[3, 1,2]", "10"), ballot(supports("[3,1,2]", "3", "1", "2"))},
		{"a list that repeats a choice", vote("[3, 1,3,2]", "10"), ballot(func(b *record.Ballot) { b.RawChoice = "[3,1,3,2]" })},
		{"a whole number with decimals", vote("2.0", `"10.0"`), ballot(supports("2", "2"))},
		{"a choice as a text", vote(`"2"`, "1e1"), ballot(supports("2", "2"))},
		{"a list as dataframes write it", vote(`[3.0, "1",2e0]`, "10"), ballot(supports("[3,1,2]", "3", "1", "2"))},
		{"the choice 0", vote("0", "10"), ballot(func(b *record.Ballot) { b.RawChoice = "0" })},
		{"a choice below 0", vote("-1", "10"), ballot(func(b *record.Ballot) { b.RawChoice = "-1" })},
		{"a choice of a fraction", vote("1.5", "10"), ballot(func(b *record.Ballot) { b.RawChoice = "1.5" })},
		{"a choice beyond all", vote("65536", "10"), ballot(func(b *record.Ballot) { b.RawChoice = "65536" })},
		{"a list with a choice that cannot exist", vote("[1,0]", "10"), ballot(func(b *record.Ballot) { b.RawChoice = "[1,0]" })},
		{"a weight for a word", vote(`{"1":1,"for":1}`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `{"1":1,"for":1}` })},
		{"a weight for another spelling", vote(`{"01":1}`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `{"01":1}` })},
		{"a weight for the choice 0", vote(`{"0":1,"1":1}`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `{"0":1,"1":1}` })},
		{"a weight below 0", vote(`{"1":1,"2":-3}`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `{"1":1,"2":-3}` })},
		{"an empty list", vote("[ ]", "10"), ballot(func(b *record.Ballot) { b.RawChoice = "[]" })},
		{"a weight that is null", vote(`{"1":null,"2":1}`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `{"1":null,"2":1}` })},
		{"a list in a list", vote(`[[1],2]`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `[[1],2]` })},
		{"a null in a list", vote(`[1,null]`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `[1,null]` })},
		{"a text that is no choice", vote(`"-1.5"`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `-1.5` })},
		{"no weights", vote("{}", "10"), ballot(func(b *record.Ballot) { b.RawChoice = "{}" })},
		{"only zero weights", vote(`{"1":0}`, "10"), ballot(func(b *record.Ballot) { b.RawChoice = `{"1":0}` })},
		{"weights in order of position", vote(`{"10": 1, "2": 3.0, "1": 0}`, "10"), ballot(func(b *record.Ballot) {
			b.RawChoice, b.ChoiceKey, b.Choices = `{"10":1,"2":3.0,"1":0}`, "2", []string{"2", "10"}
			b.Shares = []decimal.Decimal{*number("7.5"), *number("2.5")}
			b.Roots = []decimal.Decimal{*number("2.738612787525830567"), *number("1.581138830084189665")}
		})},
		{"power in scientific notation", vote("1", "2.5e-7"), ballot(func(b *record.Ballot) {
			supports("1", "1")(b)
			b.Power = *number("0.00000025")
		})},
		{"more than 18 decimal places", vote("1", "0.1234567890123456785"), ballot(func(b *record.Ballot) {
			supports("1", "1")(b)
			b.Power, b.PowerRounded = *number("0.123456789012345679"), true
		})},
		{"every digit of a large power", vote("1", "123456789012345678901234567890.123456789012345678"), ballot(func(b *record.Ballot) {
			supports("1", "1")(b)
			b.Power = *number("123456789012345678901234567890.123456789012345678")
		})},
		{
			"only the day known, fields absent", `{"id":"v-1","proposal":{"id":"0xAB"},"voter":"0xFEed","created":null,"created_day":"2023-11-14","choice":1,"vp":10}`,
			ballot(func(b *record.Ballot) {
				supports("1", "1")(b)
				b.VotedAt, b.VotedDayOnly, b.Reason = moment("2023-11-14"), true, ""
			}),
		},
		{
			"a day in place of the time", `{"id":"v-1","proposal":{"id":"0xAB"},"voter":"0xFEed","created":"2023-11-14","choice":1,"vp":10}`,
			ballot(func(b *record.Ballot) {
				supports("1", "1")(b)
				b.VotedAt, b.VotedDayOnly, b.Reason = moment("2023-11-14"), true, ""
			}),
		},
		{
			"no time known", `{"id":"v-1","proposal":{"id":"0xAB"},"voter":"0xFEed","choice":1,"vp":10}`,
			ballot(func(b *record.Ballot) {
				supports("1", "1")(b)
				b.VotedAt, b.Reason = nil, ""
			}),
		},
		{
			"names and texts escaped", `{"\u0069d":"v-1","proposal":{"id":"0x\u0041B"},"voter":"0xFEed","choice":1,"vp":10,"reason":"a\u00e9\ud83d\ude00\ud83d!"}`,
			ballot(func(b *record.Ballot) {
				supports("1", "1")(b)
				b.VotedAt, b.Reason = nil, "aé😀\uFFFD!"
			}),
		},
	})
}

func TestInvalidSnapshotVoteIsRejectedWithItsField(t *testing.T) {
	t.Parallel()

	checkRejections(t, "Snapshot vote", []rejectionTest{
		{"no voter", `{"id":"v","proposal":{"id":"p"},"space":{"id":"s"},"choice":1,"vp":1}`, `voter is missing; want a string`},
		{"voter null", `{"id":"v","proposal":{"id":"p"},"voter":null,"choice":1,"vp":1}`, `voter is null; want a string`},
		{"voter empty", `{"id":"v","proposal":{"id":"p"},"voter":"","choice":1,"vp":1}`, `voter is empty; want an identifier`},
		{"voter with a NUL", `{"id":"v","proposal":{"id":"p"},"voter":"0x\u0000","choice":1,"vp":1}`, `voter is "0x\u0000"; want an identifier without control characters`},
		{"voter too long", `{"id":"v","proposal":{"id":"p"},"voter":"` + strings.Repeat("x", 513) + `","choice":1,"vp":1}`, `voter has 513 bytes; want an identifier of at most 512`},
		{"no vote id", `{"proposal":{"id":"p"},"voter":"0x1","choice":1,"vp":1}`, `id is missing; want a string`},
		{"no proposal", `{"id":"v","voter":"0x1","choice":1,"vp":1}`, `proposal.id is missing; want a string`},
		{"proposal id as a number", `{"id":"v","proposal":{"id":7},"voter":"0x1","choice":1,"vp":1}`, `proposal.id is a number; want a string`},
		{"power negative", vote("1", "-0.1"), `vp is refused: negative: "-0.1"; want a number from 0`},
		{"power null", vote("1", "null"), `vp is null; want a number`},
		{"power of a gigabyte", vote("1", "1e999999999"), `vp is refused: ` + governance.ErrTooLarge.Error() + `: "1e999999999"; want a number from 0`},
		{"no power", `{"id":"v","proposal":{"id":"p"},"voter":"0x1","choice":1}`, `vp is missing; want a number`},
		{"choice null", vote("null", "1"), `choice is null; want a number, an array or an object`},
		{"no choice", `{"id":"v","proposal":{"id":"p"},"voter":"0x1","vp":1}`, `choice is missing; want a number, an array or an object`},
		{"choice a boolean", vote("true", "1"), `choice is a boolean; want a number, an array or an object`},
		{"choice encrypted", vote(`"0x04ab"`, "1"), `choice is encrypted; import again after it is revealed`},
		{"choice as a label", vote(`"For"`, "1"), `choice is "For"; want a number, an array or an object`},
		{"choice encrypted for good", vote(`{"v":1,"ciphertexts":[{"c1":"0x1","c2":"0x2"}]}`, "1"), `choice is encrypted for good; only the totals of the vote become known`},
		{"weight stated twice", vote(`{"1":5,"1":2}`, "1"), `choice has field "1" twice`},
		{"voter stated twice", `{"id":"v","proposal":{"id":"p"},"voter":"0x1","voter":"0x2","created":1,"choice":1,"vp":1}`, `has field "voter" twice`},
		{"proposal stated twice", `{"id":"v","proposal":{"id":"p","id":"q"},"voter":"0x1","created":1,"choice":1,"vp":1}`, `proposal has field "id" twice`},
		{"field stated twice in another spelling", `{"id":"v","i\u0064":"w","proposal":{"id":"p"},"voter":"0x1","created":1,"choice":1,"vp":1}`, `has field "id" twice`},
		{"created as a text", `{"id":"v","proposal":{"id":"p"},"voter":"0x1","created":"now","choice":1,"vp":1}`, `created is "now"; want seconds or milliseconds since 1970, or an RFC 3339 time, up to the year 2261`},
		{
			"a Tally vote", `{"id":"v","proposal":{"id":"p"},"type":"for","voter":{"address":"0x1"},"amount":"1"}`,
			`is a Tally vote in a file of another format; want a Snapshot vote`,
		},
		{"not JSON", `{"id":"v",`, `not JSON: unexpected end of JSON input`},
		{"more than JSON", `{"id":"v"} {}`, `not JSON: invalid character '{' after top-level value`},
		{"not UTF-8", "{\"id\":\"v\xff\"}", `not UTF-8 at byte 9`},
		{"a list", `[1]`, `is an array; want an object`},
		{"a vote of no known kind", `{"id":"v","proposal":{"id":"p"},"voter":"0x1"}`, `vp is missing; want a number`},
		{"an empty object", `{}`, `proposal.id is missing; want a string`},
	})
}
