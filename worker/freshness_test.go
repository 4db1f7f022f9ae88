package worker_test

import (
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse/record"
)

// TestNewestRecordsAreThoseOfThisPublication imports a vote on a proposal of one of the two sources
// of a DAO: the publication that shows the vote states its time.
func TestNewestRecordsAreThoseOfThisPublication(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first, second := dated("first", 10), dated("second", 10)
	second.SourceID = "other.eth"
	h.keep(&record.DAO{ID: "dao", Name: "DAO", Sources: []record.SourceRef{
		{Provider: governance.Snapshot, ID: "dao.eth"}, {Provider: governance.Snapshot, ID: "other.eth"},
	}}, first, second)
	h.settle("")
	cast := governance.TimestampOf(observed.Add(-time.Hour))
	b := vote("second", "0x1", "3")
	b.VotedAt = &cast
	h.keep(b)
	h.settle("")
	status, _, err := read[governance.DataStatus](h, cache.DataStatusKey("dao"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range status.Sources {
		if got := source.NewestRecordAt; source.SourceID == "other.eth" && (got == nil || *got != cast) {
			t.Errorf("got newest record %v of other.eth, want the vote's time %v", got, cast)
		}
	}
	if len(status.Sources) != 2 {
		t.Errorf("got sources %v, want two", status.Sources)
	}
}
