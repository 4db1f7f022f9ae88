package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/check"
)

// voteEnd is when the vote of the examples ends; it lasts a week.
const voteEnd governance.Timestamp = 1_750_000_000_000

func hoursBefore(hours int) governance.Timestamp {
	return voteEnd - governance.Timestamp((time.Duration(hours) * time.Hour).Milliseconds())
}

// standing is a vote over "For" and "Against".
func standing(votes uint64, powers ...string) rules.Result {
	s := rules.Result{Votes: votes}
	for _, power := range powers {
		s.Scores = append(s.Scores, num(power))
		s.Power = s.Power.Add(num(power))
	}
	s.Counted = s.Power
	return s
}

// vote is one that ended 60 to 40 after a calm week, with every ballot's time known.
func vote(change func(*rules.VoteFacts)) rules.VoteFacts {
	start, end := hoursBefore(7*24), voteEnd
	f := rules.VoteFacts{
		Title:    "Renew the budget",
		Choices:  []governance.Choice{{Key: "1", Label: "For"}, {Key: "2", Label: "Against"}},
		Verdicts: []governance.Verdict{governance.Approves, governance.Rejects},
		StartAt:  &start, EndAt: &end, Outcome: governance.Passed, Closed: true, Single: true,
		Final: standing(10, "60", "40"),
		Before: map[time.Duration]rules.Result{
			rules.ReminderWindow: standing(8, "50", "30"),
			rules.QuorumWindow:   standing(9, "55", "35"),
			rules.RaceWindow:     standing(9, "55", "35"),
		},
		LargestBallots: []rules.LargestBallot{{Voter: "0xa", Choice: 0, Power: num("20")}, {Voter: "0xb", Choice: 1, Power: num("15")}},
	}
	if change != nil {
		change(&f)
	}
	return f
}

// hits are what all rules find, by type.
func hits(f rules.VoteFacts) map[string]rules.RuleHit {
	found := map[string]rules.RuleHit{}
	for _, rule := range rules.SignalRules() {
		if hit, is := rule.OnVote(f); is {
			found[rule.Type] = hit
		}
	}
	return found
}

func TestUneventfulVoteHasOnlyItsTimes(t *testing.T) {
	t.Parallel()
	got := hits(vote(nil))
	want := map[string]rules.RuleHit{"voting_opened": {
		DetectedAt: hoursBefore(7 * 24), DeadlineAt: new(voteEnd), Score: 40, Severity: rules.SeverityInfo,
		Title:   "Voting has opened: “Renew the budget”",
		Summary: "Voting is open until 15 June 2025, 15:06 UTC.",
		Evidence: map[string]string{
			"rule": "voting_opened", "ruleVersion": "2", "startAt": hoursBefore(7 * 24).String(), "endAt": voteEnd.String(),
		},
	}, "proposal_deadline_reminder": {
		DetectedAt: hoursBefore(24), DeadlineAt: new(voteEnd), Score: 50, Severity: rules.SeverityInfo,
		Title:   "Last day to vote: “Renew the budget”",
		Summary: "Voting ends on 15 June 2025, 15:06 UTC. 8 ballots have been cast so far.",
		Evidence: map[string]string{
			"rule": "proposal_deadline_reminder", "ruleVersion": "3", "endAt": voteEnd.String(), "votes": "8",
		},
	}}
	check.WantSame(t, "answer", want, got)
}

