package sources_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/follow/sources"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func environ(name string) (string, bool) {
	value, set := map[string]string{"NODE_KEY": "s3cret", "HUB_KEY": "hub-s3cret"}[name]
	return value, set
}

const complete = `contact: ops@example.org
chains:
  eip155:1:
    rpc: ["https://eth.example.org/v2/${NODE_KEY}", "http://127.0.0.1:8545"]
    finality: 70
    pollInterval: 4s
  eip155:42161: {rpc: [https://arb.example.org], clockChain: eip155:1}
snapshot: {apiKey: "${HUB_KEY}"}
forums:
  forum.harbor.org: {url: https://harbor.org/forum}
daos:
  - id: harbor
    name: Harbor DAO
    snapshot: [harbor.eth]
    governors:
      - eip155:1:0x21dF544947ba3E8b3c32561399E88B52Dc8b2823
      - {id: "eip155:42161:0x21dF544947ba3E8b3c32561399E88B52Dc8b2823", timelock: "0x1111111111111111111111111111111111111111", firstBlock: 7}
    forums: [Forum.Harbor.org]
`

func TestACompleteFileIsRead(t *testing.T) {
	t.Parallel()
	file := env.Must(sources.Parse("sources.yaml", []byte(complete), environ))(t)
	chain := file.Chains["eip155:1"]
	env.Want(t, "https://eth.example.org/v2/s3cret", string(chain.RPC[0]), "endpoint")
	env.Want(t, "https://eth.example.org", chain.RPC[0].String(), "printed endpoint")
	env.Want(t, "***", file.Snapshot.APIKey.String(), "printed key")
	env.Want(t, uint64(1), file.Chains["eip155:42161"].ClockChain.Number(), "clock chain")
	dao := file.DAOs[0]
	env.Want(t, sources.GovernorID("eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b2823"), dao.Governors[0].ID, "Governor")
	if got := dao.Governors[1]; got.FirstBlock != 7 || got.ID.Chain() != "eip155:42161" {
		t.Errorf("got Governor %+v, want its first block and its chain", got)
	}
	env.Want(t, 4, len(dao.Sources()), "sources")
}

func TestContractsHaveTheFunctionsOfTheirABI(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"list.json":     `[{"type":"event","name":"Funded"},{"type":"function","name":"fund","inputs":[{"name":"calls","type":"tuple[2]","components":[{"name":"to","type":"address"}]},{"name":"","type":"uint256"}]}]`,
		"artifact.json": `{"abi":[{"type":"function","name":"lend","inputs":[]}]}`,
		"events.json":   `[]`, "type.json": `[{"type":"function","name":"f","inputs":[{"type":"uint7"}]}]`, "text.json": `abi`,
	} {
		env.MustDo(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	parse := func(contracts string) (sources.File, error) {
		return sources.Parse(filepath.Join(folder, "sources.yaml"), []byte("contact: a\ndaos:\n- {id: a, name: A, snapshot: [a.eth], contracts: ["+contracts+"]}\n"), environ)
	}
	const first, second = `eip155:1:0x21dF544947ba3E8b3c32561399E88B52Dc8b2823`, `eip155:1:0x1111111111111111111111111111111111111111`
	file := env.Must(parse(`{id: "` + first + `", name: Vault, abi: list.json}, {id: "` + second + `", name: Bank, abi: artifact.json}`))(t)
	want := []record.Record{&record.DAO{ID: "a", Name: "A", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "a.eth"}}, Contracts: []record.Contract{
		{ID: strings.ToLower(first), Name: "Vault", Functions: []string{"fund((address to)[2] calls,uint256)"}}, {ID: second, Name: "Bank", Functions: []string{"lend()"}},
	}}}
	env.WantSame(t, "records", want, env.Must(file.Records(records.Catalog{}))(t))
	for contracts, want := range map[string]string{
		`{id: "` + second + `", name: A}, {id: "` + second + `", name: B}`: ":3: daos[0].contracts[1]: " + second + " has a name in daos[0].contracts[0] already",
		`{id: "` + second + `", name: A, abi: none.json}`:                  ":3: daos[0].contracts[0].abi: read the ABI file",
		`{id: "` + second + `", name: A, abi: events.json}`:                "has no function",
		`{id: "` + second + `", name: A, abi: type.json}`:                  "is no signature of a function",
		`{id: "` + second + `", name: A, abi: text.json}`:                  "read the ABI",
		`{id: "` + second + `"}`:                                           "needs name",
	} {
		_, err := parse(contracts)
		env.WantPart(t, want, fmt.Sprint(err), contracts)
	}
}

