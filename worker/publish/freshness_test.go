package publish

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestAnImportIsNoSync(t *testing.T) {
	t.Parallel()
	space := record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"}
	imported := records.CatalogSource{Proposals: 1, ProposalsSyncedAt: in(0), NewestRecordAt: in(-10)}
	stated := imported
	stated.AsOf = in(-5)
	unfinished := imported
	unfinished.ProposalsSyncedAt = nil
	followed := imported
	followed.Follow = &records.SourceFollow{Complete: true, Status: governance.SourceStatus{
		SourceType: space.Provider, SourceID: space.ID, State: governance.SourceLive, ReadThroughAt: in(-20), LastSuccessAt: in(-1),
	}}
	for name, c := range map[string]struct {
		source records.CatalogSource
		want   *governance.Timestamp
		fresh  governance.SourceFreshness
	}{
		"newest record":     {imported, in(-10), governance.SourceFreshness{Mode: "imported", NewestRecordAt: in(-10)}},
		"the import states": {stated, in(-5), governance.SourceFreshness{Mode: "imported", NewestRecordAt: in(-10)}},
		"cut off":           {unfinished, nil, governance.SourceFreshness{Mode: "imported", NewestRecordAt: in(-10)}},
		"followed":          {followed, in(-20), governance.SourceFreshness{Mode: "followed", NewestRecordAt: in(-10), LastSuccessAt: in(-1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dao := records.CatalogDAO{ID: "dao", Sources: []record.SourceRef{space}}
			catalog := records.Catalog{Sources: map[record.SourceRef]records.CatalogSource{space: c.source}}
			got := evaluateDAO(dao, catalog, counts.DAOTotals{}).dataStatus()
			if diff := cmp.Diff(c.want, got.LatestSuccessfulSync.GovernanceAt); diff != "" {
				t.Errorf("latest sync (-want +got):\n%s", diff)
			}
			c.fresh.Provider, c.fresh.ID = space.Provider, space.ID
			if len(got.Sources) != 1 {
				t.Fatalf("got sources %v, want one", got.Sources)
			}
			if diff := cmp.Diff(c.fresh, got.Sources[0].Freshness()); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
		})
	}
}