// TestRulesHoldAtTheirBoundaries has for each rule the last case in which it finds
// something and the first in which it does not.
func TestRulesHoldAtTheirBoundaries(t *testing.T) {
	t.Parallel()
	quorum := func(text string) *decimal.Decimal { return new(num(text)) }
	earlier := func(counts ...uint64) []uint64 { return counts }
	type change = func(*rules.VoteFacts)
	sensitive := func(severities ...governance.Severity) change {
		return func(f *rules.VoteFacts) {
			f.ActionsAt = hoursBefore(30)
			for _, severity := range severities {
				f.Findings = append(f.Findings, governance.Finding{Rule: "rule", Severity: severity})
			}
		}
	}
	cases := []struct {
		rule, name string
		change     change
		found      bool
		score      int
		detected   governance.Timestamp
	}{
		{"proposal_deadline_reminder", "short vote: at its start", func(f *rules.VoteFacts) { f.StartAt = new(hoursBefore(23)) }, true, 50, hoursBefore(23)},
		{"proposal_deadline_reminder", "a day long", func(f *rules.VoteFacts) { f.StartAt = new(hoursBefore(24)) }, true, 50, hoursBefore(24)},
		{"proposal_deadline_reminder", "quorum short", func(f *rules.VoteFacts) { f.Quorum = quorum("80.1") }, true, 65, hoursBefore(24)},
		{"proposal_deadline_reminder", "quorum there", func(f *rules.VoteFacts) { f.Quorum = quorum("80") }, true, 50, hoursBefore(24)},
		{"proposal_deadline_reminder", "ballots without times", func(f *rules.VoteFacts) { f.Before, f.Quorum = nil, quorum("1000") }, true, 50, hoursBefore(24)},
		{"proposal_deadline_reminder", "no start", func(f *rules.VoteFacts) { f.StartAt = nil }, true, 50, hoursBefore(24)},
		{"proposal_deadline_reminder", "no end", func(f *rules.VoteFacts) { f.EndAt = nil }, false, 0, 0},
		{"proposal_deadline_reminder", "canceled", func(f *rules.VoteFacts) { f.Outcome = governance.Canceled }, false, 0, 0},
		{"proposal_deadline_reminder", "over the day before", func(f *rules.VoteFacts) { f.OverAt = new(hoursBefore(24)) }, false, 0, 0},
		{"proposal_deadline_reminder", "ends as it starts", func(f *rules.VoteFacts) { f.StartAt = f.EndAt }, false, 0, 0},

		{"voting_opens_soon", "a week before", func(f *rules.VoteFacts) { f.CreatedAt = new(hoursBefore(14 * 24)) }, true, 35, hoursBefore(8 * 24)},
		{"voting_opens_soon", "an hour before", func(f *rules.VoteFacts) { f.CreatedAt = new(hoursBefore(7*24 + 1)) }, true, 35, hoursBefore(7*24 + 1)},
		{"voting_opens_soon", "less than an hour before", func(f *rules.VoteFacts) { f.CreatedAt = new(hoursBefore(7*24+1) + 1) }, false, 0, 0},
		{"voting_opens_soon", "canceled", func(f *rules.VoteFacts) {
			f.CreatedAt, f.Outcome = new(hoursBefore(14*24)), governance.Canceled
		}, false, 0, 0},
		{"voting_opened", "few vote here", func(f *rules.VoteFacts) { f.EarlierVotes = earlier(5, 5, 5, 5, 5) }, true, 22, hoursBefore(7 * 24)},
		{"voting_opened", "canceled", func(f *rules.VoteFacts) { f.Outcome = governance.Canceled }, false, 0, 0},
		{"voting_opened", "no end", func(f *rules.VoteFacts) { f.EndAt = nil }, false, 0, 0},
		{"voting_opened", "ends as it starts", func(f *rules.VoteFacts) { f.StartAt = f.EndAt }, false, 0, 0},

		{"quorum_at_risk", "just short", func(f *rules.VoteFacts) { f.Quorum = quorum("90.000000000000000001") }, true, 52, hoursBefore(12)},
		{"quorum_at_risk", "half there", func(f *rules.VoteFacts) { f.Quorum = quorum("180") }, true, 42, hoursBefore(12)},
		{"quorum_at_risk", "reached", func(f *rules.VoteFacts) { f.Quorum = quorum("90") }, false, 0, 0},
		{"quorum_at_risk", "nobody voted yet", func(f *rules.VoteFacts) {
			f.Quorum, f.Before[rules.QuorumWindow] = quorum("90"), standing(0, "0", "0")
		}, false, 0, 0},
		{"quorum_at_risk", "began later", func(f *rules.VoteFacts) { f.Quorum, f.StartAt = quorum("900"), new(hoursBefore(11)) }, false, 0, 0},
		{"quorum_at_risk", "over before", func(f *rules.VoteFacts) { f.Quorum, f.OverAt = quorum("180"), new(hoursBefore(13)) }, false, 0, 0},
		{"quorum_at_risk", "quorum of nothing", func(f *rules.VoteFacts) { f.Quorum = quorum("0") }, false, 0, 0},

		{"close_race", "5 %", func(f *rules.VoteFacts) { f.Before[rules.RaceWindow] = standing(5, "52.5", "47.5") }, true, 33, hoursBefore(6)},
		{"close_race", "level", func(f *rules.VoteFacts) { f.Before[rules.RaceWindow] = standing(5, "50", "50") }, true, 49, hoursBefore(6)},
		{"close_race", "5.02 %", func(f *rules.VoteFacts) { f.Before[rules.RaceWindow] = standing(5, "52.51", "47.49") }, false, 0, 0},
		{"close_race", "four ballots", func(f *rules.VoteFacts) { f.Before[rules.RaceWindow] = standing(4, "50", "50") }, false, 0, 0},
		{"close_race", "one side", func(f *rules.VoteFacts) { f.Before[rules.RaceWindow] = standing(5, "50", "0") }, false, 0, 0},
		{"close_race", "weighted ballots", func(f *rules.VoteFacts) {
			f.Single, f.Before[rules.RaceWindow] = false, standing(5, "50", "50")
		}, false, 0, 0},

		{"contested_result", "5 %", func(f *rules.VoteFacts) { f.Final = standing(5, "52.5", "47.5") }, true, 27, voteEnd},
		{"contested_result", "level", func(f *rules.VoteFacts) { f.Final = standing(5, "50", "50") }, true, 44, voteEnd},
		{"contested_result", "5.02 %", func(f *rules.VoteFacts) { f.Final = standing(5, "52.51", "47.49") }, false, 0, 0},
		{"contested_result", "still open", func(f *rules.VoteFacts) { f.Final, f.Closed = standing(5, "50", "50"), false }, false, 0, 0},

		{"decisive_ballot", "larger than the lead", func(f *rules.VoteFacts) { f.LargestBallots[0].Power = num("20.1") }, true, 36, voteEnd},
		{"decisive_ballot", "as large as the lead", nil, false, 0, 0},
		{"decisive_ballot", "on the losing side", func(f *rules.VoteFacts) { f.LargestBallots[1].Power = num("39") }, false, 0, 0},
		{"decisive_ballot", "nine ballots", func(f *rules.VoteFacts) { f.LargestBallots[0].Power, f.Final.Votes = num("30"), 9 }, false, 0, 0},

		{"whale_ballot", "40 %", func(f *rules.VoteFacts) { f.LargestBallots[1].Power = num("40") }, true, 24, voteEnd},
		{"whale_ballot", "39.9 %", func(f *rules.VoteFacts) { f.LargestBallots[1].Power = num("39.9") }, false, 0, 0},
		{"whale_ballot", "decisive", func(f *rules.VoteFacts) { f.LargestBallots[0].Power = num("50") }, false, 0, 0},

		{"late_swing", "turned", func(f *rules.VoteFacts) { f.Before[rules.ReminderWindow] = standing(5, "30", "40") }, true, 44, voteEnd},
		{"late_swing", "was level", func(f *rules.VoteFacts) { f.Before[rules.ReminderWindow] = standing(5, "40", "40") }, false, 0, 0},
		{"late_swing", "few ballots by then", func(f *rules.VoteFacts) { f.Before[rules.ReminderWindow] = standing(4, "30", "40") }, false, 0, 0},
		{"late_swing", "a short vote", func(f *rules.VoteFacts) {
			f.StartAt, f.Before[rules.ReminderWindow] = new(hoursBefore(23)), standing(5, "30", "40")
		}, false, 0, 0},

		{"quorum_missed", "just", func(f *rules.VoteFacts) { f.Quorum = quorum("100.000000000000000001") }, true, 44, voteEnd},
		{"quorum_missed", "reached", func(f *rules.VoteFacts) { f.Quorum = quorum("100") }, false, 0, 0},
		{"quorum_missed", "a tenth of it", func(f *rules.VoteFacts) { f.Quorum = quorum("1000") }, true, 18, voteEnd},
		{"quorum_missed", "less than a tenth", func(f *rules.VoteFacts) { f.Quorum = quorum("1002") }, false, 0, 0},

		{"participation_drop", "below half", func(f *rules.VoteFacts) { f.EarlierVotes = earlier(21, 21, 21, 21, 21) }, true, 21, voteEnd},
		{"participation_drop", "half", func(f *rules.VoteFacts) { f.EarlierVotes = earlier(20, 20, 20, 20, 20) }, false, 0, 0},
		{"participation_drop", "four before", func(f *rules.VoteFacts) { f.EarlierVotes = earlier(90, 90, 90, 90) }, false, 0, 0},
		{"participation_drop", "a tiny DAO", func(f *rules.VoteFacts) { f.EarlierVotes, f.Final.Votes = earlier(9, 9, 9, 9, 9), 1 }, false, 0, 0},
		{"participation_drop", "nobody", func(f *rules.VoteFacts) { f.EarlierVotes, f.Final = earlier(50, 50, 50, 50, 50), rules.Result{} }, true, 50, voteEnd},
		{"participation_drop", "even number before", func(f *rules.VoteFacts) { f.EarlierVotes = earlier(1, 1, 1, 41, 41, 41) }, true, 21, voteEnd},

		{"participation_surge", "three times", func(f *rules.VoteFacts) { f.EarlierVotes, f.Final.Votes = earlier(10, 10, 10, 10, 10), 30 }, true, 21, voteEnd},
		{"participation_surge", "a hundred times", func(f *rules.VoteFacts) { f.EarlierVotes, f.Final.Votes = earlier(10, 10, 10, 10, 10), 1000 }, true, 48, voteEnd},
		{"participation_surge", "29 instead of 10", func(f *rules.VoteFacts) { f.EarlierVotes, f.Final.Votes = earlier(10, 10, 10, 10, 10), 29 }, false, 0, 0},
		{"participation_surge", "nineteen ballots", func(f *rules.VoteFacts) { f.EarlierVotes, f.Final.Votes = earlier(1, 1, 1, 1, 1), 19 }, false, 0, 0},

		{"execution_overdue", "never executed", func(f *rules.VoteFacts) { f.Onchain = true }, true, 70, hoursBefore(-72)},
		{"execution_overdue", "executed later", func(f *rules.VoteFacts) {
			f.Onchain, f.Outcome, f.ExecutedAt = true, governance.Executed, new(hoursBefore(-73))
		}, true, 70, hoursBefore(-72)},
		{"execution_overdue", "executed in time", func(f *rules.VoteFacts) {
			f.Onchain, f.Outcome, f.ExecutedAt = true, governance.Executed, new(hoursBefore(-72))
		}, false, 0, 0},
		{"execution_overdue", "executed at an unknown time", func(f *rules.VoteFacts) { f.Onchain, f.Outcome = true, governance.Executed }, false, 0, 0},
		{"execution_overdue", "off chain", nil, false, 0, 0},
		{"sensitive_action", "a high finding", sensitive(governance.SeverityHigh, governance.SeverityUnknown), true, 75, hoursBefore(30)},
		{"sensitive_action", "a critical finding", sensitive(governance.SeverityHigh, governance.SeverityCritical), true, 90, hoursBefore(30)},
		{"sensitive_action", "an unknown payload", sensitive(governance.SeverityUnknown), true, 50, hoursBefore(30)},
		{"sensitive_action", "a medium finding", sensitive(governance.SeverityMedium, governance.SeverityInfo), false, 0, 0},

		{"execution_overdue", "failed", func(f *rules.VoteFacts) { f.Onchain, f.Outcome = true, governance.Failed }, false, 0, 0},
	}
	tested := map[string]bool{}
	for _, c := range cases {
		t.Run(c.rule+", "+c.name, func(t *testing.T) {
			got, found := hits(vote(c.change))[c.rule]
			if found != c.found || got.Score != c.score || got.DetectedAt != c.detected {
				t.Errorf("%s, %s: got %t with score %d at %s, want %t with %d at %s", c.rule, c.name,
					found, got.Score, got.DetectedAt, c.found, c.score, c.detected)
			}
			tested[c.rule] = true
		})
	}
	for _, rule := range rules.SignalRules() {
		if rule.Item == governance.ProposalItem && !tested[rule.Type] {
			t.Errorf("no case for %s", rule.Type)
		}
	}
}