func TestIDsOfSpacesAreNamesInAnyScript(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"🍯pot.eth": true, "👨‍👩‍👧🏽.eth": true, "ñandú.eth": true, "7️⃣.eth": true, "公会.eth": true, "❤️.eth": true, "#️⃣.eth": true, "🏴󠁧󠁢󠁥󠁮󠁧󠁿.eth": true, "‼️↔️.eth": true, "$₿.eth": true,
		"a b": false, "a<b": false, "a#b": false, "a/b": false, "a\u202eb": false, strings.Repeat("🍯", 51): false,
	} {
		file, err := sources.Parse("f.yaml", fmt.Appendf(nil, "contact: a\ndaos:\n- {id: a, name: A, snapshot: [%q]}\n", id), environ)
		if got := err == nil; got != want || got && string(file.DAOs[0].Snapshot[0]) != id {
			t.Errorf("%q: got %v, want it read: %t", id, err, want)
		}
	}
}

func TestAFileIsRefusedWithTheLineAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	const dao = "\ndaos:\n- {id: a, name: A, snapshot: [a.eth]}\n"
	for name, test := range map[string]struct{ text, want string }{
		"empty":                       {"", ":0: is empty: want contact and daos"},
		"no YAML":                     {"contact: [", "did not find"},
		"two documents":               {"contact: a" + dao + "---\ncontact: b\n", "more than one document"},
		"an unknown key":              {"contact: a\nchain: {}" + dao, ":2: chain: is not a key; want one of contact, chains, snapshot, tally, forums, names, daos"},
		"a key twice":                 {"contact: a\ncontact: b" + dao, ":2: contact: is a second time the key of line 1"},
		"a key in two spellings":      {"contact: a\nnames:\n  \"0x21df544947ba3e8b3c32561399e88b52dc8b2823\": A\n  \"0x21dF544947ba3E8b3c32561399E88B52Dc8b2823\": B" + dao, ":4: names.0x21dF544947ba3E8b3c32561399E88B52Dc8b2823: is there in another spelling"},
		"a missing key":               {"contact: a\n", ":1: needs daos"},
		"no value":                    {"contact:" + dao, ":1: contact: want a text"},
		"a text for a list":           {"contact: a\ndaos: b\n", ":2: daos: want a list"},
		"a list for keys":             {"contact: a\ndaos:\n- [b]\n", ":3: daos[0]: want keys with values"},
		"an alias":                    {"contact: &x a\ndaos:\n- {id: a, name: *x, snapshot: [b]}\n", ":3: daos[0].name: aliases are not supported"},
		"a line break in the contact": {"contact: \"a\\nX-Evil: b\"" + dao, ":1: contact: want a text"},
		"a missing variable":          {"contact: a\nsnapshot: {apiKey: \"${NO_KEY}\"}" + dao, ":2: snapshot.apiKey: environment variable NO_KEY is not set"},
		"a literal key":               {"contact: a\nsnapshot: {apiKey: s3cret}" + dao, ":2: snapshot.apiKey: want ${NAME}"},
		"a key in a path":             {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org/v2/s3cretabcdefghijkl0123\"]}}" + dao, ":2: chains.eip155:1.rpc[0]: has what looks like a key"},
		"a key in a query":            {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org/?k=s3cret\"]}}" + dao, "has what looks like a key"},
		"a password in an address":    {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://u:s3cret@x.org/\"]}}" + dao, "has what looks like a key"},
		"no web address":              {"contact: a\nchains: {\"eip155:1\": {rpc: [\"ftp://x.org\"]}}" + dao, "want an address that begins with https://"},
		"no chain":                    {"contact: a\nchains: {mainnet: {rpc: [\"https://x.org\"]}}" + dao, ":2: chains.mainnet: want a chain such as eip155:1"},
		"no endpoint":                 {"contact: a\nchains: {\"eip155:1\": {rpc: []}}" + dao, ":2: chains.eip155:1.rpc: is empty"},
		"an endpoint twice":           {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org\", \"https://x.org\"]}}" + dao, ":2: chains.eip155:1.rpc: has an endpoint twice"},
		"a forum twice":               {"contact: a\ndaos:\n- {id: a, name: A, forums: [\"x.org:443\", x.org]}\n", "discourse x.org is a source of daos[0] too"},
		"a forum with an empty label": {"contact: a\ndaos:\n- {id: a, name: A, forums: [x..org]}\n", "want a host name"},
		"an unknown clock chain":      {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org\"], clockChain: \"eip155:2\"}}" + dao, "eip155:2 is not one of chains"},
		"a negative number":           {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org\"], finality: -1}}" + dao, "want a whole number"},
		"no requests a minute":        {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org\"], requestsPerMinute: 0}}" + dao, "want a whole number from 1"},
		"a short interval":            {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org\"], pollInterval: 1ms}}" + dao, "want a duration from 1s to 1h"},
		"a short address":             {"contact: a\ndaos:\n- id: a\n  name: A\n  governors:\n  - eip155:1:0xabc\n", ":6: daos[0].governors[0]: want a chain such as eip155:1, a colon, and the address of a contract"},
		"a wrong checksum":            {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org\"]}}\ndaos:\n- {id: a, name: A, governors: [\"eip155:1:0x21dF544947ba3E8b3c32561399E88B52Dc8b2824\"]}\n", "with the right checksum"},
		"a zero timelock":             {"contact: a\nchains: {\"eip155:1\": {rpc: [\"https://x.org\"]}}\ndaos:\n- {id: a, name: A, governors: [{id: \"eip155:1:0x21dF544947ba3E8b3c32561399E88B52Dc8b2823\", timelock: \"0x0000000000000000000000000000000000000000\"}]}\n", "not all of them 0"},
		"a Governor without a chain":  {"contact: a\ndaos:\n- id: a\n  name: A\n  governors:\n  - eip155:1:0x21dF544947ba3E8b3c32561399E88B52Dc8b2823\n", ":6: daos[0].governors[0]: needs endpoints of eip155:1 in chains"},
		"a forum with a path":         {"contact: a\ndaos:\n- {id: a, name: A, forums: [\"https://x.org\"]}\n", ":3: daos[0].forums[0]: want a host name"},
		"a forum of no DAO":           {"contact: a\nforums: {x.org: {}}" + dao, ":2: forums.x.org: is the forum of no DAO"},
		"a key without a user":        {"contact: a\nforums: {x.org: {apiKey: \"${HUB_KEY}\"}}\ndaos:\n- {id: a, name: A, forums: [x.org]}\n", "needs both apiKey and apiUser"},
		"Tally without a key":         {"contact: a\ndaos:\n- {id: a, name: A, tally: [a]}\n", ":3: daos[0].tally: needs an apiKey in tally"},
		"a DAO twice":                 {"contact: a" + dao + "- {id: a, name: B, snapshot: [b.eth]}\n", ":4: daos[1].id: a is the id of daos[0] too"},
		"a source of two DAOs":        {"contact: a" + dao + "- {id: b, name: B, snapshot: [a.eth]}\n", ":4: daos[1]: snapshot a.eth is a source of daos[0] too"},
		"a DAO without sources":       {"contact: a\ndaos:\n- {id: a, name: A}\n", ":3: daos[0]: has no source"},
		"no DAO":                      {"contact: a\ndaos: []\n", ":2: daos: is empty"},
		"more than 1 MiB":             {strings.Repeat("#", 1<<20+1), "larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sources.Parse("sources.yaml", []byte(test.text), environ)
			if _, refused := errors.AsType[*sources.RefusedError](err); !refused {
				t.Fatalf("got %v, want a refusal", err)
			}
			env.WantPart(t, test.want, err.Error())
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, which has a key", err)
			}
		})
	}
}

