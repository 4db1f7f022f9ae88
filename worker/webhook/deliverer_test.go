package webhook

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/access"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/accounts"
	"pnyx/warehouse/feed"
)

func TestWebhookGetsWhatAppearsAfterItWasAdded(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.event("p1_before", rules.VotingStarted, 5)
	in := newInbox(t, nil)
	l.add(in.URL)
	first := l.event("p1_a", rules.VotingStarted, 10)
	l.run(l.deliverer.Run)
	in.await(t, 1)
	want := []string{first}
	// While it runs, the feed says what is new.
	for range 3 {
		want = append(want, l.event("p1_"+string(rune('b'+len(want))), rules.VotingEnded, 1))
		l.deliverer.Wake(l.revision())
		in.await(t, len(want))
	}
	want = append(want, l.signal("p1_a", 1))
	l.deliverer.Wake(l.revision())
	in.await(t, len(want))
	env.WantSame(t, "messages", want, in.ids())
}

func TestWebhookGetsItsTypesAndDAOsAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, nil)
	e := l.add(in.URL, "signal.*", "event."+rules.VotingEnded)
	other := accounts.Webhook{ID: NewID(), TokenID: "token", URL: in.URL, Types: []string{"*"}, DAOIDs: []string{"another"}, Secret: NewSecret(), CreatedAt: time.Now()}
	l.put(other)
	l.event("p1_a", rules.VotingStarted, 3)
	want := []string{l.event("p1_a", rules.VotingEnded, 2), l.signal("p1_a", 1)}
	term := l.startTerm()
	l.deliver(term, e.ID)
	l.deliver(term, other.ID)
	env.WantSame(t, "messages", want, in.ids())
}

// Nobody is told to vote once the vote is over.
func TestSignalWhoseDeadlineHasPassedIsNotSent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, nil)
	e := l.add(in.URL)
	l.signalUntil("p1_late", 3, new(l.now().Add(-time.Second)))
	open := l.signalUntil("p1_open", 2, new(l.now().Add(time.Hour)))
	l.deliver(l.startTerm(), e.ID)
	if got := in.messages(); len(got) != 1 || got[0].ID != open {
		t.Errorf("got %+v, want %s alone", got, open)
	}
	env.Want(t, 0, l.waiting(e.ID), "messages that wait")
}

func TestWebhookThatIsAwayForADayLosesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) })
	e := l.add(in.URL)
	a := []string{l.event("p1_a", rules.ProposalCreated, 5), l.event("p1_a", rules.VotingStarted, 4), l.event("p1_a", rules.VotingEnded, 3)}
	b := l.event("p1_b", rules.VotingEnded, 2)
	l.deliver(l.startTerm(), e.ID)
	if diff := cmp.Diff([]string{a[0], b}, in.ids()); diff != "" {
		t.Fatalf("first attempts, one a subject (-want +got):\n%s", diff)
	}
	// Each pause, with the most that is added to it. Another leader goes on each time.
	pauses := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour}
	for i, pause := range pauses {
		before := len(in.messages())
		if i == len(pauses)-1 {
			a = append(a, l.event("p1_a", rules.ProposalExecuted, 1)) // while it is away
		}
		l.pass(pause*11/10 + time.Second)
		l.deliver(l.startTerm(), e.ID)
		env.Want(t, 2, len(in.messages())-before, "requests of attempt", i+2)
	}
	if state := l.stored(e.ID); !state.Failing() || !state.Active() {
		t.Errorf("got failing %v, on %v, want both", state.Failing(), state.Active())
	}
	before := len(in.messages())
	in.answerWith(nil)
	l.pass(10*time.Hour*11/10 + time.Second)
	r := l.deliver(l.startTerm(), e.ID)
	got := in.ids()[before:]
	inOrder := slices.DeleteFunc(slices.Clone(got), func(id string) bool { return id == b })
	if diff := cmp.Diff(a, inOrder); diff != "" || len(got) != len(a)+1 {
		t.Errorf("%d messages after a day, want %d, in order of their subjects (-want +got):\n%s", len(got), len(a)+1, diff)
	}
	if waiting := l.waiting(e.ID); waiting != 0 || l.stored(e.ID).Failing() || !r.failingSince.IsZero() {
		t.Errorf("got %d messages in the queue, failing %v, want an empty queue", waiting, l.stored(e.ID).Failing())
	}
}

