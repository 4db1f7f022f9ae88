package worker_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// changeMirror is what one sees who reads only the keys that the stream of changes names.
type changeMirror struct {
	*harness

	after cache.ChangeID
	epoch uint64
	held  map[string]string
}

// newChangeMirror begins at the end of the stream, with a look at everything.
func (h *harness) newChangeMirror(everything map[string]string) *changeMirror {
	h.t.Helper()
	slice := h.changes(cache.ChangeID{}, 100)
	return &changeMirror{h, slice.Last, slice.State.ChangesEpoch, everything}
}

func (h *harness) changes(after cache.ChangeID, limit int) cache.ChangeSlice {
	h.t.Helper()
	return env.Must(h.store.Changes(h.t.Context(), after, limit))(h.t)
}

func (m *changeMirror) follow() {
	m.t.Helper()
	for more := true; more; {
		slice := m.changes(m.after, 10)
		if slice.State.ChangesEpoch != m.epoch || m.after.Before(slice.First) {
			m.t.Fatalf("the stream begins at %v in epoch %d, want %v in %d", slice.First, slice.State.ChangesEpoch, m.after, m.epoch)
		}
		for _, row := range slice.Rows {
			maps.Copy(m.held, m.look(row.Kind, row.Key, row.DAOID))
			m.after = row.ID
		}
		more = slice.HasMore
	}
}

func (h *harness) look(kind governance.ChangeKind, key, daoID string) map[string]string {
	h.t.Helper()
	seen := map[string]string{}
	switch kind {
	case governance.ProposalChange:
		proposal := governance.ProposalKey(key)
		for _, view := range []cache.Key{cache.ProposalDetailKey(proposal), cache.VoteSummaryKey(proposal), cache.EvidenceKey(proposal)} {
			seen[string(view)] = h.payload(view)
		}
	case governance.DAOChange:
		views := []cache.Key{cache.DAODetailKey(key)}
		for _, metric := range governance.TimelineMetrics() {
			views = append(views, cache.TimelineKey(key, metric))
		}
		for _, view := range views {
			seen[string(view)] = h.payload(view)
		}
	case governance.TopicChange:
		view := cache.TopicDetailKey(governance.TopicKey(key))
		seen[string(view)] = h.payload(view)
	case governance.EventChange, governance.SignalChange:
		if events, signals := h.feedOf(daoID); kind == governance.EventChange {
			seen["events "+daoID] = h.list(events, nil)
		} else {
			seen["signals "+daoID] = h.list(signals, nil)
		}
	}
	return seen
}

// The copy is compared before Redis is flushed, after that, and after it was restarted without its last writes.
func TestMirrorOfChangesEqualsEverythingPublished(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	checkMirror(t, newHarnessOn(t, server.URL), 9, func(h *harness, step int) (compare bool) {
		switch step {
		case 3, 6:
			env.FlushRedis(t, h.redis)
		case 5:
			env.MustDo(t, h.redis.Do(t.Context(), "save").Err())
		case 7:
			server.Restart() // from what was saved
		}
		return step == 2 || step == 3
	})
}

func TestLongMirrorOfChangesOutlivesRedis(t *testing.T) {
	t.Parallel()
	t.Run("flushed", func(t *testing.T) {
		t.Parallel()
		checkMirror(t, newHarness(t), 12, func(h *harness, _ int) bool {
			env.FlushRedis(t, h.redis)
			return false
		})
	})
	t.Run("restarted without the last writes", func(t *testing.T) {
		t.Parallel()
		server := env.Redis(t)
		checkMirror(t, newHarnessOn(t, server.URL), 12, func(h *harness, step int) bool {
			switch step % 3 {
			case 0:
				env.MustDo(t, h.redis.Do(t.Context(), "save").Err())
			case 2:
				server.Restart() // from what was saved
			}
			return false
		})
	})
}

func TestARestoreOfABackupBeginsTheChangesAnew(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.keep(dated("a", 1), vote("a", "0x1", "1"))
	h.settle("")
	h.keep(vote("a", "0x2", "1"))
	h.settle("")
	read := func() cache.ChangeSlice { return h.changes(cache.ChangeID{}, 100) }
	before := read()
	if len(before.Rows) == 0 {
		t.Fatal("got no rows before the restore")
	}
	env.MustDo(t, records.RecordBackup(t.Context(), h.warehouse, records.BackupRestored, "20260101T000000Z", 1, 1))
	h.settle("")
	after := read()
	if after.State.ChangesEpoch == before.State.ChangesEpoch || !before.Last.Before(after.First) {
		t.Errorf("got epoch %d from %v, want another than %d, after %v", after.State.ChangesEpoch, after.First, before.State.ChangesEpoch, before.Last)
	}
	env.FlushRedis(t, h.redis)
	h.settle("")
	if again := read(); again.State.ChangesEpoch != after.State.ChangesEpoch || again.First != after.First {
		t.Errorf("after a flush: got epoch %d from %v, want %d from %v", again.State.ChangesEpoch, again.First, after.State.ChangesEpoch, after.First)
	}
}

