package governance_test

import (
	"slices"
	"testing"

	"pnyx/governance"
	"pnyx/test/check"
)

func TestVerdictOfReadsLabels(t *testing.T) {
	t.Parallel()
	for verdict, labels := range map[governance.Verdict][]string{
		governance.Approves: {
			"For", "for", "FOR", "Yes", "YES!", "Yae", "Yay", "Aye", "Approve", "Approved", "Accept", "In favor",
			"in  favour", "Support", "Agree", "Pass", "✅ Yes", "Yes ✅", "  yes  ", "Yes, approve the budget",
			"Yes - do it", "Yes: all of it", "Yes (with changes)", "For – as proposed", "For — as proposed",
			"\"Yes\"", "Yes.", "Yes; but", "YES/SI", "Vote YES", "YES-Convert FTT by 19/01", "YES- Allocate the grant", "Yes to PTIP-58", "Approve TAP-9", "Accept max spending (56.78M)",
			"In support, retire 33,333 tonnes", "Extend", "Yes for 5M PSP", "Sure!", "Yes (1)", "1. Yes", "(A) For", "12) ✅ Approve",
			"Sì", "Sí", "A favor", "OUI", "Ja", "Sim", "Да", "За", "赞成", "是的", "会", "賛成", "찬성", "Evet", "ＹＥＳ", "𝗬𝗲𝘀", "Za", "Đồng ý",
		},
		governance.Rejects: {
			"Against", "AGAINST", "No", "no.", "Nay", "Nae", "Noe", "Reject", "Rejected", "Oppose", "Disagree", "Disapprove",
			"Decline", "Deny", "❌ No", "No, keep it as it is", "Against (do nothing)", "No!",
			"No changes", "No change", "Don't Extend", "don’t extend", "Do not fund the workstream", "Not in favor", "No to PTIP-58", "Nah..",
			"Reject TAP 8", "Refuse max spending (56.78M)", "Do nothing", "Vote NO", "Keep governance process as is.", "AGAIINST",
			"Leave LUSD as it is", "NO NEED.", "Take no action", "Disapprove Budget", "Do not approve FEI in Treasury",
			"En contra", "Non", "Nein", "Não", "Нет", "Против", "反对", "不是", "不会", "反対", "반대", "Hayır", "Na\u0303o", "Przeciw", "Проти", "No. Keep it", "Don´t extend", "2. No", "B: Against", "[2] Do not fund",
		},
		governance.Abstains: {"Abstain", "ABSTAIN", "Abstention", "abstained", "Abstain - no opinion", "🤷 Abstain", "Abstención", "Enthaltung", "弃权", "Воздержался", "Don't know", "Don’t care", "I don't know", "Neutral", "No opinion"},
		governance.NoVerdict: {
			"", " ", "!", "✅", "1", "Option A", "Alice", "Forward", "Former council", "Notify", "None of the above", "Now",
			"Not yet", "Veto", "No Veto", "Do not veto", "Non-profit", "For-profit", "For profit", "No hug", "Accept nothing", "Not against", "Yes and no", "Yesterday", "Against all odds", "For the people", "Passive", "Agreement",
			"Maybe", "Noé", "Disagreement", "y", "n", "Very much for", "No. 1", "No.2 Alice", "№ 1", "1.0 For", "1. Alice", "2.", "Don't know yet", "Don't mind",
		},
	} {
		for _, label := range labels {
			check.Want(t, verdict, governance.VerdictOf(label), label)
		}
	}
}

// labeled returns choices with labels.
func labeled(labels []string) []governance.Choice {
	choices := make([]governance.Choice, len(labels))
	for i, label := range labels {
		choices[i].Label = label
	}
	return choices
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
		quorum := &governance.Quorum{Reached: &test.quorum, Type: governance.QuorumOfApproval}
		check.Want(t, test.outcome, governance.Decide(governance.SingleChoice, labeled(test.labels), nums(test.scores...), quorum), test.name)
	}
}

