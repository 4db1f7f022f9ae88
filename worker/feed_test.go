package worker_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
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

// settledFeed is a feed that is complete after each import, and what it derives from.
type settledFeed struct {
	*harness

	random *rand.Rand
	votes  []*record.Proposal
	topics []*record.Topic
	// recorded are the last event and signal that someone recorded.
	recorded int
}

func newSettledFeed(t *testing.T) *settledFeed {
	t.Helper()
	return &settledFeed{harness: newHarness(t), random: rand.New(rand.NewPCG(0, 17))}
}

// listed is what the feed has of a DAO, and since which revisions.
type listed struct {
	Events         []governance.EventRow
	Signals        []governance.SignalRow
	EventsVersion  uint64
	SignalsVersion uint64
}

func (f *settledFeed) list(daoID string) listed {
	f.t.Helper()
	events, signals := f.feedOf(daoID)
	return listed{events, signals, f.version(query.Events{DAOID: daoID}.Scope()), f.version(query.Signals{DAOID: daoID}.Scope())}
}

func (h *harness) feedOf(daoID string) (all []governance.EventRow, shown []governance.SignalRow) {
	h.t.Helper()
	begin, ever := governance.Timestamp(1), hour(10_000)
	events := query.Events{DAOID: daoID, From: &begin, To: &ever, Basis: query.EventTimeOccurred}
	signals := query.Signals{DAOID: daoID, From: &begin, To: &ever, Surface: governance.AgentSurface, Order: query.SignalsByDetection}
	events.Limit, signals.Limit = 10_000, 10_000
	all, err := feed.ListEvents(h.t.Context(), h.warehouse, events, ever)
	shown, errSignals := feed.ListSignals(h.t.Context(), h.warehouse, signals, ever, ever)
	env.MustDo(h.t, errors.Join(err, errSignals))
	return all, shown
}

func (h *harness) forget() {
	h.t.Helper()
	const sql = "ALTER TABLE feed_progress UPDATE rules_version = rules_version + 1 WHERE 1 SETTINGS mutations_sync = 1"
	env.MustDo(h.t, env.ConnectWarehouse(h.t, h.url).Exec(h.t.Context(), sql))
}

// listAll is list of all DAOs together, and the revisions of each that has ever been, by any name.
func (f *settledFeed) listAll() map[string]listed {
	f.t.Helper()
	all := map[string]listed{"": f.list("")}
	for _, id := range []string{"quiet", "one.eth", "two.eth", "three.eth", "one", "two", "forum.one", "forum.two", "forum.three"} {
		all[id] = listed{EventsVersion: f.version(query.Events{DAOID: id}.Scope()), SignalsVersion: f.version(query.Signals{DAOID: id}.Scope())}
	}
	return all
}

func pick[T any](f *settledFeed, values ...T) T { return values[f.random.IntN(len(values))] }

func (f *settledFeed) closedVote(id, source string) *record.Proposal {
	p := votedBetween(id, 0, 0)
	end := -3 - f.random.IntN(500)
	p.SourceID, p.StartAt, p.EndAt, p.CreatedAt = source, new(hour(end-60)), new(hour(end)), new(hour(end-61))
	p.Quorum = new(decimal.NewFromInt(int64(pick(f, 5, 30, 100))))
	return p
}

func (f *settledFeed) ballotsOn(p *record.Proposal, count int) []record.Record {
	var records []record.Record
	for i := range count {
		b := vote(p.ExternalID, fmt.Sprintf("0x%02x", i), fmt.Sprint(1+f.random.IntN(9)))
		choice := pick(f, "1", "2")
		b.Choices, b.ChoiceKey, b.RawChoice = []string{choice}, choice, choice
		at := *p.EndAt - governance.Timestamp((time.Duration(f.random.IntN(50)) * time.Hour).Milliseconds())
		b.VotedAt = &at
		b.VoteID = p.ExternalID + b.VoteID
		records = append(records, b)
	}
	return records
}

