package tally_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow/tally"
	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	upstream "pnyx/test/upstream/tally"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// fixture is a followed organization. Both sides go by one clock, which moves only when a
// poller waits or the test says so.
type fixture struct {
	*upstream.Tally
	polled.Polled

	t         *testing.T
	clock     *clock.Clock
	address   *url.URL
	key       string
	warehouse *warehouse.Warehouse
	followed  *tally.Tally

	// refused counts answers with status 429.
	refused atomic.Int64
	crash   polled.Crash
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := clock.Stepping(time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC))
	f := &fixture{Tally: upstream.New(c.Now), t: t, clock: c, key: "secret", warehouse: env.Warehouse(t)}
	server := httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(server.Close)
	f.address = env.Must(url.Parse(server.URL + "/query"))(t)
	f.Switch(func(s *upstream.Switches) { s.Key = "secret" })
	f.AddOrganization("harbor", "Harbor", 6)
	f.restart()
	return f
}

func (f *fixture) serve(w http.ResponseWriter, r *http.Request) {
	f.crash.Request()
	noted := httptest.NewRecorder()
	f.ServeHTTP(noted, r)
	if noted.Code == http.StatusTooManyRequests {
		f.refused.Add(1)
	}
	w.WriteHeader(noted.Code)
	_, _ = w.Write(noted.Body.Bytes()) // a client that left needs nothing
}

func (f *fixture) restart() {
	f.t.Helper()
	client := fetch.New(fetch.Options{UserAgent: "pnyx (ops@example.org)", Clock: f.clock})
	f.followed = &tally.Tally{
		Host: client.Host(f.address, tally.Pace()), APIKey: f.key, Slugs: []string{"harbor"}, Clock: f.clock,
	}
	f.Polled = polled.Follow(f.t, f.warehouse, f.followed, f.clock)
}

// order is the order in which the tests run the pollers.
func order() []string { return []string{"log", "watch", "backfill"} }

// held returns the proposals and ballots that are held and not withdrawn.
func (f *fixture) held() (proposals []record.Proposal, ballots []record.Ballot) {
	f.t.Helper()
	listed := env.Must(records.HeldProposals(f.t.Context(), f.warehouse, governance.Tally, []string{"harbor"}, time.Time{}))(f.t)
	var refs []record.RefHash
	for _, p := range listed {
		refs = append(refs, p.Hash())
		env.MustDo(f.t, records.HeldBallots(f.t.Context(), f.warehouse, p.ProposalRef, func(b record.Ballot) error {
			ballots = append(ballots, b)
			return nil
		}))
	}
	found := env.Must(records.Proposals(f.t.Context(), f.warehouse, refs))(f.t)
	for _, p := range found {
		proposals = append(proposals, p.Proposal)
	}
	slices.SortFunc(proposals, func(a, b record.Proposal) int { return cmp.Compare(a.ExternalID, b.ExternalID) })
	slices.SortFunc(ballots, func(a, b record.Ballot) int { return cmp.Compare(a.VoteID, b.VoteID) })
	return proposals, ballots
}

// wantTruth fails the test unless what is held is what the endpoint has.
func (f *fixture) wantTruth() {
	f.t.Helper()
	wantProposals, wantBallots := f.Truth()
	proposals, ballots := f.held()
	env.WantSame(f.t, "proposals", wantProposals, proposals, cmpopts.EquateEmpty())
	env.WantSame(f.t, "ballots", wantBallots, ballots, cmpopts.EquateEmpty())
}

func (f *fixture) cursor(poller string) records.FollowCursor {
	return f.Journal.Cursor(record.SourceRef{Provider: governance.Tally, ID: "harbor"}, poller)
}
