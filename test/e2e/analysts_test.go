package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"pnyx/test/env"
)

// question is a query of ANALYSTS.md with the answer below it.
var question = regexp.MustCompile("(?s)```sql\n(.*?)```\n(?:\n```text\n(.*?)```\n)?")

func TestAnalystsReadWhatTheAPIServes(t *testing.T) { //nolint:tparallel // the subtests read one instance
	t.Parallel()
	i := startShared(t, nil, "serve").ready()
	i.Import(env.GeneratedDataSet(t, "--seed", "1", "--now", "2026-01-01T00:00:00Z",
		"--daos", "12", "--proposals", "150", "--ballots", "15000", "--largest", "4000"))
	i.AwaitPublished()
	t.Run("ANALYSTS.md has the answers of the warehouse", i.checkQuestions)
	t.Run("participation", i.compareParticipation)
	t.Run("vote summaries", i.compareSummaries)
	t.Run("first voters", i.compareRankings)
	t.Run("timelines", i.compareTimelines)
	t.Run("profiles", i.compareProfiles)
}

// checkQuestions compares the answers in ANALYSTS.md, of the data set it names, with those
// of the command. PNYX_TEST_UPDATE=1 updates them.
func (i *instance) checkQuestions(t *testing.T) {
	text, err := os.ReadFile("../../ANALYSTS.md")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	renewed := question.ReplaceAllStringFunc(string(text), func(block string) string {
		asked++
		match := question.FindStringSubmatch(block)
		out, status := env.Run(t, i.Environ, "sql", match[1])
		if status != 0 {
			t.Errorf("%s\n%s", match[1], out)
			return block
		}
		return "```sql\n" + match[1] + "```\n\n```text\n" + out + "```\n"
	})
	if asked < 5 {
		t.Errorf("got %d questions, want at least 5", asked)
	}
	if renewed == string(text) {
		return
	}
	if os.Getenv("PNYX_TEST_UPDATE") == "" {
		t.Fatalf("ANALYSTS.md differs from the warehouse's answers (PNYX_TEST_UPDATE=1 updates it):\n%s", renewed)
	}
	if err := os.WriteFile("../../ANALYSTS.md", []byte(renewed), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (i *instance) compareParticipation(t *testing.T) {
	for _, row := range i.Rows("SELECT toString(unique_voters) AS v, toString(total_votes) AS n, toString(total_voting_power) AS p, dao_id FROM dao_participation") {
		var dao struct {
			Participation struct{ UniqueVoters, TotalVotes, TotalVotingPower string }
		}
		i.Get("/v2/daos/"+row["dao_id"], &dao)
		if got := dao.Participation; got.UniqueVoters != row["v"] || got.TotalVotes != row["n"] || got.TotalVotingPower != row["p"] {
			t.Errorf("participation of %s: API %+v, view %v", row["dao_id"], got, row)
		}
	}
}

func (i *instance) compareSummaries(t *testing.T) {
	for _, row := range i.Rows("SELECT proposal_key, outcome, toString(votes) AS n, toString(voting_power) AS p, toString(choice_voting_powers) AS c FROM vote_summaries WHERE ready") {
		var summary struct {
			Proposal struct{ Outcome string }
			Totals   struct{ Votes, VotingPower string }
			Choices  []struct{ VotingPower string }
		}
		i.Get("/v2/proposals/"+row["proposal_key"]+"/votes/summary", &summary)
		var powers []string
		for _, choice := range summary.Choices {
			powers = append(powers, choice.VotingPower)
		}
		if summary.Totals.Votes != row["n"] || summary.Totals.VotingPower != row["p"] ||
			summary.Proposal.Outcome != row["outcome"] || "["+strings.Join(powers, ",")+"]" != row["c"] {
			t.Errorf("summary: API %+v, view %v", summary, row)
		}
	}
}

func (i *instance) compareRankings(t *testing.T) {
	for _, row := range i.Rows("SELECT dao_id, toString(rank) AS r, voter_identity, toString(total_voting_power) AS p FROM dao_voters WHERE rank = 1") {
		var voters []struct {
			VoterIdentity, TotalVotingPower string
			Rank                            int
		}
		i.Get("/v2/daos/"+row["dao_id"]+"/voters?limit=1", &voters)
		if len(voters) != 1 || voters[0].VoterIdentity != row["voter_identity"] || voters[0].TotalVotingPower != row["p"] {
			t.Errorf("first voter: API %+v, view %v", voters, row)
		}
	}
}

func (i *instance) compareTimelines(t *testing.T) {
	for _, row := range i.Rows("SELECT dao_id, metric, month, toString(value) AS v FROM dao_timelines") {
		var timeline struct {
			Buckets []struct{ Month, Value string }
		}
		i.Get(fmt.Sprintf("/v2/daos/%s/timeline?metric=%s&fromMonth=%s&toMonth=%s",
			row["dao_id"], row["metric"], row["month"], row["month"]), &timeline)
		if len(timeline.Buckets) != 1 || timeline.Buckets[0].Value != row["v"] {
			t.Errorf("timeline: API %+v, view %v", timeline.Buckets, row)
		}
	}
}

func (i *instance) compareProfiles(t *testing.T) {
	for _, row := range i.Rows("SELECT voter_identity, toString(count()) AS d, toString(sum(vote_count)) AS n, toString(sum(total_voting_power)) AS p " +
		"FROM voter_daos GROUP BY voter_identity ORDER BY count() DESC, voter_identity LIMIT 20") {
		var profile struct{ DaoCount, VoteCount, TotalVotingPower string }
		i.Get("/v2/voters/"+row["voter_identity"], &profile)
		if profile.DaoCount != row["d"] || profile.VoteCount != row["n"] || profile.TotalVotingPower != row["p"] {
			t.Errorf("profile: API %+v, view %v", profile, row)
		}
	}
}
