package cache

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"

	"pnyx/governance"
	"pnyx/governance/query"
)

// Tag is a surrogate key: it names what a response is made from, so that caches in front of API nodes can purge
// it. Tags follow keys, so each write to Redis says which responses it invalidates.
type Tag string

const (
	// EverythingTag is on every response.
	EverythingTag Tag = "all"
	// DAOIndexTag is on every page of the DAO index.
	DAOIndexTag Tag = "daos"
	// StatusTag is on the global data status.
	StatusTag Tag = "data-status"
	// PricingTag is on the prices of all routes.
	PricingTag Tag = "pricing"
)

// maxTagName bounds the id in a tag: caches accept 1,024 bytes per tag, and all must fit one header line.
const maxTagName = 96

// DAOTag is on what is computed for one DAO: detail, status, timelines, ranking.
func DAOTag(id string) Tag { return tagOf("dao", id) }

// ProposalTag is on everything about a proposal: detail, result, ballots, evidence.
func ProposalTag(key governance.ProposalKey) Tag { return tagOf("proposal", string(key)) }

// TopicTag is on the detail of a forum topic.
func TopicTag(key governance.TopicKey) Tag { return tagOf("topic", string(key)) }

// VoterTag is on everything about a voter. No publication names it: each changes thousands of voters.
func VoterTag(identity string) Tag { return tagOf(voterTagKind, identity) }

const voterTagKind = "voter"

// IsNamed reports whether publications name the tag when they change what it is on.
func (t Tag) IsNamed() bool {
	kind, _, _ := strings.Cut(string(t), ":")
	return kind != voterTagKind
}

// tagOf keeps ids printable, short and free of spaces and commas; 128 bits of its hash replace a long one.
func tagOf(kind, id string) Tag {
	if id == "" {
		return Tag(kind)
	}
	name := url.QueryEscape(id)
	if len(name) > maxTagName {
		sum := sha256.Sum256([]byte(id))
		name = base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	return Tag(kind + ":" + name)
}

// subject returns the kind of a view and the id of what it shows; both are empty for other keys.
func (k Key) subject() (view, id string) {
	text, isView := strings.CutPrefix(string(k), Namespace+"view:")
	parts := strings.Split(text, ":")
	if !isView || len(parts) < 2 {
		return "", ""
	}
	id, _ = url.QueryUnescape(parts[1]) // viewKey has escaped it
	return parts[0], id
}

// scope returns the scope whose version is written with a view; it is empty for views without one.
func (k Key) scope() query.Scope {
	switch view, id := k.subject(); view {
	case "data-status", "dao", "timeline":
		return query.Voters{DAOID: id}.Scope()
	case "proposal", "vote-summary", "evidence":
		return query.Ballots{Proposal: governance.ProposalKey(id)}.Scope()
	}
	return query.Scope{}
}

// SubjectKey names a view that no complete publication leaves without the version of a scope; "" for none.
func SubjectKey(scope query.Scope) Key {
	switch {
	case scope.Kind == query.KindBallots:
		return ProposalDetailKey(governance.ProposalKey(scope.Subject))
	case scope.Kind == query.KindVoters:
		return DAODetailKey(scope.Subject)
	case scope == query.Proposals{}.Scope():
		return DataStatusKey("")
	}
	return ""
}

// tag returns the tag of the responses made from a view, or "" for one that no cache keeps.
func (k Key) tag() Tag {
	view, id := k.subject()
	if view == "topic" {
		return TopicTag(governance.TopicKey(id))
	}
	if view == "data-status" && id == "" {
		return StatusTag
	}
	return ScopeTag(k.scope())
}

// ScopeTag is on the pages of a scope; it is empty for a scope without pages.
func ScopeTag(scope query.Scope) Tag {
	switch scope.Kind {
	case query.KindBallots:
		return ProposalTag(governance.ProposalKey(scope.Subject))
	case query.KindVoters:
		return DAOTag(scope.Subject)
	case proposalRows, names:
		return ""
	default:
		return tagOf(string(scope.Kind), scope.Subject)
	}
}

// maxTags is how many tags a tagSet lists, in a message of 70 KB. Beyond it, dropping everything costs less.
const maxTags = 2000

// PurgedTags returns the tags to purge for what Writer.Changed returns: EverythingTag alone for many.
func PurgedTags(changed []Tag) []Tag {
	const maxPurgedTags = 200 // the number of tags up to which caches in front of API nodes purge them one by one
	if len(changed) > maxPurgedTags {
		return []Tag{EverythingTag}
	}
	return changed
}

// tagSet is a set of tags, or EverythingTag alone.
type tagSet map[Tag]struct{}

func (s tagSet) add(tag Tag) {
	if _, all := s[EverythingTag]; all || tag == "" {
		return
	}
	s[tag] = struct{}{}
	if len(s) > maxTags || tag == EverythingTag {
		clear(s)
		s[EverythingTag] = struct{}{}
	}
}
