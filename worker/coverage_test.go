package worker_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

// Whether all ballots of a vote are held is one fact: its summary, the list of its ballots, the
// manifest of its export and the ranking of its DAO state it alike.
func TestEveryAnswerStatesWhichBallotsAreHeld(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var records []record.Record
	over := func(id string, votes uint64) *record.Proposal {
		p := proposal(id)
		p.State, p.StatedVotes, p.StatedScores = "closed", &votes, []decimal.Decimal{decimal.NewFromInt(6), decimal.NewFromInt(3)}
		records = append(records, p)
		return p
	}
	over("none", 3)
	over("part", 3)
	over("all", 1).StatedScores = []decimal.Decimal{decimal.NewFromInt(6), decimal.Zero}
	unstated := over("unstated", 3)
	unstated.StatedVotes, unstated.StatedScores = nil, nil
	spam := over("spam", 1)
	spam.Flagged, spam.StatedScores = true, []decimal.Decimal{decimal.NewFromInt(9), decimal.Zero}
	h.append(append(records, vote("part", "0x1", "6"), vote("all", "0x1", "6"), vote("spam", "0x1", "9"))...)
	h.start()
	for id, want := range map[string]string{
		"none":     "unavailable unavailable, 0 of 3 ballots with 0 of 9 by upstream",
		"part":     "ready partial, 1 of 3 ballots with 6 of 9 by upstream",
		"all":      "ready ready, 1 of 1 ballots with 6 of 6 by ballots, final",
		"unstated": "unavailable unavailable, 0 ballots with 0",
		"spam":     "ready ready, 1 of 1 ballots with 9 of 9 by ballots, final, flagged",
	} {
		t.Run(id, func(t *testing.T) {
			q := query.Ballots{Proposal: keyOf("dao.eth", id), Order: query.BallotsByPower}
			q.Limit = query.ShortPage
			env.Until(t, func() error {
				var rows []governance.Ballot
				var export governance.BallotExport
				list, err := h.readView(q, &rows)
				if err != nil {
					return err
				}
				manifest, err := h.readView(query.BallotExport{Proposal: keyOf("dao.eth", id)}, &export)
				if err != nil {
					return err
				}
				if list.VoteCoverage != manifest.VoteCoverage || fmt.Sprint(len(rows)) != string(export.Votes) {
					return fmt.Errorf("got %d rows %s, manifest %s %s", len(rows), list.VoteCoverage, export.Votes, manifest.VoteCoverage)
				}
				got := fmt.Sprintf("%s %s, %s ballots with %s", list.Readiness, list.VoteCoverage, export.Votes, export.VotingPower)
				if export.Totals != nil {
					got = fmt.Sprintf("%s %s, %s of %s ballots with %s of %s by %s", list.Readiness, list.VoteCoverage, export.Votes,
						*export.Totals.Votes, export.VotingPower, export.Totals.VotingPower, *export.Basis)
				}
				if export.Final {
					got += ", final"
				}
				if export.Flagged {
					got += ", flagged"
				}
				if got != want {
					return fmt.Errorf("got %s, want %s", got, want)
				}
				return nil
			})
		})
	}
	env.Until(t, func() error {
		var voters []governance.DAOVoter
		q := query.Voters{DAOID: "dao.eth"}
		q.Limit = query.ShortPage
		view, err := h.readView(q, &voters)
		if err == nil && view.VoteCoverage != governance.VotesPartial {
			err = fmt.Errorf("the ranking: got %q, want %q", view.VoteCoverage, governance.VotesPartial)
		}
		return err
	})
	timeline := env.Must(h.store.View(t.Context(), cache.TimelineKey("dao.eth", governance.VotesCast)))(t)
	env.Want(t, governance.VotesPartial, timeline.VoteCoverage, "the timeline")
}

func TestBallotsWithoutATimeAreInTheMonthOfTheirVoteOrUndated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	during := func(id, start, end string) *record.Proposal {
		p := proposal(id)
		for at, text := range map[**governance.Timestamp]string{&p.StartAt: start, &p.EndAt: end} {
			if parsed, err := governance.ParseTimestamp(text); err == nil {
				*at = &parsed
			}
		}
		return p
	}
	dated := vote("within", "0x3", "1")
	at := governance.Timestamp(1767225600000) // 2026-01-01
	dated.VotedAt = &at
	h.append(
		during("within", "2026-02-01", "2026-02-28"), during("across", "2026-02-01", "2026-03-01"), during("open", "2026-02-01", ""),
		during("reversed", "2026-02-20", "2026-02-10"),
		vote("within", "0x1", "1"), vote("within", "0x2", "1"), dated, vote("across", "0x1", "1"), vote("open", "0x1", "1"), vote("reversed", "0x1", "1"),
	)
	h.startLeader(h.metrics)
	h.waitForPublication()
	for metric, want := range map[string]governance.Timeline{
		governance.VotesCast: {
			DAOID: "dao.eth", Metric: governance.VotesCast, Undated: "3",
			Buckets: []governance.TimelineBucket{{Month: "2026-01", Value: "1"}, {Month: "2026-02", Value: "2"}},
		},
		governance.ProposalsCreated: {
			DAOID: "dao.eth", Metric: governance.ProposalsCreated, Undated: "0", Buckets: []governance.TimelineBucket{{Month: "2026-02", Value: "4"}},
		},
	} {
		got, _, err := read[governance.Timeline](h, cache.TimelineKey("dao.eth", metric))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