// What a lead decided is only reported where a lead decides: a vote that misses its quorum is not
// valid, nobody competes with those who abstain, and some votes are decided otherwise.
func TestLeadsThatDecideNothingAreNotReported(t *testing.T) {
	t.Parallel()
	// Without a change, everything about leads is reported.
	loud := func(change func(*rules.VoteFacts)) map[string]rules.RuleHit {
		return hits(vote(func(f *rules.VoteFacts) {
			f.Before[rules.ReminderWindow], f.Before[rules.RaceWindow] = standing(8, "30", "40"), standing(9, "50", "49")
			f.Final, f.LargestBallots[0].Power = standing(12, "51", "49"), num("30")
			change(f)
		}))
	}
	atEnd, all := []string{"contested_result", "decisive_ballot", "late_swing"}, []string{"close_race", "contested_result", "decisive_ballot", "late_swing"}
	abstain := func(choice int) func(*rules.VoteFacts) {
		return func(f *rules.VoteFacts) { f.Verdicts[choice] = governance.Abstains }
	}
	for name, c := range map[string]struct {
		change func(*rules.VoteFacts)
		none   []string
	}{
		"the vote is valid":      {func(*rules.VoteFacts) {}, nil},
		"the quorum is met":      {func(f *rules.VoteFacts) { f.Quorum = new(num("100")) }, nil},
		"the quorum is missed":   {func(f *rules.VoteFacts) { f.Quorum = new(num("100.000000000000000001")) }, atEnd},
		"the second abstains":    {abstain(1), all},
		"the first abstains":     {abstain(0), all},
		"a quorum of rejection":  {func(f *rules.VoteFacts) { f.ByRejection = true }, all},
		"two thirds were needed": {func(f *rules.VoteFacts) { f.Outcome = governance.Failed }, atEnd},
		"it passed all the same": {func(f *rules.VoteFacts) {
			f.Verdicts[0], f.Verdicts[1] = governance.Rejects, governance.Approves
		}, atEnd},
		"it was canceled":    {func(f *rules.VoteFacts) { f.Outcome = governance.Canceled }, all},
		"numbers may change": {func(f *rules.VoteFacts) { f.Closed = false }, atEnd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := loud(c.change)
			for _, rule := range all {
				if _, is := found[rule]; is == slices.Contains(c.none, rule) {
					t.Errorf("%s: got %t", rule, is)
				}
			}
			if _, is := found["whale_ballot"]; is && len(c.none) == 0 {
				t.Error("a decisive ballot is reported twice")
			}
		})
	}
}

