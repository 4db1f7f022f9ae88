package demo_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/demo"
	"pnyx/governance"
)

// TestDemoHasEveryFeature counts the features of the demo data set at several end times.
func TestDemoHasEveryFeature(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{now, now.AddDate(0, 7, 11), time.Date(2031, time.January, 2, 3, 4, 5, 6, time.UTC)} {
		t.Run(at.Format(time.DateOnly), func(t *testing.T) {
			t.Parallel()
			dir, _ := write(t, demo.Demo(at))
			found := map[string]int{}
			d := read(t, dir)
			d.countSources(found)
			d.countProposals(found, at)
			d.countBallots(found)
			d.countOnChain(found)
			d.countTopics(found, at)
			for feature, minimum := range demoFeatures() {
				if found[feature] < minimum {
					t.Errorf("got %d × %s, want at least %d", found[feature], feature, minimum)
				}
			}
			for feature := range found {
				if _, listed := demoFeatures()[feature]; !listed {
					t.Errorf("got %d × %s, want it in demoFeatures", found[feature], feature)
				}
			}
		})
	}
}

// demoFeatures returns the minimum count of each feature of the demo data set.
func demoFeatures() map[string]int {
	return map[string]int{
		"DAO with a space only": 2, "DAO with a space and a forum": 2, "DAO with a space, an organization and a forum": 1,
		"DAO with an organization and a forum": 1, "DAO with two spaces": 1, "unclaimed space": 1, "unclaimed organization": 1,

		"single-choice": 20, "basic": 20, "approval": 3, "ranked-choice": 3, "weighted": 3, "quadratic": 2, "copeland": 1, "copeland with scores": 1,
		"pending": 3, "active": 5, "closed": 60, "no state": 1, "ends within two days": 2, "ends within a week": 4, "ended within a month": 10,
		"passed": 10, "failed": 5, "unknown outcome": 10,
		"no quorum": 5, "quorum of 0": 5, "quorum": 20, "no title": 1, "no body": 1, "no choices": 1, "no author": 1, "flagged": 1,
		"updated": 3, "updated absent": 5, "flagged absent": 5, "day only": 1, "discussion": 10,
		"stated result": 30, "no stated result": 10, "stated votes above ballots": 3, "stated 0 votes and no ballots": 3, "stated votes and no ballots": 1,

		"power, integer": 100, "power with .0": 10, "power with decimals": 100, "power with 18 decimals": 10, "power with more than 18 decimals": 10,
		"power, scientific": 3, "power, zero": 3, "ballot without time": 10, "ballot with day only": 10, "empty vote": 1,
		"recast": 50, "recast that comes first": 5, "recast in other case": 50, "repeat": 10, "on-chain repeat": 1, "reason": 50, "empty reason": 50, "waiting ballot": 5,
		"ranking": 10, "partial ranking": 5, "several approved": 5, "divided power": 10,

		"executed": 3, "defeated": 2, "canceled": 1, "queued": 1, "succeeded": 1, "expired": 1, "on-chain active": 1, "on-chain pending": 1,
		"event created": 5, "event queued": 3, "event executed": 3, "event canceled": 1, "on-chain quorum": 10, "follows a Snapshot vote": 3,
		"on-chain discussion": 3, "no vote stats": 1, "no events": 1, "no times": 1, "no description": 1,

		"topic": 60, "invisible topic": 1, "topic without details": 1, "topic without posts": 1, "closed topic": 1, "archived topic": 1, "topic with one post": 5,
		"topic with 30 posts": 5, "link to snapshot.org": 5, "link to snapshot.box": 5, "link to tally.xyz": 3, "topic on a proposal": 30, "topic without a proposal": 20,
		"blockquote": 3, "image": 3, "mention": 3, "list": 30, "table": 5, "[RFC]": 3, "[Temperature check]": 3, "recent topic": 3,
	}
}

func (d data) countSources(found map[string]int) {
	claimed := map[string]bool{}
	for _, dao := range d.daos {
		var providers []string
		for _, source := range dao.Sources {
			claimed[source.Provider+source.ID] = true
			providers = append(providers, source.Provider)
		}
		switch strings.Join(providers, "+") {
		case "snapshot":
			found["DAO with a space only"]++
		case "snapshot+discourse":
			found["DAO with a space and a forum"]++
		case "snapshot+tally+discourse":
			found["DAO with a space, an organization and a forum"]++
		case "tally+discourse":
			found["DAO with an organization and a forum"]++
		case "snapshot+snapshot":
			found["DAO with two spaces"]++
		}
	}
	for _, space := range d.spaces {
		if !claimed["snapshot"+space.ID] {
			found["unclaimed space"]++
		}
	}
	for _, organization := range d.organizations {
		if !claimed["tally"+organization.Slug] {
			found["unclaimed organization"]++
		}
	}
}

