package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

// readFeedPage requests a page, and decodes its rows once it is not older than its version.
func (h *harness) readFeedPage(q query.Page, rows any) error {
	request := cache.NewPageRequest(q)
	view, version, err := h.store.Page(h.t.Context(), request)
	if errors.Is(err, cache.ErrMiss) || err == nil && view.Revision < version.Revision {
		err = errors.Join(errors.New("the page is not made yet"), h.store.Fills().Enqueue(h.t.Context(), cache.Fill{Page: request, Deadline: governance.TimestampOf(time.Now().Add(soon))}))
	}
	if err != nil {
		return err
	}
	return view.Decode(rows)
}

func anyTimeEvents(daoID string) query.Events {
	q := query.Events{
		DAOID: daoID, From: new(hour(-1000)), To: new(hour(1000)), Basis: query.EventTimeOccurred,
	}
	q.Limit = query.ShortPage
	return q
}

// events returns a DAO's events as type, confidence and hours from the beginning, the newest first.
func (h *harness) events(daoID string) ([]string, error) {
	var rows []governance.EventRow
	err := h.readFeedPage(anyTimeEvents(daoID), &rows)
	events := []string{}
	for _, row := range rows {
		events = append(events, fmt.Sprintf("%s %s %.0f", row.EventType, row.EventTimeConfidence, row.EventTimeMs.Time().Sub(began).Hours()))
	}
	return events, err
}

func (h *harness) waitForEvents(daoID string, want ...string) {
	h.t.Helper()
	env.Until(h.t, func() error {
		got, err := h.events(daoID)
		if diff := cmp.Diff(append([]string{}, want...), got); err == nil && diff != "" {
			err = fmt.Errorf("events of %q (-want +got):\n%s", daoID, diff)
		}
		return err
	})
}

func (h *harness) signals(daoID string) ([]governance.SignalRow, error) {
	q := query.Signals{
		DAOID: daoID, From: new(hour(-1000)), To: new(hour(1000)), Surface: governance.AgentSurface,
		Order: query.SignalsByPriority,
	}
	q.Limit = query.ShortPage
	var rows []governance.SignalRow
	err := h.readFeedPage(q, &rows)
	return rows, err
}

