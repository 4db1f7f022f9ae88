package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
)

// forgedRevision is the largest revision that a value has room for.
const forgedRevision = 9999999999999999

func TestAttackForgedViewIsReplacedByAFullPublication(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.publishOnce()
	a := keyOf("dao.eth", "a")
	forged, err := cache.NewView(cache.View{Readiness: governance.Ready}, governance.VoteSummary{
		Totals: &governance.VoteTotals{Votes: "999", UniqueVoters: "999", VotingPower: "999"},
	})
	if err != nil {
		t.Fatal(err)
	}
	writer := h.store.NewWriter(forgedRevision)
	if err := writer.SetView(t.Context(), cache.VoteSummaryKey(a), forged); err != nil {
		t.Fatal(err)
	}
	if err := writer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.store.RequestRepublish(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.startLeader(prometheus.NewRegistry())
	h.waitForVotes(a, "1")
}

func TestAttackForgedPublicationStateIsReplaced(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	published := h.publishOnce()
	forged := published
	forged.Revision, forged.LastFullRevision = forgedRevision, forgedRevision
	h.writeState(forged)
	h.startLeader(prometheus.NewRegistry())
	env.Until(h.t, func() error {
		now, err := h.store.PublicationState(t.Context())
		latest := uint64(time.Now().Add(cache.MaxRevisionLead).UnixMicro())
		if err == nil && (now.Revision <= published.Revision || now.Revision > latest || now.LastFullRevision != now.Revision) {
			err = fmt.Errorf("got revision %d, full at %d, want a full one after %d", now.Revision, now.LastFullRevision, published.Revision)
		}
		return err
	})
	h.append(vote("a", "0x2", "5"))
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
}
