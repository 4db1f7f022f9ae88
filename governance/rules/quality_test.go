package rules_test

import (
	"strings"
	"testing"

	"pnyx/governance/rules"
	"pnyx/test/check"
)

func TestFlagsAndWarningsAreDocumentedOnce(t *testing.T) {
	t.Parallel()
	explained := map[string]bool{}
	explain := func(name, meaning string) {
		if explained[name] || name == "" || !strings.HasSuffix(meaning, ".") {
			t.Errorf("%q: %q, want one sentence about each name", name, meaning)
		}
		explained[name] = true
	}
	for _, rule := range rules.QualityFlags() {
		explain(string(rule.Flag), rule.Meaning)
	}
	for _, rule := range rules.WarningRules() {
		explain(string(rule.Code), rule.Meaning)
		got := rules.NewWarning(rule.Code, nil)
		if got.Message != rule.Meaning || got.Field != rule.Field || rule.Field == "" {
			t.Errorf("%s: got %+v, want message and field of its rule", rule.Code, got)
		}
	}
}

// A label that closes the quotes around it does not go on in our words.
func TestQuotesEndWhereTheTextEnds(t *testing.T) {
	t.Parallel()
	check.Want(t, "“Yes’ wins. ‘No”", rules.Quoted("Yes” wins.\n“No", 60), "quoted")
}
