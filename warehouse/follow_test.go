package warehouse_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// TestHeldIsWhatIsNotWithdrawn writes a ballot that is withdrawn, one that is replaced by
// its voter, and one that stands.
func TestHeldIsWhatIsNotWithdrawn(t *testing.T) {
	t.Parallel()

	w := open(t)
	end, votes := governance.Timestamp(1_772_700_000_000), uint64(3)
	ref := ref("0xab")
	proposal := &record.Proposal{ProposalRef: ref, SourceID: "harbor.eth", EndAt: &end, StatedVotes: &votes, State: "closed", Origin: "message 1"}
	ballot := func(voter, id string) *record.Ballot {
		b := ballot("0xab", voter, id, "1", "7.5", new(governance.Timestamp(1_772_600_000_000)))
		b.Reason = "why not"
		return b
	}
	appendAll(t, w, proposal, ballot("0xada", "v1"), ballot("0xada", "v2"), ballot("0xbo", "v3"), ballot("0xcy", "v4"))
	gone := ballot("0xcy", "v4")
	gone.Withdrawn = true
	appendAll(t, w, gone)

	var held []record.Ballot
	env.MustDo(t, records.HeldBallots(t.Context(), w, ref, func(b record.Ballot) error {
		held = append(held, b)
		return nil
	}))
	ids := []string{}
	for _, b := range held {
		ids = append(ids, b.VoteID)
	}
	env.WantSame(t, "ballots held", []string{"v1", "v2", "v3"}, ids)
	want := *ballot("0xada", "v1")
	want.Shares, want.Roots = []decimal.Decimal{}, []decimal.Decimal{}
	env.WantSame(t, "the record as written", want, held[0])
	env.Want(t, 2, env.Must(records.HeldVoters(t.Context(), w, []record.RefHash{ref.Hash()}))(t)[ref.Hash()], "two voters")

	list := func(after time.Time) []records.HeldProposal {
		t.Helper()
		return env.Must(records.HeldProposals(t.Context(), w, governance.Snapshot, []string{"other.eth", "harbor.eth"}, after))(t)
	}
	wanted := []records.HeldProposal{{ProposalRef: ref, SourceID: "harbor.eth", EndAt: &end, StatedVotes: &votes, Origin: "message 1"}}
	env.WantSame(t, "proposals held", wanted, list(time.Time{}))
	if got := list(end.Time().Add(time.Second)); len(got) != 0 {
		t.Errorf("got %v, want none that ends after the end", got)
	}
	proposal.Withdrawn = true
	appendAll(t, w, proposal)
	wanted[0].Withdrawn = true
	env.WantSame(t, "those that end later", wanted, list(end.Time()))
}

func TestHeldTopicsAreTheRecordsWrittenLast(t *testing.T) {
	t.Parallel()

	opened := open(t)
	const host = "forum.example.org"
	at := func(day int) *governance.Timestamp { return at(fmt.Sprintf("2026-03-%02d", day)) }
	topic := func(id string, day int) *record.Topic {
		return &record.Topic{
			Host: host, ExternalID: id, Title: "Budget " + id, Slug: "budget", CategoryID: "3", Tags: []string{"grants"},
			Author: "ada", BodyHTML: "<p>" + id + "</p>", Posts: 3, Likes: 2, Views: 9, Participants: new(uint64(2)),
			CreatedAt: at(day), UpdatedAt: at(day), LastPostAt: at(day), Visible: true,
		}
	}
	old, young, gone, other := topic("1", 1), topic("2", 20), topic("3", 20), topic("2", 20)
	gone.Visible, gone.Withdrawn, gone.Closed, gone.Archived = false, true, true, true
	other.Host = "forum.other.example"
	appendAll(t, opened, old, young, gone, other)

	t.Run("whole", func(t *testing.T) {
		held := env.Must(records.HeldTopics(t.Context(), opened, host, []string{"2", "3", "4"}, true))(t)
		env.WantSame(t, "topics held", []record.Topic{*young, *gone}, held)
	})
	t.Run("without first posts", func(t *testing.T) {
		held := env.Must(records.HeldTopics(t.Context(), opened, host, []string{"1"}, false))(t)
		want := *old
		want.BodyHTML = ""
		env.WantSame(t, "topics held", []record.Topic{want}, held)
	})
	t.Run("visible ones", func(t *testing.T) {
		for _, test := range []struct {
			name   string
			since  time.Time
			except []string
			want   []string
		}{
			{"all", time.Unix(0, 0), nil, []string{"1", "2"}},
			{"except some", time.Unix(0, 0), []string{"2", "7"}, []string{"1"}},
			{"young ones", time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC), nil, []string{"2"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				got := env.Must(records.VisibleTopics(t.Context(), opened, host, test.since, test.except))(t)
				env.WantSame(t, "topics listed", test.want, got)
			})
		}
	})
}

// TestAttackRejectsOfASourceAreBounded rejects more items than are kept with their texts, and
// one that is longer than what is kept of any.
func TestAttackRejectsOfASourceAreBounded(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	reject := func(ids ...string) {
		t.Helper()
		var rejects []records.FollowReject
		for _, id := range ids {
			rejects = append(rejects, records.FollowReject{
				Upstream: "hub", Provider: governance.Snapshot, SourceID: "a.eth", ItemID: id,
				Reason: strings.Repeat("ä", 5000), Text: strings.Repeat("x", 1<<20), At: time.Now(),
			})
		}
		env.MustDo(t, records.WriteFollowRejects(t.Context(), w, rejects))
	}
	reject(strings.Repeat("i", 1<<20))
	conn := raw(t, url)
	mustExec(t, conn, "INSERT INTO follow_rejects (upstream, provider, source_id, item_id, at) "+
		"SELECT 'hub', 'snapshot', 'a.eth', toString(number), now64(3) FROM numbers(2000)")
	reject("without a text")
	got := env.Column(t, conn, "SELECT concat(toString(count()), ' ', toString(max(length(item_id))), ' ', toString(max(length(reason))), ' ', "+
		"toString(max(length(text))), ' ', toString(countIf(item_id = 'without a text' AND text = ''))) FROM follow_rejects")[0]
	env.Want(t, "2002 256 1024 4096 1", got, "rows, and the longest of what is kept")
	mustExec(t, conn, "INSERT INTO follow_rejects (upstream, provider, source_id, item_id, at) "+
		"SELECT 'hub', 'snapshot', 'a.eth', concat('more ', toString(number)), now64(3) FROM numbers(102000)")
	reject("one more")
	if found := env.Column(t, conn, "SELECT item_id FROM follow_rejects WHERE item_id = 'one more'"); len(found) > 0 {
		t.Errorf("got %q, want none beyond 100,000", found)
	}
}
