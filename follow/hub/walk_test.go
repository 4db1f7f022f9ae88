package hub_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow/hub"
	"pnyx/test/env"
	fake "pnyx/test/upstream/hub"
)

func TestBurstInAFewSecondsIsReadWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	for second, votes := range []int{1200, 1249, 1200} {
		f.burst(id, votes, start.Add(time.Duration(second)*time.Second))
	}
	f.Poll("backfill")
	f.agree()
	if got := f.hub.Requests()["votes"]; got > 7 {
		t.Errorf("got %d requests for 3,649 votes in three seconds, want at most 7", got)
	}
}

func TestMoreVotesInASecondThanTheHubShowsAreSaidToBeMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	f.burst(id, 6100, start)
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("late"), Created: start.Add(time.Minute)})
	f.Poll("backfill")
	held := f.held()[id].Votes
	env.Want(t, 6001, len(held), "votes", "the 6,000 of the second that the hub shows, and the later one")
	env.Want(t, 1, f.rejected(), "rejected", "the hole counted")
	if note := f.note(id); note.Hole == "" {
		t.Errorf("got %+v, want the hole described", note)
	}
	f.restart()
	if got := f.cursor("harbor.eth", "backfill"); !strings.Contains(got.Error, "more than 6000 votes at 2026-03-04T12:00:00Z") {
		t.Errorf("got state %s with %q, want what cannot be read", got.State, got.Error)
	}
}

func TestRowThatBreaksItsPageCostsOnlyItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	f.burst(id, 1500, start)
	broken := []string{fake.Voter("x"), fake.Voter("y")}
	for _, voter := range broken {
		f.cast(fake.Vote{Proposal: id, Voter: voter, Created: start})
		f.hub.Break(id, voter, true)
	}
	f.Poll("backfill")
	env.Want(t, 1500, len(f.held()[id].Votes), "votes", "the 1,500 that can be answered")
	if got := f.rejected(); got == 0 {
		t.Error("the rows that cannot be read are not counted")
	}
	f.hub.Break(id, broken[0], false)
	f.hub.Break(id, broken[1], false)
	f.close(id, nil)
	f.Poll("watch", "close")
	f.agree()
}

func TestHubInTroubleIsAskedLessNotMore(t *testing.T) {
	t.Parallel()
	f, _ := newVote(t)
	f.fill()
	f.hub.Set(func(s *fake.Switches) { s.Trouble = 1000 })
	before := f.hub.Requests()[""]
	for range 20 {
		_, err := f.Pollers["log"].Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "request failed") {
			t.Fatalf("got %v, want what the hub says", err)
		}
	}
	env.Want(t, 5, f.hub.Requests()[""]-before, "requests in twenty attempts", "five, and then a rest")
	f.hub.Set(func(s *fake.Switches) { s.Trouble = 0 })
	f.clock.Step(time.Minute)
	f.Poll("log")
	f.agree()
}

func TestWalkGoesOnWhereTheLimitStoppedIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	f.burst(id, 3000, start)
	f.hub.Set(func(s *fake.Switches) { s.Limit = 2 })
	limited := 0
	for more := true; more; {
		var err error
		more, err = f.Pollers["backfill"].Run(t.Context())
		if stopped, is := errors.AsType[*fetch.LimitedError](err); is {
			limited, more = limited+1, true
			f.clock.Step(stopped.Until.Sub(f.clock.Now()))
		} else if err != nil {
			t.Fatal(err)
		}
	}
	f.agree()
	if got := f.hub.Requests()["votes"]; limited == 0 || got > 6 {
		t.Errorf("got %d requests for votes and %d stops, want each page read once", got, limited)
	}
}

func TestWrongKeyIsSaidToBeWrong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hub.Set(func(s *fake.Switches) { s.Keys = map[string]int{"good": 10} })
	f.upstream.APIKey = "bad-and-secret"
	_, err := f.Pollers["backfill"].Run(t.Context())
	if got := fmt.Sprint(err); !strings.Contains(got, "API key is refused") || strings.Contains(got, "secret") {
		t.Errorf("got %q, want the reason without the key", got)
	}
	f.upstream.APIKey = "good"
	f.Poll("backfill")
}

func TestVotesThatTheLogNeverBringsAreGaps(t *testing.T) {
	t.Parallel()
	f, id := newVote(t)
	f.fill()
	f.hub.Set(func(s *fake.Switches) { s.LogDelay = 365 * 24 * time.Hour })
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("bo")})
	f.clock.Step(time.Minute)
	f.Poll("log", "watch", "close")
	env.Want(t, 1, len(f.held()[id].Votes), "votes", "for a minute of patience")
	f.clock.Step(time.Minute)
	f.Poll("log", "watch", "close")
	f.agree()
	env.Want(t, 1, f.cursor("harbor.eth", "backfill").Gaps, "gaps")
}

func TestScoresStatedLateAreNoFault(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hub.Set(func(s *fake.Switches) { s.LateRescoring = 5 })
	id := f.open()
	for i := range 5 {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint(i))})
	}
	f.fill()
	for i := range 3 {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint("later", i))})
	}
	f.Poll("log")
	asked := f.hub.Requests()["votes"]
	for range 3 {
		f.clock.Step(time.Minute)
		f.Poll("log", "watch", "close")
	}
	f.agree()
	env.Want(t, 0, f.hub.Requests()["votes"]-asked, "requests for votes")
}

