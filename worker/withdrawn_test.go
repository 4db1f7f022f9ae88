package worker_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/worker"
)

// observed is the time at which every record of these tests is read upstream, so that two
// warehouses with the same records answer the same.
var observed = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// keep writes records as one batch, observed at the same time as all others.
func (h *harness) keep(all ...record.Record) {
	h.t.Helper()
	h.appendObserved(observed, all...)
}

// settle publishes what is pending. The publication is cut off at one of its steps first:
// once Redis is written, or once the states are.
func (h *harness) settle(cutOff string) {
	h.t.Helper()
	attempt := func(cutOff string) error {
		ctx, cancel := context.WithCancel(h.t.Context())
		defer cancel()
		o := h.options()
		switch cutOff {
		case "before the states":
			o.Purge = func([]cache.Tag) { cancel() }
		case "after the states":
			o.Progress = func(int, int) { cancel() }
		}
		_, err := worker.NewLeader(o).Settle(ctx)
		return err
	}
	if cutOff != "" {
		_ = attempt(cutOff) // nothing may be left to publish
	}
	if err := attempt(""); err != nil {
		h.t.Fatal(err)
	}
}

// dated returns a proposal of dao.eth whose vote has ended.
func dated(id string, day int) *record.Proposal {
	p := proposal(id)
	start := governance.TimestampOf(observed.AddDate(0, 0, day-60))
	end := governance.TimestampOf(observed.AddDate(0, 0, day-55))
	p.StartAt, p.EndAt, p.DiscussionURL = &start, &end, "https://forum.org/t/"+fmt.Sprint(day)
	return p
}

// answers describes everything that is served about dao.eth.
func (h *harness) answers(proposals []string) map[string]string {
	h.t.Helper()
	answers := map[string]string{}
	for name, key := range map[string]cache.Key{
		"dao": cache.DAODetailKey("dao.eth"), "status": cache.DataStatusKey("dao.eth"), "all": cache.DataStatusKey(""),
		"created": cache.TimelineKey("dao.eth", governance.TimelineMetrics()[0]), "voted": cache.TimelineKey("dao.eth", governance.TimelineMetrics()[1]),
		"topic": cache.TopicDetailKey(topicKey("forum.org", "1")),
	} {
		answers[name] = h.payload(key)
	}
	for _, id := range proposals {
		key := keyOf("dao.eth", id)
		for name, view := range map[string]cache.Key{
			"detail": cache.ProposalDetailKey(key), "summary": cache.VoteSummaryKey(key), "evidence": cache.EvidenceKey(key),
		} {
			answers[id+" "+name] = h.payload(view)
		}
		if _, err := h.store.Version(h.t.Context(), query.Ballots{Proposal: key}.Scope()); errors.Is(err, cache.ErrMiss) {
			answers[id+" version"] = "none"
		}
		named := h.list(pages.ProposalsNamed(h.t.Context(), h.warehouse,
			pages.ProposalName{Field: governance.MatchedTitle, Text: id}, query.Resolve{Limit: 5}))
		answers[id+" named"] = named
	}
	ctx, paging := h.t.Context(), query.ShortPage
	for _, order := range []query.ProposalOrder{query.ProposalsByUpdate, query.ProposalsEndingSoon} {
		q := query.Proposals{Order: order}
		q.Limit = paging
		answers["list "+string(order)] = h.list(pages.ListProposals(ctx, h.warehouse, q))
	}
	voters, votes := query.Voters{DAOID: "dao.eth"}, query.VoterVotes{Voter: "0x1"}
	voters.Limit, votes.Limit = paging, paging
	events, signals := h.feedOf("dao.eth")
	answers["events"], answers["signals"] = h.list(events, nil), h.list(signals, nil)
	answers["voters"] = h.list(pages.ListVoters(ctx, h.warehouse, voters, 0))
	answers["votes of one"] = h.list(pages.ListVoterVotes(ctx, h.warehouse, votes))
	answers["profile"] = h.list(pages.VoterProfile(ctx, h.warehouse, "0x1"))
	return answers
}