// The same figures weigh less in a vote that few took part in, by ballots or by power, and in one of
// a handful of ballots.
func TestTurnoutWeighsInScores(t *testing.T) {
	t.Parallel()
	five := func(votes uint64, power string) ([]uint64, []decimal.Decimal) {
		return slices.Repeat([]uint64{votes}, 5), slices.Repeat([]decimal.Decimal{num(power)}, 5)
	}
	for name, c := range map[string]struct {
		votes          uint64
		usual          uint64
		usualPower     string
		want, reminder int
	}{
		"as many as usual":           {100, 100, "100", 80, 50},
		"more than usual":            {1000, 100, "1", 80, 50},
		"half of the ballots":        {100, 200, "100", 60, 50},
		"half of the power":          {100, 100, "200", 60, 50},
		"a thousandth of the power":  {100, 100, "100000", 40, 50},
		"eleven ballots where usual": {11, 11, "100", 48, 30},
		"a third of the ballots, 11": {11, 32, "100", 32, 41},
		"nobody is usual":            {50, 0, "0", 80, 25},
	} {
		got := hits(vote(func(f *rules.VoteFacts) {
			f.EarlierVotes, f.EarlierPowers = five(c.usual, c.usualPower)
			f.Final = standing(c.votes, "50", "50")
		}))
		check.Want(t, c.want, got["contested_result"].Score, "level vote", "score", name)
		check.Want(t, c.reminder, got["proposal_deadline_reminder"].Score, "reminder", "score", name)
	}
	// Four votes before are too few to tell what is usual.
	four := hits(vote(func(f *rules.VoteFacts) {
		f.EarlierVotes, f.EarlierPowers, f.Final = []uint64{900, 900, 900, 900}, slices.Repeat([]decimal.Decimal{num("9000")}, 4), standing(50, "50", "50")
	}))
	check.Want(t, 80, four["contested_result"].Score, "score")
}

