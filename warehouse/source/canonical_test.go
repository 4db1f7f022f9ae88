package source_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/check"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

func TestTheDocumentHasAnExampleOfEachCanonicalLine(t *testing.T) {
	t.Parallel()

	readme := check.Must(os.ReadFile("../../docs/sources.md"))(t)
	proposal := &record.ProposalRef{Provider: governance.Tally, ExternalID: "harbor-17"}
	examples := strings.Split(string(readme), "```json\n")[1:]
	wants := []record.Record{
		&record.DAO{ID: "harbor", Name: "Harbor DAO", Sources: []record.SourceRef{
			{Provider: governance.Snapshot, ID: "harbor.eth"},
			{Provider: governance.Discourse, ID: "forum.harbor.example"},
		}},
		&record.Event{
			ID: "harbor-exec-17", Type: "proposal_executed", At: *moment("2026-03-04T09:15:00Z"), DAOID: "harbor",
			Title: "Renew the audit budget", URL: "https://forum.harbor.example/t/17", ItemType: "proposal",
			Proposal: proposal, Confidence: "exact", Importance: 70,
		},
		&record.Signal{
			ID: "harbor-quorum-17", Type: "quorum_at_risk", DAOID: "harbor", Proposal: proposal, Title: "Quorum at risk",
			Summary: "A third of the quorum is missing with six hours left.", SourceURL: "https://forum.harbor.example/t/17",
			Actionability: "vote", Severity: "high", Score: 82, Surfaces: []string{"agent", "telegram_realtime"},
			DetectedAt: *moment("2026-03-01T06:00:00Z"), DeadlineAt: moment("2026-03-01T12:00:00Z"), Evidence: `{"missing":"133333.5"}`,
		},
		&record.Evidence{
			Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0x17"}, ArtifactVersion: "3",
			GeneratedAt: *moment("2026-03-02"), Dossier: `{"summary":"Renews the budget for a year."}`,
			SourceRefs: `[{"url":"https://forum.harbor.example/t/17"}]`, Warnings: `["The budget is stated in two currencies."]`,
		},
		&record.Action{
			Proposal: *proposal, Chain: "eip155:1", Target: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", Value: "0",
			Calldata: unhex(t, "a9059cbb000000000000000000000000fe89cc7abb2c4183683ab71653c4cdc9b02d44b700000000000000000000000000000000000000000000000000000005d21dba00"),
		},
	}
	const token = "eip155:1:0xc18360217d8f7ab5e7c516566761ea12ce7f9d72"
	placed := record.Placed{Scope: token, Block: 19_000_000, LogIndex: 4, At: moment("2026-01-14T18:29:35Z")}
	wants = append(wants,
		&record.Delegation{Placed: placed, Delegator: "0x00000000000000000000000000000000000000a1", Delegates: []string{"0x00000000000000000000000000000000000000d1"}},
		&record.DelegatePower{
			Placed: record.Placed{Scope: token, Block: 19_000_000, LogIndex: 5}, Delegate: "0x00000000000000000000000000000000000000d1",
			Power: decimal.RequireFromString("1250.5"),
		},
		&record.TokenSupply{Placed: record.Placed{Scope: token, Block: 19_000_000}, Supply: decimal.NewFromInt(100_000_000)},
		&record.Name{Voter: "0x00000000000000000000000000000000000000d1", Source: governance.NameOfSnapshot, Name: "Ada"})
	if len(examples) != len(wants) {
		t.Fatalf("examples in docs/sources.md: got %d, want %d", len(examples), len(wants))
	}
	var tests []recordTest
	for i, want := range wants {
		line, _, _ := strings.Cut(examples[i], "\n")
		tests = append(tests, recordTest{string(want.Kind()), line, want})
	}
	checkRecords(t, "canonical record", tests)
}

