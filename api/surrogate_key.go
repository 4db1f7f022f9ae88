package api

import (
	"strings"

	"pnyx/cache"
	"pnyx/governance"
)

// The headers in which caches look for tags: Fastly and those that follow it for the
// first, with spaces between; Cloudflare for the second, with commas.
const (
	HeaderSurrogateKey = "Surrogate-Key"
	HeaderCacheTag     = "Cache-Tag"
)

// surrogateKeys is the tags of an answer as the headers spell them.
type surrogateKeys struct{ spaced, joined string }

// surrogateKeysOf returns the tags of a request's answer, one that names everything first.
func surrogateKeysOf(values Values) surrogateKeys {
	names := []string{string(cache.EverythingTag)}
	for _, tag := range values.route.tags(values) {
		names = append(names, string(tag))
	}
	return surrogateKeys{spaced: strings.Join(names, " "), joined: strings.Join(names, ",")}
}

func pricingTags(Values) []cache.Tag { return []cache.Tag{cache.PricingTag} }

func directoryTags(Values) []cache.Tag { return []cache.Tag{cache.DAOIndexTag} }

func daoTags(v Values) []cache.Tag { return []cache.Tag{cache.DAOTag(v.text("daoId"))} }

func statusTags(v Values) []cache.Tag {
	if v.text("daoId") == "" {
		return []cache.Tag{cache.StatusTag}
	}
	return daoTags(v)
}

func proposalTags(v Values) []cache.Tag {
	return []cache.Tag{cache.ProposalTag(governance.ProposalKey(v.text("proposalKey")))}
}

func topicTags(v Values) []cache.Tag {
	return []cache.Tag{cache.TopicTag(governance.TopicKey(v.text("topicKey")))}
}

func voterTags(v Values) []cache.Tag { return []cache.Tag{cache.VoterTag(v.text("voterIdentity"))} }

// listTags go by the marks of a list: each DAO has one, and all together.
func listTags(kind cache.PageKind) func(Values) []cache.Tag {
	return func(v Values) []cache.Tag { return []cache.Tag{cache.ListTag(kind, v.text("daoId"))} }
}
