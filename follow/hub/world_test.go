package hub_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow/hub"
	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	fake "pnyx/test/upstream/hub"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type fixture struct {
	*testing.T
	polled.Polled

	hub       *fake.Hub
	clock     *clock.Clock
	warehouse *warehouse.Warehouse
	server    *httptest.Server
	spaces    []string
	upstream  *hub.Hub
}

// newFixture returns a hub with the space harbor.eth, of which nothing is read.
func newFixture(t *testing.T, spaces ...string) *fixture {
	t.Helper()
	now := clock.Stepping(start)
	f := &fixture{T: t, hub: fake.New(now), clock: now, warehouse: env.Warehouse(t), spaces: spaces}
	f.server = httptest.NewServer(f.hub)
	t.Cleanup(f.server.Close)
	if len(spaces) == 0 {
		f.spaces = []string{"harbor.eth"}
	}
	for _, space := range f.spaces {
		f.hub.AddSpace(fake.Space{ID: space, Name: "Harbor", Network: "1", Symbol: "HRB"})
	}
	f.restart()
	return f
}

// newVote is newFixture with an open proposal, on which ada has voted.
func newVote(t *testing.T) (f *fixture, proposal string) {
	t.Helper()
	f = newFixture(t)
	proposal = f.open()
	f.cast(fake.Vote{Proposal: proposal, Voter: fake.Voter("ada")})
	return f, proposal
}

// restart is what a new process does: everything that is not in the warehouse is lost.
func (f *fixture) restart() {
	f.Helper()
	address := env.Must(url.Parse(f.server.URL + "/graphql"))(f)
	client := fetch.New(fetch.Options{UserAgent: "test", Clock: f.clock, Metrics: prometheus.NewRegistry()})
	f.upstream = &hub.Hub{
		Host:   client.Host(address, fetch.Pace{Requests: 100_000, Burst: 1000, Per: time.Second}),
		Spaces: f.spaces, Clock: f.clock, Logger: slog.New(slog.DiscardHandler),
	}
	f.Polled = polled.Follow(f.T, f.warehouse, f.upstream, f.clock)
}

// fromNothing returns a follower of the same hub that holds nothing yet.
func (f *fixture) fromNothing() *fixture {
	f.Helper()
	late := *f
	late.warehouse = env.Warehouse(f.T)
	late.restart()
	return &late
}

// stored is what the warehouse has of the proposals that are not deleted, without the messages
// that stated them.
func (f *fixture) stored() map[string]record.Proposal {
	f.Helper()
	var refs []record.RefHash
	for id := range f.hub.Truth().Proposals {
		refs = append(refs, proposal(id).Hash())
	}
	all := env.Must(records.Proposals(f.Context(), f.warehouse, refs))(f)
	stored := map[string]record.Proposal{}
	for _, p := range all {
		p.Proposal.Origin = ""
		stored[p.ExternalID] = p.Proposal
	}
	return stored
}

func (f *fixture) step() (more bool) {
	f.Helper()
	return env.Must(f.Pollers["backfill"].Run(f.Context()))(f)
}

// fill reads the past, and steps over the minute in which the log is read again.
func (f *fixture) fill() {
	f.Helper()
	f.Poll("backfill", "log")
	f.clock.Step(time.Minute)
	f.Poll("log", "watch")
}

// open publishes a proposal that is open from a week ago until tomorrow.
func (f *fixture) open(change ...func(*fake.Proposal)) string {
	p := fake.Proposal{
		Space: f.spaces[0], Title: "Renew", Choices: []string{"Yes", "No"}, Created: start.Add(-8 * 24 * time.Hour),
		Start: start.Add(-7 * 24 * time.Hour), End: start.Add(24 * time.Hour),
	}
	for _, c := range change {
		c(&p)
	}
	return f.hub.Propose(p)
}

// cast casts a vote with choice 1 and power 1 unless they are stated.
func (f *fixture) cast(v fake.Vote) string {
	f.Helper()
	v.Choice, v.Power = cmp.Or(v.Choice, "1"), cmp.Or(v.Power, "1")
	return env.Must(f.hub.Cast(v))(f)
}

