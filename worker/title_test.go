package worker_test

import (
	"errors"
	"fmt"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// TestProposalWithoutATitleHasOneEverywhere also checks what rows of lists state beside it, and
// the reason of a ballot.
func TestProposalWithoutATitleHasOneEverywhere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	untitled := created(proposal("a"), 1000)
	untitled.Title, untitled.Body, untitled.ProposerID = "", "# Of the text\nMore.", "0xaa"
	ballot := vote("a", "0x1", "1")
	ballot.Reason = "Costs too much."
	h.append(untitled, ballot)
	h.startLeader(h.metrics)
	h.startFiller()
	key := keyOf("dao.eth", "a")
	h.waitForVotes(key, "1")
	stated, _, err := h.summary(key)
	detail, _, errDetail := read[governance.ProposalDetail](h, cache.ProposalDetailKey(key))
	if err := errors.Join(err, errDetail); err != nil {
		t.Fatal(err)
	}
	var rows []cache.ProposalRow
	var history []governance.VoterVote
	var ballots []governance.Ballot
	one := query.Paging[query.BallotPosition]{Limit: 10}
	env.Until(t, func() error { return h.readPage(inOrder(query.Proposals{}), &rows) })
	env.Until(t, func() error {
		return h.readPage(query.VoterVotes{Voter: "0x1", Paging: query.Paging[query.VoterVotePosition]{Limit: 10}}, &history)
	})
	env.Until(t, func() error {
		return h.readPage(query.Ballots{Proposal: key, Order: query.BallotsByPower, Paging: one}, &ballots)
	})
	if len(rows) != 1 || len(history) != 1 || len(ballots) != 1 {
		t.Fatalf("got %v, %v and %v, want one of each", rows, history, ballots)
	}
	row := rows[0].Item
	for where, title := range map[string]*string{
		"detail": detail.Title, "summary": stated.Proposal.Title, "list": row.Title, "history": history[0].Proposal.Title,
	} {
		if title == nil || *title != "Of the text" {
			t.Errorf("%s: got title %v", where, title)
		}
	}
	got := fmt.Sprint(row.CreatedAt, row.StartAt, *row.ProposerID, detail.CreatedAt, detail.UpdatedAt, *detail.VoteType)
	want := fmt.Sprint(untitled.CreatedAt, untitled.StartAt, "0xaa", untitled.CreatedAt, row.CreatedAt, untitled.VoteType)
	if got != want || ballots[0].Reason == nil || *ballots[0].Reason != ballot.Reason {
		t.Errorf("got %s with reason %v, want %s", got, ballots[0].Reason, want)
	}
}
