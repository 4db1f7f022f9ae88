package worker_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// ofTheProposal reports whether an answer shows the proposal itself.
func ofTheProposal(name string) bool {
	return strings.HasPrefix(name, "second ") || name == "votes of one"
}

// TestFlaggedProposalCountsNowhere flags a proposal in one warehouse and withdraws it in another:
// lists, sums, rankings, timelines, events and signals are the same.
func TestFlaggedProposalCountsNowhere(t *testing.T) {
	t.Parallel()
	changed := func(change func(*record.Proposal)) (before, after, back map[string]string, h *harness) {
		h = newHarness(t)
		d := newDeletions(0)
		h.keep(d.all()...)
		h.settle("")
		before = h.answers(d.proposals)
		p := secondOf(t, d)
		change(&p)
		h.keep(&p)
		h.settle("")
		after = h.answers(d.proposals)
		h.keep(d.records["second"])
		h.settle("")
		return before, after, h.answers(d.proposals), h
	}
	before, flagged, back, h := changed(func(p *record.Proposal) { p.Flagged = true })
	_, withdrawn, _, _ := changed(func(p *record.Proposal) { p.Withdrawn = true })
	for name, want := range withdrawn {
		if ofTheProposal(name) {
			continue
		}
		if diff := cmp.Diff(want, flagged[name]); diff != "" {
			t.Errorf("%s (-without the proposal +with it flagged):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(before, back); diff != "" {
		t.Errorf("flagged no more (-before +after):\n%s", diff)
	}
	for _, name := range []string{"second summary", "votes of one"} {
		if flagged[name] == "none" || flagged[name] == withdrawn[name] {
			t.Errorf("%s: got %s, want it to be served", name, flagged[name])
		}
	}
	h.wantFlagged()
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

// wantFlagged flags the second proposal, and finds it where it is marked.
func (h *harness) wantFlagged() {
	h.t.Helper()
	p := secondOf(h.t, newDeletions(0))
	p.Flagged = true
	h.keep(&p)
	h.settle("")
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
