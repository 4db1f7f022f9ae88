package worker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

func (h *harness) readPage(q query.Page, payload any) error {
	_, err := h.readView(q, payload)
	return err
}

func (h *harness) readView(q query.Page, payload any) (cache.View, error) {
	r := cache.NewPageRequest(q)
	view, version, err := h.store.Page(h.t.Context(), r)
	if err == nil && !view.Absent && view.IsFresh(version.Revision) {
		return view, view.Decode(payload)
	}
	if requestErr := h.store.Fills().Enqueue(h.t.Context(), cache.Fill{Page: r, Deadline: governance.TimestampOf(time.Now().Add(soon))}); requestErr != nil {
		return cache.View{}, requestErr
	}
	return cache.View{}, fmt.Errorf("the page is not fresh: revision %d, version %d (%w)", view.Revision, version.Revision, err)
}

func inOrder(q query.Proposals) query.Proposals {
	q.Order, q.Limit = query.ProposalsByUpdate, query.ShortPage
	return q
}

func waitForRows[T any](h *harness, q query.Page, show func(T) string, want ...string) {
	h.t.Helper()
	env.Until(h.t, func() error {
		var rows []T
		if err := h.readPage(q, &rows); err != nil {
			return err
		}
		got := []string{}
		for _, row := range rows {
			got = append(got, show(row))
		}
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			return fmt.Errorf("%+v (-want +got):\n%s", q, diff)
		}
		return nil
	})
}

func (h *harness) waitForList(q query.Proposals, want ...string) {
	h.t.Helper()
	waitForRows(h, q, func(row cache.ProposalRow) string { return row.Item.Identity.ExternalID }, want...)
}

func created(p *record.Proposal, seconds int64) *record.Proposal {
	at := governance.Timestamp(seconds * 1000)
	p.CreatedAt = &at
	return p
}

func TestListFollowsPublication(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(created(proposal("a"), 1000), created(proposal("b"), 2000))
	h.start()
	all, former, claiming := inOrder(query.Proposals{}), inOrder(query.Proposals{DAOID: "dao.eth"}), inOrder(query.Proposals{DAOID: "dao"})
	h.waitForList(all, "b", "a")
	h.waitForList(former, "b", "a")
	h.waitForList(claiming)
	h.waitForList(inOrder(query.Proposals{Proposer: "0xnobody"}))

	h.append(created(proposal("c"), 3000), created(proposal("a"), 4000))
	h.waitForList(all, "a", "c", "b")
	h.waitForList(former, "a", "c", "b")

	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.waitForList(claiming, "a", "c", "b")
	h.waitForList(former)
	h.waitForList(all, "a", "c", "b")

	env.FlushRedis(t, h.redis)
	h.waitForList(claiming, "a", "c", "b")
	h.waitForList(all, "a", "c", "b")
}

func TestNewBallotKeepsTheListVersion(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(created(proposal("a"), 1000), vote("a", "0x1", "1"))
	h.start()
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	h.waitForList(inOrder(query.Proposals{}), "a")
	h.waitForPublication() // another publication than the one that lists it may count its first ballot
	before := env.Must(h.store.Version(t.Context(), query.Proposals{}.Scope()))(t)
	h.append(vote("a", "0x2", "1"))
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
	env.Want(t, before, env.Must(h.store.Version(t.Context(), query.Proposals{}.Scope()))(t), "version", "as before")
}

func TestNoPageIsMadeWhileTheListIsWritten(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(created(proposal("a"), 1000),
		vote("a", "0x1", "1"), vote("a", "0x2", "1"), vote("a", "0x3", "1"), vote("a", "0x4", "1"))
	stop := h.startLeader(h.metrics)
	h.startFiller()
	h.waitForList(inOrder(query.Proposals{}), "a")
	h.waitForPublication()
	stop()
	completed := env.Must(h.store.Version(t.Context(), query.Proposals{}.Scope()))(t)
	// A publication that died while it wrote the list.
	writer := h.store.NewWriter(completed.Revision + 1)
	writer.SetVersion(t.Context(), cache.ProposalRows(), 0)
	env.MustDo(t, writer.Flush(t.Context()))
	cold := inOrder(query.Proposals{Proposer: "0xcold"})
	var rows []cache.ProposalRow
	if err := h.readPage(cold, &rows); err == nil {
		t.Fatal("got a page that nobody has requested before")
	}
	// The filler works on other requests meanwhile, of which each is enqueued later.
	for _, voter := range []query.Voter{"0x1", "0x2", "0x3", "0x4"} {
		env.Until(h.t, func() error {
			var profile governance.VoterProfile
			return h.readPage(query.Profile{Voter: voter}, &profile)
		})
		if err := h.readPage(cold, &rows); err == nil {
			t.Fatal("got a page of a list that is being written")
		}
	}
	// The next publication completes the list.
	h.startLeader(prometheus.NewRegistry())
	h.append(created(proposal("b"), 2000))
	h.waitForList(cold)
	h.waitForList(inOrder(query.Proposals{}), "b", "a")
}

