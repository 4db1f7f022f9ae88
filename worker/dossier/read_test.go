package dossier_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker/dossier"
)

// voted is a proposal with who voted on it.
type voted struct {
	dao, proposer string
	flagged       bool
	// start and end are in hours.
	start, end int
	voters     []string
}

// Dossiers that are read together rest on what each rests on alone: on votes of the same DAO, that ended before, without spam.
func TestDossiersAreReadTogetherAsAlone(t *testing.T) {
	t.Parallel()
	w, err := warehouse.Open(t.Context(), warehouse.Options{
		URL: env.DatabaseURL(t), QueryTimeout: 2 * time.Minute, MaxMemory: 2 << 30, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	const a, b, c = recipient, stranger, "0x00000000000000000000000000000000000000cc"
	votes := []voted{
		{"dao", a, false, 0, 10, []string{a, b}},
		{"dao", a, false, 5, 20, []string{a}},
		{"dao", a, true, 5, 20, []string{a, c}},
		{"other", a, false, 0, 10, []string{a, b, c}},
		{"dao", b, false, 30, 400, []string{a, b, c}},
		{"dao", c, false, 15, 9000, []string{c, a}},
		{"other", "", false, 12, 40, []string{c, "0xd"}},
	}
	var list []record.Record
	var states []counts.ProposalState
	var all []dossier.Facts
	for i, v := range votes {
		identity := governance.Identity{DAOID: v.dao, Provider: governance.Snapshot, ExternalID: fmt.Sprint("p", i)}
		ref := record.ProposalRef{Provider: identity.Provider, ExternalID: identity.ExternalID}
		p := &record.Proposal{ProposalRef: ref, SourceID: "s", Title: fmt.Sprint("T", i), ProposerID: v.proposer, CreatedAt: at(v.start), StartAt: at(v.start), EndAt: at(v.end)}
		action := pay(t, a, i+1)
		action.Proposal = ref
		p.SetActions(1, []*record.Action{&action})
		list = append(list, p, &action)
		for n, voter := range v.voters {
			cast := func(id, choice string, power int64, hour int) {
				list = append(list, &record.Ballot{
					Proposal: ref, VoteID: id, Voter: voter, Power: decimal.NewFromInt(power), Choices: []string{choice}, ChoiceKey: choice, RawChoice: choice, VotedAt: at(hour),
				})
			}
			if cast(fmt.Sprint("v", n), "1", int64(n+i+1), v.start+1); n == 0 {
				cast("again", "2", int64(i+7), v.start+2)
			}
		}
		outcome := governance.Executed
		states = append(states, counts.ProposalState{
			Ref: ref.Hash(), Key: governance.ProposalKey(fmt.Sprint("p1_", i)), Power: decimal.Zero, Revision: 1, Flagged: v.flagged, Identity: identity,
			SourceID: "s", Lifecycle: governance.Closed, Outcome: outcome, CreatedAt: at(v.start), StartAt: at(v.start), EndAt: at(v.end),
		})
		f := dossier.Facts{AsOf: *at(10_000), Quality: []governance.QualityFlag{rules.RecastsPresent}}
		f.Detail.Identity, f.Detail.StartAt, f.Detail.EndAt = identity, at(v.start), at(v.end)
		all = append(all, f)
	}
	if _, err := records.Append(t.Context(), w, records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}, list); err != nil {
		t.Fatal(err)
	}
	if err := counts.WriteProposalStates(t.Context(), w, states); err != nil {
		t.Fatal(err)
	}
	topics := []record.Record{}
	var links []counts.ChangedLink
	var topicStates []counts.TopicState
	for i, s := range states {
		link := counts.ChangedLink{ProposalLink: counts.ProposalLink{Ref: s.Ref, Key: s.Key, Names: []string{fmt.Sprint("n", i%4)}}}
		if i == 1 {
			link.Topic = "forum/0"
		}
		links = append(links, link)
	}
	for i := range 3 {
		id := records.TopicRef{Host: "forum.example", ExternalID: fmt.Sprint(i)}
		topics = append(topics, &record.Topic{Host: id.Host, ExternalID: id.ExternalID, Title: "T", CreatedAt: at(i)})
		state := counts.TopicState{TopicRef: id, Visible: i < 2, Name: fmt.Sprint("forum/", i), Links: []string{"n0", fmt.Sprint("n", i)}, Revision: 1}
		state.Row.CreatedAt = at(i)
		topicStates = append(topicStates, state)
	}
	if _, err := records.Append(t.Context(), w, records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}, topics); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(counts.WriteProposalLinks(t.Context(), w, links, 1), counts.WriteTopicStates(t.Context(), w, topicStates)); err != nil {
		t.Fatal(err)
	}
	gone := dossier.Facts{}
	gone.Detail.Identity = governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: "gone"}
	together := append(slices.Clone(all), gone, all[4])
	pointers := make([]*dossier.Facts, len(together))
	for i := range together {
		pointers[i] = &together[i]
	}
	if err := dossier.Read(t.Context(), w, pointers); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		alone := all[i]
		if err := dossier.Read(t.Context(), w, []*dossier.Facts{&alone}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(alone, together[i], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(dossier.Facts{}, "OpenedAt")); diff != "" {
			t.Errorf("%d (-alone +together):\n%s", i, diff)
		}
	}
	if together[7].Proposal.Ref != (record.RefHash{}) || together[8].Proposal.Ref != together[4].Proposal.Ref {
		t.Errorf("got %v of what is gone, %v of what is asked twice", together[7].Proposal, together[8].Proposal)
	}
	f := together[4]
	if want := (dossier.AddressHistory{Ballots: 2, Proposals: 2}); f.Histories[a] != want {
		t.Errorf("got history %+v of the recipient, want %+v", f.Histories[a], want)
	}
	if f.Returning != 2 || f.Recasts != (pages.Recasts{Recasts: 1, SideChanges: 1}) || len(f.Ballots) != 3 || len(f.Known) != 4 {
		t.Errorf("got %d returning voters, %+v, %d ballots, %d known", f.Returning, f.Recasts, len(f.Ballots), len(f.Known))
	}
	var before []governance.ProposalKey
	for _, earlier := range f.Before {
		before = append(before, earlier.ProposalKey)
	}
	if want := []governance.ProposalKey{"p1_5", "p1_1", "p1_0"}; !slices.Equal(before, want) {
		t.Errorf("got earlier actions of %v, want %v", before, want)
	}
	if len(f.Topics) != 2 || len(together[1].Topics) != 2 || len(together[2].Topics) != 0 || f.OpenedAt[states[0].Ref] != *at(0) || f.OpenedAt[states[1].Ref] != *at(0) {
		t.Errorf("got topics %v, %v and %v, opened %v", f.Topics, together[1].Topics, together[2].Topics, f.OpenedAt)
	}
	if got := f.Strongest[0]; got.Voter != a || len(f.Strongest) != 3 {
		t.Errorf("got strongest %+v", f.Strongest)
	}
}

