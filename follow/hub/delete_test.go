package hub_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	fake "pnyx/test/upstream/hub"
)

func TestDeletionThatTheLogStatesIsWithdrawnAtOnce(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	id := f.open()
	f.open(func(p *fake.Proposal) { p.Title = "Renew again" })
	f.fill()
	f.hub.Delete(id)
	f.run("log")
	f.agree()
}

func TestMoreThanTheLogStatesDeletedWaitsForASecondLook(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	for _, title := range []string{"Renew", "Renew again", "Mistake"} {
		f.open(func(p *fake.Proposal) { p.Title = title })
	}
	f.fill()
	f.hub.Set(func(s *fake.Switches) { s.LogDelay = 365 * 24 * time.Hour })
	ids := slices.Sorted(maps.Keys(f.held()))
	f.hub.Delete(ids[0])
	f.hub.Set(func(s *fake.Switches) { s.LogDelay = 0 })
	f.hub.Delete(ids[1])
	f.run("log")
	if held := f.held(); len(held) != 3 {
		t.Errorf("got %d proposals, want all 3 until the second look", len(held))
	}
	f.clock.Step(time.Minute)
	f.run("watch", "close")
	f.agree()
}

func TestDeletedProposalIsWithdrawnAfterASecondLook(t *testing.T) {
	t.Parallel()

	for _, open := range []bool{true, false} {
		name := "an open one"
		if !open {
			name = "one that ended a year ago"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.open()
			id := f.open(func(p *fake.Proposal) {
				p.Title = "Mistake"
				if !open {
					p.Created, p.Start, p.End = p.Created.AddDate(-1, 0, 0), p.Start.AddDate(-1, 0, 0), p.End.AddDate(-1, 0, 0)
				}
			})
			f.fill()
			f.hub.Set(func(s *fake.Switches) { s.LogDelay = 365 * 24 * time.Hour })
			f.hub.Delete(id)
			f.run("log", "sweep", "watch", "close")
			if len(f.held()) != 2 {
				t.Error("withdrawn at the first look")
			}
			f.restart()
			f.clock.Step(time.Minute)
			f.run("watch", "close")
			f.agree()
			if got := f.cursor("harbor.eth", "backfill").Withdrawn; got != 1 {
				t.Errorf("got %d withdrawn, want 1", got)
			}
			f.hub.Restore(id)
			f.clock.Step(24 * time.Hour)
			f.run("sweep", "watch", "close")
			f.agree()
		})
	}
}

func TestOnlyProposalOfASpaceIsWithdrawn(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	id := f.open()
	f.fill()
	f.hub.Delete(id)
	f.run("log", "watch", "close")
	f.clock.Step(time.Minute)
	f.run("watch", "close")
	f.agree()
}

func TestEmptyAnswersWithdrawNothing(t *testing.T) {
	t.Parallel()

	f, _ := newVote(t)
	f.fill()
	f.hub.Delete(f.open(func(p *fake.Proposal) { p.Title = "Mistake" }))
	f.hub.Set(func(s *fake.Switches) { s.Empty = true })
	for range 15 {
		f.run("log", "watch", "close", "sweep")
		f.clock.Step(2 * time.Hour)
	}
	f.hub.Set(func(s *fake.Switches) { s.Empty = false })
	f.agree()
	f.run("log", "watch", "close", "sweep")
	f.agree()
}

func TestDeletedSpaceIsWithdrawnTenMinutesLater(t *testing.T) {
	t.Parallel()

	f := newFixture(t, "harbor.eth", "other.eth")
	f.open()
	f.open(func(p *fake.Proposal) { p.Space = "other.eth" })
	f.fill()
	f.hub.DeleteSpace("harbor.eth")
	f.run("log")
	f.clock.Step(9 * time.Minute)
	f.run("log", "watch", "close")
	if len(f.held()) != 2 {
		t.Error("withdrawn after nine minutes")
	}
	f.restart()
	f.clock.Step(time.Minute)
	f.run("watch", "close")
	f.agree()
}