func TestImportanceOfAVoteThatIsOverIsWeighed(t *testing.T) {
	t.Parallel()
	f := vote(func(f *rules.VoteFacts) {
		f.EarlierVotes, f.EarlierPowers = slices.Repeat([]uint64{200}, 5), slices.Repeat([]decimal.Decimal{num("100")}, 5)
		f.Final.Votes = 100
	})
	open := f
	open.Closed = false
	for name, c := range map[string]struct {
		facts      rules.VoteFacts
		confidence governance.Confidence
		want       int
	}{
		"half of the usual turnout": {f, governance.ExactTime, 56}, // (70 + 5) × 3/4
		"while it is open":          {open, governance.ExactTime, 75},
		"only discovered":           {f, governance.DiscoveredTime, 10},
	} {
		check.Want(t, c.want, c.facts.Importance(rules.VotingEnded, c.confidence, 100), name)
	}
}

// Between two choices that can win, whoever abstains is not third.
func TestAbstainingIsNoPlaceInARace(t *testing.T) {
	t.Parallel()
	f := vote(func(f *rules.VoteFacts) {
		f.Choices = append(f.Choices, governance.Choice{Key: "3", Label: "Abstain"})
		f.Verdicts = append(f.Verdicts, governance.Abstains)
		f.Final = standing(20, "51", "49", "500")
	})
	got := hits(f)["contested_result"]
	if got.Evidence["leading"] != "1" || got.Evidence["second"] != "2" || got.Evidence["marginPercent"] != "0.3" {
		t.Errorf("got %v, want the race of 1 and 2", got.Evidence)
	}
}

