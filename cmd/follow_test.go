package cmd

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestADAOGetsItsFollowedSourcesBackAfterAnImport(t *testing.T) {
	t.Parallel()
	opened := env.Warehouse(t)
	file := parsed(t, "contact: a\ndaos:\n- {id: harbor, name: Harbor, snapshot: [harbor.eth]}\n")
	space := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
	forum := record.SourceRef{Provider: governance.Discourse, ID: "harbor.org"}
	imported := &record.DAO{ID: "harbor", Name: "Imported", Sources: []record.SourceRef{forum}}
	for range 2 {
		env.Must(records.Append(t.Context(), opened, records.Import{ID: uuid.New(), ObservedAt: time.Now()}, []record.Record{imported}))(t)
		if conflicts, err := declareDAOs(t.Context(), opened, file); conflicts != nil || err != nil {
			t.Fatal(conflicts, err)
		}
		declared := env.Must(records.DeclaredDAOs(t.Context(), opened))(t)
		want := records.CatalogDAO{ID: "harbor", Name: "Harbor", Sources: []record.SourceRef{forum, space}}
		if diff := cmp.Diff(want, declared.DAOs["harbor"]); diff != "" {
			t.Error(diff)
		}
	}
}