func TestCanonicalLineHasOptionalFields(t *testing.T) {
	t.Parallel()

	day := *moment("2026-03-04")
	checkRecords(t, "canonical record", []recordTest{
		{
			"event of a DAO", `{"record":"event","version":1,"eventId":"e","eventType":"dao_announcement","eventTimeMs":"2026-03-04","daoId":"harbor"}`,
			&record.Event{ID: "e", Type: "dao_announcement", At: day, DAOID: "harbor", ItemType: "dao", Confidence: "exact"},
		},
		{
			"event of a proposal", `{"record":"event","version":1,"eventId":"e","eventType":"dao_announcement","eventTimeMs":"2026-03-04","eventTimeConfidence":"day","daoId":"harbor","proposal":{"provider":"snapshot","externalId":"0x1"}}`,
			&record.Event{
				ID: "e", Type: "dao_announcement", At: day, DAOID: "harbor", ItemType: "proposal", Confidence: "day",
				Proposal: &record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0x1"},
			},
		},
		{
			"signal", `{"record":"signal","version":1,"signalId":"s","signalType":"close_race","daoId":"harbor","detectedAt":"2026-03-04","priority":null,"proposal":null}`,
			&record.Signal{ID: "s", Type: "close_race", DAOID: "harbor", DetectedAt: day, Surfaces: []string{"agent"}, Evidence: "{}"},
		},
		{
			"action with everything", `{"record":"action","version":1,"proposal":{"provider":"tally","externalId":"1"},"index":3,"chain":"eip155:10","executor":"0x00000000000000000000000000000000000000AB","target":"0x00000000000000000000000000000000000000CD","value":7,"signature":"f()","operation":"delegatecall","block":9,"transactionHash":"0x1","logIndex":2,"withdrawn":true}`,
			&record.Action{
				Proposal: record.ProposalRef{Provider: governance.Tally, ExternalID: "1"}, Index: 3, Chain: "eip155:10",
				Executor: "0x00000000000000000000000000000000000000ab", Target: "0x00000000000000000000000000000000000000cd", Value: "7",
				Signature: "f()", Delegate: true, Block: 9, TxHash: "0x1", LogIndex: 2, Withdrawn: true, Calldata: []byte{},
			},
		},
		{
			"delegation in parts at a registry", `{"record":"delegation","version":1,"registry":"eip155:1:0x469788fE6E9E9681C6ebF3bF78e7Fd26Fc015446","space":"harbor.eth","delegator":"0xA1","delegates":[{"delegate":"0xD1","share":"0.25"},{"delegate":"0xd2","share":0.4},{"delegate":"0x0000","share":0.1},{"delegate":"0xd2","share":0.1}],"block":7,"withdrawn":true}`,
			&record.Delegation{
				Placed:    record.Placed{Scope: "eip155:1:0x469788fe6e9e9681c6ebf3bf78e7fd26fc015446/harbor.eth", Block: 7, Withdrawn: true},
				Delegator: "0xa1", Delegates: []string{"0xd1", "0xd2"}, Shares: []decimal.Decimal{decimal.RequireFromString("0.25"), decimal.RequireFromString("0.5")},
			},
		},
		{
			"end of a delegation", `{"record":"delegation","version":1,"token":"eip155:1:0xc18360217d8f7ab5e7c516566761ea12ce7f9d72","delegator":"0xa1","delegate":"0x0000000000000000000000000000000000000000","block":7}`,
			&record.Delegation{Placed: record.Placed{Scope: "eip155:1:0xc18360217d8f7ab5e7c516566761ea12ce7f9d72", Block: 7}, Delegator: "0xa1"},
		},
		{
			"DAO with a token", `{"record":"dao","version":1,"daoId":"harbor","tokens":["eip155:1:0xC18360217d8f7ab5e7c516566761ea12ce7f9d72"]}`,
			&record.DAO{ID: "harbor", Name: "harbor", Tokens: []string{"eip155:1:0xc18360217d8f7ab5e7c516566761ea12ce7f9d72"}},
		},
		{
			"DAO with a contract", `{"record":"dao","version":1,"daoId":"harbor","contracts":[{"id":"eip155:1:0xC18360217d8f7ab5e7c516566761ea12ce7f9d72","name":"Treasury","functions":["fund(address to,uint256)"]}]}`,
			&record.DAO{ID: "harbor", Name: "harbor", Contracts: []record.Contract{
				{ID: "eip155:1:0xc18360217d8f7ab5e7c516566761ea12ce7f9d72", Name: "Treasury", Functions: []string{"fund(address to,uint256)"}},
			}},
		},
		{
			"evidence, its numbers untouched", `{"record":"evidence","version":1,"proposal":{"provider":"tally","externalId":"1"},"generatedAt":"2026-03-04","dossier":{ "score" : 1.10e2 },"warnings":null}`,
			&record.Evidence{
				Proposal: record.ProposalRef{Provider: governance.Tally, ExternalID: "1"}, GeneratedAt: day,
				Dossier: `{"score":1.10e2}`, SourceRefs: "[]", Warnings: "[]",
			},
		},
	})
}