// begin imports the DAO that nobody touches, and others.
func (f *settledFeed) begin() {
	f.t.Helper()
	f.append(&record.DAO{ID: "quiet", Name: "Quiet", Sources: []record.SourceRef{
		{Provider: governance.Snapshot, ID: "quiet.eth"}, {Provider: governance.Discourse, ID: "forum.quiet"},
	}})
	about := &record.ProposalRef{Provider: governance.Snapshot, ExternalID: "quiet1"}
	f.append(&record.Event{
		ID: "quiet-event", Type: rules.VotingEnded, At: hour(-49), DAOID: "quiet", ItemType: "proposal", Proposal: about,
		Confidence: "exact", Importance: 9,
	})
	var records []record.Record
	for i, name := range []string{"quiet", "one", "two", "three"} {
		for n := range 9 {
			p := f.closedVote(fmt.Sprint(name, n), name+".eth")
			records = append(append(records, p), f.ballotsOn(p, pick(f, 4, 12, 40))...)
			if i > 0 {
				f.votes = append(f.votes, p)
			}
		}
		topic := &record.Topic{
			Host: "forum." + name, ExternalID: "1", Title: "Topic", Slug: "topic", Posts: 40, Visible: true,
			CreatedAt: new(hour(-90)), UpdatedAt: new(hour(-50)),
		}
		records = append(records, topic)
		if i > 0 {
			f.topics = append(f.topics, topic)
		}
	}
	f.append(records...)
	f.settle("")
}

// change imports one change of a DAO that is not the quiet one, and says which.
func (f *settledFeed) change() string {
	f.t.Helper()
	p := pick(f, f.votes...)
	next := func() string { f.recorded++; return fmt.Sprint("new-", f.recorded) }
	switch n := f.random.IntN(15); n {
	case 0:
		p := f.closedVote(next(), pick(f, "one.eth", "two.eth", "three.eth"))
		f.votes = append(f.votes, p)
		f.append(append([]record.Record{p}, f.ballotsOn(p, pick(f, 4, 12, 40))...)...)
		return "a vote that has ended"
	case 1, 2, 3:
		p.EndAt = f.closedVote("", "").EndAt
		p.StartAt = new(*p.EndAt - 60*3600*1000)
		f.append(p)
		return "another end of " + p.ExternalID
	case 4:
		p.SourceID = pick(f, "one.eth", "two.eth", "three.eth")
		f.append(p)
		return "another source of " + p.ExternalID
	case 5:
		p.Withdrawn = !p.Withdrawn
		f.append(p)
		return "withdrawn, or back: " + p.ExternalID
	case 6:
		p.UpstreamStatus = pick(f, "", "canceled", "passed", "rejected")
		f.append(p)
		return "status of " + p.ExternalID
	case 7:
		f.append(f.ballotsOn(p, pick(f, 1, 12, 40))...)
		return "ballots of " + p.ExternalID
	case 8:
		p.StatedVotes = pick(f, nil, new(uint64(1_000)))
		f.append(p)
		return "stated votes of " + p.ExternalID
	case 9:
		topic := pick(f, f.topics...)
		topic.Visible, topic.Posts = pick(f, true, false, true), topic.Posts+uint64(f.random.IntN(20))
		f.append(topic)
		return "topic of " + topic.Host
	case 10, 11:
		sources := []record.SourceRef{
			{Provider: governance.Snapshot, ID: pick(f, "one.eth", "two.eth")},
			{Provider: governance.Discourse, ID: "forum.one"},
			{Provider: governance.Discourse, ID: "forum.two"},
			{Provider: governance.Discourse, ID: "forum.three"},
		}
		f.random.Shuffle(len(sources), func(i, j int) { sources[i], sources[j] = sources[j], sources[i] })
		f.append(&record.DAO{ID: "one", Name: pick(f, "One", "The One"), Sources: sources[:1+f.random.IntN(4)]})
		return "sources of a DAO"
	case 12:
		f.append(&record.Event{
			ID: pick(f, "e1", "e2"), Type: pick(f, rules.VotingEnded, rules.ProposalCreated), At: hour(-49), DAOID: pick(f, "one.eth", "two.eth", "one"),
			ItemType: "proposal", Proposal: &p.ProposalRef, Confidence: "exact", Importance: 9,
		})
		return "recorded event of " + p.ExternalID
	case 13:
		f.append(&record.Signal{
			ID: pick(f, "s1", "s2"), Type: "proposal_deadline_reminder", DAOID: pick(f, "one.eth", "two.eth", "one"), Proposal: &p.ProposalRef, Title: "Vote!",
			Score: 88, Surfaces: []string{"agent"}, DetectedAt: hour(-60), Evidence: `{}`,
		})
		return "recorded signal of " + p.ExternalID
	default:
		p.EndAt, p.State = new(hour(f.random.IntN(300))), pick(f, "", "closed")
		p.StartAt = new(*p.EndAt - 60*3600*1000)
		f.append(p)
		return "an end to come of " + p.ExternalID
	}
}

