package drills

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"time"

	"pnyx/test/env"
	"pnyx/test/histories"
)

const (
	// proposeInterval is how many ballots are cast for each new proposal with events.
	proposeInterval = 8
	// refusals is one in how many new messages the subscriber refuses, once each.
	refusals = 4
	// deliveryTimeout bounds the wait for messages and changes, after everything has recovered.
	deliveryTimeout = 2 * time.Minute
)

// mirror follows the changes and keeps a copy of the vote.
type mirror struct {
	cursor string
	// casts is the number of ballots in the copy.
	casts int
}

// follow reads one page of changes, and what has changed.
func (m *mirror) follow(r *historyRun, random *rand.Rand, client int) {
	path := "/v2/changes"
	if m.cursor != "" {
		path += "?wait=1&cursor=" + url.QueryEscape(m.cursor)
	}
	_, base := r.choose(random)
	a := r.request(histories.Operation{Kind: histories.Follow, Client: client, Path: path}, base, r.dataset.headers(),
		func(*reply, *histories.Operation) error { return nil }, http.StatusGone)
	if a.status == http.StatusGone {
		m.cursor = "" // and everything is read again
	}
	if a.transport != nil || a.status != http.StatusOK || a.Meta.Page == nil || a.Meta.Page.NextCursor == nil {
		return
	}
	var rows []struct {
		Kind, Key string
		ChangedAt time.Time
	}
	if json.Unmarshal(a.Data, &rows) != nil {
		return // the answer is in no form that the document has: the next one is not, either
	}
	var changed time.Time
	for _, row := range rows {
		if row.Kind == "proposal" && row.Key == r.poll.key {
			changed = row.ChangedAt
		}
	}
	if (m.cursor == "" || !changed.IsZero()) && !m.read(r, random, changed, client) {
		return // from the same cursor again
	}
	m.cursor = *a.Meta.Page.NextCursor
}

// read reads the vote as it was at a time, or later, and reports whether it could.
func (m *mirror) read(r *historyRun, random *rand.Rand, changed time.Time, client int) bool {
	q := r.poll.questions()[0]
	var base string
	o := histories.Operation{Kind: histories.Request, Client: client, Path: q.path}
	o.Node, base = r.choose(random)
	casts := 0
	a := r.request(o, base, r.dataset.headers(), func(a *reply, o *histories.Operation) error {
		err := r.ofVote(q)(a, o)
		casts = o.Casts
		return err
	})
	if a.transport != nil || a.status != http.StatusOK || a.Meta.DataAsOf.Time().Before(changed) {
		return false
	}
	m.casts = casts
	return true
}

// settle follows until the copy has all ballots, and records what it has in the end.
func (m *mirror) settle(r *historyRun) {
	r.tb.Helper()
	random, truth := histories.Client(r.seed, -1), mirror{}
	env.Until(r.tb, func() error {
		if !truth.read(r, random, time.Time{}, -1) || truth.casts < r.poll.casts() {
			return fmt.Errorf("the vote shows %d of %d ballots", truth.casts, r.poll.casts())
		}
		return nil
	})
	for end := time.Now().Add(deliveryTimeout); m.casts != truth.casts && time.Now().Before(end); {
		m.follow(r, random, -1)
	}
	now := r.recorder.Now()
	r.recorder.Add(histories.Operation{
		Kind: histories.Copy, Call: now, Return: now, Casts: m.casts, Rows: []int{truth.casts}, Status: http.StatusOK,
	})
}

// subscriber is sent the events of the vote's DAO. It refuses some messages once.
type subscriber struct {
	// before are the events that were there when it was added.
	before []string

	mu      sync.Mutex
	random  *rand.Rand
	refused map[string]bool
}

func (r *historyRun) subscribe() *subscriber {
	r.tb.Helper()
	s := &subscriber{random: histories.Client(r.seed, -1), refused: map[string]bool{}}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		now := r.recorder.Now()
		text, err := io.ReadAll(request.Body)
		var message struct{ Data struct{ EventID string } }
		if err != nil || json.Unmarshal(text, &message) != nil || message.Data.EventID == "" || s.refuses(message.Data.EventID) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		r.recorder.Add(histories.Operation{Kind: histories.Deliver, Subject: message.Data.EventID, Call: now, Return: r.recorder.Now()})
	}))
	r.tb.Cleanup(receiver.Close)
	s.before = r.events()
	id, _ := r.issue()
	env.MustRun(r.tb, r.environ, "webhook", "add", "--token-id", id, "--url", receiver.URL, "--types", "event.*", "--dao", pollDAO)
	return s
}

// refuses decides whether to refuse a message.
func (s *subscriber) refuses(event string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused[event] || s.random.IntN(refusals) > 0 {
		return false
	}
	s.refused[event] = true
	return true
}

// events returns the ids of all events of the vote's DAO, once all are in the feed.
func (r *historyRun) events() (ids []string) {
	r.tb.Helper()
	r.awaitFeed()
	day := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	path := "/v2/events?limit=200&daoId=" + pollDAO + "&from=" + day(-2) + "&to=" + day(2)
	env.Until(r.tb, func() (err error) {
		ids, err = r.eventsOf(path)
		return err
	})
	return ids
}

// eventsOf returns the ids of all events of a list.
func (r *historyRun) eventsOf(path string) (ids []string, err error) {
	for at := path; ; {
		a := ask(r.apis[0].base+at, r.dataset.headers())
		var rows []struct{ EventID string }
		if a.transport != nil || a.status != http.StatusOK || json.Unmarshal(a.Data, &rows) != nil || a.Meta.Page == nil {
			return nil, fmt.Errorf("events: %d %w %.300s", a.status, a.transport, a.text)
		}
		for _, row := range rows {
			ids = append(ids, row.EventID)
		}
		if a.Meta.Page.NextCursor == nil {
			return ids, nil
		}
		at = path + "&cursor=" + url.QueryEscape(*a.Meta.Page.NextCursor)
	}
}

// settle waits for the messages of all events, and records which events there are.
func (s *subscriber) settle(r *historyRun) {
	r.tb.Helper()
	events := slices.DeleteFunc(r.events(), func(id string) bool { return slices.Contains(s.before, id) })
	for end := time.Now().Add(deliveryTimeout); time.Now().Before(end) && !s.hasAll(r, events); {
		wait(r.ctx, time.Second/4)
	}
	for _, id := range events {
		r.recorder.Add(histories.Operation{Kind: histories.Publish, Subject: id})
	}
}

// hasAll reports whether the messages of all events were delivered.
func (*subscriber) hasAll(r *historyRun, events []string) bool {
	delivered := map[string]bool{}
	for _, o := range r.recorder.History() {
		delivered[o.Subject] = delivered[o.Subject] || o.Kind == histories.Deliver
	}
	return !slices.ContainsFunc(events, func(id string) bool { return !delivered[id] })
}

// proposal is the line of a proposal that begins now: what happened a month ago is not sent.
func proposal(n int) string {
	now := time.Now().Unix()
	return fmt.Sprintf(`{"id":"0xhistory%d","space":{"id":%q},"author":"0xA","type":"single-choice","title":"History","choices":["Red","Green"],`+
		`"created":%d,"start":%d,"end":%d,"state":"active"}`, n, pollSpace, now-60, now-30, now+86400)
}