func TestInvalidCanonicalLineIsRejectedWithItsField(t *testing.T) {
	t.Parallel()

	event := `{"record":"event","version":1,"eventId":"e","eventType":"dao_announcement","eventTimeMs":"2026-03-04","daoId":"harbor",`
	action := `{"record":"action","version":1,"proposal":{"provider":"tally","externalId":"1"},"chain":"eip155:1",`
	signal := `{"record":"signal","version":1,"signalId":"s","signalType":"close_race","daoId":"harbor","detectedAt":"2026-03-04",`
	delegation := `{"record":"delegation","version":1,"token":"eip155:1:0xC18360217D8F7Ab5e7c516566761Ea12Ce7F9D72",`
	checkRejections(t, "canonical record", []rejectionTest{
		{"no signature", `{"record":"dao","version":1,"daoId":"a","contracts":[{"id":"eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa","name":"T","functions":["fund"]}]}`, `contracts[0].functions[0] is "fund"; want the signature of a function, such as fund(address recipient,uint256 amount)`},
		{"an empty name", `{"record":"dao","version":1,"daoId":"a","contracts":[{"id":"eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa","name":" "}]}`, `contracts[0].name is " "; want a name`},
		{"a contract without a name", `{"record":"dao","version":1,"daoId":"a","contracts":[{"id":"eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa"}]}`, `contracts[0].name is missing; want a string`},
		{"other version", `{"record":"event","version":2}`, `version is 2; want 1`},
		{"no version", `{"record":"event"}`, `version is missing; want a number`},
		{"version as a text", `{"record":"event","version":"1"}`, `version is a string; want a number`},
		{"other record", `{"record":"vote","version":1}`, `record is "vote"; want one of dao, event, signal, evidence, action, delegation, delegate_power, token_supply, name`},
		{"action without a position", action + `"target":"0x00000000000000000000000000000000000000cd"}`, `index is missing; want a number`},
		{"action too far back", action + `"index":2000}`, `index is 2000; want a whole number below 2000`},
		{"action without a target", action + `"index":0}`, `target is missing; want a string`},
		{"action with another target", action + `"index":0,"target":"harbor.eth"}`, `target is "harbor.eth"; want an address: 0x and 40 hexadecimal digits`},
		{"action with half a byte", action + `"index":0,"calldata":"0x1"}`, `calldata is "0x1"; want 0x and at most 2 MiB of bytes in hexadecimal`},
		{"action of endless wei", action + `"index":0,"target":"0x00000000000000000000000000000000000000cd","value":` + strings.Repeat("9", 3<<20) + `}`, `value is ` + strings.Repeat("9", 80) + `; want a whole number of wei below 2^256`},
		{"action of part of a wei", action + `"index":0,"target":"0x00000000000000000000000000000000000000cd","value":"1.5"}`, `value is "1.5"; want a whole number of wei below 2^256`},
		{"action without a chain", `{"record":"action","version":1,"proposal":{"provider":"tally","externalId":"1"},"index":0,"target":"0x00000000000000000000000000000000000000cd"}`, `chain is missing; want a string`},
		{"action on no chain", `{"record":"action","version":1,"proposal":{"provider":"tally","externalId":"1"},"index":0,"target":"0x00000000000000000000000000000000000000cd","chain":"1"}`, `chain is "1"; want eip155:<chain>`},
		{"event without an id", `{"record":"event","version":1}`, `eventId is missing; want a string`},
		{"event without a time", `{"record":"event","version":1,"eventId":"e","eventType":"voting_ended","daoId":"d"}`, `eventTimeMs is missing; want a string`},
		{"event at no such time", `{"record":"event","version":1,"eventId":"e","eventType":"voting_ended","daoId":"d","eventTimeMs":"noon"}`, `eventTimeMs is "noon"; want seconds or milliseconds since 1970, or an RFC 3339 time, up to the year 2261`},
		{
			"event of no known type", `{"record":"event","version":1,"eventId":"e","eventType":"paused","daoId":"d"}`,
			`eventType is "paused"; want one of ` + strings.Join(rules.EventTypeNames(), ", "),
		},
		{
			"signal of no known type", `{"record":"signal","version":1,"signalId":"s","signalType":"rumour","daoId":"d"}`,
			`signalType is "rumour"; want one of ` + strings.Join(rules.SignalTypeNames(), ", "),
		},
		{"event of no known item", event + `"itemType":"vote"}`, `itemType is "vote"; want one of proposal, topic, dao`},
		{"event of no known confidence", event + `"eventTimeConfidence":"sure"}`, `eventTimeConfidence is "sure"; want one of exact, day, derived, discovered`},
		{"event too important", event + `"importanceScore":101}`, `importanceScore is 101; want a whole number from 0 to 100`},
		{"proposal of a forum", event + `"proposal":{"provider":"discourse","externalId":"1"}}`, `proposal.provider is "discourse"; want one of snapshot, tally, governor`},
		{"proposal without an id", event + `"proposal":{"provider":"tally"}}`, `proposal.externalId is missing; want a string`},
		{"signal without a time", `{"record":"signal","version":1,"signalId":"s","signalType":"close_race","daoId":"d"}`, `detectedAt is missing; want a string`},
		{"signal on no known surface", signal + `"surfaces":["agent","wall"]}`, `surfaces[1] is "wall"; want one of agent, atlas_latest, atlas_priority, telegram_realtime`},
		{"signal with a list for evidence", signal + `"evidence":[]}`, `evidence is an array; want an object`},
		{"evidence without a proposal", `{"record":"evidence","version":1,"generatedAt":"2026-03-04"}`, `proposal is missing; want an object`},
		{
			"evidence with a list for a dossier", `{"record":"evidence","version":1,"proposal":{"provider":"tally","externalId":"1"},"generatedAt":"2026-03-04","dossier":[]}`,
			`dossier is an array; want an object`,
		},
		{"delegation at no block", delegation + `"delegator":"0xA1"}`, `block is missing; want a number`},
		{"delegation by nobody", delegation + `"block":1}`, `delegator is missing; want a string`},
		{"delegation of more than everything", delegation + `"block":1,"delegator":"0xA1","delegates":[{"delegate":"0xd1","share":"0.6"},{"delegate":"0xd2","share":"0.5"}]}`, `delegates has 2 parts that add up to 1.1; want at most 1000 that add up to at most 1`},
		{"delegation of a part that is not stated", delegation + `"block":1,"delegator":"0xA1","delegates":[{"delegate":"0xd1"}]}`, `delegates[0].share is missing; want a part above 0 with at most 18 decimal places`},
		{"delegation of no part", delegation + `"block":1,"delegator":"0xA1","delegates":[{"delegate":"0xd1","share":0}]}`, `delegates[0].share is 0; want a part above 0 with at most 18 decimal places`},
		{"delegation of no token", `{"record":"delegation","version":1,"token":"0x1","delegator":"0xa1","block":1}`, `token is "0x1"; want eip155:<chain>:<address>`},
		{"power of no amount", `{"record":"delegate_power","version":1,"token":"eip155:1:0xc18360217d8f7ab5e7c516566761ea12ce7f9d72","delegate":"0xd1","block":1}`, `votingPower is missing; want a number from 0`},
		{"no canonical line", `{"daoId":"harbor","sources":[]}`, `is a DAO in a file of another format; want a canonical record`},
	})
}