func TestProposalsAreResolvedByURLIDAndTitle(t *testing.T) {
	t.Parallel()
	const id = "0x538c49304ef485ba4ea09ebce3dfd0548e6e230b5d338b2ba428928e3848f912"
	h := newHarness(t)
	one, other := proposal(id), proposal("other")
	one.Title, one.DiscussionURL = "Fund the Guild", "https://forum.example.org/t/fund-the-guild/12/3?u=x"
	other.Title, other.DiscussionURL = "Fund the guild again", "https://forum.example.org/t/fund-the-guild/12"
	governor := &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Tally, ExternalID: "7001"}, SourceID: "gov",
		SourceURL: "https://www.tally.xyz/gov/gov/proposal/93",
	}
	const number = "46514799174839131952937755475635933411907395382311347042580299316635260952272"
	hashed := &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Tally, ExternalID: "7002"}, SourceID: "gov",
		SourceURL: "https://www.tally.xyz/gov/gov/proposal/" + number,
	}
	h.append(created(one, 1000), created(other, 2000), governor, hashed)
	h.start()
	for filter, want := range map[query.Resolve][]string{
		{URL: "https://snapshot.box/#/s:dao.eth/proposal/" + id}:        {id + " url_exact [sourceUrl]"},
		{URL: "forum.example.org/t/12"}:                                 {"other url_exact [discussionUrl]", id + " url_exact [discussionUrl]"},
		{URL: "https://tally.xyz/gov/gov/proposal/93?x=y"}:              {"7001 url_exact [sourceUrl]"},
		{URL: "https://www.tally.xyz/gov/gov/proposal/7001"}:            {"7001 url_exact [sourceUrl]"},
		{URL: "https://www.withtally.com/governance/gov/proposal/7001"}: {"7001 url_exact [sourceUrl]"},
		{URL: "https://vote.example.org/proposals/" + number}:           {"7002 external_id_exact [externalId]"},
		{URL: "https://vote.example.org/#/proposal/" + id}:              {id + " external_id_exact [externalId]"},

		{ExternalID: "0x66D6717FF918D292AC6C77ECB6A41D9BBD5555EEC52C10E4E67A21A32FE81ED0"}:                             {"7002 external_id_exact [externalId]"},
		{URL: "https://vote.example.org/proposals/0x66d6717ff918d292ac6c77ecb6a41d9bbd5555eec52c10e4e67a21a32fe81ed0"}: {"7002 external_id_exact [externalId]"},
		{ExternalID: "7001"}:                       {"7001 external_id_exact [externalId]"},
		{ExternalID: "7001", Provider: "snapshot"}: nil,
		{Title: "fund the guild"}:                  {id + " title_exact [title]", "other title_contains [title]"},
		{Title: "fund the guild", DAOID: "nobody"}: nil,
		{Title: "fu"}:                              nil,
		{Title: "%"}:                               nil,
	} {
		h.waitForResolved(filter, want...)
	}
}

func (h *harness) waitForResolved(filter query.Resolve, want ...string) {
	h.t.Helper()
	waitForRows(h, filter.Canonical(), func(found governance.ProposalCandidate) string {
		return fmt.Sprintf("%s %s %v", found.Identity.ExternalID, found.Match.Type, found.Match.MatchedFields)
	}, want...)
}

// TestProposalWithoutATitleHasOneEverywhere also checks what rows of lists state beside it, and
// the reason of a ballot.
func TestProposalWithoutATitleHasOneEverywhere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	untitled := created(proposal("a"), 1000)
	untitled.Title, untitled.Body, untitled.ProposerID = "", "# Of the text\nMore.", "0xaa"
	ballot := vote("a", "0x1", "1")
	ballot.Reason = "Costs too much."
	h.append(untitled, ballot)
	h.start()
	key := keyOf("dao.eth", "a")
	h.waitForVotes(key, "1")
	stated, _, err := h.summary(key)
	detail, _, errDetail := read[governance.ProposalDetail](h, cache.ProposalDetailKey(key))
	env.MustDo(t, errors.Join(err, errDetail))
	var rows []cache.ProposalRow
	var history []governance.VoterVote
	var ballots []governance.Ballot
	one := query.Paging[query.BallotPosition]{Limit: 10}
	env.Until(t, func() error { return h.readPage(inOrder(query.Proposals{}), &rows) })
	env.Until(t, func() error {
		return h.readPage(query.VoterVotes{Voter: "0x1", Paging: query.Paging[query.VoterVotePosition]{Limit: 10}}, &history)
	})
	env.Until(t, func() error {
		return h.readPage(query.Ballots{Proposal: key, Order: query.BallotsByPower, Paging: one}, &ballots)
	})
	if len(rows) != 1 || len(history) != 1 || len(ballots) != 1 {
		t.Fatalf("got %v, %v and %v, want one of each", rows, history, ballots)
	}
	row := rows[0].Item
	for where, title := range map[string]*string{
		"detail": detail.Title, "summary": stated.Proposal.Title, "list": row.Title, "history": history[0].Proposal.Title,
	} {
		if title == nil || *title != "Of the text" {
			t.Errorf("%s: got title %v", where, title)
		}
	}
	got := fmt.Sprint(row.CreatedAt, row.StartAt, *row.ProposerID, detail.CreatedAt, detail.UpdatedAt, *detail.VoteType)
	want := fmt.Sprint(untitled.CreatedAt, untitled.StartAt, "0xaa", untitled.CreatedAt, row.CreatedAt, untitled.VoteType)
	if got != want || ballots[0].Reason == nil || *ballots[0].Reason != ballot.Reason {
		t.Errorf("got %s with reason %v, want %s", got, ballots[0].Reason, want)
	}
}
