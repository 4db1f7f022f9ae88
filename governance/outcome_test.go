package governance_test

import (
	"fmt"
	"testing"

	"pnyx/governance"
)

func TestVerdictOfReadsLabels(t *testing.T) {
	t.Parallel()
	for verdict, labels := range map[governance.Verdict][]string{
		governance.Approves: {
			"For", "for", "FOR", "Yes", "YES!", "Yae", "Yay", "Aye", "Approve", "Approved", "Accept", "In favor",
			"in  favour", "Support", "Agree", "Pass", "✅ Yes", "Yes ✅", "  yes  ", "Yes, approve the budget",
			"Yes - do it", "Yes: all of it", "Yes (with changes)", "For – as proposed", "For — as proposed",
			"\"Yes\"", "Yes.", "Yes; but", "YES/SI",
		},
		governance.Rejects: {
			"Against", "AGAINST", "No", "no.", "Nay", "Nae", "Noe", "Reject", "Rejected", "Oppose", "Disagree", "Disapprove",
			"Decline", "Deny", "❌ No", "No, keep it as it is", "Against (do nothing)", "No!",
		},
		governance.Abstains: {"Abstain", "ABSTAIN", "Abstention", "abstained", "Abstain - no opinion", "🤷 Abstain"},
		governance.NoVerdict: {
			"", " ", "!", "✅", "1", "Option A", "Alice", "Forward", "Former council", "Notify", "None of the above", "Now",
			"No changes", "Not yet", "Yes and no", "Yesterday", "Against all odds", "For the people", "Passive", "Agreement",
			"Maybe", "Noé", "Sì", "Disagreement", "y", "n", "Very much for",
		},
	} {
		t.Run(fmt.Sprint(verdict), func(t *testing.T) {
			t.Parallel()
			for _, label := range labels {
				if got := governance.VerdictOf(label); got != verdict {
					t.Errorf("%q: got %d, want %d", label, got, verdict)
				}
			}
		})
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		labels  []string
		scores  []string
		quorum  bool
		outcome governance.Outcome
	}{
		{"more for than against", []string{"For", "Against"}, []string{"2", "1"}, true, governance.Passed},
		{"in whatever order", []string{"No", "Yes"}, []string{"1", "2"}, true, governance.Passed},
		{"by the last decimal", []string{"Yes", "No"}, []string{"1.000000000000000001", "1"}, true, governance.Passed},
		{"more against than for", []string{"For", "Against"}, []string{"1", "2"}, true, governance.Failed},
		{"as much against as for", []string{"For", "Against"}, []string{"2", "2.0"}, true, governance.Failed},
		{"nobody voted", []string{"For", "Against"}, []string{"0", "0"}, true, governance.Failed},
		{"quorum missed", []string{"For", "Against"}, []string{"2", "1"}, false, governance.Failed},
		{"abstentions do not decide", []string{"For", "Against", "Abstain"}, []string{"2", "1", "100"}, true, governance.Passed},
		{"several ways to abstain", []string{"Abstain", "For", "Against", "Abstain!"}, []string{"9", "2", "1", "9"}, true, governance.Passed},
		{"no choices", nil, nil, true, governance.Unknown},
		{"nothing to reject", []string{"For", "Abstain"}, []string{"2", "1"}, true, governance.Unknown},
		{"nothing to approve", []string{"Against"}, []string{"2"}, true, governance.Unknown},
		{"two ways to approve", []string{"Yes", "For", "No"}, []string{"1", "1", "1"}, true, governance.Unknown},
		{"two ways to reject", []string{"Yes", "No", "Against"}, []string{"9", "1", "1"}, true, governance.Unknown},
		{"a choice beside the question", []string{"Yes", "No", "Later"}, []string{"9", "1", "1"}, true, governance.Unknown},
		{"an election", []string{"Alice", "Bob"}, []string{"2", "1"}, true, governance.Unknown},
		{"an election without a quorum", []string{"Alice", "Bob"}, []string{"2", "1"}, false, governance.Unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			choices := make([]governance.Choice, len(test.labels))
			for i, label := range test.labels {
				choices[i].Label = label
			}
			if got := governance.Decide(choices, nums(test.scores...), test.quorum); got != test.outcome {
				t.Errorf("%s: got %s, want %s", test.name, got, test.outcome)
			}
		})
	}
}
