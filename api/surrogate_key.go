package api

import (
	"strings"

	"pnyx/cache"
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
func surrogateKeysOf(r *request) surrogateKeys {
	names := []string{string(cache.EverythingTag)}
	for _, tag := range r.route.tags(r.params) {
		names = append(names, string(tag))
	}
	return surrogateKeys{spaced: strings.Join(names, " "), joined: strings.Join(names, ",")}
}
