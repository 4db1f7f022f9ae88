package hub_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	fake "pnyx/test/upstream/hub"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// tamper puts a hub in front of the fixture's that may lie.
func (f *fixture) tamper() *env.Tamper {
	f.Helper()
	lying := &env.Tamper{Honest: f.hub}
	f.server = httptest.NewServer(lying)
	f.Cleanup(f.server.Close)
	f.restart()
	return lying
}

func withRow(f *fixture, answer []byte, list, row string) []byte {
	var said struct{ Data map[string][]json.RawMessage }
	if err := json.Unmarshal(answer, &said); err != nil {
		f.Error(err)
		return answer
	}
	said.Data[list] = append(said.Data[list], json.RawMessage(row))
	text, err := json.Marshal(map[string]any{"data": said.Data})
	if err != nil {
		f.Error(err)
	}
	return text
}

// foreign is a proposal of a space that is not followed at the hub, with a ballot.
const foreign = "0xf0"

func (f *fixture) holdForeign() {
	f.Helper()
	ballot := &record.Ballot{
		Proposal: proposal(foreign), VoteID: "0xb0", Voter: "0x00000000000000000000000000000000000000aa", Choices: []string{"1"}, ChoiceKey: "1", RawChoice: "1",
	}
	held := &record.Proposal{ProposalRef: proposal(foreign), SourceID: "other.eth", Title: "Theirs", Choices: []string{"Yes", "No"}}
	env.Must(records.Append(f.Context(), f.warehouse, records.Import{ID: uuid.New(), ObservedAt: start}, []record.Record{held, ballot}))(f)
}

// wantForeign fails the test unless the foreign proposal and its ballot are as they were.
func (f *fixture) wantForeign() {
	f.Helper()
	held, err := records.Proposals(f.Context(), f.warehouse, []record.RefHash{proposal(foreign).Hash()})
	if err != nil || len(held) != 1 {
		f.Fatalf("got %d proposals, %v", len(held), err)
	}
	if p := held[0]; p.SourceID != "other.eth" || p.Title != "Theirs" || p.Withdrawn {
		f.Errorf("got source %s, title %q, withdrawn %t: the proposal was taken over", p.SourceID, p.Title, p.Withdrawn)
	}
	voters := env.Must(records.HeldVoters(f.Context(), f.warehouse, []record.RefHash{proposal(foreign).Hash()}))(f)
	env.Want(f, 1, voters[proposal(foreign).Hash()], "voters of the foreign proposal", "its own")
	all := env.Must(records.HeldProposals(f.Context(), f.warehouse, governance.Snapshot, []string{"other.eth", "a", "b", "evil.eth"}, time.Time{}))(f)
	env.Want(f, 1, len(all), "proposals in spaces that are not followed", "one")
}

func foreignRow(id, spaces string) string {
	return fmt.Sprintf(`{"id":%q,%s,"author":"0x1","created":%d,"start":%d,"end":%d,"type":"single-choice","title":"Taken","body":"",`+
		`"choices":["Yes","No"],"scores":[],"scores_total":0,"scores_state":"pending","votes":1,"flagged":false}`,
		id, spaces, start.Unix()-10, start.Unix()-10, start.Unix()+90000)
}

func TestAttackAHubWritesIntoNoOtherSpace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.holdForeign()
	lying := f.tamper()
	refused, taken, mine := uint64(0), 0, ""
	for name, spaces := range map[string]string{
		"by the space that is followed": `"space":{"id":"harbor.eth"}`,
		"by another space":              `"space":{"id":"other.eth"}`,
		"by two spellings of the key":   `"space":{"id":"a"},"Space":{"id":"harbor.eth"}`,
		"by the key twice":              `"space":{"id":"harbor.eth"},"space":{"id":"evil.eth"}`,
		"by two spellings of the id":    `"space":{"id":"b","ID":"harbor.eth"}`,
	} {
		lying.Relent()
		taken, mine = taken+1, f.open(func(p *fake.Proposal) { p.End = f.clock.Now().Add(24 * time.Hour) })
		f.Poll("log")
		f.cast(fake.Vote{Proposal: mine, Voter: fake.Voter("ada")})
		lying.Change(func(asked string, answer []byte) []byte {
			switch {
			case strings.Contains(asked, "query Proposals"), strings.Contains(asked, "query Listing"):
				return withRow(f, withRow(f, answer, "proposals", foreignRow(foreign, spaces)), "proposals", foreignRow(fmt.Sprint("0xf00", taken), spaces))
			case strings.Contains(asked, "query Votes"):
				for _, id := range []string{foreign, "0xnever"} {
					answer = withRow(f, answer, "votes", `{"id":"0xb1`+fmt.Sprint(taken)+id+`","voter":"0x00000000000000000000000000000000000000bb","created":1772625000,`+
						`"choice":1,"vp":5,"reason":"","proposal":{"id":"`+id+`"},"space":{"id":"harbor.eth"}}`)
				}
				return answer
			}
			return answer
		})
		for range 3 {
			for _, poller := range []string{"backfill", "log", "watch", "close", "sweep"} {
				_, _ = f.Pollers[poller].Run(t.Context()) // an answer may be refused as a whole
			}
			f.clock.Step(25 * time.Hour)
		}
		f.wantForeign()
		if was := refused; f.rejected() == was {
			t.Errorf("%s: nothing says that votes were refused", name)
		}
		refused = f.rejected()
	}
	lying.Relent()
	for range 3 { // what the hub claimed is gone
		f.Poll("backfill", "log", "watch", "close", "sweep")
		f.clock.Step(25 * time.Hour)
	}
	f.wantForeign()
	voters, err := records.HeldVoters(t.Context(), f.warehouse, []record.RefHash{proposal("0xnever").Hash(), proposal(mine).Hash()})
	if err != nil || voters[proposal("0xnever").Hash()] != 0 || voters[proposal(mine).Hash()] != 1 {
		t.Errorf("got %v, %v, want the space's own proposal with its one vote alone", voters, err)
	}
}

