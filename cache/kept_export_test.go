package cache_test

import (
	"maps"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
)

func TestExportsKeepTheirCopies(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	for n, proposal := range []governance.ProposalKey{"p1_a", "p1_b", "p1_a", "p1_a"} {
		env.MustDo(t, store.KeepExport(t.Context(), "p1_x", 9))
		env.MustDo(t, store.KeepExport(t.Context(), proposal, uint64(n+1)))
	}
	exports := env.Must(store.Exports(t.Context()))(t)
	kept := map[cache.Export]bool{}
	for _, export := range exports {
		if age := time.Since(export.Begun); age < -time.Minute || age > cache.ExportTTL {
			t.Errorf("got an export that was begun %s ago, want within %s", age, cache.ExportTTL)
		}
		export.Begun = time.Time{}
		kept[export] = true
	}
	want := map[cache.Export]bool{
		{Proposal: "p1_x", Generation: 9}: true, {Proposal: "p1_a", Generation: 1}: true, {Proposal: "p1_b", Generation: 2}: true,
		{Proposal: "p1_a", Generation: 3}: true, {Proposal: "p1_a", Generation: 4}: true,
	}
	if !maps.Equal(kept, want) {
		t.Errorf("got %v, want %v", kept, want)
	}
}
