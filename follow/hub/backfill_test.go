package hub_test

import (
	"fmt"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	fake "pnyx/test/upstream/hub"
)

func TestProposalsOfOneSecondFillSeveralPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 215 {
		f.open(func(p *fake.Proposal) {
			p.Created, p.Start, p.End = p.Created.AddDate(-1, 0, 0), p.Start.AddDate(-1, 0, 0), p.End.AddDate(-1, 0, 0)
			p.Title, p.Created = fmt.Sprint("Renew ", i), p.Created.Add(time.Duration(max(0, i-204))*time.Second)
		})
	}
	f.Poll("backfill")
	f.agree()
}

func TestBackfillGoesOnAfterARestartAndSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 4 {
		id := f.open(func(p *fake.Proposal) {
			p.Title, p.End = fmt.Sprint("Renew ", i), start.Add(time.Duration(i-2)*time.Hour)
			p.Created = p.Created.Add(time.Duration(-i) * time.Hour)
		})
		for v := range 3 {
			f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint(v)), Created: start.Add(-3 * time.Hour)})
		}
	}
	steps := 0
	for more := true; more; steps++ {
		f.restart()
		more = f.step()
		cursor := f.cursor("harbor.eth", "backfill")
		if cursor.State == governance.SourceLive && cursor.Done < cursor.Total {
			t.Fatalf("step %d: got state %s with %d of %d read", steps, cursor.State, cursor.Done, cursor.Total)
		}
		if steps > 50 {
			t.Fatal("the backfill makes no progress over restarts")
		}
		if cursor.State == governance.SourceLive {
			break
		}
	}
	f.agree()
	if cursor := f.cursor("harbor.eth", "backfill"); cursor.Done != 12 || cursor.Total != 12 {
		t.Errorf("got %d of %d votes, want 12 of 12", cursor.Done, cursor.Total)
	}
	env.Want(t, 2, f.hub.Requests()["votes"], "requests for votes", "a page for the open one, and one for all others")
}

func TestVotesOnOpenProposalsAreReadFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "first.eth", "second.eth", "third.eth")
	in := func(space string, end time.Duration) string {
		id := f.open(func(p *fake.Proposal) { p.Space, p.End = space, start.Add(end) })
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada"), Created: start.Add(-2 * time.Hour)})
		return id
	}
	whole, closed, open := in("first.eth", -time.Hour), in("second.eth", -time.Hour), in("third.eth", time.Hour)
	for f.hub.Requests()["votes"] < 2 {
		f.step()
	}
	if held := f.held(); len(held[whole].Votes) != 1 || len(held[open].Votes) != 1 || len(held[closed].Votes) != 0 {
		t.Errorf("got %v, want the first space whole, and then the votes on the open proposal", held)
	}
}

func TestChangesDuringTheBackfillAreNotLost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	for v := range 5 {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint(v))})
	}
	for n, more := 0, true; more; n++ {
		more = f.step()
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint("meanwhile", n)), Created: start.Add(-24 * time.Hour)})
		f.open(func(p *fake.Proposal) { p.Title = fmt.Sprint("Meanwhile ", n) })
	}
	f.Poll("log")
	f.agree()
}

func TestSweepFindsWhatNothingElseDoes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ago := func(p *fake.Proposal) {
		p.Created, p.Start, p.End = start.AddDate(0, -3, 0), start.AddDate(0, -3, 1), start.AddDate(0, 0, 1)
	}
	id := f.open(ago)
	for v := range 3 {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint(v))})
	}
	f.fill()
	f.close(id, nil)
	f.Poll("watch", "close")
	for range 2 {
		f.clock.Step(24 * time.Hour)
		f.Poll("close", "sweep")
	}
	f.agree()
	f.hub.RemoveVote(id, fake.Voter("1"))
	f.hub.Delete(f.open(ago))
	missed := f.open(ago)
	f.hub.SwapLast(365 * 24 * time.Hour)
	f.clock.Step(23 * time.Hour)
	f.Poll("sweep", "close")
	if _, known := f.held()[missed]; known {
		t.Error("swept twice in a day")
	}
	f.clock.Step(time.Hour)
	f.Poll("sweep", "close")
	f.agree()
}

func TestSweepFindsPowersThatChangedAtTheSameNumberOfVotes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	past := func(p *fake.Proposal) { p.End = start.Add(-30 * 24 * time.Hour) }
	id := f.open(func(p *fake.Proposal) { p.Created, p.Start = start.AddDate(0, -3, 0), start.AddDate(0, -3, 1) })
	f.open(past)
	ada := fake.Voter("ada")
	f.cast(fake.Vote{Proposal: id, Voter: ada, Power: "7.5"})
	f.fill()
	f.close(id, nil)
	f.Poll("watch", "close", "sweep")
	for range 2 {
		f.clock.Step(24 * time.Hour)
		f.Poll("watch", "close", "sweep")
	}
	f.hub.Finalize(id, map[string]string{ada: "1.25"})
	f.clock.Step(24 * time.Hour)
	f.Poll("sweep", "close")
	f.agree()
}