func TestWebhookThatFailsForFiveDaysIsTurnedOff(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusServiceUnavailable) })
	e := l.add(in.URL)
	l.event("p1_a", rules.VotingEnded, 2)
	l.event("p1_a", rules.ProposalExecuted, 1)
	for range 24 {
		term := l.startTerm()
		if !l.stored(e.ID).Active() {
			break
		}
		l.deliver(term, e.ID)
		l.pass(6 * time.Hour)
	}
	state := l.stored(e.ID)
	if state.Active() || state.Reason != "it failed for five days" {
		t.Errorf("got on %v, reason %q, want it to be off", state.Active(), state.Reason)
	}
	if elapsed := state.DisabledAt.Sub(e.CreatedAt); elapsed < maxFailing || elapsed > maxAge+12*time.Hour {
		t.Errorf("got turned off after %v, want five days", elapsed)
	}
	// The next refresh of a leader empties the queue.
	term := l.startTerm()
	env.MustDo(t, term.refresh(t.Context()))
	if waiting := l.waiting(e.ID); waiting != 0 || len(term.receivers) != 0 {
		t.Errorf("got %d messages in the queue and %d receivers, want none", waiting, len(term.receivers))
	}
	env.Want(t, len(in.messages()), len(env.Must(accounts.NewAccounts(l.warehouse).WebhookAttempts(t.Context(), e.ID, 100))(t)), "attempts in the log")
}

func TestWebhookThatIsGoneIsTurnedOff(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusGone) })
	e := l.add(in.URL)
	l.event("p1_a", rules.VotingEnded, 2)
	l.event("p1_b", rules.VotingEnded, 1)
	l.deliver(l.startTerm(), e.ID)
	if state := l.stored(e.ID); state.Active() || len(in.messages()) != 1 {
		t.Errorf("got on %v after %d messages, want off after one", state.Active(), len(in.messages()))
	}
	// Turned on again, it gets what appears from then on, and on request what it missed.
	in.answerWith(nil)
	l.pass(-time.Hour) // the clock of the worker is behind
	l.put(l.stored(e.ID))
	l.deliver(l.startTerm(), e.ID)
	env.Want(t, 1, len(in.messages()), "messages, none since it was turned on")
	for n := range 2 {
		env.Want(t, 2, env.Must(Replay(t.Context(), l.warehouse, l.stored(e.ID), time.Now().Add(-time.Hour), ""))(t), "replay", "messages")
		l.pass(2 * time.Hour)
		l.deliver(l.startTerm(), e.ID)
		env.Want(t, 3+2*n, len(in.messages()), "messages, 2 of them replayed each time")
		const ahead = "INSERT INTO webhook_deliveries SELECT * REPLACE (version + 3600000000 AS version) FROM webhook_deliveries FINAL"
		env.MustDo(t, l.warehouse.Conn.Exec(t.Context(), ahead)) // as if ClickHouse's clock is set back for the second
	}
}

func TestWebhookOfARevokedTokenIsTurnedOff(t *testing.T) {
	t.Parallel()
	launch := time.Now()
	ofV1 := accounts.Token{Scopes: []string{string(access.V1All)}, CreatedAt: launch.Add(-time.Hour)}
	if err := CheckToken(ofV1, launch, launch); err != nil {
		t.Errorf("a token of v1 once v2 is launched: got %v, want it to have the scopes of v2", err)
	}
	if err := CheckToken(ofV1, time.Time{}, launch); err == nil {
		t.Error("a token of v1 may have webhooks before v2 is launched")
	}
	l := newLab(t)
	in := newInbox(t, nil)
	e := l.add(in.URL)
	l.event("p1_a", rules.VotingEnded, 1)
	env.MustDo(t, accounts.NewAccounts(l.warehouse).RevokeToken(t.Context(), "token"))
	term := l.startTerm()
	env.MustDo(t, term.refresh(t.Context()))
	if state := l.stored(e.ID); state.Active() || len(term.receivers) != 0 || len(in.messages()) != 0 {
		t.Errorf("got on %v, %d receivers, %d messages, want none", state.Active(), len(term.receivers), len(in.messages()))
	}
}

func TestHangingWebhookDelaysNoOther(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	release := make(chan struct{})
	hanging := newInbox(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	in := newInbox(t, nil)
	for range 8 {
		l.add(hanging.URL)
	}
	l.add(in.URL)
	var want []string
	for i := range 5 {
		want = append(want, l.event("p1_"+string(rune('a'+i)), rules.VotingEnded, 10-i))
	}
	stop := l.run(l.deliverer.Run)
	hanging.await(t, 8)
	in.await(t, len(want))
	env.WantSame(t, "messages", want, in.ids())
	close(release)
	stop()
}

func TestQueueIsReadInParts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, nil)
	e := l.add(in.URL)
	var queued []accounts.Delivery
	for i := range 3 * batchSize {
		queued = append(queued, accounts.Delivery{
			EndpointID: e.ID, MessageID: "evt_" + string(rune('a'+i%26)) + string(rune('a'+i/26)), MessageType: "event." + rules.VotingEnded, Subject: "p1_a",
			HappenedAt: time.Now(), State: accounts.MessageWaiting, QueuedAt: time.Now(), DueAt: time.Now(),
		})
	}
	env.MustDo(t, accounts.NewAccounts(l.warehouse).WriteDeliveries(t.Context(), queued))
	r := l.startTerm().newReceiver(l.stored(e.ID))
	for _, want := range []int{batchSize, batchSize, batchSize, 0} {
		// None of them is in the feed: they count as withdrawn.
		env.Want(t, want, env.Must(r.deliver(t.Context()))(t), "messages")
	}
	env.Want(t, 0, len(in.messages()), "messages that left the feed")
}

