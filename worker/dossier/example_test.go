package dossier_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/worker/dossier"
)

var update = flag.Bool("update", false, "write docs/examples/dossiers instead of comparing it")

// example is a proposal whose dossier stands in the documents.
type example struct {
	facts dossier.Facts
	// rules are the rules of its findings but info, in their order.
	rules []string
}

func examples(t *testing.T) map[string]example {
	t.Helper()
	const text = "We pay 25,000 USDC to " + recipient + " for the audit of the harbor."
	payment := pay(t, recipient, 25_000_000_000)
	transfer := observed(delegated(facts(text, payment)), "success", "")
	transfer.Histories[recipient] = dossier.AddressHistory{Ballots: 3}
	grant := call(t, governor, "grantRole(bytes32,address)", "0", stranger)
	nested := observed(facts(text, safe(t, batch(t, payment, batch(t, pay(t, recipient, 1), grant)))), "success", "")
	nested.Histories[recipient] = dossier.AddressHistory{Proposals: 1}
	signalling := facts("Shall the harbor have a flag?")
	ranked := facts("Rank the flags.")
	ranked.Proposal.VoteType, ranked.Proposal.Quorum = governance.RankedChoice, nil
	ranked.Votes.Choices = []governance.ChoiceTotal{{Key: "1", Label: "Anchor", VotingPower: "55"}, {Key: "2", Label: "Whale", VotingPower: "45"}, {Key: "3", Label: "Gull", VotingPower: "0"}}
	for i, order := range [][]string{{"1", "2", "3"}, {"2", "1", "3"}, {"1", "3"}, {"3", "2"}} {
		ranked.Ballots[i].Choices = order
	}
	partial := facts(text, payment)
	upstream := governance.UpstreamBasis
	partial.Votes.Basis, partial.Ballots, partial.Quality = &upstream, partial.Ballots[:2], []governance.QualityFlag{rules.BallotsPartial}
	undecodable := call(t, stranger, "nobodyKnows(uint256)", "7")
	undecodable.Value = "3000000000000000000"
	return map[string]example{
		"transfer":     {transfer, nil},
		"hundredfold":  {facts(text, pay(t, recipient, 2_500_000_000_000), grant), []string{rules.RoleMoved, rules.AmountMagnitude}},
		"upgrade":      {facts("We upgrade the vault.", call(t, stranger, "upgradeTo(address)", recipient)), []string{rules.Upgraded}},
		"nested_batch": {nested, []string{rules.RoleMoved, rules.AmountUnstated}},
		"bridge": {
			facts("We lower the delay on OP Mainnet.", bytesCall(t, "0x25ace71c97b33cc4729cf772ae268934f7ab5fa1", "sendMessage(address,bytes,uint32)",
				call(t, governor, "updateDelay(uint256)", "3c").Calldata, governor, "", "30d40")), []string{rules.SettingChanged},
		},
		"signalling":      {signalling, nil},
		"undecodable":     {facts("We send 3 ETH to "+stranger+".", undecodable), []string{rules.PayloadUndecoded, rules.NativeUndecoded}},
		"ranked":          {ranked, nil},
		"partial_ballots": {partial, nil},
	}
}

// bytesCall is a call with words and one parameter of bytes, whose word is empty.
func bytesCall(t *testing.T, target, signature string, content []byte, words ...string) record.Action {
	t.Helper()
	at := slices.Index(words, "")
	words = slices.Clone(words)
	words[at] = fmt.Sprintf("%x", 32*len(words))
	a := call(t, target, signature, append(words, fmt.Sprintf("%x", len(content)))...)
	a.Calldata = append(append(a.Calldata, content...), make([]byte, (32-len(content)%32)%32)...)
	return a
}

func safe(t *testing.T, inside record.Action) record.Action {
	t.Helper()
	signature := "execTransactionFromModule(address,uint256,bytes,uint8)"
	return bytesCall(t, recipient, signature, inside.Calldata, inside.Target, "0", "", "1")
}

// Each example is what its records give, and has the findings that it is to show.
func TestExamplesOfTheDocuments(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(env.Root(t), "docs/examples/dossiers")
	for name, e := range examples(t) {
		d, _ := compose(t, e.facts)
		var got []string
		for _, f := range d.Findings {
			if f.Severity != governance.SeverityInfo && f.Rule != rules.FirstPayer {
				got = append(got, f.Rule)
			}
		}
		if !slices.Equal(got, e.rules) {
			t.Errorf("%s: got the findings %v, want %v", name, got, e.rules)
		}
		i := env.Must(dossier.Compose(e.facts))(t)
		text := compact(t, i)
		path := filepath.Join(folder, name+".json")
		if *update {
			env.MustDo(t, os.WriteFile(path, text, 0o600))
			continue
		}
		if stored, err := os.ReadFile(path); err != nil || !bytes.Equal(stored, text) {
			t.Errorf("%s is not what its records give (%v): go test ./worker/dossier -run Examples -update", path, err)
		}
	}
}

// compact returns JSON in which each part of the dossier, and each row of a list, has a line.
func compact(t *testing.T, i governance.Intelligence) []byte {
	t.Helper()
	line := func(value any) string {
		encoded := env.Must(json.Marshal(value))(t)
		return string(encoded)
	}
	rows := func(indent string, value json.RawMessage) string {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil || len(list) == 0 {
			return string(value)
		}
		var lines []string
		for _, row := range list {
			lines = append(lines, indent+" "+string(row))
		}
		return "[\n" + strings.Join(lines, ",\n") + "\n" + indent + "]"
	}
	var parts []string
	decoder := json.NewDecoder(bytes.NewReader(i.Dossier))
	_, err := decoder.Token()
	for err == nil && decoder.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = decoder.Token(); err == nil {
			err = decoder.Decode(&value)
		}
		parts = append(parts, fmt.Sprintf("  %q: %s", name, rows("  ", value)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "{\n \"status\": %s,\n \"artifactVersion\": %s,\n \"generatedAt\": %s,\n \"dossier\": {\n%s\n },\n \"sourceRefs\": %s,\n \"warnings\": %s\n}\n",
		line(i.Status), line(i.ArtifactVersion), line(i.GeneratedAt), strings.Join(parts, ",\n"), rows(" ", i.SourceRefs), rows(" ", i.Warnings))
}