func TestTitlesNameTheDAO(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Uniswap":                "Uniswap · Close race: “Deploy v4”",
		" A\nname  of two lines": "A name of two lines · Close race: “Deploy v4”",
		strings.Repeat("x", 80):  strings.Repeat("x", 60) + "… · Close race: “Deploy v4”",
	} {
		check.Want(t, want, rules.SignalTitle(name, "Close race: “Deploy v4”"))
	}
}

func TestActivityBurstNeedsManyPostsInThreeDays(t *testing.T) {
	t.Parallel()
	created := hoursBefore(72)
	for name, c := range map[string]struct {
		facts rules.TopicActivity
		found bool
		score int
	}{
		"twenty posts in three days": {rules.TopicActivity{Posts: 20, CreatedAt: &created, LastPostAt: new(voteEnd)}, true, 35},
		"nineteen":                   {rules.TopicActivity{Posts: 19, CreatedAt: &created, LastPostAt: new(voteEnd)}, false, 0},
		"a moment too long":          {rules.TopicActivity{Posts: 20, CreatedAt: &created, LastPostAt: new(voteEnd + 1)}, false, 0},
		"a hundred at once":          {rules.TopicActivity{Posts: 100, CreatedAt: &created, LastPostAt: &created}, true, 75},
		"times unknown":              {rules.TopicActivity{Posts: 100}, false, 0},
	} {
		got, found := topicHit(c.facts)
		if found != c.found || got.Score != c.score {
			t.Errorf("%v: got %t with score %d, want %t with %d", name, found, got.Score, c.found, c.score)
		}
	}
}

func topicHit(f rules.TopicActivity) (rules.RuleHit, bool) {
	for _, rule := range rules.SignalRules() {
		if hit, found := rule.OnTopic(f); found {
			return hit, true
		}
	}
	return rules.RuleHit{}, false
}

func TestEvidenceHasTheFiguresThatTheRuleNames(t *testing.T) {
	t.Parallel()
	loud := vote(func(f *rules.VoteFacts) {
		f.Quorum = new(num("100.5"))
		f.Before[rules.ReminderWindow] = standing(5, "30", "40")
		f.Before[rules.RaceWindow] = standing(5, "50", "50")
		f.Final = standing(10, "50.1", "49.9")
		f.EarlierVotes = []uint64{30, 30, 30, 30, 30}
		f.Onchain, f.CreatedAt = true, new(hoursBefore(14*24))
		f.Findings = []governance.Finding{{Rule: "role_moved", Severity: governance.SeverityHigh}}
	})
	short := loud
	short.Quorum = new(num("80.5"))
	facts := []rules.VoteFacts{loud, short, vote(func(f *rules.VoteFacts) {
		f.Final.Votes, f.EarlierVotes, f.LargestBallots[1].Power = 100, []uint64{5, 5, 5, 5, 5}, num("40")
	})}
	for _, rule := range rules.SignalRules() {
		want := slices.Sorted(slices.Values(append([]string{"rule", "ruleVersion"}, rule.Evidence...)))
		seen := rule.Item != governance.ProposalItem
		for _, f := range facts {
			hit, found := rule.OnVote(f)
			if !found || rule.Type == "proposal_deadline_reminder" && f.Quorum == nil {
				continue
			}
			seen = true
			check.WantSame(t, rule.Type, want, slices.Sorted(maps.Keys(hit.Evidence)))
		}
		if !seen {
			t.Errorf("%s found nothing", rule.Type)
		}
	}
}