func TestAttackAnAbsurdNumberDoesNotStopTheLog(t *testing.T) {
	t.Parallel()
	for _, lasts := range []bool{false, true} {
		t.Run(fmt.Sprintf("stays %t", lasts), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			lying := f.tamper()
			id := f.open()
			f.fill()
			absurd := fmt.Sprintf(`{"mci":%d,"id":"0xabsurd","type":"vote","space":"harbor.eth","timestamp":%d}`, int64(math.MaxInt64), int64(math.MaxInt64))
			lying.ChangeOf("query Messages", func(answer []byte) []byte {
				answer = withRow(f, answer, "messages", absurd)
				if strings.Contains(string(answer), `"newest"`) {
					var said struct{ Data map[string][]json.RawMessage }
					_ = json.Unmarshal(answer, &said)
					said.Data["newest"] = append([]json.RawMessage{json.RawMessage(absurd)}, said.Data["newest"]...)
					answer, _ = json.Marshal(map[string]any{"data": said.Data})
				}
				return answer
			})
			f.Poll("log")
			f.clock.Step(2 * time.Minute)
			f.Poll("log")
			if !lasts {
				lying.Relent()
			}
			f.cast(fake.Vote{Proposal: id, Voter: "0x00000000000000000000000000000000000000cc"})
			for range 3 {
				f.Poll("log")
				f.clock.Step(time.Minute)
			}
			voters := env.Must(records.HeldVoters(t.Context(), f.warehouse, []record.RefHash{proposal(id).Hash()}))(t)
			env.Want(t, 1, voters[proposal(id).Hash()], "votes after the absurd number, position", f.cursor("", "log").Position)
		})
	}
}

// endless answers every page of a list in full, with rows that nobody has seen.
func endless(f *fixture, lying *env.Tamper, query, list string, row func(n int64) string) *atomic.Int64 {
	asked := &atomic.Int64{}
	lying.ChangeOf(query, func(answer []byte) []byte {
		page := asked.Add(1)
		if page > 1000 {
			f.Error("the hub was asked for 1000 pages")
			return answer
		}
		rows := make([]string, 1000)
		for i := range rows {
			rows[i] = row(page*1000 + int64(i))
		}
		return []byte(`{"data":{"` + list + `":[` + strings.Join(rows, ",") + `]}}`)
	})
	return asked
}

func TestAttackAListThatNeverEndsIsLeftAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lying := f.tamper()
	f.open()
	f.fill()
	asked := endless(f, lying, "query Listing", "proposals", func(n int64) string {
		return fmt.Sprintf(`{"id":"0x%x","space":{"id":"harbor.eth"},"created":%d}`, n, n)
	})
	f.clock.Step(25 * time.Hour)
	if _, err := f.Pollers["sweep"].Run(t.Context()); !errors.Is(err, follow.ErrEndless) {
		t.Errorf("after %d pages: got %v, want that the list has no end", asked.Load(), err)
	}
}