func (h *harness) waitForSignals(daoID string, want ...string) {
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

// began is the hour from which these tests count.
var began = time.Now().UTC().Truncate(time.Hour)

func hour(n int) governance.Timestamp {
	return governance.TimestampOf(began.Add(time.Duration(n) * time.Hour))
}

func votedBetween(id string, start, end int) *record.Proposal {
	p := proposal(id)
	p.CreatedAt, p.StartAt, p.EndAt = new(hour(start-1)), new(hour(start)), new(hour(end))
	return p
}

func voteAt(voter, power, choice string, at int) *record.Ballot {
	b := vote("a", voter, power)
	b.Choices, b.ChoiceKey, b.RawChoice, b.VotedAt = []string{choice}, choice, choice, new(hour(at))
	b.VoteID += fmt.Sprint(at)
	return b
}

func TestEventsFollowChangesOfTheirProposal(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	h.append(votedBetween("a", -100, -50))
	h.waitForEvents("dao.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")

	moved := votedBetween("a", -100, -40)
	moved.CreatedAt = new(hour(-120))
	h.append(moved)
	h.waitForEvents("dao.eth", "voting_ended exact -40", "voting_started exact -100", "proposal_created exact -120")

	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.waitForEvents("dao", "voting_ended exact -40", "voting_started exact -100", "proposal_created exact -120")
	h.waitForEvents("dao.eth")
	h.waitForEvents("", "voting_ended exact -40", "voting_started exact -100", "proposal_created exact -120")
	env.Until(h.t, func() error {
		var rows []governance.EventRow
		err := h.readFeedPage(anyTimeEvents("dao"), &rows)
		if err == nil && rows[0].DAOName != "The DAO" {
			err = fmt.Errorf("got the name %q, want The DAO", rows[0].DAOName)
		}
		return err
	})
}

func TestQuorumTimeFollowsTheOrderOfVotes(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	p := votedBetween("a", -100, -50)
	p.Quorum = new(decimal.RequireFromString("10"))
	h.append(p, voteAt("0x3", "4", "1", -60), voteAt("0x1", "3", "2", -90), voteAt("0x2", "3", "1", -80))
	h.waitForEvents("dao.eth", "voting_ended exact -50", "quorum_reached derived -60", "voting_started exact -100", "proposal_created exact -101")

	// Only final ballots count: a later one of the first voter changes the time.
	h.append(voteAt("0x1", "3", "2", -55))
	h.waitForEvents("dao.eth", "voting_ended exact -50", "quorum_reached derived -55", "voting_started exact -100", "proposal_created exact -101")

	undated := vote("a", "0x4", "1")
	h.append(undated)
	h.waitForEvents("dao.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
}

func TestFutureEventsAreHiddenUntilTheyHappen(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.startFiller()
	p := votedBetween("a", -100, 0)
	h.startLeader(h.metrics)
	h.appendEndingSoon(p, func() error {
		got, err := h.events("dao.eth")
		if err == nil && !slices.Equal(got, []string{"voting_started exact -100", "proposal_created exact -101"}) {
			err = fmt.Errorf("got %v, want the events before the end", got)
		}
		return err
	})
	// The end of an attempt that came too late shows until its correction does.
	env.Until(h.t, func() error {
		var rows []governance.EventRow
		err := h.readFeedPage(anyTimeEvents("dao.eth"), &rows)
		if err == nil && (len(rows) != 3 || rows[0].EventType != rules.VotingEnded || rows[0].EventTimeMs != *p.EndAt) {
			err = fmt.Errorf("got %+v, want the end at %s first", rows, *p.EndAt)
		}
		return err
	})
	if now := governance.TimestampOf(time.Now()); now < *p.EndAt {
		t.Errorf("the end was visible at %s, before %s", now, *p.EndAt)
	}
}

func TestRecordedEventsReplaceDerivedOnes(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	about := &record.ProposalRef{Provider: governance.Snapshot, ExternalID: "a"}
	h.append(votedBetween("a", -100, -50))
	h.waitForSignals("dao.eth", "proposal_deadline_reminder 50", "voting_opened 40", "voting_opens_soon 35")
	event := record.Event{
		ID: "recorded", Type: rules.VotingEnded, At: hour(-49), DAOID: "dao.eth", ItemType: "proposal",
		Proposal: about, Confidence: "exact", Importance: 99,
	}
	signal := record.Signal{
		ID: "recorded-signal", Type: "proposal_deadline_reminder", DAOID: "dao.eth", Proposal: about, Title: "Vote!", Score: 88,
		Surfaces: []string{"agent"}, DetectedAt: hour(-60), Evidence: `{"figure":1.10e2}`,
	}
	h.append(&event, &signal)
	h.waitForEvents("dao.eth", "voting_ended exact -49", "voting_started exact -100", "proposal_created exact -101")
	h.waitForSignals("dao.eth", "proposal_deadline_reminder 88", "voting_opened 40", "voting_opens_soon 35")
	rows, err := h.signals("dao.eth")
	if err != nil || string(rows[0].Evidence) != `{"figure":1.10e2}` || rows[0].Title != "Vote!" || rows[0].Priority.Band != "critical" ||
		rows[0].ProposalKey == nil || *rows[0].ProposalKey != keyOf("dao.eth", "a") {
		t.Errorf("got %+v (%v), want an unchanged title and evidence, the band of the score, and the key of the proposal", rows, err)
	}

	// A recorded event that changes its subject no longer replaces the derived one.
	event.Proposal, event.ItemType, event.Type, event.At = nil, "dao", rules.DAOAnnouncement, hour(-30)
	h.append(&event)
	h.waitForEvents("dao.eth", "dao_announcement exact -30", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
}

func TestSignalsUseTheBallotsCastBeforeTheirWindow(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	p := votedBetween("a", -200, -50)
	p.Quorum = new(decimal.RequireFromString("100"))
	h.append(p,
		voteAt("0x1", "10", "1", -190), voteAt("0x2", "10", "1", -180), voteAt("0x3", "5", "2", -170),
		voteAt("0x4", "4", "2", -160), voteAt("0x5", "4", "2", -150),
		// On the last day the other choice takes the lead, and the quorum is reached.
		voteAt("0x6", "70", "2", -51))
	h.waitForSignals("dao.eth",
		"proposal_deadline_reminder 65", // the quorum was not reached by then
		"late_swing 47",                 // 70 of 103 on the last day: 65 + 67.9 × 0.3, of six ballots
		"voting_opened 40",
		"quorum_at_risk 36", // 33 of 100: 55 + 33 × 0.35, of five ballots
		"voting_opens_soon 35",
	)
}

// The vote summary gives an invalid ballot to no choice: it leads in no signal.
func TestSignalsGiveInvalidBallotsToNoChoice(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	several := voteAt("0x6", "70", "1", -140)
	several.Choices, several.RawChoice = []string{"1", "2"}, "[1,2]"
	stray := voteAt("0x7", "70", "1", -140)
	stray.Choices, stray.ChoiceKey, stray.RawChoice = []string{"9"}, "9", "9"
	h.append(votedBetween("a", -200, -50),
		voteAt("0x1", "10", "1", -190), voteAt("0x2", "10", "2", -180), voteAt("0x3", "25", "2", -170),
		voteAt("0x4", "4", "1", -160), voteAt("0x5", "4", "2", -150), several, stray)
	h.waitForSignals("dao.eth", "proposal_deadline_reminder 50", "voting_opened 40", "voting_opens_soon 35")
}

// waitForNames waits until names of DAOs are published: then the lists that show them change once more.
func (h *harness) waitForNames(count int) {
	h.t.Helper()
	env.Until(h.t, func() error {
		names, err := h.store.FeedNames(h.t.Context())
		if err == nil && len(names) != count {
			err = fmt.Errorf("got the names %v, want %d", names, count)
		}
		return err
	})
}

// A builder that goes on, begins, or goes on after an error, knows from Redis and the warehouse what was
// not told: the lists of other DAOs are as they were.
func TestOnlyTheListsOfWhatIsNewChange(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stop := h.startLeader(h.metrics)
	h.startFiller()
	other := votedBetween("b", -100, -50)
	other.SourceID = "other.eth"
	h.append(votedBetween("a", -100, -50), other)
	h.waitForEvents("dao.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
	h.waitForEvents("other.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
	h.waitForNames(2)
	versions := func(daoID string) []uint64 {
		return []uint64{h.version(query.Signals{DAOID: daoID}.Scope()), h.version(query.Events{DAOID: daoID}.Scope())}
	}
	elsewhere := versions("other.eth")
	for name, end := range map[string]int{"the same builder": -49, "the next builder": -48} {
		here, everywhere := versions("dao.eth"), versions("")
		h.append(votedBetween("a", -100, end))
		h.waitForEvents("dao.eth", fmt.Sprint("voting_ended exact ", end), "voting_started exact -100", "proposal_created exact -101")
		if versions("dao.eth")[0] <= here[0] || versions("")[0] <= everywhere[0] || !slices.Equal(versions("other.eth"), elsewhere) {
			t.Errorf("%s: got versions %d, %d and %d after %d, %d and %d, want all but the other DAO's later",
				name, versions("dao.eth"), versions(""), versions("other.eth"), here, everywhere, elsewhere)
		}
		stop()
		stop = h.startLeader(prometheus.NewRegistry())
	}
}

func TestVisibleTopicsYieldEventsAndSignals(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	topic := func(id string, posts uint64, visible bool) *record.Topic {
		return &record.Topic{
			Host: "forum.example", ExternalID: id, Title: "Topic " + id, Slug: "topic", Posts: posts, Visible: visible,
			CreatedAt: new(hour(-90)), UpdatedAt: new(hour(-50)), LastPostAt: new(hour(-50)),
		}
	}
	undated := topic("3", 40, true) // nobody knows when its last post was
	undated.UpdatedAt, undated.LastPostAt = undated.CreatedAt, nil
	h.append(topic("1", 40, true), topic("2", 40, false), undated)
	h.waitForEvents("forum.example", "forum_topic_created exact -90", "forum_topic_created exact -90")
	h.waitForSignals("forum.example", "forum_activity_burst 45")
	h.append(topic("1", 40, false), topic("3", 40, false))
	h.waitForEvents("forum.example")
	h.waitForSignals("forum.example")
}

func TestItemsOfOtherRulesAreProcessedAgain(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	p := votedBetween("a", -100, -50)
	h.append(p)
	h.waitForEvents("dao.eth", "voting_ended exact -50", "voting_started exact -100", "proposal_created exact -101")
	// Events are visible before their proposal is marked as processed.
	env.Until(h.t, func() error {
		pending, err := feed.NewFeed(h.warehouse).PendingProposals(t.Context(), rules.FeedRulesVersion())
		if err == nil && len(pending) > 0 {
			err = errors.New("the proposal is still pending")
		}
		return err
	})
	items := []feed.FeedItem{p.Hash()}
	stored := env.Must(feed.NewFeed(h.warehouse).StoredEvents(t.Context(), items))(t)
	// The state that rules without events would leave.
	env.Must(feed.NewFeed(h.warehouse).ReplaceEvents(t.Context(), uint64(time.Now().UnixMicro()), stored, nil))(t)
	h.forget()
	// The next publication wakes the builder.
	other := votedBetween("b", -100, -50)
	other.SourceID = "other.eth"
	h.append(other)
	env.Until(h.t, func() error {
		again, err := feed.NewFeed(h.warehouse).StoredEvents(t.Context(), items)
		if err == nil && len(again) != len(stored) {
			err = fmt.Errorf("got %d rows, want %d as before", len(again), len(stored))
		}
		return err
	})
}

func TestEventsShowDAONamesAfterARedisFlush(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.append(proposal("a"))
	h.startFiller()
	stop := h.startLeader(h.metrics)
	showsName := func() error {
		var rows []governance.EventRow
		err := h.readFeedPage(anyTimeEvents("dao"), &rows)
		if err == nil && len(rows) == 0 {
			err = errors.New("got no events yet")
		}
		for _, row := range rows {
			if row.DAOName != "The DAO" {
				t.Fatalf("got DAO name %q, want The DAO", row.DAOName)
			}
		}
		return err
	}
	env.Until(h.t, showsName)
	stop()

	env.FlushRedis(t, h.redis)
	if err := showsName(); err == nil {
		t.Error("got events before anything is published")
	}
	h.startLeader(prometheus.NewRegistry())
	env.Until(h.t, showsName)
	env.FlushRedis(t, h.redis) // while a leader runs
	env.Until(h.t, showsName)
}
