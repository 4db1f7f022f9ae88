package tally_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/env"
	upstream "pnyx/test/upstream/tally"
	"pnyx/warehouse/records"
)

const day = 24 * time.Hour

// propose adds proposals with some votes each, and returns their ids.
func (f *fixture) propose(proposals, votes int) (ids []string) {
	for i := range proposals {
		id := f.Propose("harbor", fmt.Sprint("Proposal ", i+1), 3*day)
		for k := range votes {
			f.Vote(id, fmt.Sprintf("0xAA%d", k), []string{"for", "against", "abstain"}[k%3], fmt.Sprint(1500000+k))
		}
		ids = append(ids, id)
		f.clock.Step(time.Second)
	}
	return ids
}

func TestAnOrganizationIsReadWholeFromItsNewestProposalOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := f.propose(25, 2)
	for _, id := range ids[:24] {
		f.SetStatus(id, "executed")
	}
	for k := range 45 {
		f.Vote(ids[0], fmt.Sprintf("0xBB%d", k), "for", "7")
	}
	f.Poll("log")
	if got, _ := f.held(); len(got) != 20 {
		t.Errorf("got %d proposals at first, want the newest page", len(got))
	}
	env.Must(f.Pollers["backfill"].Run(t.Context()))(t)
	if got := f.cursor("backfill"); got.State != governance.SourceBackfilling || got.Done >= got.Total {
		t.Errorf("got %s, %d of %d; want backfilling", got.State, got.Done, got.Total)
	}
	f.restart()
	f.Poll(order()...)
	f.wantTruth()
	if got := f.cursor("backfill"); got.State != governance.SourceLive || got.Done != 25 || got.Total != 25 {
		t.Errorf("got %s, %d of %d; want live, 25 of 25", got.State, got.Done, got.Total)
	}
}

func TestNewProposalsAreReadUntilOneIsKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.propose(2, 1)
	f.Poll(order()...)
	before := f.Requests("proposals")
	f.Poll("log", "log")
	env.Want(t, 2, f.Requests("proposals")-before, "pages for two polls", "one each")
	f.restart()
	f.propose(22, 1)
	f.Poll("log", "watch")
	f.wantTruth()
}

func TestAStatusChangesWithoutATrace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := f.propose(3, 2)
	f.Poll(order()...)
	f.clock.Step(3 * day)
	f.SetStatus(ids[0], "defeated")
	f.SetStatus(ids[1], "queued")
	f.SetStatus(ids[2], "succeeded")
	f.Poll("watch")
	f.wantTruth()
	f.SetStatus(ids[1], "executed")
	f.Poll("watch")
	f.wantTruth()
	f.clock.Step(31 * day)
	before := f.Requests("proposal")
	f.SetStatus(ids[2], "archived")
	f.Poll("watch")
	env.Want(t, before, f.Requests("proposal"), "polls of proposals that ended long ago")
	f.Poll("backfill") // the daily walk
	f.wantTruth()
}

func TestAWalkByAClockThatWentBackIsNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.propose(1, 2)[0]
	f.SetStatus(id, "defeated")
	f.Poll(order()...)
	cursor := f.cursor("backfill")
	cursor.Position = `{"swept":"2099-01-01T00:00:00Z","done":true}`
	env.MustDo(t, f.Journal.Commit(t.Context(), nil, cursor))
	f.SetStatus(id, "archived")
	f.Poll("backfill")
	f.wantTruth()
}

func TestNewVotesAreReadUntilOneIsKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.propose(1, 70)[0]
	f.Poll(order()...)
	f.wantTruth()
	f.Vote(id, "0xBB", "against", "9")
	before := f.Requests("votes")
	f.Poll("watch")
	f.wantTruth()
	env.Want(t, 1, f.Requests("votes")-before, "pages of votes for one new vote")
	f.Poll("watch", "watch")
	env.Want(t, 1, f.Requests("votes")-before, "pages of votes without a new vote")
	for k := range 150 { // more than a poll reads
		f.Vote(id, fmt.Sprintf("0xCC%d", k), "for", "1")
	}
	f.clock.Step(time.Hour)
	f.Poll("watch", "backfill")
	f.wantTruth()
}

func TestAPendingVoteCountsWhenItBecomesPlain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.propose(1, 3)[0]
	pending := f.Vote(id, "0xBB", "pendingagainst", "9")
	f.Vote(id, "0xCC", "for", "9")
	f.Poll(order()...)
	f.wantTruth()
	for k := range 30 {
		f.Vote(id, fmt.Sprintf("0xDD%d", k), "for", "1")
	}
	f.Poll("watch")
	f.Arrive(id, pending) // its id is far below the newest that is known
	f.clock.Step(time.Hour)
	f.Poll("watch", "backfill")
	f.wantTruth()
}

