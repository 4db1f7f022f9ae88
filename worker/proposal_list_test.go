package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

// fresh reads a page that shows everything published: the one that is there, or one
// that is asked for.
func (h *house) fresh(r cache.PageRequest, payload any) error {
	view, marked, err := h.store.Page(h.t.Context(), r)
	if err == nil && !view.Absent && view.Revision >= marked {
		return view.Decode(payload)
	}
	if asked := h.store.EnqueueFill(h.t.Context(), cache.Fill{Page: r, Deadline: governance.TimestampOf(time.Now().Add(time.Second))}); asked != nil {
		return asked
	}
	return fmt.Errorf("the page is not fresh: revision %d, mark %d (%w)", view.Revision, marked, err)
}

func listOf(f cache.Filter) cache.PageRequest {
	return cache.PageRequest{Kind: cache.ProposalPage, Order: governance.SortUpdated, Limit: cache.ShortPage, Filter: f}
}

// lists waits until a list holds proposals with these ids, in this order.
func (h *house) lists(r cache.PageRequest, want ...string) {
	h.t.Helper()
	env.Until(h.t, func() error {
		var rows []cache.ProposalRow
		if err := h.fresh(r, &rows); err != nil {
			return err
		}
		got := []string{}
		for _, row := range rows {
			got = append(got, row.Item.Identity.ExternalID)
		}
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			return fmt.Errorf("%+v (-want +got):\n%s", r.Filter, diff)
		}
		return nil
	})
}

func created(p *record.Proposal, seconds int64) *record.Proposal {
	at := governance.Timestamp(seconds * 1000)
	p.CreatedAt = &at
	return p
}

func TestTheListFollowsWhatIsPublished(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(created(proposal("a"), 1000), created(proposal("b"), 2000))
	h.work(h.metrics)
	// Written by the worker: nobody answers requests yet.
	all, ofDAO, nobody := listOf(cache.Filter{}), listOf(cache.Filter{DAOID: "dao.eth"}), listOf(cache.Filter{DAOID: "nobody"})
	h.lists(all, "b", "a")
	h.lists(ofDAO, "b", "a")
	h.fill()
	h.lists(nobody)
	h.lists(listOf(cache.Filter{ProposerID: "0xnobody"}))

	h.append(created(proposal("c"), 3000), created(proposal("a"), 4000))
	h.lists(all, "a", "c", "b")
	h.lists(ofDAO, "a", "c", "b")

	h.append(&record.DAO{ID: "nobody", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.lists(nobody, "a", "c", "b")
	h.lists(ofDAO)
	h.lists(all, "a", "c", "b")

	if err := h.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	h.lists(nobody, "a", "c", "b")
	h.lists(all, "a", "c", "b")
}

func TestABallotLeavesTheListAsItIs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(created(proposal("a"), 1000), vote("a", "0x1", "1"))
	h.work(h.metrics)
	h.hasVotes(keyOf("dao.eth", "a"), "1")
	h.lists(listOf(cache.Filter{}), "a")
	h.published() // the publication that lists it may not be the one that counts its first ballot
	before, err := h.store.Version(t.Context(), cache.ProposalPage, "")
	if err != nil {
		t.Fatal(err)
	}
	h.append(vote("a", "0x2", "1"))
	h.hasVotes(keyOf("dao.eth", "a"), "2")
	if after, err := h.store.Version(t.Context(), cache.ProposalPage, ""); err != nil || after != before {
		t.Errorf("got mark %+v (%v), want %+v as before", after, err, before)
	}
}

func TestNoPageIsMadeOfAListThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(created(proposal("a"), 1000))
	stop := h.work(h.metrics)
	h.lists(listOf(cache.Filter{}), "a")
	h.published()
	stop()
	whole, err := h.store.Version(t.Context(), cache.ProposalPage, "")
	if err != nil {
		t.Fatal(err)
	}
	// A publication that has begun, and died.
	writer := h.store.NewWriter(whole.Revision + 1)
	if err := writer.SetVersion(t.Context(), cache.ProposalRows, "", 0); err != nil {
		t.Fatal(err)
	}
	if err := writer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.fill()
	cold := listOf(cache.Filter{ProposerID: "0xcold"})
	var rows []cache.ProposalRow
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for range 15 { // far longer than it takes to make one
		<-ticker.C
		if err := h.fresh(cold, &rows); err == nil {
			t.Fatal("a page was made of a list that is being written")
		}
	}
	// The next one lists what it had to.
	h.work(prometheus.NewRegistry())
	h.append(created(proposal("b"), 2000))
	h.lists(cold)
	h.lists(listOf(cache.Filter{}), "b", "a")
}

func TestProposalsAreResolvedByWhatTheyAreKnownBy(t *testing.T) {
	t.Parallel()
	const id = "0x538c49304ef485ba4ea09ebce3dfd0548e6e230b5d338b2ba428928e3848f912"
	h := newHouse(t)
	one, other := proposal(id), proposal("other")
	one.Title, one.DiscussionURL = "Fund the Guild", "https://forum.example.org/t/fund-the-guild/12/3?u=x"
	other.Title, other.DiscussionURL = "Fund the guild again", "https://forum.example.org/t/fund-the-guild/12"
	governor := &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Tally, ExternalID: "7001"}, SourceID: "gov",
		SourceURL: "https://www.tally.xyz/gov/gov/proposal/93",
	}
	h.append(created(one, 1000), created(other, 2000), governor)
	h.work(h.metrics)
	h.fill()
	for _, c := range []struct {
		filter cache.Filter
		want   string
	}{
		{cache.Filter{URL: governance.CanonicalURL("https://snapshot.box/#/s:dao.eth/proposal/" + id)}, id + " url_exact [sourceUrl]; "},
		{
			cache.Filter{URL: governance.CanonicalURL("forum.example.org/t/12")},
			"other url_exact [discussionUrl]; " + id + " url_exact [discussionUrl]; ",
		},
		{cache.Filter{URL: governance.CanonicalURL("https://tally.xyz/gov/gov/proposal/93?x=y")}, "7001 url_exact [sourceUrl]; "},
		{cache.Filter{URL: governance.CanonicalURL("https://www.tally.xyz/gov/gov/proposal/7001")}, "7001 url_exact [sourceUrl]; "},
		{cache.Filter{ExternalID: "7001"}, "7001 external_id_exact [externalId]; "},
		{cache.Filter{ExternalID: "7001", Provider: "snapshot"}, ""},
		{cache.Filter{Title: "fund the guild"}, id + " title_exact [title]; other title_contains [title]; "},
		{cache.Filter{Title: "fund the guild", DAOID: "nobody"}, ""},
		{cache.Filter{Title: "fu"}, ""},
		{cache.Filter{Title: "%"}, ""},
	} {
		env.Until(h.t, func() error {
			var candidates []governance.ProposalCandidate
			request := cache.PageRequest{Kind: cache.ResolvePage, Limit: cache.MaxCandidates, Filter: c.filter}
			if err := h.fresh(request, &candidates); err != nil {
				return err
			}
			got := ""
			for _, found := range candidates {
				got += fmt.Sprintf("%s %s %v; ", found.Identity.ExternalID, found.Match.Type, found.Match.MatchedFields)
			}
			if got != c.want {
				return fmt.Errorf("%+v: got %q, want %q", c.filter, got, c.want)
			}
			return nil
		})
	}
}