func TestAllProblemsAreReportedInOrderOfLines(t *testing.T) {
	t.Parallel()
	_, err := sources.Parse("f.yaml", []byte("contact: \"\"\nx: 1\ndaos:\n- {id: a b, name: A}\n"), environ)
	want := `sources file refused:
  f.yaml:1: contact: want a text of at most 200 bytes in one line
  f.yaml:2: x: is not a key; want one of contact, chains, snapshot, tally, forums, names, daos
  f.yaml:4: daos[0].id: want an id of letters, digits, emoji and . _ : -, at most 200 bytes`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAFileThatIsMissingOrHasNoEndIsAnError(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{t.TempDir() + "/none.yaml": "read the sources file: ", "/dev/zero": "larger than 1 MiB"} {
		_, err := sources.Load(path, environ)
		env.WantPart(t, want, fmt.Sprint(err), path)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(complete))
	f.Add([]byte("contact: a\ndaos:\n- {id: a, name: A, governors: [[]]}\n"))
	f.Add([]byte("? {a: b}\n: c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := sources.Parse("f", text, environ)
		if err == nil && len(file.DAOs) == 0 {
			t.Error("got a file without DAOs and no error")
		}
	})
}

func TestADAOKeepsItsSourcesAndGetsThoseOfTheFile(t *testing.T) {
	t.Parallel()
	file := env.Must(sources.Parse("f", []byte("contact: a\ndaos:\n- {id: harbor, name: Harbor, snapshot: [new.eth, lone.eth, taken.eth], forums: [f.org]}\n"), environ))(t)
	space := func(id string) record.SourceRef { return record.SourceRef{Provider: governance.Snapshot, ID: id} }
	forum := record.SourceRef{Provider: governance.Discourse, ID: "f.org"}
	old := record.SourceRef{Provider: governance.Discourse, ID: "old.org"}
	records, conflicts := file.Records(records.Catalog{
		DAOs: map[string]records.CatalogDAO{
			"harbor": {ID: "harbor", Name: "Old name", Sources: []record.SourceRef{old, forum}},
			"other":  {ID: "other", Sources: []record.SourceRef{space("taken.eth")}},
		},
		Owner: map[record.SourceRef]string{
			old: "harbor", forum: "harbor", space("taken.eth"): "other",
		},
	})
	want := []record.Record{&record.DAO{
		ID: "harbor", Name: "Harbor",
		Sources: []record.SourceRef{old, forum, space("new.eth"), space("lone.eth"), space("taken.eth")},
	}}
	env.WantSame(t, "records", want, records)
	if conflicts == nil || !strings.Contains(conflicts.Error(), "taken.eth is a source of other") || strings.Contains(conflicts.Error(), "lone") {
		t.Errorf("got conflicts %v, want that of taken.eth alone", conflicts)
	}
}

func TestTheExampleIsValidAndNeedsNoKey(t *testing.T) {
	t.Parallel()
	text := env.Must(os.ReadFile("../../docs/sources.example.yaml"))(t)
	environ := func(string) (string, bool) { return "", false }
	_, err := sources.Parse("f", text, environ)
	env.WantPart(t, "contact: you@example.org is from the example", fmt.Sprint(err), "error")
	file := env.Must(sources.Parse("f", bytes.Replace(text, []byte("you@example.org"), []byte("ops@example.net"), 1), environ))(t)
	env.Want(t, 10, len(file.DAOs), "DAOs", "ten")
	for _, dao := range file.DAOs {
		for _, governor := range dao.Governors {
			if governor.FirstBlock == 0 {
				t.Errorf("%s: %s has no first block, which endpoints without an archive need", dao.ID, governor.ID)
			}
		}
	}
}

func TestTheDocumentDescribesThePresentKeys(t *testing.T) {
	t.Parallel()
	document := env.Must(os.ReadFile("../../docs/sources.md"))(t)
	want := env.Must(config.UpdateTable(string(document), "sources", sources.Markdown()))(t)
	if string(document) != want {
		t.Error("the list of keys in docs/sources.md is not the present one: run `make docs`")
	}
	for row := range strings.SplitSeq(strings.TrimSpace(sources.Markdown()), "\n") {
		if key, meaning, _ := strings.Cut(row, ": "); !strings.HasPrefix(key, "- `") || !strings.HasSuffix(meaning, ".") {
			t.Errorf("got line %s, want a key and a sentence", row)
		}
	}
}