func TestDraftsWaitUntilTheyAreOnTheChain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	draft, dropped := f.Draft("harbor", "Budget"), f.Draft("harbor", "Dropped")
	f.propose(25, 0)
	f.Poll(order()...)
	f.wantTruth()
	f.restart()
	f.SetStatus(dropped, "archived")
	f.Submit(draft)
	f.Vote(draft, "0xAA", "for", "1")
	f.Poll("watch")
	f.wantTruth()
	before := f.Requests("proposal")
	f.Poll("watch")
	env.Want(t, 26, f.Requests("proposal")-before, "polls of proposals", "none of the archived draft")
}

func TestAnEndpointThatIsBehindSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.propose(1, 2)[0]
	f.Poll(order()...)
	f.Switch(func(s *upstream.Switches) { s.Behind = true })
	f.SetStatus(id, "canceled")
	f.Vote(id, "0xBB", "for", "1")
	f.Poll("log", "watch")
	for _, poller := range []string{"log", "watch"} {
		env.Want(t, governance.SourceBehind, f.cursor(poller).State, "poller", poller, "behind")
	}
	f.Switch(func(s *upstream.Switches) { s.Behind = false })
	f.Poll(order()...)
	f.wantTruth()
	for _, poller := range order() {
		env.Want(t, governance.SourceLive, f.cursor(poller).State, "poller", poller, "live")
	}
}

func TestAVoteThatWasTakenBackIsWithdrawnAtTheClose(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.propose(1, 30)[0]
	dropped := f.Vote(id, "0xBB", "for", "9")
	f.Vote(id, "0xCC", "for", "9")
	f.Poll(order()...)
	f.wantTruth()
	f.Drop(id, dropped)
	f.SetStatus(id, "executed")
	f.Poll("watch", "backfill")
	f.wantTruth()
	env.Want(t, 1, f.cursor("backfill").Withdrawn, "withdrawn")
	before := f.Requests("votes")
	f.Poll("backfill")
	env.Want(t, before, f.Requests("votes"), "pages of votes after the close")
}

func TestAnEndpointIsAskedOnceASecondAndSaysWhenThatIsTooSlow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Switch(func(s *upstream.Switches) { s.Limited = true })
	f.propose(60, 0)
	f.Poll(order()...)
	f.Poll("watch")
	f.wantTruth()
	env.Want(t, 0, f.refused.Load(), "refused requests")
	got := f.cursor("watch")
	if want := "60 open proposals at about one request a second are read every 1m"; got.State != governance.SourceBehind || !strings.HasPrefix(got.Error, want) {
		t.Errorf("got %s, %q; want behind, %q", got.State, got.Error, want)
	}
	again := env.Must(follow.OpenJournal(t.Context(), f.warehouse, f.followed.ID(), f.followed.Sources(), f.clock))(t)
	env.Want(t, got.Error, again.Cursor(got.Source(), "watch").Error, "after a restart", "the same")
}

func TestFailuresOfTheEndpointChangeNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want string
		fault      func(*upstream.Switches)
	}{
		{"errors under 200", "internal system error", func(s *upstream.Switches) { s.Fails = true }},
		{"401", "the API key is refused", func(s *upstream.Switches) { s.Key = "other" }},
		{"403", "the API key is refused", func(s *upstream.Switches) { s.Key, s.RefusedStatus = "other", 403 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.propose(2, 2)
			f.Poll(order()...)
			f.Switch(test.fault)
			f.clock.Step(day)
			for _, poller := range order() {
				err := f.TryPoll(t.Context(), poller)
				if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
					t.Errorf("poller %s: got %v, want %q", poller, err, test.want)
				}
			}
			f.wantTruth()
			env.WantPart(t, test.want, f.followed.Check(t.Context())[0].Problem, "problem")
		})
	}
}

func TestAnUnknownCursorBeginsTheWalkAnew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := f.propose(45, 0)
	for _, id := range ids {
		f.SetStatus(id, "executed")
	}
	env.Must(f.Pollers["backfill"].Run(t.Context()))(t)
	f.Switch(func(s *upstream.Switches) { s.ForgetsCursors = true })
	for range 3 {
		if _, err := f.Pollers["backfill"].Run(t.Context()); err == nil {
			t.Fatal("got no error for an unknown cursor")
		}
	}
	f.Switch(func(s *upstream.Switches) { s.ForgetsCursors = false })
	f.Poll("backfill")
	f.wantTruth()
}

func TestAListEndsWithItsLastNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Switch(func(s *upstream.Switches) { s.ShortPages = true })
	for _, id := range f.propose(45, 1) {
		f.SetStatus(id, "executed")
	}
	id := f.propose(1, 45)[0]
	f.Poll(order()...)
	f.SetStatus(id, "executed")
	f.Poll("watch", "backfill")
	f.wantTruth()
}

func TestVotesHaveTwoNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.propose(1, 2)[0]
	for _, earlier := range []bool{true, false} {
		f.Switch(func(s *upstream.Switches) { s.EarlierVotes = earlier })
		f.Vote(id, fmt.Sprintf("0xE%t", earlier), "for", "1")
		f.Poll(order()...)
		f.wantTruth()
	}
}

func TestWhatOneProposalLacksHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids, lying := f.propose(3, 2), f.tamper()
	f.Poll(order()...)
	before, _ := f.held()
	f.Vote(ids[0], "0xDD", "for", "9")
	f.Vote(ids[2], "0xDD", "for", "9")
	lying.Change(func(asked string, answer []byte) []byte {
		switch {
		case strings.Contains(asked, "ProposalsInput!"): // of the newest, ids[2]
			return append([]byte(`{"errors":[{"message":"no data","path":["proposals","nodes",0,"voteStats"]}],`), answer[1:]...)
		case strings.Contains(asked, "ProposalInput!") && strings.Contains(asked, ids[2]):
			return []byte(`{"errors":[{"message":"not found"}],"data":null}`)
		}
		return answer
	})
	f.Poll("log")
	f.FailPoll("watch", "not found")
	proposals, ballots := f.held()
	if len(ballots) != 7 || *proposals[0].StatedVotes != 3 || !cmp.Equal(proposals[2], before[2]) {
		t.Errorf("got %d ballots and %+v, want 7 and the last proposal as it was", len(ballots), proposals)
	}
	env.Want(t, 1, env.Rejected(t, f.warehouse, f.followed.Sources()[0]), "rejected")
	lying.Relent()
	f.Poll(order()...)
	f.wantTruth()
	lying.Change(func(_ string, answer []byte) []byte {
		return withNodes(answer, "proposals", `{"id":7}`, "null", "{}")
	})
	f.Poll("log")
	env.Want(t, 1, env.Rejected(t, f.warehouse, f.followed.Sources()[0]), "rejected", "the node that is no proposal")
	lying.Change(func(_ string, answer []byte) []byte { // the first Governor of two
		return bytes.Replace(answer, []byte(`aa","isBehind":false`), []byte(`cc","isBehind":true`), 1)
	})
	f.Poll("log")
	env.Want(t, governance.SourceBehind, f.cursor("log").State, "with one of two Governors behind")
}

func TestNodesOfOtherTypesAreLeftOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Switch(func(s *upstream.Switches) { s.Others = true })
	f.propose(3, 1)
	f.Poll(order()...)
	f.wantTruth()
	env.Want(t, 0, env.Rejected(t, f.warehouse, f.followed.Sources()[0]), "rejected")
}

// TestACrashAnywhereLosesNothing stops all pollers at each request of a poll with each kind of
// change, and goes on after a restart; then at another request of the next poll.
func TestACrashAnywhereLosesNothing(t *testing.T) {
	t.Parallel()
	for n := int64(1); n <= 9; n += 2 {
		t.Run(fmt.Sprint("request ", n), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			ids := f.propose(4, 25)
			for _, at := range []int64{n, n + 10} {
				pending := f.Vote(ids[3], fmt.Sprint("0xBB", at), "pendingfor", "3")
				f.Poll(order()...)
				f.propose(2, 3)
				f.Draft("harbor", "Draft")
				f.SetStatus(ids[0], map[bool]string{true: "executed", false: "queued"}[at > n])
				f.Vote(ids[1], fmt.Sprint("0xEE", at), "for", "4")
				f.Arrive(ids[3], pending)
				f.clock.Step(day)
				f.PollUntil(&f.crash, at, order()...)
				f.restart()
				f.Poll(order()...)
				f.clock.Step(time.Hour)
				f.Poll(order()...)
				f.wantTruth()
			}
		})
	}
}

func TestCheckSaysWhatAnOrganizationHoldsAndCosts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.propose(45, 0)
	want := follow.Check{
		Source: "harbor", Is: "Tally organization Harbor, 45 proposals", RequestsPerDay: 1440 + 3, RequestsPerDayBusy: 1440 + 3 + 4*1440,
		Limit: "about 1 request a second for a key",
	}
	env.WantSame(t, "check", []follow.Check{want}, f.followed.Check(t.Context()))
}

func TestNamesOfAccountsComeWithTheirVotes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.propose(1, 1)[0]
	f.SetName("0xBB", "Bea")
	f.Vote(id, "0xBB", "for", "9")
	f.Poll(order()...)
	names := env.Must(records.VoterNames(t.Context(), f.warehouse, []string{"0xbb"}))(t)
	want := governance.VoterName{Name: "Bea", Source: governance.NameOfTally}
	if got := names["0xbb"]; got == nil || *got != want {
		t.Errorf("got name %v, want %v", got, want)
	}
}
