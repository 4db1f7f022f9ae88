package worker_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// What Snapshot publishes is odd at times: scores that are not final, ballots that it calls
// invalid, labels of other languages, and numbers as tools write them. Each is answered as
// Snapshot shows it.
func TestOddRecordsAreAnsweredAsUpstreamShowsThem(t *testing.T) { //nolint:tparallel // its subtests share a publication
	t.Parallel()
	h := newHarness(t)
	file := env.Must(os.ReadFile("testdata/cases/snapshot.ndjson"))(t)
	var records []record.Record
	for line := range bytes.Lines(file) {
		format := source.SnapshotProposal
		if bytes.Contains(line, []byte(`"voter"`)) {
			format = source.SnapshotVote
		}
		read, err := format.Parse("", bytes.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		// The fixtures are of the autumn of 2026: they are over whenever the test runs.
		const year = governance.Timestamp(10 * 365 * 24 * time.Hour / time.Millisecond)
		switch r := read.(type) {
		case *record.Proposal:
			for _, at := range []*governance.Timestamp{r.CreatedAt, r.StartAt, r.EndAt} {
				if at != nil {
					*at -= year
				}
			}
		case *record.Ballot:
			*r.VotedAt -= year
		}
		records = append(records, read)
	}
	h.append(records...)
	h.start()
	h.waitForPublication()
	for id, want := range map[string]string{
		"pending-zeros":    "unknown, none",
		"pending-old":      "unknown, ballots 2 of 90: 60 30 0; totals_differ_upstream",
		"invalid-scores":   "unknown, ballots 2 of 6: 5 1 0; totals_differ_upstream",
		"stray":            "passed, ballots 3 of 80.001: 60 20 0; 4 invalid; ballots_invalid",
		"list-for-one":     "passed, ballots 3 of 87: 60 20; [1,2] invalid; ballots_invalid",
		"ranked-partial":   "unknown, ballots 5 of 130: 40 35 0; [3,2] invalid; [3] invalid; [] invalid; ballots_invalid",
		"ranked-whole":     "unknown, ballots 4 of 125: 75 0 50",
		"approval-odd":     "unknown, ballots 4 of 25: 10 10 0; [1,1] invalid; [1,4] invalid; ballots_invalid",
		"weighted-odd":     `unknown, ballots 4 of 34: 5 5 0; {"1":1,"7":1} invalid; {"2":0} invalid; {} invalid; ballots_invalid`,
		"copeland-partial": "unknown, upstream 3 of 10: 6.6 3.4; [2] invalid; ballots_invalid",
		"spanish":          "passed, ballots 2 of 80: 60 20 0",
		"chinese":          "failed, ballots 2 of 30: 10 20 0",
		"third-pass":       "passed, ballots 3 of 170: 60 20 90",
		"times-decimal":    "passed, ballots 2 of 80: 60 20 0",
		"times-millis":     "passed, ballots 2 of 80: 60 20 0",
		"times-reversed":   "passed, ballots 2 of 80: 60 20 0; times_reversed",
		"null-score":       "passed, ballots 2 of 60: 60 0 0",
		"starknet":         "passed, ballots 1 of 60: 60 0 0",
		"encrypted":        "unknown, none",
		"encrypted-total":  "unknown, upstream 3 of 60:",
		"encrypted-old":    "unknown, none",
		"weights-odd":      `unknown, ballots 2 of 13: 2 6 0; {"1":null,"2":1} invalid; ballots_invalid`,
		"endless":          "unknown, upstream 2 of 80: 60 20 0",
	} {
		t.Run(id, func(t *testing.T) {
			env.Until(t, func() error {
				got, err := h.shown(keyOf("dao.eth", id))
				if err == nil && got != want {
					err = fmt.Errorf("got %s, want %s", got, want)
				}
				return err
			})
		})
	}
}

// shown describes the answers about a vote: outcome, totals, scores, invalid ballots, and flags.
func (h *harness) shown(key governance.ProposalKey) (string, error) {
	summary, _, err := h.summary(key)
	if err != nil {
		return "", err
	}
	text := string(summary.Proposal.Outcome) + ", none"
	if summary.Basis != nil {
		text = fmt.Sprintf("%s, %s %s of %s:", summary.Proposal.Outcome, *summary.Basis, *summary.Totals.Votes, summary.Totals.VotingPower)
		for _, choice := range summary.Choices {
			text += " " + string(choice.VotingPower)
		}
	}
	q := query.Ballots{Proposal: key, Order: query.BallotsByPower}
	q.Limit = query.ShortPage
	var rows []governance.Ballot
	if _, err := h.readView(q, &rows); err != nil {
		return "", err
	}
	var odd []string
	for _, row := range rows {
		if row.Invalid {
			odd = append(odd, row.Choice.Label+" invalid")
		}
		if row.Invalid && row.ChoiceKey != nil {
			odd = append(odd, "with choice "+*row.ChoiceKey)
		}
	}
	slices.Sort(odd)
	evidence, err := h.evidence(key)
	for _, flag := range []governance.QualityFlag{rules.BallotsInvalid, rules.TimesReversed, rules.TotalsDifferUpstream} {
		if slices.Contains(evidence.QualityFlags, flag) {
			odd = append(odd, string(flag))
		}
	}
	return strings.Join(append([]string{text}, odd...), "; "), err
}
