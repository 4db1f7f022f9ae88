package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pnyx/test/env"
)

// question is a query of docs/analysts.md with the answer below it.
var question = regexp.MustCompile("(?s)```sql\n(.*?)```\n(?:\n```text\n(.*?)```\n)?")

func TestLongAnalystsReadWhatTheAPIServes(t *testing.T) { //nolint:tparallel // the subtests read one instance
	t.Parallel()
	i := startShared(t, nil, "serve").ready()
	i.Import(env.GeneratedDataSet(t, "--seed", "1", "--now", "2026-01-01T00:00:00Z",
		"--daos", "12", "--proposals", "150", "--ballots", "15000", "--largest", "4000"))
	i.AwaitPublished()
	t.Run("docs/analysts.md has the answers of the warehouse", i.checkQuestions)
	t.Run("participation", i.compareParticipation)
	t.Run("vote summaries", i.compareSummaries)
	t.Run("proposals", i.compareProposals)
	t.Run("ballots", i.compareBallots)
	t.Run("DAOs", i.compareDAOs)
	t.Run("first voters", i.compareRankings)
	t.Run("timelines", i.compareTimelines)
	t.Run("profiles", i.compareProfiles)
	t.Run("the dashboard for analysts has data", i.checkDashboard)
}

// checkQuestions compares the answers in docs/analysts.md with the command's. PNYX_TEST_UPDATE=1 updates them.
func (i *instance) checkQuestions(t *testing.T) {
	text := env.ReadFile(t, "../../docs/analysts.md")
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
		t.Fatalf("docs/analysts.md differs from the warehouse's answers (PNYX_TEST_UPDATE=1 updates it):\n%s", renewed)
	}
	env.WriteFile(t, "../../docs/analysts.md", renewed)
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

// moment is the SQL of a time as the API writes it; "-" for none.
func moment(column string) string {
	return "ifNull(concat(replace(toString(" + column + "), ' ', 'T'), 'Z'), '-')"
}

