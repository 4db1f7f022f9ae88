package follow_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pnyx/test/env"
	fakechain "pnyx/test/upstream/chain"
	fakehub "pnyx/test/upstream/hub"
)

const lagSamples = 20

// upstreamChange is a kind of change. make makes the n-th of it, and returns the SQL that
// counts more than zero once the warehouse shows it.
type upstreamChange struct {
	name string
	make func(n int) (shows string, args []any)
}

// TestLagOfEachChange prints how long each kind of change takes from the upstream system to the
// warehouse, at the real intervals and limits, in simulated time.
func TestLagOfEachChange(t *testing.T) {
	if os.Getenv("PNYX_TEST_FOLLOW_LAG") == "" {
		t.Skip("PNYX_TEST_FOLLOW_LAG is not set: make follow-lag measures each kind of change")
	}
	s, url := startSimulation(t, simulatedSize{spaces: 31, chains: 1, forums: 1})
	conn := env.ConnectWarehouse(t, url)
	s.run(20 * time.Minute) // reads the past
	t.Logf("%-36s %6s %6s %6s", "seconds", "p50", "p99", "most")
	for _, change := range s.changes() {
		var lags []float64
		for n := range lagSamples {
			s.run(time.Duration(s.random.IntN(90_000)) * time.Millisecond)
			shows, args := change.make(n)
			began := s.time.Now()
			for count := uint64(0); count == 0; {
				if s.time.Now().Sub(began) > 30*time.Minute {
					t.Fatalf("%s does not show", change.name)
				}
				s.run(quantum)
				env.MustDo(t, conn.QueryRow(t.Context(), "SELECT count() FROM "+shows, args...).Scan(&count))
			}
			lags = append(lags, s.time.Now().Sub(began).Seconds())
		}
		slices.Sort(lags)
		most := lags[lagSamples-1]
		t.Logf("%-36s %6.1f %6.1f %6.1f", change.name, lags[lagSamples/2], lags[lagSamples*99/100], most)
	}
}

func (s *simulation) changes() []upstreamChange {
	const stored, ballot = "proposals WHERE external_id = ?", "ballots WHERE vote_id = ?"
	propose := func(name string, n int, end time.Duration, privacy string) string {
		now := s.time.Now()
		return s.hub.Propose(fakehub.Proposal{
			Space: fmt.Sprintf("space%d.eth", n%10), Title: fmt.Sprint(name, n), Choices: []string{"Yes", "No"},
			Created: now, Start: now, End: now.Add(end), Privacy: privacy,
		})
	}
	cast := func(proposal, voter string) string {
		return env.Must(s.hub.Cast(fakehub.Vote{Proposal: proposal, Voter: fakehub.Voter(voter), Choice: "1", Power: "1.5"}))(s.tb)
	}
	// ended returns a ballot that the log does not state, on a vote that has just ended.
	ended := func(name string, n int, privacy string) (proposal, vote string) {
		proposal = propose(name, n, 5*time.Minute, privacy)
		s.run(5*time.Minute - 2*quantum)
		s.hub.Set(func(switches *fakehub.Switches) { switches.LogDelay = 24 * time.Hour })
		vote = cast(proposal, fmt.Sprint(name, n))
		s.hub.Set(func(switches *fakehub.Switches) { switches.LogDelay = 0 })
		s.run(time.Minute)
		return proposal, vote
	}
	return []upstreamChange{
		{"hub: a proposal", func(n int) (string, []any) { return stored, []any{propose("new", n, 72*time.Hour, "")} }},
		{"hub: a ballot", func(n int) (string, []any) { return ballot, []any{cast(s.ids[0], fmt.Sprint("voter", n))} }},
		{"hub: a ballot cast again", func(n int) (string, []any) { return ballot, []any{cast(s.ids[0], fmt.Sprint("voter", n))} }},
		{"hub: an edit", func(n int) (string, []any) {
			now, title := s.time.Now(), fmt.Sprint("edited ", n)
			id := s.hub.Propose(fakehub.Proposal{
				Space: "space1.eth", Title: "draft", Choices: []string{"Yes", "No"}, Created: now, Start: now.Add(time.Hour), End: now.Add(2 * time.Hour),
			})
			s.run(time.Minute)
			env.MustDo(s.tb, s.hub.Update(id, title, s.time.Now()))
			return stored + " AND title = ?", []any{id, title}
		}},
		{"hub: a late ballot, from final scores", func(n int) (string, []any) {
			proposal, vote := ended("late", n, "")
			s.hub.Finalize(proposal, nil)
			return ballot, []any{vote}
		}},
		{"hub: a reveal, from final scores", func(n int) (string, []any) {
			proposal, vote := ended("secret", n, "shutter")
			s.hub.Reveal(proposal)
			s.hub.Finalize(proposal, nil)
			return ballot, []any{vote}
		}},
		{"hub: a deletion", func(n int) (string, []any) {
			id := propose("mistake", n, time.Hour, "")
			s.run(time.Minute)
			s.hub.Delete(id)
			return stored + " AND withdrawn", []any{id}
		}},
		{"hub: a deleted space", func(n int) (string, []any) {
			s.hub.DeleteSpace(fmt.Sprintf("space%d.eth", 11+n))
			return stored + " AND withdrawn", []any{s.ids[11+n]}
		}},
		{"chain: a proposal", func(n int) (string, []any) {
			s.pending[0] = append(s.pending[0], fakechain.Emit(simulatedGovernor(0), createdEvent, 0, uint64(100+n), fakechain.Hex("0xa1"),
				nil, nil, nil, nil, uint64(100), uint64(1_000_000), fmt.Sprint("# Measured ", n)))
			return "proposals WHERE title = ?", []any{fmt.Sprint("Measured ", n)}
		}},
		{"chain: a ballot", func(n int) (string, []any) {
			voter := fmt.Sprintf("0x%040x", 0xbeef0000+n)
			s.pending[0] = append(s.pending[0], fakechain.Emit(simulatedGovernor(0), votedEvent, 1, fakechain.Hex(voter), uint64(1), uint64(1), uint64(5), ""))
			return "ballots WHERE lower(voter) = ?", []any{voter}
		}},
		{"forum: a topic", func(n int) (string, []any) {
			title := fmt.Sprint("Measured ", n)
			s.upForums[0].AddTopic(1, title, "eve", "<p>new</p>")
			return "topics WHERE title = ?", []any{title}
		}},
		{"forum: a title", func(n int) (string, []any) {
			title := fmt.Sprint("Retitled ", n)
			s.upForums[0].Retitle(simulatedTopics, title)
			return "topics WHERE title = ?", []any{title}
		}},
	}
}
