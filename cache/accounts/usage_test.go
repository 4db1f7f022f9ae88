package accounts_test

import (
	"github.com/google/go-cmp/cmp"

	"pnyx/cache/accounts"
)

func usageClaims() []claim {
	return []claim{{"a counter that changed while it was drained stays", changedCounterStays}}
}

func changedCounterStays(t *fixture) {
	write := func(field, value string) {
		t.Helper()
		err := t.store.WriteCounters(t.Context(), []accounts.UsageCounter{{Field: field, Value: value}})
		if err != nil {
			t.Fatal(err)
		}
	}
	write("idle", "1")
	write("busy", "1")
	drained, _, err := t.store.Counters(t.Context(), 0, 100)
	if err != nil || len(drained) != 2 {
		t.Fatalf("counters: got %v, %v, want two", drained, err)
	}
	write("busy", "2")
	if err := t.store.DeleteCounters(t.Context(), drained); err != nil {
		t.Fatal(err)
	}
	left, _, err := t.store.Counters(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]accounts.UsageCounter{{Field: "busy", Value: "2"}}, left); diff != "" {
		t.Errorf("counters left (-want +got):\n%s", diff)
	}
}
