package httpcache

import (
	"strings"

	"pnyx/cache"
)

// The headers of tags: Fastly and Varnish read the first, separated by spaces; Cloudflare the second, by commas.
const (
	HeaderSurrogateKey = "Surrogate-Key"
	HeaderCacheTag     = "Cache-Tag"
)

// SurrogateKeys holds the tags of an answer in the form of both headers.
type SurrogateKeys struct{ Spaced, Joined string }

// SurrogateKeysOf returns the keys of an answer with tags, after the tag that purges everything.
func SurrogateKeysOf(tags []cache.Tag) SurrogateKeys {
	names := []string{string(cache.EverythingTag)}
	for _, tag := range tags {
		names = append(names, string(tag))
	}
	return SurrogateKeys{Spaced: strings.Join(names, " "), Joined: strings.Join(names, ",")}
}
