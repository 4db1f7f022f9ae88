package warehouse_test

import (
	"strings"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// TestAttackRejectsOfASourceAreBounded rejects more items than are kept with their texts, and
// one that is longer than what is kept of any.
func TestAttackRejectsOfASourceAreBounded(t *testing.T) {
	t.Parallel()
	url := env.DatabaseURL(t)
	w := openAt(t, warehouse.Options{URL: url})
	reject := func(ids ...string) {
		t.Helper()
		var rejects []records.FollowReject
		for _, id := range ids {
			rejects = append(rejects, records.FollowReject{
				Upstream: "hub", Provider: governance.Snapshot, SourceID: "a.eth", ItemID: id,
				Reason: strings.Repeat("ä", 5000), Text: strings.Repeat("x", 1<<20), At: time.Now(),
			})
		}
		if err := records.WriteFollowRejects(t.Context(), w, rejects); err != nil {
			t.Fatal(err)
		}
	}
	reject(strings.Repeat("i", 1<<20))
	conn := raw(t, url)
	if err := conn.Exec(t.Context(), "INSERT INTO follow_rejects (upstream, provider, source_id, item_id, at) "+
		"SELECT 'hub', 'snapshot', 'a.eth', toString(number), now64(3) FROM numbers(2000)"); err != nil {
		t.Fatal(err)
	}
	reject("without a text")
	got := env.Column(t, conn, "SELECT concat(toString(count()), ' ', toString(max(length(item_id))), ' ', toString(max(length(reason))), ' ', "+
		"toString(max(length(text))), ' ', toString(countIf(item_id = 'without a text' AND text = ''))) FROM follow_rejects")[0]
	if want := "2002 256 1024 4096 1"; got != want {
		t.Errorf("got %s, want %s: rows, and the longest of what is kept", got, want)
	}
	if err := conn.Exec(t.Context(), "INSERT INTO follow_rejects (upstream, provider, source_id, item_id, at) "+
		"SELECT 'hub', 'snapshot', 'a.eth', concat('more ', toString(number)), now64(3) FROM numbers(102000)"); err != nil {
		t.Fatal(err)
	}
	reject("one more")
	if found := env.Column(t, conn, "SELECT item_id FROM follow_rejects WHERE item_id = 'one more'"); len(found) > 0 {
		t.Errorf("got %q, want none beyond 100,000", found)
	}
}