func TestDAOLineListsSources(t *testing.T) {
	t.Parallel()

	checkRecords(t, "DAO", []recordTest{
		{
			"all stated", `{"daoId":"harbor","name":"Harbor DAO","sources":[{"provider":"snapshot","id":"harbor.eth"},{"provider":"discourse","id":"Forum.Harbor.Example"}]}`,
			&record.DAO{ID: "harbor", Name: "Harbor DAO", Sources: []record.SourceRef{
				{Provider: governance.Snapshot, ID: "harbor.eth"},
				{Provider: governance.Discourse, ID: "forum.harbor.example"},
			}},
		},
		{
			"a Governor in any case", `{"daoId":"harbor","sources":[{"provider":"governor","id":"eip155:1:0x21DF544947ba3E8b3c32561399E88B52Dc8b28aA"}]}`,
			&record.DAO{ID: "harbor", Name: "harbor", Sources: []record.SourceRef{
				{Provider: governance.Governor, ID: "eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa"},
			}},
		},
		{"no name", `{"daoId":"harbor","name":" ","sources":[]}`, &record.DAO{ID: "harbor", Name: "harbor"}},
	})
	checkRejections(t, "DAO", []rejectionTest{
		{"no id", `{"name":"Harbor","sources":[]}`, `daoId is missing; want a string`},
		{"other provider", `{"daoId":"harbor","sources":[{"provider":"aragon","id":"x"}]}`, `sources[0].provider is "aragon"; want one of snapshot, tally, governor, discourse`},
		{"a Governor without a chain", `{"daoId":"harbor","sources":[{"provider":"governor","id":"0x1"}]}`, `sources[0].id is "0x1"; want eip155:<chain>:<address>`},
		{"source without an id", `{"daoId":"harbor","sources":[{"provider":"tally"}]}`, `sources[0].id is missing; want a string`},
		{"sources as an object", `{"daoId":"harbor","sources":{}}`, `sources is an object; want an array`},
	})
}

var update = flag.Bool("update", false, "write the table of formats into docs/sources.md")

// TestTheDocumentListsTheFormats is not parallel: with -update it writes a file that other
// tests read.
func TestTheDocumentListsTheFormats(t *testing.T) {
	readme := check.Must(os.ReadFile("../../docs/sources.md"))(t)
	const begin, end = "### Upstream formats\n\n", "\nThe files of a Discourse forum"
	before, rest, foundBegin := strings.Cut(string(readme), begin)
	table, after, foundEnd := strings.Cut(rest, end)
	if !foundBegin || !foundEnd {
		t.Fatalf("got docs/sources.md without %q and %q, want both around the table", begin, end)
	}
	want := source.FormatTable()
	if *update {
		content := before + begin + want + end + after
		check.MustDo(t, os.WriteFile("../../docs/sources.md", []byte(content), 0o600))
		return
	}
	if table != want {
		t.Errorf("got the table\n%s\nwant (run the test with -update)\n%s", table, want)
	}
}
