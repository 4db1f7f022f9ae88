package api

import (
	"net/url"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"

	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
)

// nearestPath returns the known path that is most similar to a request's, with its parameters; empty for none.
func nearestPath(path string) string {
	if len(path) > param.MaxTextBytes {
		return ""
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	best, distance := "", 0
	for _, candidate := range paths() {
		d, letters := pathDistance(parts, strings.Split(strings.Trim(candidate, "/"), "/"))
		if d >= 0 && 4*d <= letters && (best == "" || d < distance) {
			best, distance = candidate, d
		}
	}
	for i, part := range strings.Split(strings.Trim(best, "/"), "/") {
		if strings.HasPrefix(part, ":") {
			if values, is := matchPath(parts[i:i+1], []string{part}); is {
				best = values.Replace(best)
			}
		}
	}
	return best
}

// pathDistance returns the edit distance of the fixed parts of two paths, and how many letters they have. The
// distance is negative for paths with different numbers of parts, or with an empty parameter.
func pathDistance(given, want []string) (distance, letters int) {
	if len(given) != len(want) {
		return -1, 0
	}
	for i, part := range want {
		if strings.HasPrefix(part, ":") {
			if given[i] == "" {
				return -1, 0
			}
			continue
		}
		letters += len(part)
		distance += levenshtein.ComputeDistance(strings.ToLower(given[i]), part)
	}
	return distance, letters
}

// paths lists the paths of routes and documents, made once: that takes half a millisecond, and anybody may ask.
var paths = sync.OnceValue(func() []string { //nolint:gochecknoglobals // a constant that Go cannot write as one
	all := []string{PathOpenAPI, PathOpenAPIAlias, PathDocs, PathLLMs, PathCatalog}
	for _, route := range routes.All() {
		all = append(all, route.Path)
	}
	return all
})

// meantPaths are paths that callers know from other APIs, or expect, with those that they stand for.
var meantPaths = [][2]string{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	{"/v2/daos/:daoId/proposals", "/v2/proposals?daoId=:daoId"},
	{"/v2/daos/:daoId/topics", "/v2/forum-topics?daoId=:daoId"},
	{"/v2/daos/:daoId/forum-topics", "/v2/forum-topics?daoId=:daoId"},
	{"/v2/daos/:daoId/events", "/v2/events?daoId=:daoId"},
	{"/v2/daos/:daoId/signals", "/v2/signals?daoId=:daoId"},
	{"/v2/daos/:daoId/changes", "/v2/changes?daoId=:daoId"},
	{"/v2/daos/:daoId/status", "/v2/meta/data-status?daoId=:daoId"},
	{"/v2/daos/:daoId/members", "/v2/daos/:daoId/voters"},
	{"/v2/daos/:daoId/votes", "/v2/daos/:daoId/export"},
	{"/v2/daos/:daoId/ballots", "/v2/daos/:daoId/export"},
	{"/v2/daos/:daoId/proposals/:proposalKey", "/v2/proposals/:proposalKey"},
	{"/v2/proposals/:proposalKey/ballots", "/v2/proposals/:proposalKey/votes"},
	{"/v2/proposals/:proposalKey/voters", "/v2/proposals/:proposalKey/votes"},
	{"/v2/proposals/:proposalKey/summary", "/v2/proposals/:proposalKey/votes/summary"},
	{"/v2/proposals/:proposalKey/result", "/v2/proposals/:proposalKey/votes/summary"},
	{"/v2/proposals/:proposalKey/results", "/v2/proposals/:proposalKey/votes/summary"},
	{"/v2/proposals/:proposalKey/dossier", "/v2/proposals/:proposalKey/evidence"},
	{"/v2/proposals/:proposalKey/export", "/v2/proposals/:proposalKey/votes/export"},
	{"/v2/voters/:voterIdentity/ballots", "/v2/voters/:voterIdentity/votes"},
	{"/v2/voters/:voterIdentity/history", "/v2/voters/:voterIdentity/votes"},
	{"/v2/voters/:voterIdentity/proposals", "/v2/voters/:voterIdentity/votes"},
	{"/v2/topics", "/v2/forum-topics"},
	{"/v2/topics/:topicKey", "/v2/forum-topics/:topicKey"},
	{"/v2/spaces", "/v2/daos"},
	{"/v2/spaces/:daoId", "/v2/daos/:daoId"},
	{"/v2/organizations", "/v2/daos"},
	{"/v2/search", "/v2/proposals?q="},
	{"/v2/resolve", "/v2/proposals/resolve"},
	{"/v2/pricing", "/v2/meta/pricing"},
	{"/v2/usage", "/v2/meta/usage"},
	{"/v2/status", "/v2/meta/data-status"},
	{"/v2/data-status", "/v2/meta/data-status"},
}

// meantPath returns the path that another one stands for, with its parameters; empty for none.
func meantPath(path string) string {
	if len(path) > param.MaxTextBytes {
		return ""
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, meant := range meantPaths {
		if values, matches := matchPath(parts, strings.Split(strings.Trim(meant[0], "/"), "/")); matches {
			return values.Replace(meant[1])
		}
	}
	return ""
}

// matchPath reports whether a path matches a pattern, in any case, and what replaces the pattern's parameters.
func matchPath(parts, pattern []string) (*strings.Replacer, bool) {
	if len(parts) != len(pattern) {
		return nil, false
	}
	var values []string
	for i, part := range pattern {
		switch {
		case strings.HasPrefix(part, ":"):
			text, err := url.PathUnescape(parts[i])
			if err != nil || text == "" {
				return nil, false
			}
			// In a path a + is a +, while %20 is a space in a query, too.
			values = append(values, part, strings.ReplaceAll(url.QueryEscape(governance.Shorten(text, param.MaxTextBytes)), "+", "%20"))
		case !strings.EqualFold(part, parts[i]):
			return nil, false
		}
	}
	return strings.NewReplacer(values...), true
}