// A reorganization takes a proposal away while its receiver is down, and brings it back.
func TestEventThatReturnsToTheFeedIsSent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusServiceUnavailable) })
	e := l.add(in.URL)
	id := l.event("p1_a", rules.ProposalCreated, 5)
	l.deliver(l.startTerm(), e.ID)
	f := feed.NewFeed(l.warehouse)
	stored := env.Must(f.StoredEvents(t.Context(), []feed.FeedItem{{l.items}}))(t)
	env.Must(f.ReplaceEvents(t.Context(), l.revision(), stored, nil))(t)
	in.answerWith(nil)
	l.pass(time.Minute)
	l.deliver(l.startTerm(), e.ID)
	env.WantSame(t, "attempts before it was away", []string{id}, in.ids())
	l.event("p1_a", rules.ProposalCreated, 4)
	for range 2 {
		l.deliver(l.startTerm(), e.ID)
		env.WantSame(t, "attempts", []string{id, id}, in.ids())
	}
}

func TestQueuesAreReadTogetherAndKeptApart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	term := l.newDeliverer(l.deliverer.Store).newTerm()
	now := time.Now()
	var rows []accounts.Delivery
	queue := func(endpoint, message, subject string, due time.Time) {
		rows = append(rows, accounts.Delivery{
			EndpointID: endpoint, MessageID: message, MessageType: "event." + rules.VotingEnded, Subject: subject,
			HappenedAt: now, State: accounts.MessageWaiting, QueuedAt: now, DueAt: due,
		})
	}
	a, b := l.event("p1_a", rules.VotingEnded, 2), l.event("p1_b", rules.VotingEnded, 1)
	// One has both, another waits for its next attempt at the first, and a third has none.
	queue("wh_both", a, "p1_a", now)
	queue("wh_both", b, "p1_b", now)
	queue("wh_waits", a, "p1_a", now.Add(time.Hour))
	queue("wh_waits", "gone", "p1_a", now)
	queue("wh_waits", b, "p1_b", now)
	for i := range batchSize + 1 {
		queue("wh_many", "gone_"+strconv.Itoa(i), "p1_c", now)
	}
	env.MustDo(t, accounts.NewAccounts(l.warehouse).WriteDeliveries(t.Context(), rows))
	endpoints := []string{"wh_both", "wh_waits", "wh_many", "wh_none"}
	var answers []chan dueAnswer
	for _, id := range endpoints {
		answer := make(chan dueAnswer, 1)
		answers = append(answers, answer)
		term.reads <- dueRead{id, answer}
	}
	term.answer(t.Context(), take(term.reads, <-term.reads, maxRead))
	env.Want(t, 0, len(term.reads), "endpoints were not read with the first")
	got := map[string][]string{}
	for i, id := range endpoints {
		due := <-answers[i]
		if due.err != nil {
			t.Fatal(due.err)
		}
		for _, m := range due.messages {
			if text := m.MessageID; id != "wh_many" {
				got[id] = append(got[id], text)
			}
			if known := m.MessageID == a || m.MessageID == b; known != (m.text != nil) {
				t.Errorf("%s: %s has the body %q", id, m.MessageID, m.text)
			}
		}
		if id == "wh_many" && len(due.messages) != batchSize {
			t.Errorf("got %d messages of a long queue, want %d", len(due.messages), batchSize)
		}
	}
	for _, ids := range got {
		slices.Sort(ids) // all happened at once
	}
	both := []string{a, b}
	slices.Sort(both)
	env.WantSame(t, "messages by endpoint", map[string][]string{"wh_both": both, "wh_waits": {b}}, got)
}

