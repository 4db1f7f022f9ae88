package hub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
	fake "pnyx/test/upstream/hub"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestVoteSignedDaysAgoIsRead(t *testing.T) {
	t.Parallel()
	f, id := newVote(t)
	f.fill()
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("bo"), Created: f.clock.Now().Add(-6 * 24 * time.Hour)})
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("cy"), Created: f.clock.Now().Add(5 * time.Minute)})
	f.Poll("log")
	f.agree()
}

func TestMessageThatShowsAfterAGreaterNumberIsRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	f.fill()
	f.hub.Set(func(s *fake.Switches) { s.Burn = 2 })
	for i := range 10 {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint("early", i))})
		if i%3 == 0 {
			f.hub.SwapLast(50 * time.Second)
		}
		f.Poll("log")
		f.clock.Step(10 * time.Second)
	}
	for range 6 {
		f.Poll("log")
		f.clock.Step(10 * time.Second)
	}
	f.agree()
	env.Want(t, 0, f.cursor("", "log").Gaps, "gaps", "for numbers that are burnt or late")
}

func TestMessageThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, instead := range map[string]string{"not answered": "", "of another shape": `"id":{}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			lying := f.tamper()
			id := f.open()
			f.fill()
			broken := f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("bo")})
			row := []byte(`"id":"` + broken + `"`)
			lying.Change(func(asked string, answer []byte) []byte {
				switch before, _, is := bytes.Cut(answer, row); {
				case strings.Contains(asked, "query Votes") || !is:
					return answer
				case instead == "":
					return fmt.Appendf(nil, `{"errors":[{"message":"no 32-bit number","path":["messages",%d,"timestamp"]}]}`, bytes.Count(before, []byte(`"id":`)))
				}
				return bytes.Replace(answer, row, []byte(instead), 1)
			})
			f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("cy")})
			f.Poll("log")
			f.Poll("log")
			voters := env.Must(records.HeldVoters(t.Context(), f.warehouse, []record.RefHash{proposal(id).Hash()}))(t)
			env.Want(t, 1, voters[proposal(id).Hash()], "votes of the messages beside it")
			env.Want(t, 1, f.rejected(), "rejected by two looks")
		})
	}
}

func TestLogIsReadAgainFromAMinuteBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	f.fill()
	position := func() string { return f.cursor("", "log").Position }
	before := position()
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
	f.Poll("log")
	env.Want(t, before, position(), "position", "until the message is a minute old")
	f.restart()
	asked := f.hub.Requests()["votes"]
	f.Poll("log")
	f.Poll("log")
	env.Want(t, 1, f.hub.Requests()["votes"]-asked, "requests for votes after a restart, which reads the message again")
	f.clock.Step(time.Minute)
	f.Poll("log")
	env.Want(t, fmt.Sprintf(`{"mci":%d,"since":{"harbor.eth":0}}`, f.hub.MCI()), position(), "position")
	f.agree()
}

func TestLogOfThousandsIsReadPageByPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	f.fill()
	for second := range 3 {
		f.burst(id, []int{1200, 1249, 1200}[second], f.clock.Now().Add(time.Duration(second)*time.Second))
	}
	asked := f.hub.Requests()
	f.Poll("log")
	f.agree()
	now := f.hub.Requests()
	env.Want(t, 8, now["messages"]-asked["messages"], "lists of messages", "8: 4 pages, each with the newest")
	env.Want(t, 37, now["votes"]-asked["votes"], "requests for votes", "37: a hundred votes each")
}

func TestRecastCountsOnceAndTheFormerBallotStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	ada := fake.Voter("ada")
	f.cast(fake.Vote{Proposal: id, Voter: ada})
	f.fill()
	f.cast(fake.Vote{Proposal: id, Voter: ada, Choice: "2"})
	f.cast(fake.Vote{Proposal: id, Voter: ada, Choice: "1", Power: "9", Created: f.clock.Now().Add(time.Second)})
	f.Poll("log")
	f.agree()
	f.close(id, nil)
	f.Poll("watch", "close")
	f.agree()
	ballots := 0
	err := records.HeldBallots(t.Context(), f.warehouse, proposal(id), func(record.Ballot) error { ballots++; return nil })
	if err != nil || ballots != 2 {
		t.Errorf("got %d ballots, %v, want the first and the last: the second was never seen", ballots, err)
	}
}

func TestVoteOnAProposalThatIsNotHeldBringsTheProposal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill()
	id := f.open()
	f.hub.SwapLast(time.Hour) // its own message is far
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
	f.Poll("log")
	f.agree()
}

func TestChangesOfAProposalAreRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	coming := f.open(func(p *fake.Proposal) { p.Start, p.End = start.Add(time.Hour), start.Add(2*time.Hour) })
	spam := f.open(func(p *fake.Proposal) { p.Title = "Free tokens" })
	f.fill()
	env.MustDo(t, f.hub.Update(coming, "Renew for a year", start.Add(-time.Hour)))
	f.hub.Flag(spam)
	f.Poll("log")
	f.agree()
}

func TestProposalNamesTheMessageThatStatesIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill()
	id := f.open()
	f.Poll("log")
	origin := func() string {
		stored, err := records.Proposals(t.Context(), f.warehouse, []record.RefHash{proposal(id).Hash()})
		if err != nil || len(stored) != 1 {
			t.Fatalf("%d proposals, %v", len(stored), err)
		}
		return stored[0].Origin
	}
	env.Want(t, fmt.Sprintf("snapshot message %s (mci %d)", id, f.hub.MCI()), origin())
	vote := f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
	f.clock.Step(time.Minute)
	f.Poll("log", "watch")
	want := fmt.Sprintf("snapshot message %s (mci %d)", vote, f.hub.MCI())
	env.Want(t, want, origin(), "after a vote")
	f.clock.Step(2 * time.Minute)
	f.Poll("log")
	f.restart()
	f.Poll("log", "watch")
	env.Want(t, want, origin(), "after a restart")
}

func TestAboveAHundredSpacesTheLogHasNoFilter(t *testing.T) {
	t.Parallel()
	spaces := make([]string, 101)
	for i := range spaces {
		spaces[i] = fmt.Sprintf("space%d.eth", i)
	}
	f := newFixture(t, spaces...)
	f.fill()
	f.hub.AddSpace(fake.Space{ID: "other.eth", Name: "Other"})
	other := f.open(func(p *fake.Proposal) { p.Space = "other.eth" })
	f.cast(fake.Vote{Proposal: other, Voter: fake.Voter("ada")})
	id := f.open()
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("bo")})
	f.Poll("log")
	f.agree()
	others := env.Must(records.HeldProposals(t.Context(), f.warehouse, governance.Snapshot, []string{"other.eth"}, time.Time{}))(t)
	env.Want(t, 0, len(others), others, "nothing of a space that is not followed")
}

func TestItemThatIsNoRecordIsCountedAndPassedOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	f.fill()
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("eve"), Choice: "true"})
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
	f.Poll("log")
	env.Want(t, 1, f.rejected(), "rejected")
	env.Want(t, 1, len(f.held()[id].Votes), "votes", "the other one")
}

func TestItemOfAnotherShapeIsCountedAndPassedOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	odd := f.open(func(p *fake.Proposal) { p.Title = "odd" })
	id := f.open()
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("eve"), Reason: "odd"})
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
	f.tamper().Change(func(_ string, answer []byte) []byte {
		var rows struct{ Data map[string][]map[string]any }
		if json.Unmarshal(answer, &rows) != nil {
			return answer // it has no lists
		}
		for _, list := range rows.Data {
			for _, row := range list {
				if row["reason"] == "odd" {
					row["created"] = "now"
				}
				if row["title"] == "odd" {
					row["end"] = "never"
				}
			}
		}
		text, _ := json.Marshal(map[string]any{"data": rows.Data})
		return text
	})
	f.fill()
	held := f.held()
	if _, known := held[odd]; known || len(held[id].Votes) != 1 {
		t.Errorf("got %v, want the other proposal with the other vote", held)
	}
	if got, cursor := f.rejected(), f.cursor("harbor.eth", "backfill"); got != 2 || cursor.Withdrawn != 0 {
		t.Errorf("got %d rejected and %+v, want the proposal and the vote rejected", got, cursor)
	}
}

func TestFirstMessagesOfAnEmptyHubAreRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill()
	id := f.open()
	f.Poll("log")
	f.agree()
	if cursor := f.cursor("", "log"); !strings.Contains(cursor.Position, "mci") || cursor.UpstreamAt == nil || id == "" {
		t.Errorf("got %+v, want a position and the time up to which everything is read", cursor)
	}
}

func TestReadingAgainWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	for i := range 30 {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(fmt.Sprint(i))})
	}
	f.fill()
	versions := func() []records.CommittedBatch {
		return env.Must(records.CommittedBatches(t.Context(), f.warehouse, time.Time{}))(t)
	}
	before := len(versions())
	for range 3 {
		f.restart()
		f.Poll("log", "watch", "close", "backfill")
	}
	env.Want(t, before, len(versions()), "batches", "nothing has changed")
}

func TestAMessageThatCannotBeReadIsReadAroundByTheMinute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lying := f.tamper()
	f.fill()
	f.hub.Log("vote", "0xbb", "harbor.eth")
	asked := 0
	lying.Change(func(_ string, answer []byte) []byte {
		if asked++; bytes.Contains(answer, []byte(`"id":"0xbb"`)) {
			return []byte(`{"errors":[{"message":"no 32-bit number","path":["messages",0,"timestamp"]}]}`)
		}
		return answer
	})
	for range 6 {
		f.Poll("log")
		f.clock.Step(10 * time.Second)
	}
	if asked > 6 {
		t.Errorf("got %d requests in a minute, want no more than without it", asked)
	}
	env.Want(t, 1, f.rejected(), "rejected")
}
