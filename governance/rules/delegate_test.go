package rules_test

import (
	"slices"
	"testing"

	"pnyx/governance/rules"
	"pnyx/test/check"
)

func TestDelegatesMoveByMoreThanOnePercentOfAKnownSupply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after, supply string
		was, is               bool
		want                  rules.DelegateChange
		score                 int
	}{
		"entered":                      {"0", "125", "1000", false, true, rules.DelegateEntered, 71},
		"entered an unknown supply":    {"0", "125", "", false, true, rules.DelegateEntered, 35},
		"left without a change":        {"5", "5", "1000", true, false, rules.DelegateLeft, 35},
		"just one percent":             {"30", "40", "1000", true, true, "", 0},
		"the least above one percent":  {"30", "19.999999999999999999", "1000", true, true, rules.DelegateShifted, 38},
		"much of an unknown supply":    {"30", "4000", "", true, true, "", 0},
		"as much as the score goes to": {"0.5", "1000", "1000", true, true, rules.DelegateShifted, 80},
		"more than the stated supply":  {"1", "1000000000000000000000000000000", "1", true, true, rules.DelegateShifted, 80},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rules.DelegateMove{Delegate: "0xd1", Token: "eip155:1:0xaa", Block: 7, Before: num(c.before), After: num(c.after)}
			if c.supply != "" {
				m.Supply = new(num(c.supply))
			}
			move, found := rules.DelegateMoveOf(m, c.was, c.is)
			if found != (c.want != "") || found && move.Change != c.want {
				t.Fatalf("got %s, %t; want %s", move.Change, found, c.want)
			}
			if !found {
				return
			}
			for _, rule := range rules.SignalRules() {
				hit, hits := rule.OnDelegate(move)
				if !hits {
					continue
				}
				check.Want(t, c.score, hit.Score, "score")
				want := append([]string{"rule", "ruleVersion"}, rule.Evidence...)
				if m.Supply == nil {
					want = want[:len(want)-2]
				}
				var got []string
				for figure := range hit.Evidence {
					got = append(got, figure)
				}
				check.WantSame(t, "figures", slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got)))
			}
		})
	}
}
