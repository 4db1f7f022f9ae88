package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pnyx/test/env"
)

// A list of ballots and the flags of its proposal tell the same of what cannot be a choice.
func TestEveryInvalidBallotRaisesTheFlag(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, nil, "serve").ready()
	cases := []struct {
		kind, choice, power string
		invalid             bool
		unstated            bool // no choices
	}{
		{"approval", "[7,7]", "1", true, false},
		{"single-choice", "[1,1]", "1", true, false},
		{"single-choice", "[1,2]", "0", true, false},
		{"basic", "0", "1", true, false},
		{"weighted", `{"0":1,"1":1}`, "1", true, false},
		{"weighted", `{"1":0}`, "1", true, false},
		{"quadratic", "{}", "0", true, false},
		{"copeland", "[]", "0", true, false},
		{"weighted", `{"1":1,"7":0}`, "1", false, false}, // a weight of zero names nothing
		{"weighted", "[1,2]", "1", true, false},
		{"quadratic", "[1,2]", "1", true, false},
		{"approval", "[]", "1", false, false},
		{"ranked-choice", "[2,2,1]", "0", true, false},
		{"single-choice", "[2,1]", "1", true, true},
		{"basic", `{"1":1,"2":1}`, "1", true, true},
		{"weighted", "[1,2]", "1", true, true},
		{"approval", "[2,1]", "1", false, true},
		{"ranked-choice", "[2,1]", "1", false, true},
		{"single-choice", "[1]", "1", true, false},
		{"basic", `{"1":1}`, "1", true, false},
		{"approval", "1", "1", true, false},
		{"approval", `{"1":1,"2":1}`, "1", true, true},
		{"ranked-choice", `{"1":3,"2":2,"3":1}`, "1", true, false},
		{"ranked-choice", "[]", "1", true, false},
		{"copeland", "1", "1", true, true},
		{"weighted", "1", "1", true, false},
		{"quadratic", "[1]", "1", true, true},
		{"plural", "[1]", "1", false, false}, // a type of the future
	}
	var proposals, ballots []string
	for n, c := range cases {
		choices := `["A","B","C"]`
		if c.unstated {
			choices = "null"
		}
		proposals = append(proposals,
			fmt.Sprintf(`{"id":"0xp%d","space":{"id":"a.eth"},"author":"0x1","created":1700000000,"start":1700000000,"end":1700000100,`+
				`"type":%q,"title":"T","body":"B","choices":%s,"state":"closed","flagged":false}`, n, c.kind, choices))
		ballots = append(ballots,
			fmt.Sprintf(`{"id":"v%d","proposal":{"id":"0xp%d"},"space":{"id":"a.eth"},"voter":"0x2","created":1700000050,"choice":%s,"vp":%s}`,
				n, n, c.choice, c.power))
	}
	i.ImportLines(proposals...)
	i.ImportLines(ballots...)
	for n, c := range cases {
		path := "/v2/proposals/" + proposalKey("a.eth", fmt.Sprintf("0xp%d", n))
		env.Until(t, func() error {
			var ballots []struct{ Invalid bool }
			var evidence struct{ QualityFlags []string }
			for path, data := range map[string]any{path + "/votes": &ballots, path + "/evidence": &evidence} {
				status, body, err := env.Fetch(i.URL + path)
				if err == nil {
					err = json.Unmarshal(body, &struct{ Data any }{data})
				}
				if err != nil {
					return fmt.Errorf("GET %s: %d, %w", path, status, err)
				}
			}
			if len(ballots) != 1 || ballots[0].Invalid != c.invalid || slices.Contains(evidence.QualityFlags, "ballots_invalid") != c.invalid {
				return fmt.Errorf("%s %s: got %v, flags %v, want invalid: %t", c.kind, c.choice, ballots, evidence.QualityFlags, c.invalid)
			}
			return nil
		})
	}
}
