package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/test/env"
	"pnyx/test/openapitest"
)

// post is a message as a receiver got it.
type post struct {
	ID   string
	Body struct {
		Type      string
		Timestamp string
		Data      json.RawMessage
	}
	// Text is the whole body.
	Text []byte
	// Accepted says that it was answered 2xx.
	Accepted bool
}

// mailbox is a receiver that keeps what it gets.
type mailbox struct {
	testing.TB

	url string

	mu    sync.Mutex
	posts []*post
	// answer decides about a post before it is answered, and reports whether to accept it;
	// nil accepts all.
	answer func(r *http.Request, p *post) bool
	// answered is called once an answer is written; nil for nothing.
	answered func(p *post)
}

func newMailbox(tb testing.TB) *mailbox {
	tb.Helper()
	m := &mailbox{TB: tb}
	server := httptest.NewServer(m)
	tb.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// ServeHTTP implements http.Handler.
func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	p := &post{ID: r.Header.Get("Webhook-Id"), Text: text}
	if err != nil {
		return // the sender was killed
	}
	if err := json.Unmarshal(text, &p.Body); err != nil {
		m.Errorf("got the body %s: %v", text, err)
	}
	m.mu.Lock()
	m.posts = append(m.posts, p)
	answer, answered := m.answer, m.answered
	m.mu.Unlock()
	if answer != nil && !answer(r, p) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	m.mu.Lock()
	p.Accepted = true
	m.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
	if flusher, can := w.(http.Flusher); can {
		flusher.Flush()
	}
	if answered != nil {
		answered(p)
	}
}

// decide sets answer and answered.
func (m *mailbox) decide(answer func(*http.Request, *post) bool, answered func(*post)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer, m.answered = answer, answered
}

// got returns copies of what came so far, in the order of arrival.
func (m *mailbox) got() []post {
	m.mu.Lock()
	defer m.mu.Unlock()
	posts := make([]post, len(m.posts))
	for i, p := range m.posts {
		posts[i] = *p
	}
	return posts
}

// addWebhook adds an endpoint for everything to a new token.
func addWebhook(t *testing.T, environ []string, url string) {
	t.Helper()
	issued := issueToken(t, environ, "--name", "ACME", "--plan", "developer", "--scopes", "v2:paid:standard")
	env.MustRun(t, environ, "webhook", "add", "--token", issued.ID, "--url", url, "--types", "*")
}

// recentVote returns the line of a proposal that was voted on an hour ago.
func recentVote(id, title string) string { return voteUntil(id, title, "closed", -time.Hour) }

// voteUntil is recentVote for one that ends at another time.
func voteUntil(id, title, state string, end time.Duration) string {
	at := func(after time.Duration) int64 { return time.Now().Add(after).Unix() }
	return fmt.Sprintf(`{"id":%q,"space":{"id":"a.eth"},"author":"0xA","type":"single-choice","title":%q,"choices":["For","Against"],`+
		`"state":%q,"created":%d,"start":%d,"end":%d}`, id, title, state, at(-4*time.Hour), at(-3*time.Hour), at(end))
}

// recentBallot returns the line of a ballot of a recentVote.
func recentBallot(proposal string, voter, choice int, power string) string {
	return fmt.Sprintf(`{"id":"%s-%d","proposal":{"id":%[1]q},"space":{"id":"a.eth"},"voter":"0x%[2]x","created":%d,"choice":%d,"vp":%s}`,
		proposal, voter, time.Now().Add(-2*time.Hour).Unix(), choice, power)
}

// rowsOf returns the rows of a list by id, as HTTP has them.
func rowsOf(t *testing.T, i *instance, path, id string) map[string]json.RawMessage {
	t.Helper()
	var rows []json.RawMessage
	i.Get(path, &rows)
	byID := map[string]json.RawMessage{}
	for _, row := range rows {
		byID[idOf(t, row, id)] = row
	}
	return byID
}

// thisWeek selects what happened lately.
func thisWeek() string {
	day := func(days int) string { return time.Now().AddDate(0, 0, days).Format(time.DateOnly) }
	return "from=" + day(-5) + "&to=" + day(2)
}