// castHourly casts votes of new voters, one for each of the last hours.
func (f *fixture) castHourly(proposal string, votes int) {
	f.Helper()
	for n := range votes {
		f.cast(fake.Vote{Proposal: proposal, Voter: fake.Voter(fmt.Sprint(n)), Created: start.Add(-time.Duration(n) * time.Hour)})
	}
}

func (f *fixture) burst(proposal string, votes int, at time.Time) {
	f.Helper()
	env.MustDo(f, f.hub.Burst(proposal, votes, at))
}

// held is what the warehouse has, in the form of the hub's truth.
func (f *fixture) held() map[string]fake.ProposalTruth {
	f.Helper()
	all := env.Must(records.HeldProposals(f.Context(), f.warehouse, governance.Snapshot, f.spaces, time.Time{}))(f)
	all = slices.DeleteFunc(all, func(h records.HeldProposal) bool { return h.Withdrawn })
	refs := make([]record.RefHash, len(all))
	for i, h := range all {
		refs[i] = h.Hash()
	}
	stored, err := records.Proposals(f.Context(), f.warehouse, refs)
	if err != nil || len(stored) != len(all) {
		f.Fatalf("read %d proposals: got %d, %v", len(all), len(stored), err)
	}
	titles := map[record.RefHash]string{}
	for _, p := range stored {
		titles[p.Hash()] = p.Title
	}
	voters := env.Must(records.HeldVoters(f.Context(), f.warehouse, refs))(f)
	found := map[string]fake.ProposalTruth{}
	for _, h := range all {
		truth := fake.ProposalTruth{Space: h.SourceID, Title: titles[h.Hash()], Flagged: h.Flagged, Votes: map[string]fake.VoteTruth{}}
		found[h.ExternalID] = truth
		if voters[h.Hash()] == 0 {
			continue
		}
		env.MustDo(f, records.HeldBallots(f.Context(), f.warehouse, h.ProposalRef, func(b record.Ballot) error {
			v := fake.VoteTruth{ID: b.VoteID, Choice: b.RawChoice, Power: b.Power.String(), Created: b.VotedAt.Time().Unix()}
			if before := truth.Votes[b.Voter]; before.Created < v.Created || before.Created == v.Created && before.ID < v.ID {
				truth.Votes[b.Voter] = v
			}
			return nil
		}))
	}
	return found
}

func (f *fixture) agree() {
	f.Helper()
	want := f.hub.Truth().Proposals
	for id, p := range want {
		if !slices.Contains(f.spaces, p.Space) {
			delete(want, id)
			continue
		}
		p.Encrypted = 0
		for voter, v := range p.Votes {
			power := env.Must(decimal.NewFromString(v.Power))(f)
			v.Power = power.String()
			p.Votes[voter] = v
		}
		want[id] = p
	}
	got := f.held()
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		f.Fatalf("proposals differ from the hub's: %s", diff)
	}
	for id := range want {
		if diff := gocmp.Diff(want[id], got[id]); diff != "" {
			f.Errorf("proposal %s differs from the hub's: %s", id, diff[:min(len(diff), 2000)])
		}
	}
}

// cursor returns the cursor of a poller, of one space or with "" of all.
func (f *fixture) cursor(space, poller string) records.FollowCursor {
	return f.Journal.Cursor(record.SourceRef{Provider: governance.Snapshot, ID: space}, poller)
}

// rejected counts the items of harbor.eth that were no records.
func (f *fixture) rejected() uint64 {
	f.Helper()
	return env.Rejected(f, f.warehouse, record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"})
}

// note is what the follower remembers of a proposal.
type note struct {
	Waiting uint64
	Hole    string
}

func (f *fixture) note(id string) (n note) {
	f.Helper()
	items := env.Must(records.FollowedItems(f.Context(), f.warehouse, f.upstream.ID()))(f)
	for _, i := range items {
		if i.ItemID == id {
			env.Decode(f, []byte(i.Note), &n)
		}
	}
	return n
}

// close steps past the end of a proposal and states its final scores.
func (f *fixture) close(id string, powers map[string]string) {
	f.Helper()
	f.clock.Step(start.Add(24 * time.Hour).Add(time.Minute).Sub(f.clock.Now()))
	f.hub.Finalize(id, powers)
}

func proposal(id string) record.ProposalRef {
	return record.ProposalRef{Provider: governance.Snapshot, ExternalID: id}
}