func TestVoteThatIsGoneIsWithdrawnAfterASecondLook(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	for _, name := range []string{"ada", "bo"} {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(name)})
	}
	f.fill()
	f.hub.RemoveVote(id, fake.Voter("bo"))
	f.close(id, nil)
	f.hub.Set(func(s *fake.Switches) { s.Empty = true })
	f.Poll("close")
	f.hub.Set(func(s *fake.Switches) { s.Empty = false })
	f.Poll("watch")
	f.hub.Set(func(s *fake.Switches) { s.Empty = true })
	f.Poll("close")
	env.Want(t, 2, len(f.held()[id].Votes), "votes", "both: an empty walk proves nothing")
	f.hub.Set(func(s *fake.Switches) { s.Empty = false })
	f.clock.Step(time.Hour)
	f.Poll("close")
	f.agree()
	env.Want(t, 1, f.cursor("harbor.eth", "backfill").Withdrawn, "withdrawn")
}

func TestFinalPowersAreReadAtTheEndAndAnHourAndADayLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	ada := fake.Voter("ada")
	f.cast(fake.Vote{Proposal: id, Voter: ada, Power: "7.5"})
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("bo"), Power: "2"})
	f.fill()
	f.close(id, map[string]string{ada: "3.25"})
	f.Poll("watch", "close")
	f.agree()
	for _, pause := range []time.Duration{time.Hour, 23 * time.Hour} {
		f.hub.SetPower(id, ada, fmt.Sprint(pause.Hours()))
		f.clock.Step(pause - time.Minute)
		f.Poll("watch", "close")
		if got := f.held()[id].Votes[strings.ToLower(ada)].Power; got == fmt.Sprint(pause.Hours()) {
			t.Errorf("the votes are read before %s", pause)
		}
		f.clock.Step(time.Minute)
		f.Poll("close")
		f.agree()
	}
	asked := f.hub.Requests()["votes"]
	f.clock.Step(24 * time.Hour)
	f.Poll("watch", "close")
	env.Want(t, asked, f.hub.Requests()["votes"], "requests for votes of a proposal that is settled")
}

func TestVotesOfTheLastMinuteAreReadWhenScoresAreFinal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open(func(p *fake.Proposal) { p.End = start.Add(2 * time.Minute) })
	f.fill()
	f.hub.Set(func(s *fake.Switches) { s.LogDelay = 10 * time.Minute })
	f.clock.Step(start.Add(2 * time.Minute).Sub(f.clock.Now()))
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada"), Choice: `"2"`}) // a text, and not encrypted
	f.clock.Step(time.Minute)
	f.hub.Finalize(id, nil)
	f.Poll("log", "watch", "close")
	f.agree()
}

func TestEncryptedVotesAreReadUntilTheyAreRevealed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open(func(p *fake.Proposal) { p.Privacy = "shutter" })
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada"), Choice: "2", Power: "5"})
	f.fill()
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("bo")})
	f.Poll("log")
	asked := f.hub.Requests()["votes"]
	for range 3 {
		f.clock.Step(time.Minute)
		f.Poll("log", "watch", "close")
	}
	env.Want(t, asked, f.hub.Requests()["votes"], "requests for votes of an open poll that is encrypted")
	if votes := f.held()[id].Votes; len(votes) != 0 || f.rejected() != 0 {
		t.Errorf("got %v, want neither ballots nor rejections", votes)
	}
	f.close(id, nil)
	f.Poll("watch", "close")
	env.Want(t, 2, f.note(id).Waiting, "votes waiting")
	f.clock.Step(48 * time.Hour)
	f.restart()
	f.Poll("watch", "close")
	f.hub.Reveal(id)
	f.clock.Step(6 * time.Hour)
	f.Poll("close")
	f.agree()
	env.Want(t, 0, f.note(id).Waiting, "votes waiting")
	env.Want(t, 0, f.cursor("harbor.eth", "backfill").Gaps, "gaps", "none for votes that were encrypted")
}

// A process ends before the votes are read whose powers a sweep found to have changed.
func TestVotesThatWereScoredAgainAreReadAfterARestart(t *testing.T) {
	t.Parallel()
	f, id := newVote(t)
	f.fill()
	f.close(id, nil)
	f.clock.Step(40 * 24 * time.Hour)
	f.Poll("watch", "close", "sweep", "close")
	f.hub.Finalize(id, map[string]string{fake.Voter("ada"): "7"})
	f.clock.Step(25 * time.Hour)
	f.Poll("sweep")
	f.restart()
	f.clock.Step(25 * time.Hour)
	f.Poll("sweep", "close")
	f.agree()
}

func TestAtItsPaceABackfillIsNeverRefused(t *testing.T) {
	t.Parallel()
	now := clock.Stepping(start)
	upstream := fake.New(now)
	upstream.Set(func(s *fake.Switches) { s.Limit = 100 })
	server := httptest.NewServer(upstream)
	defer server.Close()
	address := env.Must(url.Parse(server.URL + "/graphql"))(t)
	host := fetch.New(fetch.Options{UserAgent: "test", Clock: now}).Host(address, hub.Pace(false))
	body := []byte(`{"query":"{spaces{id}}"}`)
	for n := range 300 {
		if _, err := host.Do(t.Context(), fetch.Request{Method: http.MethodPost, Body: body}); err != nil {
			t.Fatalf("request %d after %s: %v", n+1, now.Now().Sub(start), err)
		}
	}
}
