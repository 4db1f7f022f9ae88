// Package sources reads the file that names the DAOs to follow and where they are
// published.
//
// The structs below are the only description of the file: the reader takes keys and
// forms from them, and docs/sources.md is generated from their tags.
package sources

import (
	"fmt"
	"io"
	"os"
)

// maxFileBytes bounds a sources file: a thousand DAOs need a fifth of it.
const maxFileBytes = 1 << 20

// File is a sources file.
type File struct {
	// Contact goes into the User-Agent of every request.
	Contact Text `yaml:"contact,required" doc:"A mail address or page at which the operators of upstream systems reach you; it is sent with every request."`
	// Chains has the chains of all Governors that are followed.
	Chains map[ChainID]Chain `yaml:"chains" doc:"The chains on which Governors are followed."`
	// Snapshot is the hub that has the followed spaces.
	Snapshot Hub `yaml:"snapshot" doc:"The Snapshot hub."`
	// Tally is the endpoint that has the followed organizations.
	Tally Tally `yaml:"tally" doc:"An endpoint that speaks Tally's API."`
	// Forums has what is to be known of a forum beyond its host; a forum needs no entry.
	Forums map[Host]Forum `yaml:"forums" doc:"Addresses and keys of forums that need any."`
	// Names are names of voters.
	Names map[Contract]Text `yaml:"names" doc:"Names of voters, by address."`
	// DAOs are the DAOs to follow.
	DAOs []DAO `yaml:"daos,required" doc:"The DAOs to follow."`
}

// Chain is how a chain is reached.
type Chain struct {
	// RPC are its JSON-RPC endpoints, the preferred one first.
	RPC []Address `yaml:"rpc,required" doc:"JSON-RPC endpoints, the preferred one first. A second one takes over while the first fails, and gives the second look at what is final."`
	// Rate is the number of requests a minute; 0 is 600.
	Rate Number `yaml:"requestsPerMinute" doc:"Requests a minute to each endpoint that your plan allows; by default 600."`
	// Finality is the number of blocks after which one is final where the node does not
	// say; 0 is the chain's default.
	Finality Number `yaml:"finality" doc:"Blocks after which a block counts as final on a chain whose nodes do not know the tag finalized."`
	// PollInterval is the time between two looks at the head; 0 is 2 s.
	PollInterval Duration `yaml:"pollInterval" doc:"Time between two looks at the newest block; by default 2 s."`
	// ClockChain is the chain whose block numbers the Governors vote by; empty for the chain
	// itself.
	ClockChain ChainID `yaml:"clockChain" doc:"The chain whose block numbers start and end votes, where it is another one: eip155:1 for Arbitrum."`
}

// Hub is how a Snapshot hub is reached.
type Hub struct {
	// URL is its GraphQL endpoint; empty for Snapshot's own.
	URL Address `yaml:"url" doc:"GraphQL endpoint; by default https://hub.snapshot.org/graphql."`
	// APIKey is empty for keyless requests.
	APIKey Secret `yaml:"apiKey" doc:"API key; without one, the hub allows an address 100 requests a minute, and may withhold what is older than a year."`
	// Rate is the number of requests a minute; 0 is the default.
	Rate Number `yaml:"requestsPerMinute" doc:"Requests a minute; by default 90, with a key 300."`
}

// Tally is how an endpoint of Tally's API is reached.
type Tally struct {
	// URL is its GraphQL endpoint; empty for Tally's own.
	URL Address `yaml:"url" doc:"GraphQL endpoint; by default https://api.tally.xyz/query."`
	// APIKey authorizes the requests.
	APIKey Secret `yaml:"apiKey" doc:"API key."`
	// Rate is the number of requests a minute; 0 is 54, a little less than a key may send.
	Rate Number `yaml:"requestsPerMinute" doc:"Requests a minute; by default 54."`
}

// Forum is how a Discourse forum is reached.
type Forum struct {
	// URL is its address; empty for https and its host.
	URL Address `yaml:"url" doc:"Address, where it is not https:// and the host: a forum below a path."`
	// APIKey is empty for public forums.
	APIKey Secret `yaml:"apiKey" doc:"API key; without one, topics show up to a minute later."`
	// APIUser is the user of the key.
	APIUser Text `yaml:"apiUser" doc:"User that the API key belongs to."`
	// Rate is the number of requests a minute; 0 is the default.
	Rate Number `yaml:"requestsPerMinute" doc:"Requests a minute; by default 90, with a key 50."`
	// AddressField is the user field that states an address; empty for none.
	AddressField Text `yaml:"addressField" doc:"User field with an address, read hourly: where one user alone states an address, the username is an unverified name of that voter."`
}

// DAO is a DAO to follow.
type DAO struct {
	// ID is its id in the API.
	ID Identifier `yaml:"id,required" doc:"Id of the DAO in the API."`
	// Name is its display name.
	Name Text `yaml:"name,required" doc:"Name of the DAO."`
	// Snapshot are its spaces.
	Snapshot []Identifier `yaml:"snapshot" doc:"Its Snapshot spaces, such as ens.eth."`
	// Governors are its Governor contracts.
	Governors []Governor `yaml:"governors" doc:"Its Governor contracts: an id, or an id with timelock and first block."`
	// Tokens are its tokens beside the tokens of its Governors.
	Tokens []GovernorID `yaml:"tokens" doc:"Further tokens whose delegations are followed, eip155:CHAIN:ADDRESS each, on chains with a followed Governor."`
	// Forums are the hosts of its forums.
	Forums []Host `yaml:"forums" doc:"Hosts of its Discourse forums, such as discuss.ens.domains."`
	// Tally are the slugs of its organizations.
	Tally []Identifier `yaml:"tally" doc:"Slugs of its organizations at Tally; where a Governor is followed too, its proposals count once."`
}

// Governor is a Governor contract. In the file, its id alone is enough.
type Governor struct {
	// ID is eip155:CHAIN:ADDRESS, in lower case.
	ID GovernorID `yaml:"id,required,alone" doc:"eip155:CHAIN:ADDRESS."`
	// Timelock is the contract that executes its proposals; empty where the Governor says.
	Timelock Contract `yaml:"timelock" doc:"Address of its timelock, where the Governor does not say."`
	// Token is the contract that votes are counted in; empty where the Governor says.
	Token Contract `yaml:"token" doc:"Address of its token, where the Governor does not say: its decimals scale all amounts."`
	// FirstBlock is the block in which it was created; 0 where the node finds out.
	FirstBlock Number `yaml:"firstBlock" doc:"Block in which the contract was created; needed where no endpoint is an archive."`
}

// Load reads and parses a sources file. environ looks up environment variables.
func Load(path string, environ func(string) (string, bool)) (File, error) {
	text, err := readFile(path)
	if err != nil {
		return File{}, err
	}
	return Parse(path, text, environ)
}

func readFile(path string) ([]byte, error) {
	opened, err := os.Open(path) //nolint:gosec // the file that the operator names
	if err != nil {
		return nil, fmt.Errorf("read the sources file: %w", err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the sources file: %w", err)
	}
	return text, nil
}
