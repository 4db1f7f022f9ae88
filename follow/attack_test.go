package follow_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestAttackAJournalCommitsWhatItsUpstreamMayStateAlone(t *testing.T) {
	t.Parallel()
	opened := env.Warehouse(t)
	mine := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
	governor := record.SourceRef{Provider: governance.Governor, ID: "eip155:1:0xaa"}
	space := func(id string) record.ProposalRef {
		return record.ProposalRef{Provider: governance.Snapshot, ExternalID: id}
	}
	onChain := func(id string) record.ProposalRef {
		return record.ProposalRef{Provider: governance.Governor, ExternalID: id}
	}
	theirs := &record.Proposal{ProposalRef: space("theirs"), SourceID: "other.eth", Title: "Theirs"}
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now()}
	env.Must(records.Append(t.Context(), opened, run, []record.Record{theirs}))(t)
	withdrawn := *theirs
	withdrawn.Withdrawn = true
	for name, c := range map[string]struct {
		record record.Record
		want   uint64
	}{
		"its space":                             {&record.Source{SourceRef: mine, Name: "Harbor"}, 1},
		"its proposal":                          {&record.Proposal{ProposalRef: space("mine"), SourceID: "harbor.eth"}, 1},
		"a ballot on a proposal nobody knows":   {&record.Ballot{Proposal: space("unknown"), VoteID: "1", Voter: "0x1"}, 0},
		"a ballot on a proposal of another":     {&record.Ballot{Proposal: space("theirs"), VoteID: "2", Voter: "0x1"}, 0},
		"another space":                         {&record.Source{SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: "other.eth"}}, 0},
		"the same id at another provider":       {&record.Source{SourceRef: record.SourceRef{Provider: governance.Tally, ID: "harbor.eth"}}, 0},
		"another case":                          {&record.Source{SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: "Harbor.eth"}}, 0},
		"no source":                             {&record.Proposal{ProposalRef: space("nobody's")}, 0},
		"a proposal of another":                 {&record.Proposal{ProposalRef: space("third"), SourceID: "other.eth"}, 0},
		"a proposal of another as its own":      {&record.Proposal{ProposalRef: space("theirs"), SourceID: "harbor.eth"}, 0},
		"a proposal of another as withdrawn":    {&withdrawn, 0},
		"a forum":                               {&record.Topic{Host: "forum.example.org", ExternalID: "1"}, 0},
		"a category of a forum":                 {&record.Category{Host: "forum.example.org", ID: "1"}, 0},
		"a DAO":                                 {&record.DAO{ID: "harbor", Sources: []record.SourceRef{mine}}, 0},
		"an event":                              {&record.Event{ID: "1", DAOID: "harbor"}, 0},
		"a signal":                              {&record.Signal{ID: "1", DAOID: "harbor"}, 0},
		"evidence":                              {&record.Evidence{Proposal: space("mine")}, 0},
		"a proposal of its Governor":            {&record.Proposal{ProposalRef: onChain("eip155:1:0xaa/1"), SourceID: governor.ID}, 1},
		"a ballot before its proposal, there":   {&record.Ballot{Proposal: onChain("eip155:1:0xaa/2"), VoteID: "2/0x1", Voter: "0x1"}, 1},
		"a ballot of another Governor":          {&record.Ballot{Proposal: onChain("eip155:1:0xbb/2"), VoteID: "2/0x1", Voter: "0x1"}, 0},
		"a proposal whose id is of another one": {&record.Proposal{ProposalRef: onChain("eip155:1:0xbb/1"), SourceID: governor.ID}, 0},
		"an id with more separators":            {&record.Ballot{Proposal: onChain("eip155:1:0xaa/2/3"), VoteID: "3/0x1", Voter: "0x1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := env.Must(follow.OpenJournal(t.Context(), opened, "upstream of "+name, []record.SourceRef{mine, governor}, nil))(t)
			counts := env.Must(journal.CommitCounted(t.Context(), []record.Record{c.record}))(t)
			env.Want(t, c.want, counts.New+counts.Changed, "written")
		})
	}
}

func TestAttackRefusedItemsAreCountedAndSomeKept(t *testing.T) {
	t.Parallel()
	opened := env.Warehouse(t)
	mine := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
	journal := env.Must(follow.OpenJournal(t.Context(), opened, "hub", []record.SourceRef{mine}, nil))(t)
	cursor := journal.Cursor(mine, "backfill")
	cursor.UpstreamAt = new(time.Now().Add(24 * 365 * time.Hour))
	foreign := make([]record.Record, 3000)
	for i := range foreign {
		foreign[i] = &record.Ballot{Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0xf0"}, VoteID: fmt.Sprint(i), Voter: "0x1"}
	}
	env.MustDo(t, journal.Commit(t.Context(), foreign, cursor))
	follows := env.Must(records.SourceFollows(t.Context(), opened, time.Now()))(t)
	if f := follows[mine]; f.Status.Rejected != 1000 || f.LatestReject == "" || journal.Rejected() != 3000 {
		t.Errorf("got %d kept, the latest %q, and %d counted", f.Status.Rejected, f.LatestReject, journal.Rejected())
	}
	if at := journal.Cursor(mine, "backfill").UpstreamAt; at != nil {
		t.Errorf("got that all is read until %s", at)
	}
}
