package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fake "pnyx/test/upstream/hub"
)

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
	if got := f.hub.Requests()["votes"]; got != asked {
		t.Errorf("got %d more requests for votes of a proposal that is settled", got-asked)
	}
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
	if got := f.hub.Requests()["votes"]; got != asked {
		t.Errorf("got %d requests for votes of an open poll that is encrypted", got-asked)
	}
	if votes := f.held()[id].Votes; len(votes) != 0 || f.rejected() != 0 {
		t.Errorf("got %v, want neither ballots nor rejections", votes)
	}
	f.close(id, nil)
	f.Poll("watch", "close")
	if got := f.note(id).Waiting; got != 2 {
		t.Errorf("got %d votes waiting, want 2", got)
	}
	f.clock.Step(48 * time.Hour)
	f.restart()
	f.Poll("watch", "close")
	f.hub.Reveal(id)
	f.clock.Step(6 * time.Hour)
	f.Poll("close")
	f.agree()
	if got := f.note(id).Waiting; got != 0 {
		t.Errorf("after the reveal: got %d votes waiting, want 0", got)
	}
	if got := f.cursor("harbor.eth", "backfill").Gaps; got != 0 {
		t.Errorf("got %d gaps, want none for votes that were encrypted", got)
	}
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