// The strongest voters are the same whether all are summed or those who can be among them.
func TestStrongestVotersAreFoundByABound(t *testing.T) {
	t.Parallel()
	w, random := env.Warehouse(t), rand.New(rand.NewPCG(1, 1))
	var list []record.Record
	lists := make([][]record.RefHash, 3)
	for p := range 12 {
		ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: fmt.Sprint("p", p)}
		lists[0], lists[1+p%2] = append(lists[0], ref.Hash()), append(lists[1+p%2], ref.Hash())
		for v := range 300 {
			power := decimal.New(random.Int64N(1_000)*random.Int64N(1_000), -3)
			list = append(list, &record.Ballot{Proposal: ref, VoteID: fmt.Sprint(v), Voter: fmt.Sprint("v", random.IntN(60)), Power: power, VotedAt: at(v)})
		}
	}
	if _, err := records.Append(t.Context(), w, records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}, list); err != nil {
		t.Fatal(err)
	}
	all, err := pages.StrongestVoters(t.Context(), w, lists, 0)
	found, errBound := pages.StrongestVoters(t.Context(), w, lists, math.MaxUint64)
	if diff := cmp.Diff(all, found); diff != "" || err != nil || errBound != nil || len(all[1]) != 10 {
		t.Errorf("%v %v (-all +found):\n%s", err, errBound, diff)
	}
}
