package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/fill"
)

// fill runs a filler until the end of the test.
func (h *house) fill() {
	filler := fill.New(fill.Options{
		Warehouse: h.warehouse, Store: h.store, Timeout: 10 * time.Second,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		filler.Run(ctx)
	}()
	h.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// pageOf has a page made, and decodes the rows of one that is up to its mark.
func (h *house) pageOf(request cache.PageRequest, rows any) error {
	from, to := hour(-1000), hour(1000)
	request.Limit, request.Filter.From, request.Filter.To = cache.ShortPage, &from, &to
	view, marked, err := h.store.Page(h.t.Context(), request)
	if errors.Is(err, cache.ErrMiss) || err == nil && view.Revision < marked {
		err = errors.Join(errors.New("the page is on its way"), h.store.EnqueueFill(h.t.Context(), cache.Fill{Page: request, Deadline: governance.TimestampOf(time.Now().Add(10 * time.Second))}))
	}
	if err != nil {
		return err
	}
	return view.Decode(rows)
}

// events are those of a DAO, as type, confidence and hours from the beginning of
// the test, the newest first.
func (h *house) events(daoID string) ([]string, error) {
	var rows []governance.EventRow
	err := h.pageOf(cache.PageRequest{
		Kind: cache.EventPage, Filter: cache.Filter{DAOID: daoID, TimeField: governance.ByEventTime},
	}, &rows)
	told := []string{}
	for _, row := range rows {
		told = append(told, fmt.Sprintf("%s %s %.0f", row.EventType, row.EventTimeConfidence, row.EventTimeMs.Time().Sub(began).Hours()))
	}
	return told, err
}

func (h *house) hasEvents(daoID string, want ...string) {
	h.t.Helper()
	env.Until(h.t, func() error {
		got, err := h.events(daoID)
		if diff := cmp.Diff(append([]string{}, want...), got); err == nil && diff != "" {
			err = fmt.Errorf("events of %q (-want +got):\n%s", daoID, diff)
		}
		return err
	})
}

// signals are those of a DAO, as type and score.
func (h *house) signals(daoID string) ([]governance.SignalRow, error) {
	var rows []governance.SignalRow
	err := h.pageOf(cache.PageRequest{
		Kind: cache.SignalPage, Order: governance.PriorityDescending,
		Filter: cache.Filter{DAOID: daoID, Surface: string(governance.AgentSurface)},
	}, &rows)
	return rows, err
}

func (h *house) hasSignals(daoID string, want ...string) {
	h.t.Helper()
	env.Until(h.t, func() error {
		rows, err := h.signals(daoID)
		got := []string{}
		for _, row := range rows {
			got = append(got, fmt.Sprintf("%s %d", row.SignalType, row.Priority.Score))
		}
		if diff := cmp.Diff(append([]string{}, want...), got); err == nil && diff != "" {
			err = fmt.Errorf("signals of %q (-want +got):\n%s", daoID, diff)
		}
		return err
	})
}

// began is the hour that times in these tests count from.
var began = time.Now().UTC().Truncate(time.Hour)

func hour(n int) governance.Timestamp {
	return governance.TimestampOf(began.Add(time.Duration(n) * time.Hour))
}

// timed is a proposal that is voted on between two hours, and was created one before.
func timed(id string, start, end int) *record.Proposal {
	p := proposal(id)
	p.CreatedAt, p.StartAt, p.EndAt = new(hour(start-1)), new(hour(start)), new(hour(end))
	return p
}

// cast is a vote on proposal a at an hour.
func cast(voter, power, choice string, at int) *record.Ballot {
	b := vote("a", voter, power)
	b.Choices, b.ChoiceKey, b.RawChoice, b.VotedAt = []string{choice}, choice, choice, new(hour(at))
	b.VoteID += fmt.Sprint(at)
	return b
}

func TestEventsFollowWhatIsPublishedAndVanishWithIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	h.append(timed("a", -100, -50))
	h.hasEvents("dao.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")

	moved := timed("a", -100, -40)
	moved.CreatedAt = new(hour(-120))
	h.append(moved)
	h.hasEvents("dao.eth", "voting_ended exact -40", "voting_started exact -100", "proposal_created exact -120")

	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.hasEvents("dao", "voting_ended exact -40", "voting_started exact -100", "proposal_created exact -120")
	h.hasEvents("dao.eth")
	h.hasEvents("", "voting_ended exact -40", "voting_started exact -100", "proposal_created exact -120")
	env.Until(h.t, func() error {
		var rows []governance.EventRow
		err := h.pageOf(cache.PageRequest{Kind: cache.EventPage, Filter: cache.Filter{DAOID: "dao", TimeField: governance.ByEventTime}}, &rows)
		if err == nil && rows[0].DAOName != "The DAO" {
			err = fmt.Errorf("got the name %q, want The DAO", rows[0].DAOName)
		}
		return err
	})
}

func TestTheQuorumIsReachedInOrderOfTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	p := timed("a", -100, -50)
	p.Quorum = new(decimal.RequireFromString("10"))
	h.append(p, cast("0x3", "4", "1", -60), cast("0x1", "3", "2", -90), cast("0x2", "3", "1", -80))
	h.hasEvents("dao.eth", "voting_ended exact -50", "quorum_reached derived -60", "voting_started exact -100", "proposal_created exact -101")

	// Only the ballots that count in the end count: the later one of the first voter
	// moves the moment.
	h.append(cast("0x1", "3", "2", -55))
	h.hasEvents("dao.eth", "voting_ended exact -50", "quorum_reached derived -55", "voting_started exact -100", "proposal_created exact -101")

	undated := vote("a", "0x4", "1")
	h.append(undated)
	h.hasEvents("dao.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
}

func TestWhatIsToComeShowsWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fill()
	p := timed("a", -100, 0)
	h.work(h.metrics)
	h.endSoon(p, func() error {
		got, err := h.events("dao.eth")
		if err == nil && !slices.Equal(got, []string{"voting_started exact -100", "proposal_created exact -101"}) {
			err = fmt.Errorf("got %v, want what was before the end", got)
		}
		return err
	})
	env.Until(h.t, func() error {
		got, err := h.events("dao.eth")
		if err == nil && (len(got) != 3 || got[0][:12] != "voting_ended") {
			err = fmt.Errorf("got %v, want the end first", got)
		}
		return err
	})
	if now := governance.TimestampOf(time.Now()); now < *p.EndAt {
		t.Errorf("the end was shown at %s, before it came at %s", now, *p.EndAt)
	}
}

