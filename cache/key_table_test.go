package cache_test

import (
	"os"
	"regexp"
	"strings"

	"pnyx/cache"
	"pnyx/test/env"
)

// documentedKeys matches the item of a list of keys in docs/production.md.
var documentedKeys = regexp.MustCompile("(?m)^- ((?:`[^`]+`(?:, )?)+): ")

// documented matches the keys of docs/production.md, with upper-case words for parameters.
func (t *bench) documented() *regexp.Regexp {
	t.Helper()
	page := env.Must(os.ReadFile("../docs/production.md"))(t)
	_, section, found := strings.Cut(string(page), "**Cache.** All keys start with `"+cache.Namespace+"`")
	section, _, ends := strings.Cut(section, "**Accounts.**")
	if !found || !ends {
		t.Fatalf("docs/production.md has no list of the keys of %s", cache.Namespace)
	}
	parameter := regexp.MustCompile(`[A-Z]+`)
	var patterns []string
	for _, item := range documentedKeys.FindAllStringSubmatch(section, -1) {
		for key := range strings.SplitSeq(item[1], ", ") {
			patterns = append(patterns, parameter.ReplaceAllString(regexp.QuoteMeta(strings.Trim(key, "`")), `.*`))
		}
	}
	return regexp.MustCompile("^" + regexp.QuoteMeta(cache.Namespace) + "(" + strings.Join(patterns, "|") + ")$")
}

// wantDocumentedKeys checks that every key in Redis is in docs/production.md.
func (t *bench) wantDocumentedKeys() {
	t.Helper()
	keys, err := t.raw.Keys(t.Context(), "*").Result()
	if err != nil {
		return // the test has stopped its server
	}
	known := t.documented()
	for _, key := range keys {
		if !known.MatchString(key) {
			t.Errorf("%s is not among the keys of docs/production.md: add it", key)
		}
	}
}