// payload returns what a view holds, or "none".
func (h *harness) payload(key cache.Key) string {
	h.t.Helper()
	view, err := h.store.View(h.t.Context(), key)
	if errors.Is(err, cache.ErrMiss) {
		return "none"
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return hex.EncodeToString(view.Payload)
}

// list describes rows, without the revisions of their publication.
func (h *harness) list(rows any, err error) string {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	if listed, is := rows.([]pages.ListedProposal); is {
		for i := range listed {
			listed[i].Revision = 0
		}
	}
	return fmt.Sprint(env.Plain(rows))
}

// deletions are records of dao.eth by key, some of which are withdrawn.
type deletions struct {
	random    *rand.Rand
	proposals []string
	records   map[string]record.Record
}

func newDeletions(seed uint64) *deletions {
	d := &deletions{random: rand.New(rand.NewPCG(5, seed)), proposals: []string{"first", "second", "third"}, records: map[string]record.Record{}}
	for n, id := range d.proposals {
		d.records[id] = dated(id, 10*n+1)
		for v := range 3 {
			b := vote(id, fmt.Sprintf("0x%d", v), fmt.Sprint(1+n+v))
			at := governance.TimestampOf(observed.AddDate(0, 0, 10*n+1-58))
			b.VotedAt = &at
			d.records[fmt.Sprint(id, v)] = b
		}
	}
	d.records["topic"] = &record.Topic{Host: "forum.org", ExternalID: "1", Title: "Topic", Visible: true, Posts: 3, CreatedAt: new(governance.TimestampOf(observed))}
	about := record.ProposalRef{Provider: governance.Snapshot, ExternalID: "second"}
	d.records["event"] = &record.Event{
		ID: "recorded", Type: rules.VotingEnded, At: governance.TimestampOf(observed), DAOID: "dao.eth", ItemType: "proposal",
		Proposal: &about, Confidence: "exact", Importance: 99,
	}
	d.records["signal"] = &record.Signal{
		ID: "recorded-signal", Type: "proposal_deadline_reminder", DAOID: "dao.eth", Proposal: &about, Title: "Vote!", Score: 88,
		Surfaces: []string{"agent"}, DetectedAt: governance.TimestampOf(observed), Evidence: "{}",
	}
	d.records["dao"] = &record.DAO{ID: "dao.eth", Name: "DAO", Sources: []record.SourceRef{
		{Provider: governance.Snapshot, ID: "dao.eth"}, {Provider: governance.Discourse, ID: "forum.org"},
	}}
	return d
}

// change withdraws one of the records, or brings it back.
func (d *deletions) change() record.Record {
	names := []string{"first", "second", "third", "topic", "first0", "second1", "third1", "third2"}
	name := names[d.random.IntN(len(names))]
	switch r := d.records[name].(type) {
	case *record.Proposal:
		changed := *r
		changed.Withdrawn = !r.Withdrawn
		d.records[name] = &changed
	case *record.Ballot:
		changed := *r
		changed.Withdrawn = !r.Withdrawn
		d.records[name] = &changed
	case *record.Topic:
		changed := *r
		changed.Withdrawn = !r.Withdrawn
		d.records[name] = &changed
	}
	return d.records[name]
}

func (d *deletions) all() (records []record.Record) {
	for _, r := range d.records {
		records = append(records, r)
	}
	return records
}

// checkFresh compares what is served with what a warehouse that always had the records as
// they are serves.
func (d *deletions) checkFresh(t *testing.T, h *harness) {
	t.Helper()
	fresh := newHarness(t)
	fresh.keep(d.all()...)
	fresh.settle("")
	if diff := cmp.Diff(fresh.answers(d.proposals), h.answers(d.proposals)); diff != "" {
		t.Errorf("answers (-fresh +after withdrawals):\n%s", diff)
	}
}

// checkWithdrawals publishes every change of a random history, cut off at random steps.
func checkWithdrawals(t *testing.T, seed uint64, changes, checks int) {
	t.Helper()
	h, d := newHarness(t), newDeletions(seed)
	h.keep(d.all()...)
	h.settle("")
	for n := range changes {
		h.keep(d.change())
		h.settle([]string{"", "before the states", "after the states"}[d.random.IntN(3)])
		if (n+1)%checks == 0 {
			d.checkFresh(t, h)
		}
	}
}

func TestLongHistoriesOfWithdrawnRecordsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			checkWithdrawals(t, seed+2, 16, 4)
		})
	}
}