func TestWhatSomebodyRecordedWins(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	about := &record.ProposalRef{Provider: governance.Snapshot, ExternalID: "a"}
	h.append(timed("a", -100, -50))
	h.hasSignals("dao.eth", "proposal_deadline_reminder 50")
	event := record.Event{
		ID: "by-hand", Type: rules.VotingEnded, At: hour(-49), DAOID: "dao.eth", ItemType: "proposal",
		Proposal: about, Confidence: "exact", Importance: 99,
	}
	signal := record.Signal{
		ID: "curated", Type: "proposal_deadline_reminder", DAOID: "dao.eth", Proposal: about, Title: "Vote!", Score: 88,
		Surfaces: []string{"agent"}, DetectedAt: hour(-60), Evidence: `{"figure":1.10e2}`,
	}
	h.append(&event, &signal)
	h.hasEvents("dao.eth", "voting_ended exact -49", "voting_started exact -100", "proposal_created exact -101")
	h.hasSignals("dao.eth", "proposal_deadline_reminder 88")
	rows, err := h.signals("dao.eth")
	if err != nil || string(rows[0].Evidence) != `{"figure":1.10e2}` || rows[0].Priority.Band != "critical" ||
		rows[0].ProposalKey == nil || *rows[0].ProposalKey != keyOf("dao.eth", "a") {
		t.Errorf("got %+v (%v), want the evidence as it was, the band of the score, and the proposal's key", rows, err)
	}

	// An event that turns out to be about something else lets the derived one back.
	event.Proposal, event.ItemType, event.Type, event.At = nil, "dao", rules.DAOAnnouncement, hour(-30)
	h.append(&event)
	h.hasEvents("dao.eth", "dao_announcement exact -30", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
}

func TestSignalsGoByTheBallotsOfTheirTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	p := timed("a", -200, -50)
	p.Quorum = new(decimal.RequireFromString("100"))
	h.append(p,
		cast("0x1", "10", "1", -190), cast("0x2", "10", "1", -180), cast("0x3", "5", "2", -170),
		cast("0x4", "4", "2", -160), cast("0x5", "4", "2", -150),
		// On the last day the other side turned it, and the quorum is reached.
		cast("0x6", "70", "2", -51))
	h.hasSignals("dao.eth",
		"late_swing 85",                 // 70 of 103 on the last day: 65 + 67.9 × 0.3
		"decisive_ballot 83",            // 50 + 67.9 ÷ 2
		"quorum_at_risk 66",             // 33 of 100: 55 + 33 × 0.35
		"proposal_deadline_reminder 65", // the quorum was short by then
	)
}

