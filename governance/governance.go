// Package governance holds the nouns of DAO governance as the API publishes them:
// resource shapes with their JSON and msgpack names, keys, decimals, timestamps, the
// closed sets of states, and how ballots are counted. It knows nothing of storage or
// transport, and imports nothing of this module. Every function is pure and safe for
// concurrent use.
//
// Entry points: Identity and its keys, ParsePower, InstantRunoff, Decide, ParsePost,
// CanonicalURL. Provider is the only place that knows what upstream systems differ in.
// Derived data (events, signals, relevance, quality flags, warnings) is defined in
// package rules. What the fields of shapes mean is in reference/descriptions.json, for
// all documents; a comment here adds what callers need not know.
package governance