// A topic's identity has the place of its forum among the DAO's forums.
func TestForumsThatChangePlacesKeepTheEventsOfTheirTopics(t *testing.T) {
	t.Parallel()
	f := newSettledFeed(t)
	sources := []record.SourceRef{{Provider: governance.Discourse, ID: "forum.one"}, {Provider: governance.Discourse, ID: "forum.two"}}
	dao := &record.DAO{ID: "one", Name: "One", Sources: sources}
	topics := make([]record.Record, len(sources))
	for i, source := range sources {
		topics[i] = &record.Topic{
			Host: source.ID, ExternalID: "7", Title: source.ID, Slug: "topic", Posts: 40, Visible: true,
			CreatedAt: new(hour(-90)), LastPostAt: new(hour(-50)),
		}
	}
	f.append(dao)
	f.append(topics...)
	f.settle("")
	titles := func() map[string]string {
		t.Helper()
		all := f.list("one")
		if len(all.Events) != 2 || len(all.Signals) != 2 {
			t.Fatalf("got %d events and %d signals, want two of each", len(all.Events), len(all.Signals))
		}
		found := map[string]string{}
		for _, event := range all.Events {
			found[*event.Title] = event.EventID
		}
		return found
	}
	before := titles()
	dao.Sources = []record.SourceRef{sources[1], sources[0]}
	f.append(dao)
	f.settle("")
	after := titles()
	if after["forum.one"] == before["forum.one"] || after["forum.two"] == before["forum.two"] || after["forum.one"] == after["forum.two"] {
		t.Errorf("got the events %v, before %v, want those of the new identities", after, before)
	}
	settled := f.list("one")
	f.forget()
	f.settle("")
	env.WantSame(t, "derived again", settled, f.list("one"))
}

// Whatever an import changes in other DAOs, the lists of one that it does not change stay as they
// are, and once everything is settled, deriving it all again changes no row of any DAO: there is
// nothing left to change late.
func TestSettledFeedIsWhatItIsDerivedAs(t *testing.T) {
	t.Parallel()
	newSettledFeed(t).check(3)
}

func TestLongSettledFeedIsWhatItIsDerivedAs(t *testing.T) {
	t.Parallel()
	newSettledFeed(t).check(12)
}

func (f *settledFeed) check(rounds int) {
	t := f.t
	t.Helper()
	f.begin()
	quiet := f.list("quiet")
	if len(quiet.Signals) < 9 || len(quiet.Events) < 27 {
		t.Fatalf("got %d signals and %d events of the quiet DAO, want some of each vote", len(quiet.Signals), len(quiet.Events))
	}
	for range rounds {
		var changed []string
		for range 1 + f.random.IntN(3) {
			changed = append(changed, f.change())
			if f.random.IntN(2) == 0 {
				f.settle("")
			}
		}
		f.settle("")
		if diff := cmp.Diff(quiet, f.list("quiet")); diff != "" {
			t.Fatalf("after %q: the quiet DAO (-before +after):\n%s", changed, diff)
		}
		settled := f.listAll()
		f.forget()
		f.settle("")
		if diff := cmp.Diff(settled, f.listAll()); diff != "" {
			t.Fatalf("after %q: derived again (-before +after):\n%s", changed, diff)
		}
	}
}