// checkMirror compares what is published with a copy that is kept by changes alone, at the end and after the
// steps for which lose, which is called before each publication, says so.
func checkMirror(t *testing.T, h *harness, steps int, lose func(h *harness, step int) (compare bool)) {
	t.Helper()
	ids := []string{"a", "b", "c", "d", "e", "f"}
	crawl := func() map[string]string {
		all := map[string]string{}
		for _, dao := range []string{"dao.eth", "dao", "forum.org"} {
			for _, kind := range []governance.ChangeKind{governance.DAOChange, governance.EventChange, governance.SignalChange} {
				maps.Copy(all, h.look(kind, dao, dao))
			}
			for _, id := range ids {
				maps.Copy(all, h.look(governance.ProposalChange, string(keyOf(dao, id)), dao))
				maps.Copy(all, h.look(governance.TopicChange, string(topicKey(dao, id)), dao))
			}
		}
		return all
	}
	h.keep(dated("a", 1), vote("a", "0x1", "1"))
	h.settle("")
	mirror := h.newChangeMirror(crawl())
	random := rand.New(rand.NewPCG(11, 1))
	cuts := []string{"", "before the states", "after the states"}
	compare := func(when any) {
		t.Helper()
		env.WantSame(t, fmt.Sprint("mirror of step ", when), crawl(), mirror.held, cmp.Comparer(func(a, b string) bool { return a == b }))
	}
	for step := range steps {
		p := dated(ids[random.IntN(len(ids))], random.IntN(50))
		p.Title += fmt.Sprint(" ", random.IntN(3))
		p.Withdrawn = random.IntN(5) == 0
		ballot := vote(ids[random.IntN(len(ids))], fmt.Sprintf("0x%d", random.IntN(4)), fmt.Sprint(1+random.IntN(9)))
		topic := topic("forum.org", ids[random.IntN(len(ids))], fmt.Sprint("topic ", random.IntN(3)), "text")
		topic.Visible = random.IntN(4) > 0
		records := []record.Record{p, ballot, topic}
		if step == 4 { // the space and the forum change hands
			dao := forumDAO("dao", "forum.org")
			dao.Sources = append(dao.Sources, record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"})
			records = append(records, dao)
		}
		h.keep(records...)
		due := lose(h, step)
		h.settle(cuts[random.IntN(len(cuts))])
		mirror.follow()
		if due {
			compare(step)
		}
	}
	// What was removed before a restart is back until it is published again.
	env.FlushRedis(t, h.redis)
	h.settle("")
	compare("the last")
}

func TestChangesOfAFeedThatWasCutOffAreAddedByTheNextLeader(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := dated("a", 1)
	h.keep(p, vote("a", "0x1", "1"))
	h.settle("")
	begin := h.changes(cache.ChangeID{}, 100)
	items := []feed.FeedItem{p.Hash()}
	stored, err := feed.NewFeed(h.warehouse).StoredEvents(t.Context(), items)
	if err != nil || len(stored) == 0 {
		t.Fatalf("got %d events, %v, want some", len(stored), err)
	}
	// A builder that dies after it wrote rows, and before it told Redis of them.
	env.Must(feed.NewFeed(h.warehouse).ReplaceEvents(t.Context(), uint64(time.Now().UnixMicro()), stored, nil))(t)
	h.settle("")
	env.Until(t, func() error {
		slice := h.changes(begin.Last, 100)
		got := map[string]bool{}
		for _, row := range slice.Rows {
			got[string(row.Kind)+" "+row.Key] = true
		}
		for _, event := range stored {
			if !got["event "+event.ID] {
				return fmt.Errorf("got rows %v, want event %s", got, event.ID)
			}
		}
		return nil
	})
}

// Events and titles of signals show the name of their DAO: a copy has it from their rows alone.
func TestARenamedDAOTellsItsEventsAndSignals(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	dao := &record.DAO{ID: "dao", Name: "Before", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}}
	h.append(dao, votedBetween("a", -100, -50))
	h.waitForEvents("dao", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
	h.waitForNames(1)
	missing := map[string]bool{}
	events, signals := h.feedOf("dao")
	for _, row := range events {
		missing[row.EventID] = true
	}
	for _, row := range signals {
		missing[row.SignalID] = true
	}
	end := h.changes(cache.ChangeID{}, 100).Last
	renamed := *dao
	renamed.Name = "After"
	h.append(&renamed)
	env.Until(t, func() error {
		for _, row := range h.changes(end, 100).Rows {
			delete(missing, row.Key)
		}
		if len(missing) > 0 {
			return fmt.Errorf("nothing is told of %v", missing)
		}
		return nil
	})
}
