package worker_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/accounts"
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
	forged := env.Must(cache.NewView(cache.View{Readiness: governance.Ready}, governance.VoteSummary{
		Totals: &governance.VoteTotals{Votes: new(governance.Decimal("999")), UniqueVoters: new(governance.Decimal("999")), VotingPower: "999"},
	}))(t)
	writer := h.store.NewWriter(forgedRevision)
	writer.SetView(t.Context(), cache.VoteSummaryKey(a), forged)
	env.MustDo(t, writer.Flush(t.Context()))
	env.MustDo(t, h.store.RequestRepublish(t.Context()))
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
	h.publishedInFull(published, func() error {
		now, err := h.store.PublicationState(t.Context())
		if latest := uint64(time.Now().Add(cache.MaxRevisionLead).UnixMicro()); err == nil && (now.Revision > latest || now.LastFullRevision != now.Revision) {
			err = fmt.Errorf("got revision %d, full at %d, want a full one", now.Revision, now.LastFullRevision)
		}
		return err
	})
}

func TestAttackForgedTokensAreReplaced(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.startAccounts()
	tokens := h.startTokenCache()
	_, honest := h.putToken("honest")
	env.Until(h.t, h.authenticates(tokens, honest, nil))

	id := access.NewTokenID()
	stolen := access.GenerateToken(id)
	forged := env.Must(msgpack.Marshal([]access.Token{{ID: id, Hash: access.HashToken(stolen)}}))(t)
	env.MustDo(t, accounts.New(h.store).SetTokens(t.Context(), forgedRevision, forged))
	env.Until(h.t, func() error {
		revision, published, err := accounts.New(h.store).Tokens(t.Context())
		if err == nil && (revision >= forgedRevision || bytes.Equal(published, forged)) {
			err = fmt.Errorf("got tokens of revision %d, want the warehouse's", revision)
		}
		return err
	})
	_, later := h.putToken("later") // published after the forged ones
	env.Until(h.t, h.authenticates(tokens, later, nil))
	for raw, want := range map[string]error{honest: nil, stolen: access.ErrUnauthorized} {
		env.WantError(t, nil, h.authenticates(tokens, raw, want)())
	}
}