func (d data) countProposals(found map[string]int, at time.Time) {
	voters := voters(d)
	for _, p := range d.proposals {
		count := func(feature string, is bool) {
			if is {
				found[feature]++
			}
		}
		found[p.Type]++
		found[valueOr(p.State, "no state")]++
		count("copeland with scores", p.Type == "copeland" && p.Scores != nil)
		if p.End != nil {
			left := time.Unix(*p.End, 0).Sub(at)
			count("ends within two days", left > 0 && left < 48*time.Hour)
			count("ends within a week", left > 0 && left < 7*24*time.Hour)
			count("ended within a month", left < 0 && left > -30*24*time.Hour)
		}
		count("no quorum", p.Quorum == nil)
		count("quorum of 0", p.Quorum != nil && *p.Quorum == "0")
		count("quorum", p.Quorum != nil && *p.Quorum != "0")
		count("no title", p.Title == nil)
		count("no body", p.Body == nil)
		count("no choices", p.Choices == nil)
		count("no author", p.Author == nil)
		count("flagged", p.Flagged != nil && *p.Flagged)
		count("updated", p.Updated != nil)
		count("updated absent", !p.hasUpdated)
		count("flagged absent", !p.hasFlaggedKey)
		count("day only", p.StartDay != "" && p.EndDay != "" && p.Created == nil && p.Start == nil && p.End == nil)
		count("discussion", p.Discussion != nil)
		count("no stated result", p.Votes == nil && p.Scores == nil && p.ScoresTotal == nil)
		if p.Votes != nil {
			count("stated result", true)
			count("stated votes above ballots", voters[p.ID] > 0 && *p.Votes > voters[p.ID])
			count("stated 0 votes and no ballots", voters[p.ID] == 0 && *p.Votes == 0)
			count("stated votes and no ballots", voters[p.ID] == 0 && *p.Votes > 0)
		}
		if valueOr(p.State, "") == "closed" && p.Scores != nil {
			found[outcome(p)]++
		}
	}
}

// outcome returns the outcome of a closed vote that states its scores.
func outcome(p snapshotProposal) string {
	if p.Type != "single-choice" && p.Type != "basic" || p.Choices == nil {
		return "unknown outcome"
	}
	choices := make([]governance.Choice, len(p.Choices))
	scores := make([]decimal.Decimal, len(p.Choices))
	for i, label := range p.Choices {
		choices[i].Label = label
		scores[i] = decimal.RequireFromString(string(p.Scores[i]))
	}
	var quorum *governance.Quorum
	if p.Quorum != nil {
		reached := decimal.Sum(decimal.Zero, scores...).GreaterThanOrEqual(decimal.RequireFromString(string(*p.Quorum)))
		quorum = &governance.Quorum{Reached: &reached}
	}
	if outcome := governance.Decide(governance.VoteType(p.Type), choices, scores, quorum); outcome != governance.Unknown {
		return string(outcome)
	}
	return "unknown outcome"
}

func (d data) countBallots(found map[string]int) {
	types := map[string]string{}
	choices := map[string]int{}
	for _, p := range d.proposals {
		types[p.ID], choices[p.ID] = p.Type, len(p.Choices)
	}
	lines, voted := map[string]bool{}, map[string]snapshotVote{}
	for _, vote := range d.votes {
		if lines[vote.line] {
			found["repeat"]++
			continue
		}
		lines[vote.line] = true
		found[powerForm(string(vote.VP))]++
		countTime(found, vote)
		countReason(found, vote.Reason)
		countChoice(found, types[vote.Proposal.ID], vote.Choice, choices[vote.Proposal.ID])
		if types[vote.Proposal.ID] == "" {
			found["waiting ballot"]++
		}
		key := vote.Proposal.ID + strings.ToLower(vote.Voter)
		if before, recast := voted[key]; recast {
			countRecast(found, before, vote)
		}
		voted[key] = vote
	}
	for _, vote := range d.onChainVotes {
		if lines[vote.line] {
			found["on-chain repeat"]++
		}
		lines[vote.line] = true
	}
}

func countTime(found map[string]int, vote snapshotVote) {
	switch {
	case vote.CreatedDay != nil:
		found["ballot with day only"]++
	case vote.Created == nil:
		found["ballot without time"]++
	}
}

func countReason(found map[string]int, reason *string) {
	switch {
	case reason == nil:
	case *reason == "":
		found["empty reason"]++
	default:
		found["reason"]++
	}
}

func countRecast(found map[string]int, before, again snapshotVote) {
	found["recast"]++
	if before.Voter != again.Voter {
		found["recast in other case"]++
	}
	if before.Created != nil && again.Created != nil && *before.Created > *again.Created {
		found["recast that comes first"]++
	}
}

