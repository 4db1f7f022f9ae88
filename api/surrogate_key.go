package api

import (
	"strings"

	"pnyx/cache"
)

// The headers from which caches read tags: Fastly and Varnish the first, separated by
// spaces; Cloudflare the second, separated by commas.
const (
	HeaderSurrogateKey = "Surrogate-Key"
	HeaderCacheTag     = "Cache-Tag"
)

// surrogateKeys holds the tags of an answer in the form of both headers.
type surrogateKeys struct{ spaced, joined string }

// surrogateKeysOf returns the tags of the answer to a request, beginning with the tag that
// purges everything.
func surrogateKeysOf(r *request) surrogateKeys {
	names := []string{string(cache.EverythingTag)}
	for _, tag := range r.route.tags(r.params) {
		names = append(names, string(tag))
	}
	return surrogateKeys{spaced: strings.Join(names, " "), joined: strings.Join(names, ",")}
}
