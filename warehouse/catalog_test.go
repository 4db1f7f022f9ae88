package warehouse_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestCatalogKnowsTheNewestPastRecordOfASource(t *testing.T) {
	t.Parallel()
	w := open(t)
	dated := func(id, created, updated string) *record.Proposal {
		p := &record.Proposal{ProposalRef: ref(id), SourceID: "dao.eth", CreatedAt: at(created)}
		if updated != "" {
			p.UpdatedAt = at(updated)
		}
		return p
	}
	appendAll(t, w, dated("a", "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"), dated("b", "2024-01-15T00:00:00Z", ""), dated("c", "2099-01-01T00:00:00Z", ""))
	space := record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"}
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond), AsOf: at("2024-03-01T00:00:00Z")}
	if err := records.MarkSynced(t.Context(), w, run, record.KindProposal, []record.SourceRef{space}); err != nil {
		t.Fatal(err)
	}
	catalog, err := records.ReadCatalog(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	got := catalog.Sources[space]
	if diff := cmp.Diff([]*governance.Timestamp{at("2024-03-01T00:00:00Z"), at("2024-02-01T00:00:00Z")}, []*governance.Timestamp{got.AsOf, got.NewestRecordAt}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
