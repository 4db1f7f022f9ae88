package recount_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pnyx/test/env"
)

// Windows of events and signals are read to their ends, and compared with those derived from upstream's own files
// by the written rules.
func TestEventsAndSignalsOfRealDataEqualARecount(t *testing.T) {
	dir := realData(t)

	began := time.Now()
	i := startEmpty(t)
	i.Import(dir)
	r := env.Must(feedOf(dir))(t)
	r.Pnyx, r.began = i, began
	i.AwaitPublished()
	i.AwaitFeed()

	t.Run("events in fifty windows", r.checkEventWindows)
	t.Run("events of which only the discovery is known", r.checkDiscovered)
	t.Run("deadline reminders in twenty windows", r.checkReminders)
	t.Run("signals are the same however they are asked for", r.checkSignalWalks)
	t.Run("a second import changes nothing", func(t *testing.T) { r.checkNothingChanges(t, dir) })
}

// recounted holds the expected events and reminders.
type recounted struct {
	*env.Pnyx
	began      time.Time
	daos       []string
	events     []recountedEvent
	discovered []string // type and proposal
	reminders  []recountedReminder
}

// recountedEvent is an event with a known time.
type recountedEvent struct {
	at  time.Time
	row eventRow
}

// eventRow is an event as the list shows it.
type eventRow struct {
	EventID             string  `json:"eventId"`
	EventType           string  `json:"eventType"`
	EventTimeMs         string  `json:"eventTimeMs"`
	EventTimeConfidence string  `json:"eventTimeConfidence"`
	DAOID               string  `json:"daoId"`
	DAOName             string  `json:"daoName"`
	ItemType            string  `json:"itemType"`
	ProposalKey         *string `json:"proposalKey"`
	Title               *string `json:"title"`
	URL                 *string `json:"url"`
	ImportanceScore     int     `json:"importanceScore"`
}

type recountedReminder struct {
	at       time.Time
	id       string
	dao, key string
	deadline string
}

// threadLine holds the fields of a topic that events are derived from.
type threadLine struct {
	ID         json.Number `json:"id"`
	Title      string      `json:"title"`
	Slug       string      `json:"slug"`
	PostsCount int         `json:"posts_count"`
	CreatedAt  time.Time   `json:"created_at"`
	Visible    bool        `json:"visible"`
}

// feedOf derives the events and reminders from the files in a folder.
func feedOf(dir string) (*recounted, error) {
	up, err := readUpstream(dir)
	if err != nil {
		return nil, err
	}
	polls, _, err := pollsOf(up)
	if err != nil {
		return nil, err
	}
	r, names, forums := &recounted{}, map[string]string{}, map[string]string{}
	for _, dao := range up.daos {
		r.daos, names[dao.DAOID] = append(r.daos, dao.DAOID), dao.Name
		for _, source := range dao.Sources {
			if source.Provider == "discourse" {
				forums[source.ID] = dao.DAOID
			}
		}
	}
	days := dayOnly(up)
	turnouts, err := turnoutsOf(polls)
	if err != nil {
		return nil, err
	}
	for _, p := range polls {
		if p.spam {
			continue
		}
		if err := r.addPoll(p, names[p.daoID], days, turnouts[p.series()]); err != nil {
			return nil, err
		}
	}
	for host, daoID := range forums {
		topics, err := readLines[threadLine](filepath.Join(dir, "discourse", host), "topics.ndjson.gz")
		if err != nil {
			return nil, err
		}
		for _, topic := range topics {
			r.addTopic(topic, host, daoID, names[daoID])
		}
	}
	slices.SortFunc(r.events, func(a, b recountedEvent) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.row.EventID, a.row.EventID))
	})
	slices.SortFunc(r.reminders, func(a, b recountedReminder) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.id, a.id))
	})
	slices.Sort(r.discovered)
	return r, nil
}

// dayOnly returns the proposals and ballots whose time is known only to the day.
func dayOnly(up *upstream) map[string]bool {
	days := map[string]bool{}
	for _, p := range up.snapshotProposals {
		if p.Start == nil && p.StartDay != nil {
			days[p.ID] = true
		}
	}
	for _, b := range up.snapshotBallots {
		if b.Created == nil && b.CreatedDay != nil {
			days[b.ID] = true
		}
	}
	return days
}