func TestChoicesMeanWhatTheOtherChoicesLeave(t *testing.T) {
	t.Parallel()
	const (
		a, r, b, n = governance.Approves, governance.Rejects, governance.Abstains, governance.NoVerdict
	)
	for _, test := range []struct {
		vote   governance.VoteType
		labels []string
		want   []governance.Verdict
	}{
		{governance.SingleChoice, []string{"Extend", "Don't Extend"}, []governance.Verdict{a, r}},
		{governance.SingleChoice, []string{"Fund Grant", "Do not fund Grant", "Abstain"}, []governance.Verdict{a, r, b}},
		{governance.SingleChoice, []string{"Whitelist and deploy", "do nothing"}, []governance.Verdict{a, r}},
		{governance.SingleChoice, []string{"Do nothing", "2Pool + current 3Pool", "2Pool + 4Pool"}, []governance.Verdict{r, n, n}},
		{governance.SingleChoice, []string{"More discussion", "Do nothing"}, []governance.Verdict{n, r}},
		{governance.SingleChoice, []string{"For", "Needs revision"}, []governance.Verdict{a, n}},
		{governance.SingleChoice, []string{"Yes", "No", "Invalid question/options"}, []governance.Verdict{a, r, n}},
		{governance.SingleChoice, []string{"1. Extend", "2. Don't extend"}, []governance.Verdict{a, r}},
		{governance.SingleChoice, []string{"Maybe", "No"}, []governance.Verdict{n, r}},
		{governance.SingleChoice, []string{"Yes", "No", "Pass"}, []governance.Verdict{a, r, b}},
		{governance.SingleChoice, []string{"Pass", "Reject"}, []governance.Verdict{a, r}},
		{governance.SingleChoice, []string{"Yes", "Don't care"}, []governance.Verdict{a, b}},
		{governance.SingleChoice, []string{"Do not Veto", "Veto"}, []governance.Verdict{n, n}},
		{governance.SingleChoice, []string{"Keep threshold at 1%", "Reduce threshold to 0.25%"}, []governance.Verdict{n, n}},
		{governance.SingleChoice, []string{"hug", "no hug"}, []governance.Verdict{n, n}},
		{governance.SingleChoice, []string{"For-profit", "Non-profit"}, []governance.Verdict{n, n}},
		{governance.Basic, []string{"Yes, pass", "Against", "Pass"}, []governance.Verdict{a, r, b}},
		{governance.Basic, []string{"No", "Yes", "For"}, []governance.Verdict{a, r, b}},
	} {
		if got := governance.Verdicts(test.vote, labeled(test.labels)); !slices.Equal(got, test.want) {
			t.Errorf("%s vote on %q: got %v, want %v", test.vote, test.labels, got, test.want)
		}
	}
}

func TestQuorumOfRejectionDecidesAlone(t *testing.T) {
	t.Parallel()
	choices := governance.GovernorChoices()
	for against, want := range map[string]governance.Outcome{"10": governance.Passed, "10.000000000000000001": governance.Failed} {
		reached := governance.QuorumOfRejection.IsReached(num(against), num("10"))
		quorum := &governance.Quorum{Reached: &reached, Type: governance.QuorumOfRejection}
		check.Want(t, want, governance.Decide(governance.Basic, choices, nums("1", against, "0"), quorum), against, "against with a quorum of 10")
	}
}

func TestWordsForTheStateOfAVote(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"active", "pending", "extended", "submitted"} {
		if !governance.IsOpenState(word) || governance.IsVoteOver(word, "") {
			t.Errorf("%s: got over, want open", word)
		}
	}
	for word, want := range map[string]governance.Outcome{
		"callexecuted": governance.Executed, "crosschainexecuted": governance.Executed, "pendingexecution": governance.Passed,
		"expired": governance.Failed, "canceled": governance.Canceled, "cancelled": governance.Canceled, "vetoed": governance.Canceled,
	} {
		if got, known := governance.Tally.StatedOutcome(word, ""); !known || got != want || !governance.IsVoteOver(word, "") {
			t.Errorf("%s: got %s, want %s and over", word, got, want)
		}
	}
	if got, known := governance.Tally.StatedOutcome("archived", ""); known || !governance.IsVoteOver("archived", "") {
		t.Errorf("archived: got %s, want it over and decided by its ballots", got)
	}
	const strange = "crosschainqueued2"
	if got, known := governance.Tally.StatedOutcome(strange, ""); known || governance.IsVoteOver(strange, "") ||
		governance.IsOpenState(strange) || governance.IsKnownState(strange) {
		t.Errorf("%s: got %s, want a word that decides nothing", strange, got)
	}
	if !governance.IsKnownState("") || governance.IsOpenState("") {
		t.Error("no word is not taken for none")
	}
}
