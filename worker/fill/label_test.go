package fill

import (
	"strconv"
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
)

func TestBallotsOfChoicesThatDoNotExistAreInvalid(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"1": "A", "2": "B", "3": "C"}
	for raw, want := range map[string]string{
		"4": "4 invalid", "1": "A", "[1,4]": "[1,4] invalid", "[1,1]": "[1,1] invalid", "[]": "None", "[3,1]": "C, A",
		`{"1":1,"5":2}`: `{"1":1,"5":2} invalid`, `{"1":1,"2":-1}`: `{"1":1,"2":-1} invalid`, `{"1":1,"2":1}`: "50% for A, 50% for B", `"for"`: "Choice for",
		`{"1":1,"2":null}`: `{"1":1,"2":null} invalid`, `{"1":1e-20,"2":3e-20}`: "25% for A, 75% for B", "[[1],2]": "[[1],2] invalid", "[1,null]": "[1,null] invalid",
	} {
		label, invalid := describeBallot(raw, voteChoices{labels: labels})
		if invalid {
			label += " invalid"
		}
		env.Want(t, want, label, raw)
	}
	for bounds, want := range map[governance.ChoiceBounds]map[string]bool{
		{Most: 1, Form: governance.NumberForm}:         {"1": false, "[1]": true, "[]": true, "[1,2]": true, `{"1":1}`: true, "0": true, "1.5": true, "-1": true, `"1"`: false},
		{Least: 3, Most: 3, Form: governance.ListForm}: {"[1,2,3]": false, "[3,2]": true, "[3]": true, "2": true, "[1,2,2]": true, "[1,2,4]": true, "[]": true},
		{Most: 3, Form: governance.ListForm}:           {"[2]": false, "2": true, `{"1":1,"2":1}`: true, "[]": false},
		{Most: 3, Form: governance.WeightsForm}:        {"[1,2]": true, "[1]": true, "1": true, `{"1":1,"2":1}`: false, `{"1":1,"7":0}`: false, `{"1":1,"7":"0.0"}`: false, `{"7":1}`: true, `{}`: true, `{"1":0}`: true},
		{Most: 3}:                                      {"[1,2]": false, "[]": false, `{"1":1,"3":0}`: false, `{"0":1}`: true, `{"for":1}`: true, `"for"`: false},
	} {
		for raw, want := range want {
			if _, invalid := describeBallot(raw, voteChoices{labels, bounds}); invalid != want {
				t.Errorf("%s within %v: got invalid %t, want %t", raw, bounds, invalid, want)
			}
		}
	}
	var long strings.Builder
	for i := range 100_000 {
		long.WriteString(`,"` + strconv.Itoa(i) + `"`)
	}
	for raw, want := range map[string]int{"4": len("Choice 4"), "[4,4]": len("Choice 4"), "[0" + long.String() + "]": maxBallotLabel + len("…")} {
		if label, invalid := describeBallot(raw, voteChoices{}); invalid || len(label) != want {
			t.Errorf("without known choices: got %.40s, %d bytes, %t, want %d", label, len(label), invalid, want)
		}
	}
}

func TestADossierGivesInvalidBallotsToNoChoice(t *testing.T) {
	t.Parallel()
	vote := func(v governance.VoteType) (of governance.ProposalRow) {
		of.VoteType, of.Bounds = governance.OptionalText(string(v)), governance.Snapshot.ChoiceBounds(v, 2)
		of.Choices = []governance.Choice{{Key: "1"}, {Key: "2"}}
		return of
	}
	for name, c := range map[string]struct {
		of      governance.ProposalRow
		ballot  pages.CountedBallot
		invalid bool
	}{
		"one choice":                 {vote(governance.Basic), pages.CountedBallot{Choices: []string{"2"}}, false},
		"several for one":            {vote(governance.Basic), pages.CountedBallot{Choices: []string{"2", "1"}}, true},
		"one that does not exist":    {vote(governance.Approval), pages.CountedBallot{Choices: []string{"1", "3"}}, true},
		"nothing":                    {vote(governance.Approval), pages.CountedBallot{}, false},
		"a ranking of a part":        {vote(governance.RankedChoice), pages.CountedBallot{Choices: []string{"1"}}, true},
		"weights":                    {vote(governance.Weighted), pages.CountedBallot{Choices: []string{"1", "2"}, Form: governance.WeightsForm}, false},
		"a list for weights":         {vote(governance.Weighted), pages.CountedBallot{Choices: []string{"1", "2"}, Form: governance.ListForm}, true},
		"a number for a list":        {vote(governance.Approval), pages.CountedBallot{Choices: []string{"1"}, Form: governance.NumberForm}, true},
		"upstream states no choices": {governance.ProposalRow{}, pages.CountedBallot{Choices: []string{"1", "9"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, c.invalid, invalidIn(c.of)(c.ballot))
		})
	}
}