// hashed returns a prefix and 128 bits of a hash of the parts.
func hashed(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return prefix + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// importance returns a base, and 5 more for each step of attention, of ten times the one before.
func importance(base, attention, step int) int {
	for range 3 {
		if attention >= step {
			base += 5
		}
		step *= 10
	}
	return base
}

// happened adds an event.
func (r *recounted) happened(row eventRow, at time.Time, key string, importance int) {
	row.EventID = hashed("e1_", row.DAOID, row.EventType, key)
	row.EventTimeMs, row.ImportanceScore = *stamp(&at), importance
	r.events = append(r.events, recountedEvent{at, row})
}

func (r *recounted) addPoll(p *poll, name string, days map[string]bool, turnouts []finalTurnout) error {
	key := p.key()
	result, err := p.result()
	if err != nil {
		return err
	}
	own, over := p.turnout(time.Now(), result)
	exactly := "exact"
	if days[p.externalID] {
		exactly = "day"
	}
	add := func(kind, confidence string, base int, at *time.Time) {
		row := eventRow{
			EventType: kind, EventTimeConfidence: confidence, DAOID: p.daoID, DAOName: name,
			ItemType: "proposal", ProposalKey: &key, Title: p.title, URL: p.link,
		}
		score := importance(base, len(p.ballots), 100)
		if over && !days[p.externalID] {
			score = p.weighed(score, own, turnouts)
		}
		if at != nil {
			r.happened(row, *at, key, score)
		}
	}
	switch {
	case p.created != nil:
		add("proposal_created", "exact", 40, p.created)
	case p.start != nil && exactly == "exact":
		add("proposal_created", "derived", 40, p.start)
	case p.start != nil:
		add("proposal_created", "day", 40, p.start)
	default:
		r.discovered = append(r.discovered, "proposal_created "+key)
	}
	outcome := p.outcome(time.Now(), result)
	if outcome == "canceled" {
		return errors.New("a canceled proposal: this recount knows no rule for it")
	}
	if outcome == "executed" {
		r.discovered = append(r.discovered, "proposal_executed "+key)
	}
	if p.status == "expired" {
		r.discovered = append(r.discovered, "proposal_expired "+key)
	}
	add("voting_started", exactly, 50, p.start)
	add("voting_ended", exactly, 70, p.end)
	if at, how := p.quorumReached(days, result); at != nil {
		add("quorum_reached", how, 60, at)
	}
	if p.start != nil && p.end != nil && exactly == "exact" {
		r.addReminder(p, key)
	}
	return nil
}

// quorumReached adds up the ballots in order of time. Totals of upstream reach a quorum at the end.
func (p *poll) quorumReached(days map[string]bool, result count) (at *time.Time, how string) {
	now := time.Now()
	if p.hasQuorum() && p.basis(now, result) == "upstream" {
		if _, counted := p.totals(now, result); p.lifecycle(now) == "closed" && counted.Cmp(p.quorumValue()) >= 0 {
			if days[p.externalID] {
				return p.end, "day"
			}
			return p.end, "derived"
		}
		return nil, ""
	}
	if !p.hasQuorum() || p.provider != "snapshot" ||
		slices.ContainsFunc(p.ballots, func(b cast) bool { return b.at == nil }) {
		return nil, ""
	}
	quorum, sum := p.quorumValue(), new(big.Int)
	for _, b := range slices.SortedFunc(slices.Values(p.ballots), func(a, b cast) int {
		return cmp.Or(a.at.Compare(*b.at), cmp.Compare(a.voter, b.voter))
	}) {
		if ratio(sum.Add(sum, b.power)).Cmp(quorum) < 0 {
			continue
		}
		if days[b.id] {
			return b.at, "day"
		}
		return b.at, "derived"
	}
	return nil, ""
}

// addReminder adds the reminder of a deadline: a day before, or at the start.
func (r *recounted) addReminder(p *poll, key string) {
	at := p.end.Add(-24 * time.Hour)
	if p.start.After(at) {
		at = *p.start
	}
	if at.Before(*p.end) {
		r.reminders = append(r.reminders, recountedReminder{
			at: at, id: hashed("s1_", p.daoID, "proposal_deadline_reminder", key), dao: p.daoID, key: key, deadline: *stamp(p.end),
		})
	}
}

func (r *recounted) addTopic(topic threadLine, host, daoID, name string) {
	if !topic.Visible {
		return
	}
	key := hashed("t1_", daoID, "discourse", topic.ID.String())
	link := "https://" + host + "/t/" + topic.Slug + "/" + topic.ID.String()
	r.happened(eventRow{
		EventType: "forum_topic_created", EventTimeConfidence: "exact", DAOID: daoID, DAOName: name, ItemType: "topic",
		Title: trimmed(&topic.Title), URL: &link,
	}, topic.CreatedAt.UTC().Truncate(time.Millisecond), key, importance(20, topic.PostsCount, 10))
}

// window returns a random interval of the time range that has events.
func window(chance *rand.Rand) (from, to time.Time) {
	first := time.Date(2021, 5, 1, 0, 0, 0, 0, time.UTC)
	from = first.Add(time.Duration(chance.Int64N(int64(5 * 365 * 24 * time.Hour)))).Truncate(time.Millisecond)
	return from, from.Add(time.Duration(chance.Int64N(int64(90 * 24 * time.Hour)))).Truncate(time.Millisecond)
}

// listPath is the address of a list with some filters.
func listPath(list string, from, to time.Time, filters ...string) string {
	query := url.Values{"from": {*stamp(&from)}, "to": {*stamp(&to)}}
	for n := 0; n < len(filters); n += 2 {
		if filters[n+1] != "" {
			query.Set(filters[n], filters[n+1])
		}
	}
	return "/v2/" + list + "?" + query.Encode()
}

func (r *recounted) checkEventWindows(t *testing.T) {
	chance := rand.New(rand.NewPCG(11, 14))
	seen := map[string]int{}
	var jobs []func() error
	for n := range 50 {
		from, to := window(chance)
		dao, types, least := "", "", 0
		if n%2 > 0 {
			dao = []string{"decentraland", "optimism", "euler", r.daos[chance.IntN(len(r.daos))]}[chance.IntN(4)]
		}
		if n%3 == 0 {
			types = []string{"quorum_reached", "voting_ended,voting_started", "forum_topic_created,proposal_created"}[chance.IntN(3)]
		}
		if n%5 == 0 {
			least = chance.IntN(80)
		}
		var want []json.RawMessage
		for _, e := range r.events {
			if !e.at.Before(from) && e.at.Before(to) && (dao == "" || e.row.DAOID == dao) &&
				(types == "" || slices.Contains(strings.Split(types, ","), e.row.EventType)) && e.row.ImportanceScore >= least {
				want = append(want, encoded(e.row))
				seen[e.row.EventType]++
			}
		}
		path := listPath("events", from, to, "daoId", dao, "eventType", types, "importanceMin", fmt.Sprint(least))
		limit := []int{200, 100, 199, 37, 101}[n%5]
		if len(want) < 60 {
			limit = []int{1, 2, 7}[n%3]
		}
		jobs = append(jobs, func() error { return r.CheckList(path, limit, want) })
	}
	concurrently(t, jobs)
	for _, kind := range []string{"proposal_created", "voting_started", "voting_ended", "quorum_reached", "forum_topic_created"} {
		if seen[kind] == 0 {
			t.Errorf("no window had a %s", kind)
		}
	}
}

// checkDiscovered reads the events at the time of the import, filtered by both times.
func (r *recounted) checkDiscovered(t *testing.T) {
	from, to := r.began.Add(-time.Hour).UTC(), time.Now().Add(time.Hour).UTC()
	rows := r.eventsAt(t, listPath("events", from, to))
	var got []string
	for _, row := range rows {
		got = append(got, row.EventType+" "+text(row.ProposalKey))
		if row.EventTimeConfidence != "discovered" || row.ImportanceScore != 10 {
			t.Errorf("got %+v, want confidence discovered and low importance", row)
		}
	}
	slices.Sort(got)
	env.WantSame(t, "discovered", r.discovered, got)
	ids := map[string]bool{}
	for _, row := range r.eventsAt(t, listPath("events", from, to, "timeBasis", "discoveredTime")) {
		ids[row.EventID] = true
	}
	env.Want(t, len(r.events)+len(r.discovered), len(ids), "events discovered by the import", "all")
}

func (r *recounted) eventsAt(t *testing.T, path string) (events []eventRow) {
	t.Helper()
	rows := env.Must(r.Walk(path, 200))(t)
	for _, row := range rows {
		var event eventRow
		env.Decode(t, row, &event)
		events = append(events, event)
	}
	return events
}

// signalRow holds the compared fields of a signal.
type signalRow struct {
	SignalID    string  `json:"signalId"`
	DAOID       string  `json:"daoId"`
	Deadline    *string `json:"deadlineAtMs"`
	ProposalKey *string `json:"proposalKey"`
	Priority    struct {
		Score int `json:"score"`
	} `json:"priority"`
}

func (r *recounted) signalsAt(path string, limit int) (signals []signalRow, err error) {
	rows, err := r.Walk(path, limit)
	for _, row := range rows {
		var signal signalRow
		err = cmp.Or(err, json.Unmarshal(row, &signal))
		signals = append(signals, signal)
	}
	return signals, err
}

func (r *recounted) checkReminders(t *testing.T) {
	chance := rand.New(rand.NewPCG(15, 24))
	var jobs []func() error
	for n := range 20 {
		from, to := window(chance)
		var want, got []string
		for _, reminder := range r.reminders {
			if !reminder.at.Before(from) && reminder.at.Before(to) {
				want = append(want, strings.Join([]string{reminder.id, reminder.dao, reminder.key, reminder.deadline}, " "))
			}
		}
		path := listPath("signals", from, to, "signalType", "proposal_deadline_reminder", "sort", "detectedDesc")
		jobs = append(jobs, func() error {
			signals, err := r.signalsAt(path, []int{100, 33}[n%2])
			for _, s := range signals {
				got = append(got, strings.Join([]string{s.SignalID, s.DAOID, text(s.ProposalKey), text(s.Deadline)}, " "))
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				return cmp.Or(err, fmt.Errorf("%s (-want +got):\n%s", path, diff))
			}
			return err
		})
	}
	concurrently(t, jobs)
}

// checkSignalWalks reads the same signals in every order and with several page sizes.
func (r *recounted) checkSignalWalks(t *testing.T) {
	chance := rand.New(rand.NewPCG(4, 2))
	orders := map[string]func(a, b signalRow) int{
		"priorityDesc": func(a, b signalRow) int { return cmp.Compare(b.Priority.Score, a.Priority.Score) },
		"detectedDesc": func(signalRow, signalRow) int { return 0 },
		"deadlineAsc":  byDeadline,
	}
	var jobs []func() error
	for n := range 8 {
		from, to := window(chance)
		surface := []string{"agent", "atlas_latest", "atlas_priority", "telegram_realtime"}[n%4]
		jobs = append(jobs, func() error {
			var first []string
			for _, order := range slices.Sorted(maps.Keys(orders)) {
				for _, limit := range []int{100, 41} {
					path := listPath("signals", from, to, "surface", surface, "sort", order)
					signals, err := r.signalsAt(path, limit)
					if err != nil {
						return err
					}
					if !slices.IsSortedFunc(signals, orders[order]) {
						return fmt.Errorf("%s is out of order", path)
					}
					var ids []string
					for _, s := range signals {
						ids = append(ids, s.SignalID)
					}
					slices.Sort(ids)
					if first == nil {
						first = slices.Compact(slices.Clone(ids))
					}
					if diff := gocmp.Diff(first, ids); diff != "" {
						return fmt.Errorf("%s by %d (-want +got):\n%s", path, limit, diff)
					}
				}
			}
			return nil
		})
	}
	concurrently(t, jobs)
}

// byDeadline orders deadlines to come, then past ones, the latest first, then signals without.
func byDeadline(a, b signalRow) int {
	if a.Deadline == nil || b.Deadline == nil {
		return cmp.Compare(len(text(b.Deadline)), len(text(a.Deadline)))
	}
	now := time.Now().UTC()
	past := func(deadline *string) int {
		if *deadline <= *stamp(&now) {
			return 1
		}
		return 0
	}
	if order := cmp.Compare(past(a.Deadline), past(b.Deadline)); order != 0 || past(a.Deadline) == 0 {
		return cmp.Or(order, cmp.Compare(*a.Deadline, *b.Deadline))
	}
	return cmp.Compare(*b.Deadline, *a.Deadline)
}

// checkNothingChanges compares the stored data, revisions included, around a second import of the files.
func (r *recounted) checkNothingChanges(t *testing.T, dir string) {
	t.Helper()
	const stored = `
SELECT toString((count(), sum(cityHash64(*)))) FROM feed_events FINAL
UNION ALL
SELECT toString((count(), sum(cityHash64(*)))) FROM feed_signals FINAL`
	before := slices.Sorted(slices.Values(r.Column(stored)))
	r.Import(dir)
	r.AwaitPublished()
	r.AwaitFeed()
	env.WantSame(t, "before, after", before, slices.Sorted(slices.Values(r.Column(stored))))
}
