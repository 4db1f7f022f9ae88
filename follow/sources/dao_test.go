package sources_test

import (
	"strings"
	"testing"

	"pnyx/follow/sources"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestADAOKeepsItsSourcesAndGetsThoseOfTheFile(t *testing.T) {
	t.Parallel()
	file := env.Must(sources.Parse("f", []byte("contact: a\ndaos:\n- {id: harbor, name: Harbor, snapshot: [new.eth, lone.eth, taken.eth], forums: [f.org]}\n"), environ))(t)
	space := func(id string) record.SourceRef { return record.SourceRef{Provider: governance.Snapshot, ID: id} }
	forum := record.SourceRef{Provider: governance.Discourse, ID: "f.org"}
	old := record.SourceRef{Provider: governance.Discourse, ID: "old.org"}
	records, conflicts := file.Records(records.Catalog{
		DAOs: map[string]records.CatalogDAO{
			"harbor": {ID: "harbor", Name: "Old name", Sources: []record.SourceRef{old, forum}},
			"other":  {ID: "other", Sources: []record.SourceRef{space("taken.eth")}},
		},
		Owner: map[record.SourceRef]string{
			old: "harbor", forum: "harbor", space("taken.eth"): "other",
		},
	})
	want := []record.Record{&record.DAO{
		ID: "harbor", Name: "Harbor",
		Sources: []record.SourceRef{old, forum, space("new.eth"), space("lone.eth"), space("taken.eth")},
	}}
	env.WantSame(t, "records", want, records)
	if conflicts == nil || !strings.Contains(conflicts.Error(), "taken.eth is a source of other") || strings.Contains(conflicts.Error(), "lone") {
		t.Errorf("got conflicts %v, want that of taken.eth alone", conflicts)
	}
}
