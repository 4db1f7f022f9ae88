package docs_test

import (
	"regexp"
	"strings"
)

// volatile lists what differs between runs, by its name. A later pattern sees the names of earlier ones.
var volatile = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"TOKEN", regexp.MustCompile(`pnyx_[A-Za-z0-9]{6,}_?[A-Za-z0-9_-]{16,}`)},
	{"TIME", regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?`)},
	{"TIME", regexp.MustCompile(`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`)},
	{"DAY", regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)},
	{"NAME", regexp.MustCompile(`\b\d{8}T?-?\d{6}Z?\b`)},
	{"MONTH", regexp.MustCompile(`\b20\d\d-\d\d\b`)},
	{"ETAG", regexp.MustCompile(`(?:W/)?"[a-z0-9]{6,}-[a-z0-9]{6,}"`)},
	{"REQUEST", regexp.MustCompile(`\b[A-Z2-7]{26}\b`)},
	{"CURSOR", regexp.MustCompile(`"nextCursor":"[^"]+"|cursor=[A-Za-z0-9_%-]+`)},
	{"CACHE", regexp.MustCompile(`Cache-Status: [^\n]+`)},
	{"AGE", regexp.MustCompile(`(?i)\bage: ?\d+`)},
	{"DURATION", regexp.MustCompile(`\b\d+(?:\.\d+)?(?:ns|µs|ms|s| s| ms)\b`)},
	{"REVISION", regexp.MustCompile(`\b\d{16}\b`)},
	{"PROCESS", regexp.MustCompile(`process \d+`)},
	{"COMMIT", regexp.MustCompile(`\b[0-9a-f]{7}(?:[0-9a-f]{33})?(?:-dirty)?\b`)},
}

var (
	space = regexp.MustCompile(`\s+`)
	rule  = regexp.MustCompile(`─+`)
)

// normal replaces volatile parts by their names, and drops white space and the length of table lines.
func normal(text string) string {
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, "‹"+v.name+"›")
	}
	return rule.ReplaceAllString(space.ReplaceAllString(text, ""), "─")
}

// matches reports whether an output is the document's, in which an ellipsis stands for any text.
func matches(want, got string) bool {
	parts := strings.Split(normal(want), "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(normal(got))
}