func TestOnlyTheListsOfADAOThatChangedAreMarked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	other := timed("b", -100, -50)
	other.SourceID = "other.eth"
	h.append(timed("a", -100, -50), other)
	h.hasEvents("dao.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
	h.hasEvents("other.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
	mark := func(daoID string) uint64 {
		m, err := h.store.Version(t.Context(), cache.EventPage, daoID)
		if err != nil {
			t.Fatal(err)
		}
		return m.Revision
	}
	here, elsewhere, everywhere := mark("dao.eth"), mark("other.eth"), mark("")
	h.append(timed("a", -100, -49))
	h.hasEvents("dao.eth", "voting_ended exact -49", "voting_started exact -100", "proposal_created exact -101")
	if mark("dao.eth") <= here || mark("") <= everywhere || mark("other.eth") != elsewhere {
		t.Errorf("got marks %d, %d and %d after %d, %d and %d, want all but the other DAO's later",
			mark("dao.eth"), mark(""), mark("other.eth"), here, everywhere, elsewhere)
	}
}

func TestVisibleTopicsAreEventsAndLivelyOnesSignals(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	topic := func(id string, posts uint64, visible bool) *record.Topic {
		return &record.Topic{
			Host: "forum.example", ExternalID: id, Title: "Topic " + id, Slug: "topic", Posts: posts, Visible: visible,
			CreatedAt: new(hour(-90)), UpdatedAt: new(hour(-50)),
		}
	}
	h.append(topic("1", 40, true), topic("2", 40, false))
	h.hasEvents("forum.example", "forum_topic_created exact -90")
	h.hasSignals("forum.example", "forum_activity_burst 45")
	hidden := topic("1", 40, false)
	h.append(hidden)
	h.hasEvents("forum.example")
	h.hasSignals("forum.example")
}

func TestAFlushedRedisListsTheSameEvents(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	h.append(timed("a", -100, -50))
	want := []string{"voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101"}
	h.hasEvents("dao.eth", want...)
	if err := h.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	env.Until(h.t, func() error {
		_, err := h.store.Version(t.Context(), cache.EventPage, "dao.eth")
		return err
	})
	h.hasEvents("dao.eth", want...)
	if got, err := h.events("nobody"); err == nil && !slices.Equal(got, []string{}) {
		t.Errorf("got %v of a DAO that is none, want nothing", got)
	}
}

func TestWhatOtherRulesWorkedOutIsWorkedOutAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	p := timed("a", -100, -50)
	h.append(p)
	h.hasEvents("dao.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
	// Events show before the chronicle has noted which rules they are of.
	env.Until(h.t, func() error {
		behind, err := h.warehouse.PendingFeedProposals(t.Context(), rules.FeedRulesVersion())
		if err == nil && len(behind) > 0 {
			err = errors.New("the chronicle is still at work")
		}
		return err
	})
	items := []warehouse.FeedItem{p.Hash()}
	held, err := h.warehouse.StoredFeedEvents(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	states, err := h.warehouse.PublishedStates(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	// As rules would leave it that know no event.
	if _, err := h.warehouse.ReplaceFeedEvents(t.Context(), uint64(time.Now().UnixMicro()), held, nil); err != nil {
		t.Fatal(err)
	}
	noted := []warehouse.FeedProgress{{Item: items[0], DAOID: "dao.eth", Revision: states[0].Revision}}
	if err := h.warehouse.WriteFeedProgress(t.Context(), rules.FeedRulesVersion()+1, noted); err != nil {
		t.Fatal(err)
	}
	// Whatever is published next has the chronicle look.
	other := timed("b", -100, -50)
	other.SourceID = "other.eth"
	h.append(other)
	env.Until(h.t, func() error {
		again, err := h.warehouse.StoredFeedEvents(t.Context(), items)
		if err == nil && len(again) != len(held) {
			err = fmt.Errorf("got %d rows, want %d as before", len(again), len(held))
		}
		return err
	})
}

func TestTopicsOfOneNumberInTwoForumsOfADAOAreTwoEvents(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work(h.metrics)
	h.fill()
	sources := []record.SourceRef{
		{Provider: governance.Discourse, ID: "forum.example"}, {Provider: governance.Discourse, ID: "old.example"},
	}
	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: sources})
	for i, source := range sources {
		h.append(&record.Topic{
			Host: source.ID, ExternalID: "7", Title: "Topic", Slug: "topic", Posts: 1, Visible: true, CreatedAt: new(hour(-90 - i)),
		})
	}
	h.hasEvents("dao", "forum_topic_created exact -90", "forum_topic_created exact -91")
	var rows []governance.EventRow
	env.Until(h.t, func() error {
		return h.pageOf(cache.PageRequest{Kind: cache.EventPage, Filter: cache.Filter{DAOID: "dao", TimeField: governance.ByEventTime}}, &rows)
	})
	if len(rows) != 2 || rows[0].EventID == rows[1].EventID {
		t.Errorf("got %+v, want two events with ids of their own", rows)
	}
}

func TestEventsDoNotForgetTheNameOfADAOWithAFlush(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.append(proposal("a"))
	h.fill()
	stop := h.work(h.metrics)
	named := func() error {
		var rows []governance.EventRow
		err := h.pageOf(cache.PageRequest{
			Kind: cache.EventPage, Filter: cache.Filter{DAOID: "dao", TimeField: governance.ByEventTime},
		}, &rows)
		if err == nil && len(rows) == 0 {
			err = errors.New("there are no events yet")
		}
		for _, row := range rows {
			if row.DAOName != "The DAO" {
				t.Fatalf("the DAO is named %q", row.DAOName)
			}
		}
		return err
	}
	env.Until(h.t, named)
	stop()

	if err := h.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := named(); err == nil {
		t.Error("there are events before anything is published")
	}
	h.work(prometheus.NewRegistry())
	env.Until(h.t, named)
}
