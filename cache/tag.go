package cache

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"

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
	// DAOIndexTag is on every page of the directory of DAOs.
	DAOIndexTag Tag = "daos"
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

// tag is the tag of the answers that a view is for; "" for one that no cache keeps.
func (k Key) tag() Tag {
	text, isView := strings.CutPrefix(string(k), namespace+"view:")
	parts := strings.Split(text, ":")
	if !isView || len(parts) < 2 {
		return ""
	}
	id, _ := url.QueryUnescape(parts[1]) // as viewKey escaped it
	switch view := parts[0]; {
	case view == "data-status" && id == "":
		return StatusTag
	case view == "data-status", view == "dao", view == "timeline":
		return DAOTag(id)
	case view == "proposal", view == "vote-summary", view == "evidence":
		return ProposalTag(governance.ProposalKey(id))
	case view == "topic":
		return TopicTag(governance.TopicKey(id))
	}
	return ""
}

// versionTag is the tag of the pages that a mark is for.
func versionTag(kind PageKind, subject string) Tag {
	switch kind {
	case BallotPage:
		return ProposalTag(governance.ProposalKey(subject))
	case VoterPage:
		return DAOTag(subject)
	case ProposalPage, TopicPage, EventPage, SignalPage:
		return ListTag(kind, subject)
	case ProfilePage, HistoryPage, ResolvePage, ProposalRows:
	}
	return ""
}

// mostChanges is how many tags are told apart: of more, purging everything costs
// less than naming them.
const mostChanges = 200

// changes is a set of tags. The zero value is empty.
type changes map[Tag]struct{}

func (c *changes) add(tag Tag) {
	if _, all := (*c)[EverythingTag]; all || tag == "" {
		return
	}
	if *c == nil {
		*c = changes{}
	}
	(*c)[tag] = struct{}{}
	if len(*c) > mostChanges {
		*c = changes{EverythingTag: {}}
	}
}

func (c changes) list() []Tag {
	return slices.Sorted(maps.Keys(c))
}