// idOf returns a member of a row.
func idOf(tb testing.TB, row json.RawMessage, name string) string {
	tb.Helper()
	var members map[string]any
	if err := json.Unmarshal(row, &members); err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprint(members[name])
}

func TestWebhookHasTheBytesOfTheRowOverHTTP(t *testing.T) {
	t.Parallel()
	i := startShared(t, []string{"PNYX_WEBHOOK_RECEIVERS=private"}, "serve").ready()
	i.ImportLines(`{"id":"a.eth","name":"A <& \"B\">","network":"1","symbol":"A"}`)
	in := newMailbox(t)
	addWebhook(t, i.Environ, in.url)
	i.ImportLines(recentVote("plain", "T"), recentVote("odd", "<b>\"A & B\"</b> \u2028 \\ é 😀"), voteUntil("open", "<b>é", "active", 20*time.Hour))
	i.ImportLines(recentBallot("odd", 1, 1, "10.000000000000000001"), recentBallot("odd", 2, 2, "10.1"))
	i.AwaitPublished()
	_, document, err := env.Fetch(i.URL + "/openapi/agent-v2.json")
	if err != nil {
		t.Fatal(err)
	}
	contract := openapitest.New(t, document)
	env.Until(t, func() error {
		rows := map[string]map[string]json.RawMessage{
			"event": rowsOf(t, i, "/v2/events?"+thisWeek(), "eventId"), "signal": rowsOf(t, i, "/v2/signals?"+thisWeek(), "signalId"),
		}
		// Signals whose deadline has passed are not sent.
		maps.DeleteFunc(rows["signal"], func(_ string, row json.RawMessage) bool { return idOf(t, row, "actionability") == "expired" })
		if len(rows["event"]) < 8 || len(rows["signal"]) < 2 {
			return fmt.Errorf("got %d events and %d signals over HTTP, want those of three votes", len(rows["event"]), len(rows["signal"]))
		}
		sent := map[string]bool{}
		for _, p := range in.got() {
			kind, _, _ := strings.Cut(p.Body.Type, ".")
			if row := rows[kind][p.ID]; !bytes.Equal(p.Body.Data, row) {
				return fmt.Errorf("%s: got data\n%s\nwant the row\n%s", p.Body.Type, p.Body.Data, row)
			}
			if err := contract.CheckMessage(kind, p.Text); err != nil {
				t.Error(err)
			}
			sent[p.ID] = true
		}
		if want := len(rows["event"]) + len(rows["signal"]); len(sent) != want {
			return fmt.Errorf("got %d messages, want one for each of %d rows", len(sent), want)
		}
		return nil
	})
	i.Stop()
}

