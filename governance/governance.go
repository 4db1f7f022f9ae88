// Package governance holds the nouns of DAO governance as the API publishes
// them: resource shapes with their JSON and msgpack names, identifiers, decimals,
// timestamps, the closed sets of states, and the rules by which ballots are
// counted. It knows nothing of storage or transport.
package governance
