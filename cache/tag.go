package cache

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"

	"pnyx/governance"
)

// Tag names what an answer is made from, for caches outside to be told that it has
// changed. Tags go by the names of views and marks: what is written to Redis says
// which answers it outdates.
type Tag string

// Tags that are nobody's.
const (
	// EverythingTag is on every answer.
	EverythingTag Tag = "all"
	// DirectoryTag is on every page of the directory of DAOs.
	DirectoryTag Tag = "daos"
	// StatusTag is on the data status of all DAOs together.
	StatusTag Tag = "data-status"
	// PricingTag is on what every route costs.
	PricingTag Tag = "pricing"
)

// longestName bounds what of an id is in a tag: caches take 1,024 bytes, and all
// tags of an answer should fit a line.
const longestName = 96

// DAOTag is on what is worked out for a DAO by itself: detail, status, timelines,
// ranking.
func DAOTag(id string) Tag { return tagOf("dao", id) }

// ProposalTag is on everything about a proposal: detail, result, ballots, evidence.
func ProposalTag(key governance.ProposalKey) Tag { return tagOf("proposal", string(key)) }

// TopicTag is on the detail of a forum topic.
func TopicTag(key governance.TopicKey) Tag { return tagOf("topic", string(key)) }

// VoterTag is on everything about a voter. No publication names it: it touches
// thousands of them.
func VoterTag(identity string) Tag { return tagOf("voter", identity) }

// ListTag is on the pages of a list: of one DAO, or with "" of all together.
func ListTag(kind PageKind, daoID string) Tag { return tagOf(string(kind), daoID) }

// tagOf keeps ids printable, free of spaces and commas, and short: a long one goes
// by 128 bits of its hash.
func tagOf(kind, id string) Tag {
	if id == "" {
		return Tag(kind)
	}
	name := url.QueryEscape(id)
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(id))
		name = base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	return Tag(kind + ":" + name)
}
