package publish

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func mirrorOf(original, mirror byte, withdrawn bool) records.Mirror {
	return records.Mirror{
		Ref: record.RefHash{mirror}, Original: record.RefHash{original}, Governor: governorID, OriginalWithdrawn: withdrawn,
		Provider: governance.Tally, SourceID: "harbor", ExternalID: "2085", SourceURL: "https://www.tally.xyz/gov/harbor/proposal/85",
	}
}

// catalogOf returns a catalog in which a DAO has sources.
func catalogOf(daos map[string][]record.SourceRef) records.Catalog {
	c := records.Catalog{DAOs: map[string]records.CatalogDAO{}, Owner: map[record.SourceRef]string{}}
	for id, sources := range daos {
		c.DAOs[id] = records.CatalogDAO{ID: id, Sources: sources}
		for _, source := range sources {
			c.Owner[source] = id
		}
	}
	return c
}

func TestMirrorIsSupersededInItsDAO(t *testing.T) {
	t.Parallel()
	governor := record.SourceRef{Provider: governance.Governor, ID: governorID}
	organization := record.SourceRef{Provider: governance.Tally, ID: "harbor"}
	for name, c := range map[string]struct {
		daos      map[string][]record.SourceRef
		withdrawn bool
		want      bool
	}{
		"one DAO has both":                {map[string][]record.SourceRef{"dao": {governor, organization}}, false, true},
		"two DAOs":                        {map[string][]record.SourceRef{"a": {governor}, "b": {organization}}, false, false},
		"nobody claims the Governor":      {map[string][]record.SourceRef{"dao": {organization}}, false, false},
		"the Governor's one is withdrawn": {map[string][]record.SourceRef{"dao": {governor, organization}}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirrors([]records.Mirror{mirrorOf(1, 2, c.withdrawn)}, catalogOf(c.daos))
			if got := m.isSuperseded(record.RefHash{2}); got != c.want || m.isSuperseded(record.RefHash{1}) {
				t.Errorf("got %t, want %t, and never the original", got, c.want)
			}
		})
	}
}

func TestOriginalTakesThePlaceOfItsMirrorAmongCounterparts(t *testing.T) {
	t.Parallel()
	original, mirror, third, other := record.RefHash{1}, record.RefHash{2}, record.RefHash{3}, record.RefHash{4}
	m := mirrors{original: map[record.RefHash]record.RefHash{mirror: original}}
	counterparts := map[record.RefHash][]record.RefHash{
		mirror: {third, original}, original: {mirror}, third: {mirror, other}, other: {third},
	}
	m.replaceIn(counterparts)
	want := map[record.RefHash][]record.RefHash{original: {third}, third: {other, original}, other: {third}}
	if diff := cmp.Diff(want, counterparts); diff != "" {
		t.Errorf("counterparts (-want +got):\n%s", diff)
	}
}

func TestGovernorProposalHasTheNamesOfItsPagesAtTally(t *testing.T) {
	t.Parallel()
	p := chainProposal("executed", nil)
	dao := records.CatalogDAO{Sources: []record.SourceRef{
		{Provider: governance.Governor, ID: governorID}, {Provider: governance.Tally, ID: "Wharf"}, {Provider: governance.Snapshot, ID: "a.eth"},
	}}
	m := mirrors{of: map[record.RefHash][]records.Mirror{p.Ref: {{
		Provider: governance.Tally, SourceID: "harbor", ExternalID: "2085", SourceURL: "https://www.tally.xyz/gov/harbor/proposal/85",
	}}}}
	names := m.namesOf(p, dao)
	slices.Sort(names)
	if diff := cmp.Diff([]string{"tally:harbor:2085", "tally:harbor:85", "tally:wharf:85"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := m.namesOf(snapshotProposal(nil), dao); len(got) > 0 {
		t.Errorf("got %v for a proposal of Snapshot, want none", got)
	}
}
