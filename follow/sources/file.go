// Package sources reads the file that names the DAOs to follow and where they are published.
//
// The structs below are the only description of the file: the reader takes keys and forms from them, and
// docs/sources.md is generated from their tags.
package sources

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

// maxFileBytes bounds a sources file: a thousand DAOs need a fifth of it.
const maxFileBytes = 1 << 20

// File is a sources file.
type File struct {
	Contact  Text              `yaml:"contact,required" doc:"A mail address or page at which the operators of upstream systems reach you; it is sent with every request."`
	Chains   map[ChainID]Chain `yaml:"chains" doc:"The chains on which Governors are followed."`
	Snapshot Hub               `yaml:"snapshot" doc:"The Snapshot hub."`
	Tally    Tally             `yaml:"tally" doc:"An endpoint that speaks Tally's API."`
	Forums   map[Host]Forum    `yaml:"forums" doc:"Addresses and keys of forums that need any."`
	Names    map[Contract]Text `yaml:"names" doc:"Names of voters, by address."`
	DAOs     []DAO             `yaml:"daos,required" doc:"The DAOs to follow."`
}

// Chain is how a chain is reached.
type Chain struct {
	RPC          []Address `yaml:"rpc,required" doc:"JSON-RPC endpoints, the preferred one first. A second one takes over while the first fails, and gives the second look at what is final."`
	Rate         Number    `yaml:"requestsPerMinute" doc:"Requests a minute to each endpoint that your plan allows; by default 600."`
	Finality     Number    `yaml:"finality" doc:"Blocks after which a block counts as final on a chain whose nodes do not know the tag finalized."`
	PollInterval Duration  `yaml:"pollInterval" doc:"Time between two looks at the newest block; by default 2 s."`
	ClockChain   ChainID   `yaml:"clockChain" doc:"The chain whose block numbers start and end votes, where it is another one: eip155:1 for Arbitrum."`
}

// Hub is how a Snapshot hub is reached.
type Hub struct {
	URL    Address `yaml:"url" doc:"GraphQL endpoint; by default https://hub.snapshot.org/graphql."`
	APIKey Secret  `yaml:"apiKey" doc:"API key; without one, the hub allows an address 100 requests a minute, and may withhold what is older than a year."`
	Rate   Number  `yaml:"requestsPerMinute" doc:"Requests a minute; by default 90, with a key 300."`
}

// Tally is how an endpoint of Tally's API is reached.
type Tally struct {
	URL    Address `yaml:"url" doc:"GraphQL endpoint; by default https://api.tally.xyz/query."`
	APIKey Secret  `yaml:"apiKey" doc:"API key."`
	Rate   Number  `yaml:"requestsPerMinute" doc:"Requests a minute; by default 54."`
}

// Forum is how a Discourse forum is reached.
type Forum struct {
	URL          Address `yaml:"url" doc:"Address, where it is not https:// and the host: a forum below a path."`
	APIKey       Secret  `yaml:"apiKey" doc:"API key; without one, topics show up to a minute later."`
	APIUser      Text    `yaml:"apiUser" doc:"User that the API key belongs to."`
	Rate         Number  `yaml:"requestsPerMinute" doc:"Requests a minute; by default 90, with a key 50."`
	AddressField Text    `yaml:"addressField" doc:"User field with an address, read hourly: where one user alone states an address, the username is an unverified name of that voter."`
}

// DAO is a DAO to follow.
type DAO struct {
	ID        Identifier      `yaml:"id,required" doc:"Id of the DAO in the API."`
	Name      Text            `yaml:"name,required" doc:"Name of the DAO."`
	Snapshot  []Identifier    `yaml:"snapshot" doc:"Its Snapshot spaces, such as ens.eth."`
	Governors []Governor      `yaml:"governors" doc:"Its Governor contracts: an id, or an id with timelock and first block."`
	Tokens    []GovernorID    `yaml:"tokens" doc:"Further tokens whose delegations are followed, eip155:CHAIN:ADDRESS each, on chains with a followed Governor."`
	Forums    []Host          `yaml:"forums" doc:"Hosts of its Discourse forums, such as discuss.ens.domains."`
	Tally     []Identifier    `yaml:"tally" doc:"Slugs of its organizations at Tally; where a Governor is followed too, its proposals count once."`
	Contracts []NamedContract `yaml:"contracts" doc:"Contracts that dossiers call by a name."`
}

// NamedContract is a contract with the name that its DAO has for it.
type NamedContract struct {
	ID   GovernorID `yaml:"id,required" doc:"eip155:CHAIN:ADDRESS."`
	Name Text       `yaml:"name,required" doc:"Name, such as Treasury."`
	ABI  Text       `yaml:"abi" doc:"Path of its ABI (JSON) from the folder of this file, read with it: its calls decode."`
	// functions are the signatures in the ABI.
	functions []string
}

// Governor is a Governor contract. In the file, its id alone is enough.
type Governor struct {
	ID         GovernorID `yaml:"id,required,alone" doc:"eip155:CHAIN:ADDRESS."`
	Timelock   Contract   `yaml:"timelock" doc:"Address of its timelock, where the Governor does not say."`
	Token      Contract   `yaml:"token" doc:"Address of its token, where the Governor does not say: its decimals scale all amounts."`
	FirstBlock Number     `yaml:"firstBlock" doc:"Block in which the contract was created; needed where no endpoint is an archive."`
}

// Load reads and parses a sources file. environ looks up environment variables.
func Load(path string, environ func(string) (string, bool)) (File, error) {
	text, err := readFile("sources", path)
	if err != nil {
		return File{}, err
	}
	return Parse(path, text, environ)
}

func readFile(what, path string) ([]byte, error) {
	opened, err := os.Open(path) //nolint:gosec // the file that the operator names
	if err != nil {
		return nil, fmt.Errorf("read the %s file: %w", what, err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the %s file: %w", what, err)
	}
	return text, nil
}

// Markdown returns the list of all keys of a sources file, for its documentation.
func Markdown() string {
	var list strings.Builder
	addKeys(&list, "", reflect.TypeFor[File]())
	return list.String()
}

func addKeys(list *strings.Builder, path string, of reflect.Type) {
	for _, f := range fieldsOf(of) {
		at, needed := strings.TrimPrefix(path+"."+f.name, "."), ""
		if f.required {
			needed = " (required)"
		}
		fmt.Fprintf(list, "- `%s`%s: %s\n", at, needed, f.doc)
		inner := f.kind
		switch inner.Kind() {
		case reflect.Map:
			at, inner = at+"."+strings.ToUpper(strings.TrimSuffix(inner.Key().Name(), "ID")), inner.Elem()
		case reflect.Slice:
			at, inner = at+"[]", inner.Elem()
		default:
		}
		if inner.Kind() == reflect.Struct {
			addKeys(list, at, inner)
		}
	}
}