func TestWithdrawnProposalIsServedAgainUnderItsKeyOnceItIsBack(t *testing.T) {
	t.Parallel()
	for _, cutOff := range []string{"", "before the states", "after the states"} {
		t.Run("cut off "+cutOff, func(t *testing.T) {
			t.Parallel()
			h, d := newHarness(t), newDeletions(0)
			h.keep(d.all()...)
			h.settle("")
			before := h.answers(d.proposals)
			second, isProposal := d.records["second"].(*record.Proposal)
			if !isProposal {
				t.Fatalf("got %T, want a proposal", d.records["second"])
			}
			p := *second
			p.Withdrawn = true
			h.keep(&p)
			h.settle(cutOff)
			gone := h.answers(d.proposals)
			for _, name := range []string{"second detail", "second summary", "second evidence", "second version"} {
				if gone[name] != "none" {
					t.Errorf("%s: got %s, want none", name, gone[name])
				}
			}
			for _, name := range []string{"dao", "events", "signals", "voters", "votes of one", "list updatedDesc", "second named"} {
				if gone[name] == before[name] {
					t.Errorf("%s: got what was there before the withdrawal", name)
				}
			}
			h.keep(d.records["second"])
			h.settle(cutOff)
			if diff := cmp.Diff(before, h.answers(d.proposals)); diff != "" {
				t.Errorf("back (-before +after):\n%s", diff)
			}
		})
	}
}

func TestCachesAreToldOfAWithdrawnProposal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.keep(proposal("a"), vote("a", "0x1", "1"))
	h.settle("")
	h.startFiller()
	key := keyOf("dao.eth", "a")
	ballots := query.Ballots{Proposal: key}
	ballots.Limit = query.ShortPage
	env.Until(t, func() error { return h.readFeedPage(ballots, &[]governance.Ballot{}) })

	p := proposal("a")
	p.Withdrawn = true
	h.keep(p)
	told := map[cache.Tag]bool{}
	o := h.options()
	o.Purge = func(tags []cache.Tag) {
		for _, tag := range tags {
			told[tag] = true
		}
	}
	if _, err := worker.NewLeader(o).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, scope := range map[string]query.Scope{
		"ballots": ballots.Scope(), "list of the DAO": query.Proposals{DAOID: "dao.eth"}.Scope(), "list": query.Proposals{}.Scope(),
		"voters": query.Voters{DAOID: "dao.eth"}.Scope(), "events": query.Events{DAOID: "dao.eth"}.Scope(),
	} {
		if tag := cache.ScopeTag(scope); !told[tag] {
			t.Errorf("%s: caches were not told of %s", name, tag)
		}
	}
	if tag := cache.ProposalTag(key); !told[tag] {
		t.Errorf("caches were not told of %s", tag)
	}
	// The page that was made before is not served any more: it is made again, and absent.
	request := cache.NewPageRequest(ballots)
	env.Until(t, func() error {
		view, version, err := h.store.Page(t.Context(), request)
		if err == nil && version == (cache.Version{}) && view.Absent {
			return nil
		}
		err = errors.Join(err, h.store.Fills().Enqueue(t.Context(), cache.Fill{
			Page: request, Deadline: governance.TimestampOf(time.Now().Add(soon)),
		}))
		return errors.Join(fmt.Errorf("got %+v at version %d, want an absent page", view, version.Revision), err)
	})
}

// ofTheProposal reports whether an answer shows the proposal itself.
func ofTheProposal(name string) bool {
	return strings.HasPrefix(name, "second ") || name == "votes of one"
}

// TestFlaggedProposalCountsNowhere flags a proposal in one warehouse and withdraws it in another:
// lists, sums, rankings, timelines, events and signals are the same.
func TestFlaggedProposalCountsNowhere(t *testing.T) {
	t.Parallel()
	changed := func(change func(*record.Proposal)) (h *harness, d *deletions, before, after map[string]string) {
		h, d = newHarness(t), newDeletions(0)
		h.keep(d.all()...)
		h.settle("")
		before = h.answers(d.proposals)
		p := secondOf(t, d)
		change(&p)
		h.keep(&p)
		h.settle("")
		return h, d, before, h.answers(d.proposals)
	}
	_, _, _, withdrawn := changed(func(p *record.Proposal) { p.Withdrawn = true })
	h, d, before, flagged := changed(func(p *record.Proposal) { p.Flagged = true })
	for name, want := range withdrawn {
		if ofTheProposal(name) {
			continue
		}
		if diff := cmp.Diff(want, flagged[name]); diff != "" {
			t.Errorf("%s (-without the proposal +with it flagged):\n%s", name, diff)
		}
	}
	for _, name := range []string{"second summary", "votes of one"} {
		if flagged[name] == "none" || flagged[name] == withdrawn[name] {
			t.Errorf("%s: got %s, want it to be served", name, flagged[name])
		}
	}
	h.wantFlagged()
	h.keep(d.records["second"])
	h.settle("")
	if diff := cmp.Diff(before, h.answers(d.proposals)); diff != "" {
		t.Errorf("flagged no more (-before +after):\n%s", diff)
	}
}