func TestAttackVotesThatNeverEndAreLeftAndSaySo(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]int64{"of the proposal": 1, "most of another": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := f.open()
			f.cast(fake.Vote{Proposal: id, Voter: "0x00000000000000000000000000000000000000cc"})
			asked := endless(f, f.tamper(), "query Votes", "votes", func(n int64) string {
				of := id
				if n%own > 0 {
					of = foreign
				}
				return fmt.Sprintf(`{"id":"0x%x","voter":"0x%040x","created":%d,"choice":"0x","vp":1,"reason":"","proposal":{"id":"%s"},"space":{"id":"harbor.eth"}}`,
					n, n, n, of)
			})
			f.Poll("backfill")
			if pages := asked.Load(); pages > 200 {
				t.Errorf("got %d pages for a proposal that states one vote", pages)
			}
			if hole := f.note(id).Hole; hole == "" {
				t.Error("nothing says that votes are missing")
			}
		})
	}
}

func TestAttackProposalsOfWhichNoneCanBeAnsweredHoldNothingUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	asked := 0
	f.tamper().Change(func(request string, answer []byte) []byte {
		var of struct{ Variables struct{ Skip int } }
		if !strings.Contains(request, "query Proposals") {
			return answer
		}
		_, body, _ := strings.Cut(request, " ")
		if env.Decode(t, []byte(body), &of); of.Variables.Skip < 100 && asked < 1000 {
			asked++
			return []byte(`{"data":null,"errors":[{"message":"broken","path":["proposals",0,"id"]}]}`)
		}
		return []byte(`{"data":{"proposals":[]}}`)
	})
	f.Poll("backfill")
	if asked > 600 {
		t.Errorf("the first page was asked for %d times", asked)
	}
	f = newFixture(t)
	f.tamper().ChangeOf("query Proposals", func(answer []byte) []byte {
		return withRow(f, answer, "proposals", `{"id":"0xlast","flagged":"yes"}`)
	})
	f.open()
	f.fill()
}

