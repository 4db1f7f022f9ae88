package tally_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/env"
	upstream "pnyx/test/upstream/tally"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// tamper puts an endpoint in front of the fixture's that may lie.
func (f *fixture) tamper() *env.Tamper {
	f.t.Helper()
	lying, address := env.StartTamper(f.t, http.HandlerFunc(f.serve))
	f.address = address.JoinPath("query")
	f.restart()
	return lying
}

func withNodes(answer []byte, list string, rows ...string) []byte {
	var said struct {
		Data map[string]struct {
			Nodes    []json.RawMessage `json:"nodes"`
			PageInfo json.RawMessage   `json:"pageInfo"`
		} `json:"data"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return answer
	}
	page := said.Data[list]
	for _, row := range rows {
		page.Nodes = append(page.Nodes, json.RawMessage(row))
	}
	said.Data[list] = page
	text, _ := json.Marshal(map[string]any{"data": said.Data})
	return text
}

func TestAttackAnEndpointWritesIntoNoOtherOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	foreign := record.ProposalRef{Provider: governance.Tally, ExternalID: "7"}
	ballot := &record.Ballot{Proposal: foreign, VoteID: "70", Voter: "0xaa", Choices: []string{"for"}, ChoiceKey: "for", RawChoice: `"for"`}
	held := &record.Proposal{ProposalRef: foreign, SourceID: "agora", Title: "Theirs"}
	run := records.Import{ID: uuid.New(), ObservedAt: f.clock.Now()}
	env.Must(records.Append(t.Context(), f.warehouse, run, []record.Record{held, ballot}))(t)
	lying := f.tamper()
	taken := 100 // the id of a proposal that nobody holds
	for name, organization := range map[string]string{
		"by the organization that is followed": `"organization":{"slug":"harbor"}`,
		"by another organization":              `"organization":{"slug":"agora"}`,
		"by two spellings of the key":          `"organization":{"slug":"agora"},"Organization":{"slug":"harbor"}`,
		"by the key twice":                     `"organization":{"slug":"harbor"},"organization":{"slug":"agora"}`,
	} {
		taken++
		proposal := func(id string) string {
			return fmt.Sprintf(`{"id":%q,"onchainId":"5",%s,"status":"active","metadata":{"title":"Taken","description":""},"governor":{"id":"eip155:1:%s"},`+
				`"events":[],"voteStats":[{"type":"for","votesCount":"1","votersCount":1}]}`, id, organization, "0x00000000000000000000000000000000000000bb")
		}
		lying.Change(func(asked string, answer []byte) []byte {
			switch {
			case strings.Contains(asked, "ProposalsInput!"):
				return withNodes(answer, "proposals", proposal("7"), proposal(fmt.Sprint(taken)))
			case strings.Contains(asked, "ProposalInput!"):
				return []byte(`{"data":{"proposal":` + proposal("7") + `}}`)
			case strings.Contains(asked, "VotesInput!"):
				return []byte(`{"data":{"votes":{"nodes":[{"id":"71","type":"for","amount":"5","voter":{"address":"0xbb"},"proposal":{"id":"7"}},` +
					`{"id":"72","type":"for","amount":"5","voter":{"address":"0xbb"},"proposal":{"id":"99"}}],"pageInfo":{"lastCursor":""}}}}`)
			}
			return answer
		})
		for range 3 {
			for _, poller := range order() {
				_ = f.TryPoll(t.Context(), poller) // an answer may be refused as a whole
			}
			f.clock.Step(day)
		}
		found, err := records.Proposals(t.Context(), f.warehouse, []record.RefHash{foreign.Hash()})
		if err != nil || len(found) != 1 || found[0].SourceID != "agora" || found[0].Title != "Theirs" || found[0].Withdrawn {
			t.Errorf("%s: got %+v, %v: the proposal was taken over", name, found, err)
		}
		unasked := record.ProposalRef{Provider: governance.Tally, ExternalID: "99"}.Hash()
		voters, err := records.HeldVoters(t.Context(), f.warehouse, []record.RefHash{foreign.Hash(), unasked})
		if err != nil || voters[foreign.Hash()] != 1 || voters[unasked] != 0 {
			t.Errorf("%s: got voters %v, %v, want the one that was there", name, voters, err)
		}
	}
}

func TestAttackAnotherOrganizationIsNotListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.tamper().Answer(`{"data":{"organization":{"id":"1","slug":"agora","name":"Taken","proposalsCount":1}}}`, "OrganizationInput!")
	f.FailPoll("log", "")
	catalog, err := records.ReadCatalog(t.Context(), f.warehouse)
	if err != nil || len(catalog.DAOs) > 1 || catalog.DAOs["agora"].ID != "" {
		t.Errorf("got DAOs %v, %v", catalog.DAOs, err)
	}
}

func TestAttackPagesThatNeverEndAreLeft(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"log", "backfill"} {
		for _, repeats := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the same again %t", name, repeats), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				f.Propose("harbor", "Renew", time.Hour)
				f.Poll("log")
				var pages atomic.Int64
				f.tamper().ChangeOf("ProposalsInput!", func(answer []byte) []byte {
					page := pages.Add(1)
					if page > 1100 {
						t.Errorf("%d pages were asked for", page)
						return answer
					}
					rows := make([]string, 20) // of another type, which nobody stores, but for one now and then
					for i := range rows {
						rows[i] = "{}"
					}
					if page%100 == 1 {
						rows[0] = fmt.Sprintf(`{"id":"%d","onchainId":"","organization":{"slug":"harbor"},"status":"defeated"}`, page+1e9)
					}
					cursor := fmt.Sprint(page)
					if repeats {
						cursor = "same"
					}
					return []byte(`{"data":{"proposals":{"nodes":[` + strings.Join(rows, ",") + `],"pageInfo":{"lastCursor":"` + cursor + `"}}}}`)
				})
				f.Poll("log") // the first time it is one page
				err := f.TryPoll(t.Context(), name)
				if !errors.Is(err, follow.ErrEndless) {
					t.Errorf("got %v after %d pages, want that the list has no end", err, pages.Load())
				}
			})
		}
	}
}

func TestAttackWhatIsAnsweredOfOneProposalHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]string{
		"nothing":         `{"data":{"proposal":null}}`,
		"another one":     `{"data":{"proposal":{"id":"5"}}}`,
		"a list of votes": `{"data":{"votes":[]}}`,
		"a key twice":     `{"data":{"proposal":{"id":"5","id":"6"}}}`,
		"a part":          `{"data":{"proposal":{"id":`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			ids, lying := f.propose(2, 2), f.tamper()
			f.Poll(order()...)
			f.Vote(ids[0], "0xDD", "for", "9")
			lying.Answer(lie, "ProposalInput!", ids[1])
			f.FailPoll("watch", "")
			f.wantTruth()
		})
	}
}

func TestAProposalThatTheEndpointFailsToAnswerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := f.propose(2, 2)
	f.Poll(order()...)
	_, address := env.StartTamper(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := env.Must(io.ReadAll(r.Body))(t)
		if strings.Contains(string(asked), "ProposalInput!") && strings.Contains(string(asked), ids[1]) {
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(asked))
		f.serve(w, r)
	}))
	f.address = address.JoinPath("query")
	f.restart()
	f.Vote(ids[0], "0xDD", "for", "9")
	f.FailPoll("watch", "")
	f.wantTruth()
}

func TestADraftThatIsDeletedIsNoFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	draft, lying := f.Draft("harbor", "Budget"), f.tamper()
	f.propose(1, 1)
	f.Poll(order()...)
	lying.Answer(`{"errors":[{"message":"not found"}],"data":null}`, "ProposalInput!", draft)
	f.Poll("watch")
	lying.Relent()
	f.Submit(draft)
	f.Poll("watch")
	f.wantTruth()
}

func TestAttackVotesThatNeverEndHoldUpNoOther(t *testing.T) {
	t.Parallel()
	for name, cursor := range map[string]string{"the same cursor": "same", "two cursors in turn": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			ids, lying := f.propose(2, 25), f.tamper()
			for _, id := range ids {
				f.SetStatus(id, "executed")
			}
			pages := 0
			lying.Change(func(asked string, answer []byte) []byte {
				if strings.Contains(asked, "VotesInput!") && strings.Contains(asked, ids[1]) {
					pages++
					lie := cursor
					if lie == "" {
						lie = fmt.Sprint("turn ", pages%2)
					}
					if bytes.Contains(answer, []byte(`"errors"`)) { // of the cursor, which is none
						return []byte(`{"data":{"votes":{"nodes":[{}],"pageInfo":{"lastCursor":"` + lie + `"}}}}`)
					}
					return changePage(answer, func(_ []json.RawMessage, info map[string]any) { info["lastCursor"] = lie })
				}
				return answer
			})
			for range 5 {
				_ = f.TryPoll(t.Context(), "backfill") // the walk over the votes of ids[1] fails
			}
			_, ballots := f.held()
			held := 0
			for _, b := range ballots {
				if b.Proposal.ExternalID == ids[0] {
					held++
				}
			}
			env.Want(t, 25, held, "ballots of the other proposal")
			env.Want(t, governance.SourceBehind, f.cursor("backfill").State, "without the votes of one proposal")
			lying.Relent()
			f.clock.Step(time.Hour)
			f.Poll("backfill")
			f.wantTruth()
			env.Want(t, governance.SourceLive, f.cursor("backfill").State, "with all votes")
		})
	}
}

// changePage changes a page of votes; an answer that is none is as it was.
func changePage(answer []byte, change func(nodes []json.RawMessage, info map[string]any)) []byte {
	var said struct {
		Data map[string]struct {
			Nodes    []json.RawMessage `json:"nodes"`
			PageInfo map[string]any    `json:"pageInfo"`
		} `json:"data"`
	}
	if json.Unmarshal(answer, &said) != nil || len(said.Data["votes"].Nodes) == 0 {
		return answer
	}
	change(said.Data["votes"].Nodes, said.Data["votes"].PageInfo)
	text, _ := json.Marshal(map[string]any{"data": said.Data})
	return text
}

func TestAttackAPageThatSkipsAVoteIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, always := range map[string]bool{"once": false, "for ever": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id, lying := f.propose(1, 25)[0], f.tamper()
			f.SetStatus(id, "executed")
			skips := func(asked string, answer []byte) []byte {
				if !strings.Contains(asked, "VotesInput!") || strings.Contains(asked, "afterCursor") {
					return answer
				}
				return changePage(answer, func(nodes []json.RawMessage, _ map[string]any) { nodes[0] = json.RawMessage("{}") })
			}
			lying.Change(skips)
			f.Poll(order()...)
			_, ballots := f.held()
			env.Want(t, 24, len(ballots), "ballots")
			env.Want(t, governance.SourceBehind, f.cursor("backfill").State, "without a vote that is stated")
			if !always {
				lying.Relent()
			}
			f.clock.Step(time.Hour)
			f.Poll("backfill")
			env.Want(t, governance.SourceLive, f.cursor("backfill").State, "after the second reading")
			if !always {
				f.wantTruth()
			}
			before := f.Requests("votes")
			f.clock.Step(time.Hour)
			f.Poll("backfill")
			env.Want(t, 0, f.Requests("votes")-before, "pages of votes", "none after two readings alike")
		})
	}
}

func TestAttackAnEmptyListOfVotesWithdrawsNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.propose(1, 3)[0]
	f.SetStatus(id, "executed")
	f.Poll(order()...)
	f.wantTruth()
	f.tamper().Change(func(asked string, answer []byte) []byte {
		if strings.Contains(asked, "VotesInput!") {
			return []byte(`{"data":{"votes":{"nodes":[],"pageInfo":{"lastCursor":""}}}}`)
		}
		return bytes.ReplaceAll(answer, []byte(`"voteStats"`), []byte(`"none"`))
	})
	f.clock.Step(day)
	f.Poll(order()...)
	_, ballots := f.held()
	env.Want(t, 3, len(ballots), "ballots")
}

func TestAPageThatIsNotReadForLongCountsOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.SetStatus(f.propose(1, 45)[0], "executed")
	step := func() error { _, err := f.Pollers["backfill"].Run(t.Context()); return err }
	for range 3 { // proposals, the next walk, and a page of it
		env.MustDo(t, step())
	}
	f.Switch(func(s *upstream.Switches) { s.Key = "another" })
	for range 120 {
		if err := step(); errors.Is(err, follow.ErrEndless) {
			t.Fatalf("got %v, want the refusal of the key", err)
		}
	}
	f.Switch(func(s *upstream.Switches) { s.Key = "secret" })
	f.Poll("backfill")
	f.wantTruth()
	env.Want(t, governance.SourceLive, f.cursor("backfill").State)
}
