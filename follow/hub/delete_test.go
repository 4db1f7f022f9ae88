package hub_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	fake "pnyx/test/upstream/hub"
)

func TestDeletionThatTheLogStatesIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, alone := range map[string]bool{"at once beside another proposal": false, "after a look if it is the only one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := f.open()
			if !alone {
				f.open(func(p *fake.Proposal) { p.Title = "Renew again" })
			}
			f.fill()
			f.hub.Delete(id)
			f.Poll("log")
			if alone {
				f.Poll("watch", "close")
				f.clock.Step(time.Minute)
				f.Poll("watch", "close")
			}
			f.agree()
		})
	}
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
	f.Poll("log")
	env.Want(t, 3, len(f.held()), "proposals", "all 3 until the second look")
	f.clock.Step(time.Minute)
	f.Poll("watch", "close")
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
			f.Poll("log", "sweep", "watch", "close")
			env.Want(t, 2, len(f.held()), "withdrawn at the first look")
			f.restart()
			f.clock.Step(time.Minute)
			f.Poll("watch", "close")
			f.agree()
			env.Want(t, 1, f.cursor("harbor.eth", "backfill").Withdrawn, "withdrawn")
			f.hub.Restore(id)
			f.clock.Step(24 * time.Hour)
			f.Poll("sweep", "watch", "close")
			f.agree()
		})
	}
}

// withhold answers as a hub does to a key without access to what was created before a year ago.
func withhold(from *fake.Hub) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cutoff, whole := start.AddDate(-1, 0, 0).Unix(), httptest.NewRecorder()
		from.ServeHTTP(whole, r)
		var answer map[string]map[string][]map[string]any
		if json.Unmarshal(whole.Body.Bytes(), &answer) != nil { // no lists
			_, _ = w.Write(whole.Body.Bytes())
			return
		}
		for root, rows := range answer["data"] {
			answer["data"][root] = slices.DeleteFunc(rows, func(row map[string]any) bool {
				created, is := row["created"].(float64)
				return is && int64(created) < cutoff
			})
		}
		w.Header().Set("X-Historical-Data-Access", "restricted")
		w.Header().Set("X-Historical-Data-Cutoff", fmt.Sprint(cutoff))
		_ = json.NewEncoder(w).Encode(answer)
	})
}

func TestWhatAHubWithholdsIsNotDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.open()
	for title, end := range map[string]time.Time{"Old": start.AddDate(-2, 0, 7), "Old and open": start.AddDate(0, 0, 7)} {
		id := f.open(func(p *fake.Proposal) {
			p.Title, p.Created, p.Start, p.End = title, start.AddDate(-2, 0, 0), start.AddDate(-2, 0, 0), end
		})
		if end.After(start) {
			f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
		}
	}
	f.fill()
	f.server.Config.Handler = withhold(f.hub)
	late := f.fromNothing()
	late.fill()
	if got, cursor := late.held(), late.cursor("harbor.eth", "backfill"); len(got) != 1 || cursor.State != governance.SourceBehind || !strings.Contains(cursor.Error, "withholds") {
		t.Errorf("got %d proposals, %s %q, want the new one, and the others said to be withheld", len(got), cursor.State, cursor.Error)
	}
	for range 3 {
		f.Poll("log", "sweep", "watch", "close")
		f.clock.Step(25 * time.Hour)
	}
	f.agree()
	f.server.Config.Handler = f.hub
	late.Poll("sweep", "watch", "close")
	late.agree()
	polled.WantState(t, governance.SourceLive, "", late.cursor("harbor.eth", "backfill"))
}

func TestEmptyAnswersWithdrawNothing(t *testing.T) {
	t.Parallel()
	f, _ := newVote(t)
	f.fill()
	f.hub.Delete(f.open(func(p *fake.Proposal) { p.Title = "Mistake" }))
	f.hub.Set(func(s *fake.Switches) { s.Empty = true })
	for range 15 {
		f.Poll("log", "watch", "close", "sweep")
		f.clock.Step(2 * time.Hour)
	}
	f.hub.Set(func(s *fake.Switches) { s.Empty = false })
	f.agree()
	f.Poll("log", "watch", "close", "sweep")
	f.agree()
}