// The worker is killed before it sends, between a message and its answer, between the answer
// and its record, and after that, while votes go on arriving.
func TestLongKilledWorkersLoseNoMessage(t *testing.T) {
	t.Parallel()
	env.Long(t)
	env.RequireEngine(t)
	seed, err := strconv.ParseUint(os.Getenv("PNYX_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("PNYX_TEST_SEED=%d", seed)
	k := newKilledWorker(t, rand.New(rand.NewPCG(seed, 0)))
	steps := []struct {
		name    string
		prepare func(after int) func() error
	}{
		{"when messages are queued", k.killQueued},
		{"before an answer", k.killBeforeAnswer},
		{"after an answer", k.killAfterAnswer},
		{"after the record of a message", k.killRecorded},
	}
	const rounds = 8
	for round := range rounds {
		step, after := steps[round%len(steps)], k.random.IntN(2*votesInRound)
		t.Logf("round %d: killed %s, %d messages before", round, step.name, after)
		k.worker.Kill()
		k.importVotes(round, 0, votesInRound/2)
		strike := step.prepare(after)
		k.worker.Start()
		k.pid.Store(int64(k.worker.PID()))
		k.importVotes(round, votesInRound/2, votesInRound)
		env.Until(t, func() error {
			select {
			case <-k.worker.Exited():
				return nil
			default:
				return strike()
			}
		})
	}
	k.in.decide(nil, nil)
	k.worker.Start()
	k.checkDelivered(rounds * votesInRound)
	k.worker.Stop()
}

// votesInRound is how many votes arrive before a worker is killed. Each has three events at
// least.
const votesInRound = 4

// killedWorker is a worker that is killed again and again.
type killedWorker struct {
	*testing.T

	random *rand.Rand
	worker *instance
	// pid is the process of the worker, which is its group, too.
	pid  atomic.Int64
	node *instance
	conn driver.Conn
	in   *mailbox
}

func newKilledWorker(t *testing.T, random *rand.Rand) *killedWorker {
	t.Helper()
	environ := []string{
		"REDIS_URL=" + env.Redis(t).URL, "CLICKHOUSE_URL=" + env.DatabaseURL(t), "PNYX_WEBHOOK_RECEIVERS=private",
		"PNYX_LEASE_TTL=2s",
	}
	k := &killedWorker{T: t, random: random, in: newMailbox(t), worker: start(t, t.TempDir(), environ, "worker")}
	k.node = start(t, t.TempDir(), environ, "api").ready()
	k.conn = k.node.Warehouse()
	k.node.ImportLines(goodSpace)
	addWebhook(t, k.node.Environ, k.in.url)
	return k
}

// importVotes imports some of the votes of a round.
func (k *killedWorker) importVotes(round, first, last int) {
	k.Helper()
	var lines []string
	for n := first; n < last; n++ {
		lines = append(lines, recentVote(fmt.Sprintf("p%d-%d", round, n), "T"))
	}
	k.node.ImportLines(lines...)
}

// kill kills the worker at once, from any goroutine.
func (k *killedWorker) kill() { _ = syscall.Kill(-int(k.pid.Load()), syscall.SIGKILL) }

// count returns how many messages of the queue are in a state.
func (k *killedWorker) count(state string) int {
	k.Helper()
	n, err := strconv.Atoi(env.Column(k, k.conn, "SELECT toString(count()) FROM webhook_deliveries FINAL WHERE state = '"+state+"'")[0])
	if err != nil {
		k.Fatal(err)
	}
	return n
}

// The functions below prepare the kill of a worker that is about to start. What they return
// kills it where the receiver does not, and is repeated until the worker has ended.

func (k *killedWorker) killQueued(int) func() error {
	k.in.decide(hang, nil)
	return k.killAtCount("waiting", 0)
}

func (k *killedWorker) killRecorded(after int) func() error {
	before := k.count("delivered")
	k.in.decide(nil, nil)
	return k.killAtCount("delivered", before+after)
}

func (k *killedWorker) killBeforeAnswer(after int) func() error {
	var arrived atomic.Int64
	k.in.decide(func(r *http.Request, p *post) bool {
		if arrived.Add(1) <= int64(after) {
			return true
		}
		k.kill()
		return hang(r, p)
	}, nil)
	return notYet
}

func (k *killedWorker) killAfterAnswer(after int) func() error {
	var answered atomic.Int64
	k.in.decide(nil, func(*post) {
		if answered.Add(1) > int64(after) {
			k.kill()
		}
	})
	return notYet
}

// killAtCount kills the worker once more messages than a number are in a state.
func (k *killedWorker) killAtCount(state string, number int) func() error {
	return func() error {
		if k.count(state) > number {
			k.kill()
		}
		return notYet()
	}
}

// notYet reports that the worker runs.
func notYet() error { return errors.New("the worker has not come to the step at which it is killed") }

// hang does not answer before the sender has gone.
func hang(r *http.Request, _ *post) bool {
	<-r.Context().Done()
	return false
}

// checkDelivered waits until each event was accepted, and holds what came against the feed.
func (k *killedWorker) checkDelivered(votes int) {
	k.Helper()
	var rows map[string]json.RawMessage
	window := thisWeek()
	env.Until(k, func() error {
		rows = map[string]json.RawMessage{}
		for cursor := ""; ; {
			page, err := k.node.Page("/v2/events?"+window, 100, cursor)
			if err != nil {
				return err
			}
			for _, row := range page.Rows {
				rows[idOf(k, row, "eventId")] = row
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if len(rows) < 3*votes {
			return fmt.Errorf("got %d events over HTTP, want three of each of %d votes", len(rows), votes)
		}
		missing := maps.Clone(rows)
		for _, p := range k.in.got() {
			if p.Accepted {
				delete(missing, p.ID)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("%d of %d events are not delivered", len(missing), len(rows))
		}
		return nil
	})
	k.checkOrder(rows)
}

// checkOrder checks that no event was sent before the events of its proposal that happened before
// it were accepted, and that each attempt has the row.
func (k *killedWorker) checkOrder(rows map[string]json.RawMessage) {
	k.Helper()
	type event struct{ EventID, EventTimeMs, ProposalKey string }
	events, again := map[string]event{}, 0
	for id, row := range rows {
		var e event
		if err := json.Unmarshal(row, &e); err != nil {
			k.Fatal(err)
		}
		events[id] = e
	}
	accepted := map[string]bool{}
	for n, p := range k.in.got() {
		e, isEvent := events[p.ID]
		if !isEvent {
			continue
		}
		if !bytes.Equal(p.Body.Data, rows[p.ID]) {
			k.Errorf("message %d: got %s, want the row %s", n, p.Body.Data, rows[p.ID])
		}
		for id, earlier := range events {
			if earlier.ProposalKey == e.ProposalKey && !accepted[id] &&
				cmp.Or(cmp.Compare(earlier.EventTimeMs, e.EventTimeMs), cmp.Compare(id, p.ID)) < 0 {
				k.Errorf("message %d: got %s of %s before %s was accepted", n, p.ID, e.ProposalKey, id)
			}
		}
		if accepted[p.ID] {
			again++
		}
		accepted[p.ID] = accepted[p.ID] || p.Accepted
	}
	k.Logf("%d events, of which %d were sent again after they were accepted", len(rows), again)
}

func TestWebhooksOfAFileAreAddedTogether(t *testing.T) {
	t.Parallel()
	i := startShared(t, nil, "serve").ready()
	issued := issueToken(t, i.Environ, "--name", "ACME", "--plan", "developer", "--scopes", "v2:paid:standard")
	line := func(token, url string) string {
		return fmt.Sprintf(`{"token":%q,"url":%q,"types":["event.*"]}`+"\n", token, url)
	}
	file := filepath.Join(t.TempDir(), "partners.ndjson")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(line(issued.ID, "https://a.example.org/x") + line("nobody", "https://b.example.org/x") + line(issued.ID, "ftp://c"))
	out, status := env.Run(t, i.Environ, "webhook", "add", "--file", file)
	if status == 0 || !strings.Contains(out, "endpoint 2: ") || !strings.Contains(out, "endpoint 3: ") {
		t.Errorf("got %d %s, want what is wrong with the second and third", status, out)
	}
	if out := env.MustRun(t, i.Environ, "webhook", "list"); strings.Contains(out, "example.org") {
		t.Errorf("got %s, want nothing of a file with errors added", out)
	}
	write(line(issued.ID, "https://a.example.org/x") + line(issued.ID, "https://b.example.org/x"))
	added := strings.Split(strings.TrimSpace(env.MustRun(t, i.Environ, "webhook", "add", "--file", file)), "\n")
	list := env.MustRun(t, i.Environ, "webhook", "list")
	if len(added) != 2 {
		t.Fatalf("got %q, want a line for each", added)
	}
	for _, text := range added {
		var got struct{ ID, URL, Secret string }
		if err := json.Unmarshal([]byte(text), &got); err != nil || !strings.HasPrefix(got.Secret, "whsec_") || !strings.Contains(list, got.ID) || !strings.Contains(list, got.URL) {
			t.Errorf("got %s (%v), want an endpoint of %s, with its secret", text, err, list)
		}
	}
}
