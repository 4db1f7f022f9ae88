package api

import (
	"strings"

	"github.com/agnivade/levenshtein"

	"pnyx/governance"
)

// nearest returns the nearest candidate of a text, which is not compared when it is longer
// than any.
func nearest(text string, candidates []string) string {
	if len(text) > MaxTextBytes {
		return ""
	}
	return governance.Nearest(text, candidates)
}

// nearestPath returns the known path that is most similar to a request's; empty when
// none is similar. Parameters in a path match anything.
func nearestPath(path string) string {
	if len(path) > MaxTextBytes {
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
	return best
}

// pathDistance returns the edit distance of the fixed parts of two paths, and the number
// of letters in them. The distance is negative for paths with different numbers of parts.
func pathDistance(given, want []string) (distance, letters int) {
	if len(given) != len(want) {
		return -1, 0
	}
	for i, part := range want {
		if strings.HasPrefix(part, ":") {
			continue
		}
		letters += len(part)
		distance += levenshtein.ComputeDistance(strings.ToLower(given[i]), part)
	}
	return distance, letters
}

// paths lists the paths of routes and documents.
func paths() []string {
	all := []string{PathOpenAPI, PathOpenAPIAlias, PathDocs, PathLLMs, PathCatalog}
	for _, route := range Routes() {
		all = append(all, route.Path)
	}
	return all
}
