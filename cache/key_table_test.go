package cache_test

import (
	"regexp"
	"strings"

	"pnyx/cache"
)

// documented matches the keys of the generated documentation, in which upper-case words
// stand for parameters.
func documented() *regexp.Regexp {
	parameter := regexp.MustCompile(`[A-Z]+`)
	var patterns []string
	for _, family := range cache.Keys().Families {
		for _, key := range family.Keys {
			patterns = append(patterns, parameter.ReplaceAllString(regexp.QuoteMeta(string(key)), `.*`))
		}
	}
	return regexp.MustCompile("^(" + strings.Join(patterns, "|") + ")$")
}

// wantDocumentedKeys checks that every key in Redis is in the generated documentation.
func (t *bench) wantDocumentedKeys() {
	t.Helper()
	keys, err := t.raw.Keys(t.Context(), "*").Result()
	if err != nil {
		return // the test has stopped its server
	}
	known := documented()
	for _, key := range keys {
		if !known.MatchString(key) {
			t.Errorf("%s is in no KeyFamily: add it to key_table.go", key)
		}
	}
}