func TestAttackAVoteThatCannotBeReadIsNotGoneAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	bo := fake.Voter("bo")
	replaced := func(by string) func(string) []byte {
		return func(answer string) []byte { return []byte(strings.ReplaceAll(answer, `"voter":"`+bo, by+bo)) }
	}
	for name, change := range map[string]func(string) []byte{
		"a key twice":  replaced(`"voter":"","voter":"`),
		"another type": replaced(`"voter":7,"was":"`),
		"too much":     func(string) []byte { return make([]byte, 33<<20) },
		"no answer": func(string) []byte {
			return []byte(`{"errors":[{"message":"request failed","path":["votes"]}],"data":null}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, first := newVote(t)
			second := f.open()
			lying := f.tamper()
			if second < first {
				first, second = second, first
			}
			f.cast(fake.Vote{Proposal: first, Voter: bo})
			f.cast(fake.Vote{Proposal: second, Voter: fake.Voter("cy")})
			f.fill()
			f.close(first, nil)
			f.hub.Finalize(second, map[string]string{fake.Voter("cy"): "2.5"})
			lying.Change(func(asked string, answer []byte) []byte {
				if strings.Contains(asked, "query Votes") && strings.Contains(string(answer), bo) {
					return change(string(answer))
				}
				return answer
			})
			f.Poll("watch")
			for range 10 {
				_ = f.TryPoll(t.Context(), "close")
				f.clock.Step(time.Minute)
			}
			f.agree()
		})
	}
}

func TestAVoteThatTheHubFailsToAnswerHoldsUpNoBackfill(t *testing.T) {
	t.Parallel()
	f, first := newVote(t)
	second := f.open()
	f.cast(fake.Vote{Proposal: second, Voter: fake.Voter("bo")})
	lying := f.tamper()
	lying.Change(func(asked string, answer []byte) []byte {
		if strings.Contains(asked, "query Votes") && strings.Contains(string(answer), fake.Voter("bo")) {
			return []byte(`{"errors":[{"message":"request failed","path":["votes"]}],"data":null}`)
		}
		return answer
	})
	for range 10 {
		_ = f.TryPoll(t.Context(), "backfill")
		f.clock.Step(time.Minute)
	}
	held := f.held()
	env.Want(t, 1, len(held[first].Votes), "votes on the other proposal")
	f.restart()
	f.Poll("backfill")
	env.Want(t, governance.SourceBehind, f.cursor("harbor.eth", "backfill").State, "while votes are not read")
	lying.Relent()
	for range 2 {
		f.clock.Step(time.Hour)
		f.Poll("watch", "close")
	}
	f.agree()
	env.Want(t, governance.SourceLive, f.cursor("harbor.eth", "backfill").State, "once they are")
}

func TestASpaceThatTheHubFailsToAnswerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "first.eth", "second.eth")
	id := f.open(func(p *fake.Proposal) { p.Space = "second.eth" })
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
	lying := f.tamper()
	lying.Answer(`{"errors":[{"message":"request failed","path":["proposals"]}],"data":null}`, "query Proposals", "first.eth")
	for range 10 {
		_ = f.TryPoll(t.Context(), "backfill")
		f.clock.Step(time.Minute)
	}
	env.Want(t, 1, len(f.held()[id].Votes), "votes in the other space")
	lying.Relent()
	f.Poll("backfill")
	f.agree()
}

func TestASpaceThatTheHubFailsToListHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "first.eth", "second.eth")
	gone, second := f.open(), func(p *fake.Proposal) { p.Space = "second.eth" }
	f.open()
	id := f.open(second)
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
	f.tamper().Answer(`{"errors":[{"message":"request failed","path":["proposals"]}],"data":null}`, "query Listing", "first.eth")
	f.fill()
	f.hub.Delete(gone)
	f.hub.SwapLast(365 * 24 * time.Hour)
	f.close(id, map[string]string{fake.Voter("ada"): "2.5"})
	missed := f.open(second)
	f.hub.SwapLast(365 * 24 * time.Hour)
	f.clock.Step(25 * time.Hour)
	f.Poll("watch")
	for range 5 {
		f.clock.Step(time.Minute)
		_, _ = f.TryPoll(t.Context(), "close"), f.TryPoll(t.Context(), "sweep")
	}
	held := f.held()
	env.Want(t, "2.5", held[id].Votes[strings.ToLower(fake.Voter("ada"))].Power, "the final power in the other space")
	if _, found := held[missed]; !found {
		t.Error("got no sweep of the other space")
	}
}

func TestAttackALogThatStatesNothingOfWhatTheSweepFindsIsFailing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lying := f.tamper()
	f.open()
	f.fill()
	lying.Answer(`{"data":{"messages":[],"newest":[]}}`, "query Messages")
	f.open(func(p *fake.Proposal) { p.Title = "Unsaid" })
	f.clock.Step(25 * time.Hour)
	f.Poll("log")
	env.Want(t, governance.SourceLive, f.cursor("", "log").State, "before the sweep")
	f.Poll("sweep", "log")
	if cursor := f.cursor("", "log"); cursor.State != governance.SourceFailing || cursor.Error == "" {
		t.Errorf("got %s, %q, want failing and why", cursor.State, cursor.Error)
	}
	lying.Relent()
	f.Poll("log")
	polled.WantState(t, governance.SourceLive, "", f.cursor("", "log"))
}

// cut cuts a list in answers to queries of a name.
func (f *fixture) cut(query, list string, most int) {
	f.tamper().ChangeOf(query, func(answer []byte) []byte {
		return cutTo(answer, list, most)
	})
}

func cutTo(answer []byte, list string, most int) []byte {
	var said struct{ Data map[string][]json.RawMessage }
	if json.Unmarshal(answer, &said) != nil {
		return answer
	}
	said.Data[list] = said.Data[list][:min(len(said.Data[list]), most)]
	text, _ := json.Marshal(map[string]any{"data": said.Data})
	return text
}

func TestAttackPagesOfVotesShorterThanAskedForAreNotTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.castHourly(f.open(), 10)
	f.cut("query Votes", "votes", 4)
	f.Poll("backfill")
	f.agree()
}

func TestAttackAListThatIsCutWithdrawsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.open()
	f.open(func(p *fake.Proposal) { p.Title = "Renew again" })
	f.fill()
	f.cut("query Listing", "proposals", 1)
	f.Poll("sweep")
	f.clock.Step(2 * time.Minute)
	f.Poll("close")
	f.agree()
}

func TestAttackAProposalThatWasMalformedOnceCountsAsRefusedUntilItIsRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.open()
	lying := f.tamper()
	lying.ChangeOf("query Proposals", func(answer []byte) []byte {
		return bytes.Replace(answer, []byte(`"privacy":""`), []byte(`"privacy":5`), 1)
	})
	f.Poll("backfill")
	open := func() bool { return env.Must(records.HasFollowRejects(t.Context(), f.warehouse, f.upstream.ID()))(t) }
	env.Want(t, true, open(), "something refused")
	lying.Relent()
	f.clock.Step(time.Minute)
	f.Poll("sweep")
	env.Want(t, false, open(), "something refused after it was read")
}

// A replica that has lost its data answers in the middle of a list.
func TestAttackAnEmptyPageOfProposalsIsNotTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n := range 150 {
		f.open(func(p *fake.Proposal) { p.Title, p.Created = fmt.Sprint(n), p.Created.Add(-time.Duration(n)*time.Hour) })
	}
	f.step()
	f.step()
	f.hub.Set(func(s *fake.Switches) { s.Empty = true })
	_ = f.TryPoll(t.Context(), "backfill")
	f.hub.Set(func(s *fake.Switches) { s.Empty = false })
	f.Poll("backfill")
	f.agree()
}

func TestAttackAnEmptyPageOfVotesIsReadAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.castHourly(f.open(), 10)
	most := []int{4, 0}
	f.tamper().ChangeOf("query Votes", func(answer []byte) []byte {
		if len(most) > 0 {
			answer = cutTo(answer, "votes", most[0])
			most = most[1:]
		}
		return answer
	})
	f.Poll("backfill")
	for range 3 {
		f.Poll("watch", "close")
		f.clock.Step(time.Minute)
	}
	f.agree()
}

// failVotes has the hub fail to answer votes until it is called.
func (f *fixture) failVotes() (end func()) {
	lying := f.tamper()
	lying.Answer(`{"errors":[{"message":"request failed","path":["votes"]}],"data":null}`, "query Votes")
	return lying.Relent
}

// The votes have arrived by the log meanwhile: no sweep finds that some are missing.
func TestAWalkThatAnEndedProcessHadPutOffIsMade(t *testing.T) {
	t.Parallel()
	f, id := newVote(t)
	f.close(id, nil)
	f.clock.Step(40 * 24 * time.Hour)
	end := f.failVotes()
	_ = f.TryPoll(t.Context(), "backfill")
	f.Poll("backfill")
	env.Want(t, governance.SourceBehind, f.cursor("harbor.eth", "backfill").State, "while votes are not read")
	end()
	f.restart()
	f.clock.Step(25 * time.Hour)
	f.Poll("log", "backfill", "sweep", "close")
	f.agree()
	env.Want(t, governance.SourceLive, f.cursor("harbor.eth", "backfill").State, "once they are")
}

func TestADeletedProposalWithVotesThatCannotBeReadKeepsNoSpaceBehind(t *testing.T) {
	t.Parallel()
	f, id := newVote(t)
	f.open(func(p *fake.Proposal) { p.Title = "Renew again" })
	f.hub.Break(id, fake.Voter("ada"), true)
	f.fill()
	env.Want(t, governance.SourceBehind, f.cursor("harbor.eth", "backfill").State, "before it is deleted")
	f.hub.Delete(id)
	f.Poll("log")
	f.agree()
	for _, when := range []string{"after it is", "after a restart"} {
		env.Want(t, governance.SourceLive, f.cursor("harbor.eth", "backfill").State, when)
		f.restart()
		f.Poll("log", "watch", "close")
	}
}

func TestWhatASpaceLacksIsKnownAfterItWasOff(t *testing.T) {
	t.Parallel()
	f, id := newVote(t)
	f.hub.Break(id, fake.Voter("ada"), true)
	f.fill()
	off := f.cursor("harbor.eth", "backfill")
	off.State = governance.SourceOff
	env.MustDo(t, records.WriteFollowCursors(t.Context(), f.warehouse, []records.FollowCursor{off}))
	f.restart()
	env.Want(t, governance.SourceBehind, f.cursor("harbor.eth", "backfill").State)
}

func TestAttackADeletedProposalIsNotLookedForAtEachPoll(t *testing.T) {
	t.Parallel()
	f, id := newVote(t)
	f.open(func(p *fake.Proposal) { p.Title = "Renew again" })
	f.fill()
	asked := 0
	f.tamper().ChangeOf("query Listing", func(answer []byte) []byte {
		asked++
		return withRow(f, answer, "proposals", `{"id":5}`)
	})
	f.hub.Delete(id)
	f.clock.Step(2 * time.Minute)
	for range 18 {
		f.Poll("log", "watch", "close")
		f.clock.Step(10 * time.Second)
	}
	if asked > 3 {
		t.Errorf("got %d listings in three minutes, want one a minute", asked)
	}
}

func TestAWalkWhoseVotesCannotBeWrittenForLongLacksNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.open()
	f.burst(id, 1100, start.Add(-time.Hour))
	f.Poll("log")
	exec := func(sql string) { env.MustDo(t, f.warehouse.Conn.Exec(t.Context(), sql)) }
	f.step()
	f.step()
	exec("RENAME TABLE ballots TO away")
	for range 25 { // each reads the same thousand votes
		_ = f.TryPoll(t.Context(), "backfill")
		_ = f.TryPoll(t.Context(), "close")
	}
	exec("RENAME TABLE away TO ballots")
	f.Poll("backfill", "watch", "close")
	f.agree()
	env.Want(t, "", f.cursor("harbor.eth", "backfill").Error)
}
