package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
}

// mailbox is a receiver that keeps what it gets.
type mailbox struct {
	testing.TB

	url string

	mu    sync.Mutex
	posts []post
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
	p := post{ID: r.Header.Get("Webhook-Id"), Text: text}
	if err != nil {
		return // the sender was killed
	}
	if err := json.Unmarshal(text, &p.Body); err != nil {
		m.Errorf("got the body %s: %v", text, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.posts = append(m.posts, p)
	w.WriteHeader(http.StatusNoContent)
}

// got returns what came so far, in the order of arrival.
func (m *mailbox) got() []post {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.posts)
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
	env.Decode(tb, row, &members)
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
			env.WantError(t, nil, contract.CheckMessage(kind, p.Text))
			sent[p.ID] = true
		}
		if want := len(rows["event"]) + len(rows["signal"]); len(sent) != want {
			return fmt.Errorf("got %d messages, want one for each of %d rows", len(sent), want)
		}
		return nil
	})
	i.Stop()
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
		env.WriteFile(t, file, text)
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
	write(`{"url":"https://c.example.org/x","types":["*"]}`)
	if out, status := env.Run(t, i.Environ, "webhook", "add", "--file", file); status == 0 || !strings.Contains(out, "endpoint 1: --token") {
		t.Errorf("without a token: got %d %s, want what is wrong", status, out)
	}
	added = append(added, strings.TrimSpace(env.MustRun(t, i.Environ, "webhook", "add", "--token", issued.ID, "--file", file)))
	list := env.MustRun(t, i.Environ, "webhook", "list")
	if len(added) != 3 {
		t.Fatalf("got %q, want a line for each", added)
	}
	for _, text := range added {
		var got struct{ ID, URL, Secret string }
		if err := json.Unmarshal([]byte(text), &got); err != nil || !strings.HasPrefix(got.Secret, "whsec_") || !strings.Contains(list, got.ID) || !strings.Contains(list, got.URL) {
			t.Errorf("got %s (%v), want an endpoint of %s, with its secret", text, err, list)
		}
	}
}