// given is a text of the API; "-" for null.
func given(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

// orNull is a number of the API; "NULL" for null.
func orNull(number *string) string {
	if number == nil {
		return "NULL"
	}
	return *number
}

func (i *instance) compareSummaries(t *testing.T) {
	for _, row := range i.Rows(`SELECT proposal_key, concat(
		outcome, ' ', ifNull(title, '-'), ' ', coverage_status, ' ', if(ready, toString((basis, votes, unique_voters, voting_power, held_votes, held_voting_power)), 'not ready'), ' ',
		ifNull(toString((quorum_raw, quorum_type, quorum_progress, quorum_reached)), ''), ' ',
		arrayStringConcat(arrayMap((k, l, n, p) -> concat('(', k, ' ', l, ' ', ifNull(toString(n), '-'), ' ', toString(p), ')'),
			choice_keys, choice_labels,
			if(empty(choice_votes), arrayMap(k -> CAST(NULL, 'Nullable(UInt64)'), choice_keys), CAST(choice_votes, 'Array(Nullable(UInt64))')),
			choice_voting_powers))) AS said
		FROM vote_summaries ORDER BY proposal_key`) {
		var s struct {
			Proposal struct {
				Outcome string
				Title   *string
			}
			Basis  string
			Totals *struct {
				Votes, UniqueVoters *string
				VotingPower         string
			}
			Held   struct{ Votes, VotingPower string }
			Quorum *struct {
				Raw, Progress, Type string
				Reached             *bool
			}
			Choices []struct {
				Key, Label, VotingPower string
				Votes                   *string
			}
			CoverageStatus string
		}
		i.Get("/v2/proposals/"+row["proposal_key"]+"/votes/summary", &s)
		totals, quorum, choices := "not ready", "(NULL,NULL,NULL,NULL)", ""
		if s.Totals != nil {
			totals = fmt.Sprintf("('%s',%s,%s,%s,%s,%s)", s.Basis, orNull(s.Totals.Votes), orNull(s.Totals.UniqueVoters),
				s.Totals.VotingPower, s.Held.Votes, s.Held.VotingPower)
		}
		if s.Quorum != nil {
			reached := "NULL"
			if s.Quorum.Reached != nil {
				reached = strconv.FormatBool(*s.Quorum.Reached)
			}
			quorum = fmt.Sprintf("('%s','%s',%s,%s)", s.Quorum.Raw, s.Quorum.Type, s.Quorum.Progress, reached)
		}
		for _, c := range s.Choices {
			choices += fmt.Sprintf("(%s %s %s %s)", c.Key, c.Label, given(c.Votes), c.VotingPower)
		}
		said := strings.Join([]string{s.Proposal.Outcome, given(s.Proposal.Title), s.CoverageStatus, totals, quorum, choices}, " ")
		if row["said"] != said {
			t.Errorf("summary of %s: view\n%s\nAPI\n%s", row["proposal_key"], row["said"], said)
		}
	}
}

func (i *instance) compareProposals(t *testing.T) {
	for _, row := range i.Rows(`SELECT proposal_key, concat(dao_id, ' ', provider, ' ', external_id, ' ', ifNull(title, '-'), ' ',
		toString(length(ifNull(body_text, '-'))), ' ', ifNull(proposer_id, '-'), ' ', ifNull(source_url, '-'), ' ', ifNull(discussion_url, '-'), ' ',
		lifecycle_status, ' ', outcome, ' ', ifNull(quorum_raw, '-'), ' ', ` + moment("start_at") + `, ' ', ` + moment("end_at") + `) AS said
		FROM proposals ORDER BY proposal_key`) {
		var p struct {
			Identity                                                         struct{ DAOID, Provider, ExternalID string }
			Title, BodyText, ProposerID, SourceURL, DiscussionURL, QuorumRaw *string
			StartAt, EndAt                                                   *string
			LifecycleStatus, Outcome                                         string
		}
		i.Get("/v2/proposals/"+row["proposal_key"], &p)
		said := fmt.Sprint(p.Identity.DAOID, " ", p.Identity.Provider, " ", p.Identity.ExternalID, " ", given(p.Title), " ",
			len(given(p.BodyText)), " ", given(p.ProposerID), " ", given(p.SourceURL), " ", given(p.DiscussionURL), " ",
			p.LifecycleStatus, " ", p.Outcome, " ", given(p.QuorumRaw), " ", given(p.StartAt), " ", given(p.EndAt))
		if row["said"] != said {
			t.Errorf("proposal %s: view\n%s\nAPI\n%s", row["proposal_key"], row["said"], said)
		}
	}
}

func (i *instance) compareBallots(t *testing.T) {
	for _, key := range i.LargestProposals(2) {
		var want []string
		rows := env.Must(i.Walk("/v2/proposals/"+key+"/votes", 500))(t)
		for _, row := range rows {
			var b struct {
				VoteID, VoterIdentity, VotingPower                string
				VoterAddress, ChoiceKey, VotedAt, TransactionHash *string
			}
			env.Decode(t, row, &b)
			want = append(want, strings.Join([]string{
				b.VoteID, b.VoterIdentity, given(b.VoterAddress), given(b.ChoiceKey),
				b.VotingPower, given(b.VotedAt), given(b.TransactionHash),
			}, " "))
		}
		var got []string
		for _, row := range i.Rows(`SELECT concat(vote_id, ' ', voter_identity, ' ', ifNull(voter_address, '-'), ' ', ifNull(choice_key, '-'), ' ',
			toString(voting_power), ' ', ` + moment("voted_at") + `, ' ', ifNull(transaction_hash, '-')) AS said
			FROM ballots WHERE proposal_key = '` + key + `' ORDER BY voting_power DESC, voter_identity DESC`) {
			got = append(got, row["said"])
		}
		env.WantSame(t, fmt.Sprintf("ballots of %s", key), want, got)
	}
}

func (i *instance) compareDAOs(t *testing.T) {
	for _, row := range i.Rows(`SELECT dao_id, concat(name, ' ', toString((proposal_counts_total, proposal_counts_active, proposal_counts_pending,
		proposal_counts_closed, outcomes_passed, outcomes_failed, outcomes_executed, outcomes_canceled, outcomes_unknown))) AS said FROM daos`) {
		var d struct {
			Name           string
			ProposalCounts struct{ Total, Active, Pending, Closed int }
			Outcomes       struct{ Passed, Failed, Executed, Canceled, Unknown int }
		}
		i.Get("/v2/daos/"+row["dao_id"], &d)
		said := d.Name + " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(d.ProposalCounts, d.Outcomes), " ", ","), "{}")
		said = strings.NewReplacer("},{", ",", d.Name+" ", d.Name+" (").Replace(said) + ")"
		if row["said"] != said {
			t.Errorf("DAO %s: view %s, API %s", row["dao_id"], row["said"], said)
		}
	}
}

func (i *instance) compareRankings(t *testing.T) {
	for _, row := range i.Rows("SELECT dao_id, arrayStringConcat(groupArray(said), ' ') AS said FROM (SELECT dao_id, " +
		"concat(toString(rank), ' ', voter_identity, ' ', toString(total_voting_power), ' ', toString(vote_count), ' ', toString(proposal_count)) AS said " +
		"FROM dao_voters WHERE rank <= 100 ORDER BY dao_id, rank) GROUP BY dao_id") {
		var voters []struct {
			VoterIdentity, TotalVotingPower, VoteCount, ProposalCount string
			Rank                                                      int
		}
		i.Get("/v2/daos/"+row["dao_id"]+"/voters?limit=100", &voters)
		var said []string
		for _, v := range voters {
			said = append(said, fmt.Sprint(v.Rank, " ", v.VoterIdentity, " ", v.TotalVotingPower, " ", v.VoteCount, " ", v.ProposalCount))
		}
		if all := strings.Join(said, " "); row["said"] != all {
			t.Errorf("voters of %s: view\n%s\nAPI\n%s", row["dao_id"], row["said"], all)
		}
	}
}

func (i *instance) compareTimelines(t *testing.T) {
	for _, row := range i.Rows("SELECT dao_id, metric, month, toString(value) AS v FROM dao_timelines") {
		var timeline struct {
			Buckets []struct{ Month, Value string }
			Undated string
		}
		if row["month"] == "undated" {
			if i.Get(fmt.Sprintf("/v2/daos/%s/timeline?metric=%s", row["dao_id"], row["metric"]), &timeline); timeline.Undated != row["v"] {
				t.Errorf("timeline: API %+v, view %v", timeline, row)
			}
			continue
		}
		i.Get(fmt.Sprintf("/v2/daos/%s/timeline?metric=%s&fromMonth=%s&toMonth=%s",
			row["dao_id"], row["metric"], row["month"], row["month"]), &timeline)
		if len(timeline.Buckets) != 1 || timeline.Buckets[0].Value != row["v"] {
			t.Errorf("timeline: API %+v, view %v", timeline.Buckets, row)
		}
	}
}

func (i *instance) compareProfiles(t *testing.T) {
	said := "toString(vote_count), ' ', toString(proposal_count), ' ', toString(total_voting_power)"
	for _, row := range i.Rows("SELECT voter_identity, concat(toString(dao_count), ' ', " + said + ", ' ', daos) AS said FROM voters JOIN (" +
		"SELECT voter_identity, arrayStringConcat(groupArray(said), ' ') AS daos FROM (SELECT voter_identity, concat(dao_id, ' ', " + said + ", ' ', " +
		moment("first_vote_at") + ", ' ', " + moment("last_vote_at") + ") AS said FROM voter_daos ORDER BY voter_identity, dao_id) GROUP BY voter_identity" +
		") AS parts USING voter_identity ORDER BY vote_count DESC, voter_identity LIMIT 100") {
		var v struct {
			DAOCount, VoteCount, ProposalCount, TotalVotingPower string
			DAOs                                                 []struct {
				DAOID, VoteCount, ProposalCount, TotalVotingPower string
				FirstVoteAt, LastVoteAt                           *string
			}
		}
		i.Get("/v2/voters/"+row["voter_identity"], &v)
		all := []string{v.DAOCount, v.VoteCount, v.ProposalCount, v.TotalVotingPower}
		for _, d := range v.DAOs {
			all = append(all, d.DAOID, d.VoteCount, d.ProposalCount, d.TotalVotingPower, given(d.FirstVoteAt), given(d.LastVoteAt))
		}
		if got := strings.Join(all, " "); row["said"] != got {
			t.Errorf("profile of %s: view\n%s\nAPI\n%s", row["voter_identity"], row["said"], got)
		}
	}
}