func TestASweepByAClockThatWentBackIsNone(t *testing.T) {
	t.Parallel()
	f, _ := newVote(t)
	f.fill()
	cursor := f.cursor("harbor.eth", "sweep")
	cursor.SetPosition(map[string]int64{"swept": start.AddDate(1, 0, 0).Unix()})
	env.MustDo(t, f.Journal.Commit(t.Context(), nil, cursor))
	f.open()
	f.Poll("sweep")
	f.agree()
}

func TestSweepFindsScoresThatBecameFinalLate(t *testing.T) {
	t.Parallel()
	f, id := newVote(t)
	f.fill()
	f.clock.Step(40 * 24 * time.Hour)
	f.Poll("watch", "close", "sweep")
	f.hub.Finalize(id, nil)
	f.clock.Step(24 * time.Hour)
	f.Poll("watch", "sweep")
	env.Want(t, "final", f.stored()[id].ScoresState, "the state of scores whose sum is as it was")
}

func TestCheckSaysWhatASpaceHasAndCosts(t *testing.T) {
	t.Parallel()
	f, _ := newVote(t)
	f.upstream.Spaces = []string{"harbor.eth", "nobody.eth"}
	checks := f.upstream.Check(t.Context())
	if len(checks) != 2 || checks[0].Is != "Snapshot space Harbor, 1 proposals, 1 votes" || checks[0].Problem != "" {
		t.Fatalf("got %+v, want what the space has", checks)
	}
	if c := checks[0]; c.RequestsPerDay != 4321 || c.RequestsPerDayBusy != 9361 || c.Limit == "" {
		t.Errorf("got %+v, want half of a log for two spaces", c)
	}
	if checks[1].Problem == "" {
		t.Errorf("got %+v, want a problem with a space that does not exist", checks[1])
	}
}

// polled publishes polls that are over, on which everybody has voted.
func (f *fixture) polled(polls, voters int) (ids []string) {
	f.Helper()
	for i := range polls {
		id := f.open(func(p *fake.Proposal) {
			p.Title, p.End = fmt.Sprint("Renew ", i), start.Add(-time.Hour)
			p.Created, p.Start = p.Created.Add(time.Duration(i)*time.Minute), start.Add(-5*24*time.Hour)
		})
		for v := range voters {
			at := start.Add(-4 * 24 * time.Hour).Add(time.Duration(v*polls+i) * time.Second)
			env.Must(f.hub.Cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint(v)), Choice: "1", Power: "1.5", Created: at}))(f)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestVotesOfASpaceAreReadAcrossItsPolls(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.polled(60, 40)
	steps := 0
	for more := true; more && steps < 100; steps++ {
		if steps%2 == 0 {
			f.restart()
		}
		more = f.step()
	}
	f.agree()
	env.Want(t, 3, f.hub.Requests()["votes"], "requests", "three pages for 2,400 votes on 60 polls")
	if c := f.cursor("harbor.eth", "backfill"); c.State != governance.SourceLive || c.Done != 2400 || c.Total != 2400 {
		t.Errorf("got %s with %d of %d votes, want all", c.State, c.Done, c.Total)
	}
	before := f.hub.Requests()["votes"]
	f.Poll("watch", "close")
	env.Want(t, before, f.hub.Requests()["votes"], "walks", "none of polls that were just read")
}

func TestVotesAreReadPollByPollWhereASpaceCannotBePaged(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(f *fixture, polls []string){
		"the hub refuses": func(f *fixture, _ []string) { f.hub.Set(func(s *fake.Switches) { s.NoSpaceVotes = true }) },
		"a row is broken": func(f *fixture, polls []string) {
			f.hub.Break(polls[0], fake.Voter("0"), true)
			f.hub.RemoveVote(polls[0], fake.Voter("0"))
		},
		"a poll is deleted": func(f *fixture, polls []string) { f.hub.Delete(polls[1]) },
		"a burst": func(f *fixture, polls []string) {
			f.spaces = f.spaces[:1]
			env.MustDo(f, f.hub.Burst(polls[2], 7000, start.Add(-2*24*time.Hour)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			polls := f.polled(3, 5)
			spoil(f, polls)
			f.Poll("backfill")
			if name == "a burst" {
				polled.WantState(t, governance.SourceBehind, polls[2], f.cursor("harbor.eth", "backfill"))
				return
			}
			f.agree()
		})
	}
}

func TestPastIsReadAndThenTheLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	for _, name := range []string{"ada", "bo", "cy"} {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(name), Power: "22.192644284923612345678901234567"})
	}
	old := f.hub.Propose(fake.Proposal{
		Space: "harbor.eth", Title: "Found", Choices: []string{"Yes"}, Created: start.Add(-time.Hour), Start: start.Add(-time.Hour), End: start.Add(time.Hour),
	})
	f.cast(fake.Vote{Proposal: old, Voter: fake.Voter("ada"), Power: "1e-7"})
	f.fill()
	f.agree()
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("di"), Choice: "2"})
	f.Poll("log")
	f.agree()
}