func countChoice(found map[string]int, voteType string, choice json.RawMessage, choices int) {
	switch parts := bytes.Count(choice, []byte(",")) + 1; {
	case len(choice) == len("[]") && (choice[0] == '[' || choice[0] == '{'):
		found["empty vote"]++
	case choice[0] == '{' && parts > 1:
		found["divided power"]++
	case voteType == "approval" && parts > 1:
		found["several approved"]++
	case choice[0] == '[' && voteType != "approval" && parts == choices:
		found["ranking"]++
	case choice[0] == '[' && voteType != "approval":
		found["partial ranking"]++
	}
}

// powerForm returns the notation of a voting power.
func powerForm(text string) string {
	_, fraction, found := strings.Cut(text, ".")
	switch {
	case text == "0":
		return "power, zero"
	case strings.Contains(text, "e"):
		return "power, scientific"
	case !found:
		return "power, integer"
	case fraction == "0":
		return "power with .0"
	case len(fraction) == 18:
		return "power with 18 decimals"
	case len(fraction) > 18:
		return "power with more than 18 decimals"
	}
	return "power with decimals"
}

func (d data) countOnChain(found map[string]int) {
	for _, p := range d.onChain {
		switch p.Status {
		case "active", "pending":
			found["on-chain "+p.Status]++
		default:
			found[p.Status]++
		}
		for _, event := range p.Events {
			found["event "+event.Type]++
		}
		for feature, is := range map[string]bool{
			"on-chain quorum": p.Quorum != nil, "follows a Snapshot vote": p.Metadata.SnapshotURL != nil, "on-chain discussion": p.Metadata.DiscourseURL != nil,
			"no vote stats": p.VoteStats == nil, "no events": p.Events == nil, "no times": p.Start.Timestamp == nil && p.CreatedAt == nil,
			"no description": p.Metadata.Description == nil,
		} {
			if is {
				found[feature]++
			}
		}
	}
}

func (d data) countTopics(found map[string]int, at time.Time) {
	titles := map[string]bool{}
	for _, p := range d.proposals {
		titles[valueOr(p.Title, "-")] = true
	}
	for _, p := range d.onChain {
		titles[p.Metadata.Title] = true
	}
	prefix := regexp.MustCompile(`^\[[^]]+\] `)
	for topic := range flatten(maps.Values(d.topics)) {
		cooked := ""
		if topic.PostStream != nil {
			cooked = topic.PostStream.Posts[0].Cooked
		}
		about := titles[prefix.ReplaceAllString(topic.Title, "")]
		for feature, is := range map[string]bool{
			"topic": true, "invisible topic": !topic.Visible, "topic without details": topic.Details == nil, "topic without posts": topic.PostStream == nil,
			"closed topic": topic.Closed, "archived topic": topic.Archived, "topic with one post": topic.PostsCount == 1, "topic with 30 posts": topic.PostsCount >= 30,
			"link to snapshot.org": strings.Contains(cooked, `href="https://snapshot.org/#/`),
			"link to snapshot.box": strings.Contains(cooked, `href="https://snapshot.box/#/s:`),
			"link to tally.xyz":    strings.Contains(cooked, `href="https://www.tally.xyz/gov/`),
			"topic on a proposal":  about, "topic without a proposal": !about,
			"blockquote": strings.Contains(cooked, "<blockquote>"), "image": strings.Contains(cooked, "<img"), "mention": strings.Contains(cooked, `class="mention"`),
			"list": strings.Contains(cooked, "<li>"), "table": strings.Contains(cooked, "<td>"),
			"[RFC]": strings.HasPrefix(topic.Title, "[RFC]"), "[Temperature check]": strings.HasPrefix(topic.Title, "[Temperature check]"),
			"recent topic": at.Sub(topic.CreatedAt) < 30*24*time.Hour,
		} {
			if is {
				found[feature]++
			}
		}
	}
}

func flatten[T any](lists func(func([]T) bool)) func(func(T) bool) {
	return func(yield func(T) bool) {
		for list := range lists {
			if !slices.ContainsFunc(list, func(item T) bool { return !yield(item) }) {
				continue
			}
			return
		}
	}
}

// voters returns the number of voters per proposal.
func voters(d data) map[string]int {
	seen, count := map[string]bool{}, map[string]int{}
	for _, vote := range d.votes {
		if key := vote.Proposal.ID + strings.ToLower(vote.Voter); !seen[key] {
			seen[key] = true
			count[vote.Proposal.ID]++
		}
	}
	return count
}

func valueOr(text *string, fallback string) string {
	if text == nil {
		return fallback
	}
	return *text
}