func TestKilledWorkerLosesNoMessage(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, nil)
	e := l.add(in.URL)
	want := []string{l.event("p1_a", rules.ProposalCreated, 3), l.event("p1_a", rules.VotingStarted, 2), l.event("p1_a", rules.VotingEnded, 1)}

	// After messages are queued, and none is sent.
	env.MustDo(t, l.startTerm().sweep(t.Context(), l.stored(e.ID)))
	// After the first is sent, and nothing is recorded: this term has no recorder.
	killed, kill := context.WithCancel(t.Context())
	in.answerWith(func(w http.ResponseWriter, _ *http.Request, _ int) {
		kill()
		w.WriteHeader(http.StatusNoContent)
	})
	term := l.newDeliverer(l.deliverer.Store).newTerm()
	term.running.Go(func() { term.runReads(killed) })
	if _, err := term.newReceiver(l.stored(e.ID)).deliver(killed); err == nil {
		t.Error("a killed worker returns no error")
	}
	term.running.Wait()
	in.answerWith(nil)
	if diff := cmp.Diff(want[:1], in.ids()); diff != "" {
		t.Fatalf("messages of the killed worker (-want +got):\n%s", diff)
	}

	// The next one sends the first again under its id, and all others once.
	l.deliver(l.startTerm(), e.ID)
	env.WantSame(t, "messages", append(want[:1:1], want...), in.ids())
	l.deliver(l.startTerm(), e.ID)
	env.Want(t, len(want)+1, len(in.messages()), "messages", "none twice that is recorded")
}

func TestOperatorSeesTheLastOutcomeOfEachEndpoint(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var status atomic.Int32
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(int(status.Load())) })
	e, silent := l.add(in.URL), l.add(in.URL)
	outcome := func() accounts.WebhookOutcome {
		t.Helper()
		l.deliver(l.startTerm(), e.ID)
		outcomes := env.Must(accounts.NewAccounts(l.warehouse).WebhookOutcomes(t.Context()))(t)
		if _, there := outcomes[silent.ID]; there {
			t.Error("got an outcome of an endpoint that was sent nothing")
		}
		return outcomes[e.ID]
	}
	status.Store(http.StatusNoContent)
	l.event("p1_a", rules.VotingStarted, 3)
	accepted := outcome()
	if accepted.SucceededAt.Before(e.CreatedAt.Truncate(time.Millisecond)) || accepted.LastError != "" {
		t.Errorf("after a success: got %+v, want its time and no error", accepted)
	}
	status.Store(http.StatusTeapot)
	l.pass(time.Minute)
	l.event("p1_b", rules.VotingStarted, 2)
	if got := outcome(); !got.SucceededAt.Equal(accepted.SucceededAt) || got.LastError != "answered 418" {
		t.Errorf("after a failure: got %+v, want the success before and answered 418", got)
	}
	status.Store(http.StatusOK)
	l.pass(time.Minute)
	if got := outcome(); !got.SucceededAt.After(accepted.SucceededAt) || got.LastError != "" {
		t.Errorf("after another success: got %+v, want its time and no error", got)
	}
}

func TestLongNewEndpointsAndReplaysAreFoundWhileAWorkerRuns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.deliverer.Run)
	in := newInbox(t, nil)
	e := l.add(in.URL)
	id := l.event("p1_a", rules.VotingEnded, 1)
	in.await(t, 1)
	for n := range 2 {
		if queued, err := Replay(t.Context(), l.warehouse, e, time.Time{}, id); err != nil || queued != 1 {
			t.Fatalf("got %d messages, %v, want 1", queued, err)
		}
		in.await(t, 2+n)
	}
	env.WantSame(t, "messages", []string{id, id, id}, in.ids())
}

func TestWebhookIsLeftAloneForAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request, earlier int) {
		if earlier == 0 {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	e := l.add(in.URL)
	l.event("p1_a", rules.VotingEnded, 2)
	l.event("p1_b", rules.VotingEnded, 1)
	r := l.deliver(l.startTerm(), e.ID)
	for _, step := range []struct {
		pass time.Duration
		want int
	}{{0, 1}, {time.Hour, 1}, {59 * time.Minute, 1}, {2 * time.Minute, 3}} {
		l.pass(step.pass)
		l.drain(r)
		env.Want(t, step.want, len(in.messages()), step.pass, "later", "messages")
	}
	if state := l.stored(e.ID); !state.Active() || state.Failing() {
		t.Errorf("got %+v, want it on", state)
	}
}

func TestPauseThatAReceiverAsksFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-1": 0, "0": minAsked, " 90 ": 90 * time.Second, "99999999999999": maxAsked, strings.Repeat("9", 30): maxAsked, "90.5": 90500 * time.Millisecond,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): minAsked,
		now.Add(time.Hour * 1000).Format(http.TimeFormat): maxAsked, now.Add(time.Minute).Format(time.RFC1123): time.Minute,
		now.Add(time.Minute).In(time.FixedZone("", 3600)).Format(time.RFC1123Z): time.Minute, now.Add(time.Minute).Format(time.RFC3339): time.Minute,
	} {
		env.Want(t, want, askedPause(http.Header{"Retry-After": {text}}, now), text)
	}
}
