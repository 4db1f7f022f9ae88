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

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/worker"
)

// observed is when every record is read upstream: warehouses with the same records answer the same.
var observed = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

func (h *harness) keep(all ...record.Record) {
	h.t.Helper()
	h.appendObserved(observed, all...)
}

// settle publishes what is pending, cut off first once Redis is written, or once the states are.
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
	env.MustDo(h.t, attempt(""))
}

func dated(id string, day int) *record.Proposal {
	p := proposal(id)
	start := governance.TimestampOf(observed.AddDate(0, 0, day-60))
	end := governance.TimestampOf(observed.AddDate(0, 0, day-55))
	p.StartAt, p.EndAt, p.DiscussionURL = &start, &end, "https://forum.org/t/"+fmt.Sprint(day)
	return p
}

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

// checkFresh compares answers with the answers of a warehouse that always had the records as they are.
func (d *deletions) checkFresh(t *testing.T, h *harness) {
	t.Helper()
	fresh := newHarness(t)
	fresh.keep(d.all()...)
	fresh.settle("")
	env.WantSame(t, "answers", fresh.answers(d.proposals), h.answers(d.proposals))
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

func (d *deletions) publish(h *harness, cutOff string, changed ...record.Record) map[string]string {
	h.t.Helper()
	h.keep(changed...)
	h.settle(cutOff)
	return h.answers(d.proposals)
}

func (d *deletions) changed(t *testing.T, id string, change func(*record.Proposal)) *record.Proposal {
	t.Helper()
	was, isProposal := d.records[id].(*record.Proposal)
	if !isProposal {
		t.Fatalf("got %T, want a proposal", d.records[id])
	}
	p := *was
	change(&p)
	return &p
}

// A flagged proposal shows itself, and all others as if it were withdrawn: lists, sums, events and signals.
func TestWithdrawnOrFlaggedProposalIsServedAgainOnceItIsBack(t *testing.T) {
	t.Parallel()
	h, d := newHarness(t), newDeletions(0)
	before := d.publish(h, "", d.all()...)
	var gone map[string]string
	for _, cutOff := range []string{"", "before the states", "after the states"} {
		gone = d.publish(h, cutOff, d.changed(t, "second", func(p *record.Proposal) { p.Withdrawn = true }))
		for _, name := range []string{"second detail", "second summary", "second evidence", "second version"} {
			env.Want(t, "none", gone[name], name, cutOff)
		}
		for _, name := range []string{"dao", "events", "signals", "voters", "votes of one", "list updatedDesc", "second named"} {
			if gone[name] == before[name] {
				t.Errorf("%s: got what was there before the withdrawal", name)
			}
		}
		env.WantSame(t, "back, cut off "+cutOff, before, d.publish(h, cutOff, d.records["second"]))
	}
	flagged := d.publish(h, "", d.changed(t, "second", func(p *record.Proposal) { p.Flagged = true }))
	for name, want := range gone {
		if itself := strings.HasPrefix(name, "second ") || name == "votes of one"; !itself {
			env.Want(t, want, flagged[name], name, "without the proposal, or with it flagged")
		}
	}
	for _, name := range []string{"second summary", "votes of one"} {
		if flagged[name] == "none" || flagged[name] == gone[name] {
			t.Errorf("%s: got %s, want it to be served", name, flagged[name])
		}
	}
	h.wantFlagged()
	env.WantSame(t, "flagged no more", before, d.publish(h, "", d.records["second"]))
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
	env.Must(worker.NewLeader(o).Settle(t.Context()))(t)
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

// TestFlaggedSpaceIsSpam flags a space, and then all of its proposals: but for the DAO itself, what is served is the same.
func TestFlaggedSpaceIsSpam(t *testing.T) {
	t.Parallel()
	h, d := newHarness(t), newDeletions(0)
	space := &record.Source{SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"}}
	before := d.publish(h, "", append(d.all(), space)...)
	spam := *space
	spam.Flagged = true
	got := d.publish(h, "", &spam)
	h.wantListed("", "dao.eth")
	env.WantSame(t, "flagged no more", before, d.publish(h, "", space))
	h.wantListed("dao.eth", "dao.eth")
	var flagged []record.Record
	for _, id := range d.proposals {
		flagged = append(flagged, d.changed(t, id, func(p *record.Proposal) { p.Flagged = true }))
	}
	want := d.publish(h, "", flagged...)
	mark := hex.EncodeToString([]byte("flagged"))
	if !strings.Contains(got["dao"], mark) || strings.Contains(want["dao"], mark) {
		t.Errorf("got %s, want a flagged DAO", got["dao"])
	}
	delete(got, "dao")
	delete(want, "dao")
	env.WantSame(t, "the space flagged, or each proposal", want, got)
}

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