func TestBandsAndSurfacesFollowTheScore(t *testing.T) {
	t.Parallel()
	for score, want := range map[int]governance.PriorityBand{0: "low", 44: "low", 45: "medium", 69: "medium", 70: "high", 84: "high", 85: "critical", 100: "critical"} {
		if got := rules.PriorityOf(score); got.Band != want || got.Score != score {
			t.Errorf("%d: got %+v, want %s", score, got, want)
		}
	}
	for _, c := range []struct {
		score    int
		deadline bool
		want     int
	}{{0, true, 1}, {39, true, 1}, {40, false, 2}, {69, true, 2}, {70, true, 3}, {74, true, 3}, {75, true, 4}, {100, false, 3}} {
		if got := rules.SurfacesOf(c.score, c.deadline); len(got) != c.want || !slices.Equal(got, governance.Surfaces()[:c.want]) {
			t.Errorf("score %d, deadline %t: got %v, want %v", c.score, c.deadline, got, governance.Surfaces()[:c.want])
		}
	}
}

func TestSummariesReadAsSentences(t *testing.T) {
	t.Parallel()
	f := vote(func(f *rules.VoteFacts) {
		f.Title = " Renew\nthe  budget "
		f.Final = standing(1234, "1234567.891", "1200000.5")
		f.LargestBallots[0] = rules.LargestBallot{Voter: "0x1234567890abcdef1234567890abcdef12345678", Power: num("999999.9")}
	})
	found := hits(f)
	f.Quorum = new(num("5000000"))
	found["quorum_missed"] = hits(f)["quorum_missed"]
	f.Final, f.Quorum = standing(1234, "0.00000001", "0.0000000025"), new(num("0.00000003"))
	found["tiny"] = hits(f)["quorum_missed"]
	for kind, want := range map[string][2]string{
		"decisive_ballot":  {"One ballot decided: “Renew the budget”", "0x1234…5678 cast 999,999 for “For”: more than its lead of 34,567 over “Against”."},
		"contested_result": {"Decided by a narrow margin: “Renew the budget”", "“For” is ahead of “Against” by 1.4% of all power: 1,234,567 against 1,200,000."},
		"quorum_missed":    {"Quorum missed: “Renew the budget”", "At the end the quorum was 48.6% full: 2,434,568 of 5,000,000 in voting power."},
		"tiny":             {"Quorum missed: “Renew the budget”", "At the end the quorum was 41.6% full: 0.0000000125 of 0.00000003 in voting power."},
	} {
		check.Want(t, want, [2]string{found[kind].Title, found[kind].Summary}, kind)
	}
}

func TestNamesStandBesideTheVotersOfTexts(t *testing.T) {
	t.Parallel()
	const voter = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
	name := governance.VoterName{Name: "vitalik\n.eth", Source: governance.NameOfENS}
	for text, want := range map[string]string{
		"0xd8da…6045 cast 5.":          "0xd8da…6045 (“vitalik .eth”, ens) cast 5.",
		"Delegate " + voter + " moved": "Delegate " + voter + " (“vitalik .eth”, ens) moved",
		"Turnout doubled: 0xd8da…6045": "Turnout doubled: 0xd8da…6045",
	} {
		check.Want(t, want, rules.NameVoter(text, voter, name))
	}
}

// Nobody can vote once a vote is over, and nobody execute what is executed.
func TestDeadlinesEndWithWhatCanBeDone(t *testing.T) {
	t.Parallel()
	over, executed := hoursBefore(20), hoursBefore(-90)
	got := hits(vote(func(f *rules.VoteFacts) {
		f.OverAt, f.Onchain, f.Outcome, f.ExecutedAt = &over, true, governance.Executed, &executed
	}))
	for rule, want := range map[string]governance.Timestamp{
		"voting_opened": over, "proposal_deadline_reminder": over, "execution_overdue": executed,
	} {
		if at := got[rule].DeadlineAt; at == nil || *at != want {
			t.Errorf("%s: got the deadline %v, want %s", rule, at, want)
		}
	}
	if at := hits(vote(func(f *rules.VoteFacts) { f.Onchain = true }))["execution_overdue"].DeadlineAt; at != nil {
		t.Errorf("got the deadline %s of an execution to come", at)
	}
}