// secondOf returns a copy of the second proposal.
func secondOf(t *testing.T, d *deletions) record.Proposal {
	t.Helper()
	second, isProposal := d.records["second"].(*record.Proposal)
	if !isProposal {
		t.Fatalf("got %T, want a proposal", d.records["second"])
	}
	return *second
}

// wantFlagged finds the second proposal, which is flagged, where it is marked.
func (h *harness) wantFlagged() {
	h.t.Helper()
	detail, _, err := read[governance.ProposalDetail](h, cache.ProposalDetailKey(keyOf("dao.eth", "second")))
	if err != nil || !detail.Flagged {
		h.t.Errorf("detail: got flagged %t (%v), want true", detail.Flagged, err)
	}
	asked := query.Proposals{DAOID: "dao.eth", Order: query.ProposalsByUpdate, Flagged: new(true)}
	asked.Limit = 25
	rows, err := pages.ListProposals(h.t.Context(), h.warehouse, asked)
	marked := 0
	for _, row := range rows {
		if row.Flagged {
			marked++
		}
	}
	if err != nil || marked != 1 {
		h.t.Errorf("list with spam: got %d flagged rows of %d (%v), want 1", marked, len(rows), err)
	}
	votes := query.VoterVotes{Voter: "0x1"}
	votes.Limit = 25
	ballots, err := pages.ListVoterVotes(h.t.Context(), h.warehouse, votes)
	marked = 0
	for _, b := range ballots {
		if b.Proposal.Flagged {
			marked++
		}
	}
	if err != nil || marked != 1 {
		h.t.Errorf("history: got %d flagged of %d ballots (%v), want 1", marked, len(ballots), err)
	}
}

// TestFlaggedSpaceIsSpam flags a space in one warehouse and all of its proposals in another: but
// for the DAO itself, what is served is the same.
func TestFlaggedSpaceIsSpam(t *testing.T) {
	t.Parallel()
	space := &record.Source{SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"}}
	begin := func() (*harness, *deletions) {
		h, d := newHarness(t), newDeletions(0)
		h.keep(append(d.all(), space)...)
		h.settle("")
		return h, d
	}
	one, d := begin()
	before := one.answers(d.proposals)
	spam := *space
	spam.Flagged = true
	one.keep(&spam)
	one.settle("")
	got := one.answers(d.proposals)
	one.wantListed("", "dao.eth")
	one.keep(space)
	one.settle("")
	one.wantListed("dao.eth", "dao.eth")
	if diff := cmp.Diff(before, one.answers(d.proposals)); diff != "" {
		t.Errorf("flagged no more (-before +after):\n%s", diff)
	}

	each, d := begin()
	for _, id := range d.proposals {
		p, isProposal := d.records[id].(*record.Proposal)
		if !isProposal {
			t.Fatalf("got %T, want a proposal", d.records[id])
		}
		flagged := *p
		flagged.Flagged = true
		each.keep(&flagged)
	}
	each.settle("")
	want := each.answers(d.proposals)
	mark := hex.EncodeToString([]byte("flagged"))
	if !strings.Contains(got["dao"], mark) || strings.Contains(want["dao"], mark) {
		t.Errorf("got %s, want a flagged DAO", got["dao"])
	}
	delete(got, "dao")
	delete(want, "dao")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-each proposal flagged +the space flagged):\n%s", diff)
	}
}

// wantListed checks which DAOs the index lists, without spam and with it.
func (h *harness) wantListed(plain, withSpam string) {
	h.t.Helper()
	for want, q := range map[string]query.DAOs{"plain " + plain: {}, "with spam " + withSpam: {Flagged: new(true)}} {
		q.Limit = 50
		page, err := h.store.DAOPage(h.t.Context(), q)
		var ids []string
		for _, item := range page.Items {
			ids = append(ids, item.DAOID)
		}
		if got := strings.Join(ids, " "); err != nil || !strings.HasSuffix(want, " "+got) {
			h.t.Errorf("got DAOs %q (%v), want %s", got, err, want)
		}
	}
}
