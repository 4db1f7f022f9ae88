package publish

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/record"
)

func TestChangesComeAfterTheListsThatShowThem(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.append([]record.Record{&record.DAO{ID: "dao", Name: "DAO", Sources: []record.SourceRef{{Provider: governance.Discourse, ID: "forum.org"}}}})
	e.step()
	for name, cutOff := range map[string]func(){
		"in one go":                func() {},
		"cut off after a proposal": func() { e.dieAfter(0) },
		"cut off after its topics": e.dieAfterTopics,
	} {
		e.append([]record.Record{
			&record.Proposal{
				ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: name}, SourceID: "space-0",
				Title: name, VoteType: governance.SingleChoice, Choices: []string{"A"},
			},
			&record.Topic{Host: "forum.org", ExternalID: name, Title: name, Slug: "slug", Posts: 1, Visible: true},
		})
		want := []string{
			"proposal " + string(governance.Identity{DAOID: "space-0", Provider: governance.Snapshot, ExternalID: name}.ProposalKey()),
			"topic " + string(governance.Identity{DAOID: "dao", Provider: governance.Discourse, ExternalID: name}.TopicKey()),
		}
		listed := e.noteListed()
		cutOff()
		e.step()
		if got := slices.Sorted(maps.Keys(listed)); !cmp.Equal(got, want) {
			t.Errorf("%s: got rows %q after their lists, want %q", name, got, want)
		}
	}
}

// dieAfterTopics publishes topics, and has the leader die before it announces them. Another
// one takes over.
func (e *electorate) dieAfterTopics() {
	e.t.Helper()
	catalog, err := e.publisher.Warehouse.Catalog(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	revision := e.term.published.Revision + 1
	topics := topicPublication{
		run:  &run{Publisher: e.publisher, revision: revision, writer: e.publisher.Store.NewWriter(revision), catalog: catalog},
		daos: map[string]bool{},
	}
	if err := topics.publish(e.t.Context(), topicScope{forums: map[string]bool{"forum.org": true}, since: e.term.published.Revision}); err != nil || topics.published == 0 {
		e.t.Fatalf("published %d topics: %v", topics.published, err)
	}
	e.takeOver()
}

// noteListed returns the proposals and topics that are added to the stream of changes from
// now on, when the lists of all DAOs have a new version.
func (e *electorate) noteListed() (listed map[string]bool) {
	e.t.Helper()
	version := func(scope query.Scope) uint64 {
		found, err := e.publisher.Store.Version(e.t.Context(), scope)
		if err != nil {
			e.t.Fatal(err)
		}
		return found.Revision
	}
	read := func(after cache.ChangeID) cache.ChangeSlice {
		slice, err := e.publisher.Store.Changes(e.t.Context(), after, 1000)
		if err != nil {
			e.t.Fatal(err)
		}
		return slice
	}
	lists := map[governance.ChangeKind]query.Scope{
		governance.ProposalChange: query.Proposals{}.Scope(), governance.TopicChange: query.Topics{}.Scope(),
	}
	before := map[governance.ChangeKind]uint64{}
	for kind, scope := range lists {
		before[kind] = version(scope)
	}
	last := read(cache.ChangeID{}).Last
	listed = map[string]bool{}
	e.noted = func() {
		slice := read(last)
		last = slice.Last
		for _, row := range slice.Rows {
			if scope, is := lists[row.Kind]; is && version(scope) > before[row.Kind] {
				listed[string(row.Kind)+" "+row.Key] = true
			}
		}
	}
	return listed
}
