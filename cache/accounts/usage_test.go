package accounts_test

import (
	"pnyx/cache/accounts"
	"pnyx/test/env"
)

func usageClaims() []claim {
	return []claim{{"a counter that changed while it was drained stays", changedCounterStays}}
}

func changedCounterStays(t *fixture) {
	write := func(field, value string) {
		t.Helper()
		env.MustDo(t, t.store.WriteCounters(t.Context(), []accounts.UsageCounter{{Field: field, Value: value}}))
	}
	write("idle", "1")
	write("busy", "1")
	drained, _, err := t.store.Counters(t.Context(), 0, 100)
	if err != nil || len(drained) != 2 {
		t.Fatalf("counters: got %v, %v, want two", drained, err)
	}
	write("busy", "2")
	env.MustDo(t, t.store.DeleteCounters(t.Context(), drained))
	left, _, err := t.store.Counters(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	env.WantSame(t, "counters left", []accounts.UsageCounter{{Field: "busy", Value: "2"}}, left)
}
