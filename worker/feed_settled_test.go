package worker_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

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

// forget makes every item pending, as other rules do.
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

// closedVote returns a vote of a source that has ended.
func (f *settledFeed) closedVote(id, source string) *record.Proposal {
	p := votedBetween(id, 0, 0)
	end := -3 - f.random.IntN(500)
	p.SourceID, p.StartAt, p.EndAt, p.CreatedAt = source, new(hour(end-60)), new(hour(end)), new(hour(end-61))
	p.Quorum = new(decimal.NewFromInt(int64(pick(f, 5, 30, 100))))
	return p
}

// ballotsOn returns ballots on a vote, by voters who vote everywhere.
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
