package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
)

// eventRequest and signalRequest are what the node asks a worker for.
func eventRequest(change func(*cache.PageRequest)) cache.PageRequest {
	r := cache.PageRequest{Kind: cache.EventPage, Limit: cache.ShortPage, Filter: cache.Filter{
		TimeField: governance.ByEventTime, From: instant("2026-01-01"), To: instant("2026-02-01"),
	}}
	if change != nil {
		change(&r)
	}
	return r
}

func signalRequest(change func(*cache.PageRequest)) cache.PageRequest {
	r := cache.PageRequest{
		Kind: cache.SignalPage, Limit: cache.ShortPage, Order: governance.PriorityDescending,
		Filter: cache.Filter{From: instant("2026-01-01"), To: instant("2026-02-01"), Surface: string(governance.AgentSurface)},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func instant(text string) *governance.Timestamp {
	stamp, err := governance.ParseTimestamp(text)
	if err != nil {
		panic(err)
	}
	return &stamp
}

func eventRows() []governance.EventRow {
	key, title, url := countedKey, "Deploy \"v4\" & more", "https://snapshot.example/#/uniswap/proposal/0x8b8f"
	return []governance.EventRow{
		{DiscoveredAt: *ago(5), Event: governance.Event{
			EventID: "e1_b", EventType: rules.VotingEnded, EventTimeMs: *ago(60), EventTimeConfidence: governance.ExactTime,
			DAOID: "uniswap", DAOName: "Uniswap", ItemType: governance.ProposalItem, ProposalKey: &key, Title: &title, URL: &url, ImportanceScore: 75,
		}},
		{DiscoveredAt: *ago(4), Event: governance.Event{
			EventID: "e1_a", EventType: rules.DAOAnnouncement, EventTimeMs: *ago(3600), EventTimeConfidence: governance.DayTime,
			DAOID: "ens.eth", DAOName: "ENS", ItemType: governance.DAOItem,
		}},
	}
}

func signalRows() []governance.SignalRow {
	key, url := countedKey, "https://snapshot.example/#/uniswap/proposal/0x8b8f"
	return []governance.SignalRow{
		{DetectedAt: *ago(86400), Signal: governance.Signal{
			SignalID: "s1_b", SignalType: "proposal_deadline_reminder", Priority: rules.PriorityOf(65), Actionability: rules.VoteNow,
			DAOID: "uniswap", Title: "Last day to vote: “Deploy \"v4\"”", Summary: "Voting ends on 1 June 2026, 11:59 UTC.", SourceURL: &url,
			DeadlineAtMs: ago(60), Severity: rules.SeverityWarning, ProposalKey: &key, Evidence: []byte(`{"rule":"proposal_deadline_reminder","votes":"3"}`),
		}},
		{DetectedAt: *ago(3600), Signal: governance.Signal{
			SignalID: "curated", SignalType: "close_race", Priority: rules.PriorityOf(20), DAOID: "ens.eth", Evidence: []byte(`{"figure":1.10e2}`),
		}},
	}
}

func TestParametersOfTheEventListSelectThePage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writePage(eventRequest(func(r *cache.PageRequest) {
		r.Filter.DAOID, r.Filter.TimeField, r.Filter.Least = "uniswap", governance.ByDiscoveredTime, 40
		r.Filter.Types = []string{rules.QuorumReached, rules.VotingEnded}
	}), eventRows())
	got := n.get("/v2/events?to=2026-02-01T00:00:00Z&from=2026-01-01&daoId=uniswap&timeBasis=discoveredTime&importanceMin=40&eventType=voting_ended,quorum_reached,voting_ended")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"eventId":"e1_b"`) {
		t.Errorf("got %d %s, want the page", got.status, got.body)
	}
	if strings.Contains(got.body, "discoveredAt") {
		t.Errorf("got %s, want only the fields of the contract", got.body)
	}
}

func TestParametersOfTheSignalListSelectThePage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writePage(signalRequest(func(r *cache.PageRequest) {
		r.Order = governance.DeadlineAscending
		r.Filter.DAOID, r.Filter.Surface, r.Filter.Least = "uniswap", string(governance.AtlasPriority), 70
		r.Filter.Types = []string{"close_race", "late_swing"}
	}), signalRows())
	got := n.get("/v2/signals?to=2026-02-01&from=2026-01-01&daoId=uniswap&sort=deadlineAsc&surface=atlas_priority&priorityMin=70&signalType=late_swing,close_race")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"signalId":"s1_b"`) {
		t.Errorf("got %d %s, want the page", got.status, got.body)
	}
	if strings.Contains(got.body, "detectedAt") || !strings.Contains(got.body, `"evidence":{"figure":1.10e2}`) {
		t.Errorf("got %s, want only the fields of the contract, and evidence digit by digit", got.body)
	}
}

// TestPagesGoOnBehindTheRowsShown cuts a page short: the next one is asked for from
// the position of the last row in each order.
func TestPagesGoOnBehindTheRowsShown(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	event, signal := eventRows()[0], signalRows()[0]
	events, signals := "/v2/events?limit=1&from=2026-01-01&to=2026-02-01", "/v2/signals?limit=1&from=2026-01-01&to=2026-02-01"
	for _, c := range []struct {
		path  string
		page  cache.PageRequest
		rows  any
		after cache.Position
	}{
		{events, eventRequest(nil), eventRows(), cache.Position{At: &event.EventTimeMs, Key: "e1_b"}},
		{
			events + "&timeBasis=discoveredTime", eventRequest(func(r *cache.PageRequest) { r.Filter.TimeField = governance.ByDiscoveredTime }),
			eventRows(),
			cache.Position{At: &event.DiscoveredAt, Key: "e1_b"},
		},
		{signals, signalRequest(nil), signalRows(), cache.Position{Number: 65, At: &signal.DetectedAt, Key: "s1_b"}},
		{
			signals + "&sort=detectedDesc", signalRequest(func(r *cache.PageRequest) { r.Order = governance.DetectedDescending }),
			signalRows(),
			cache.Position{Number: 65, At: &signal.DetectedAt, Key: "s1_b"},
		},
		{
			signals + "&sort=deadlineAsc", signalRequest(func(r *cache.PageRequest) { r.Order = governance.DeadlineAscending }),
			signalRows(),
			cache.Position{Number: 65, At: signal.DeadlineAtMs, Key: "s1_b"},
		},
	} {
		n.writePage(c.page, c.rows)
		first := n.listed(c.path)
		c.page.After = &c.after
		n.writePage(c.page, []struct{}{})
		if got := n.listed(c.path + "&cursor=" + first); got != "" {
			t.Errorf("%s: got a cursor after the last page", c.path)
		}
	}
}

// listed reads a page and returns where the next begins.
func (t *node) listed(path string) (next string) {
	t.Helper()
	got := t.get(path)
	if got.status != http.StatusOK {
		t.Fatalf("GET %s: got %d %s, want 200", path, got.status, got.body)
	}
	var envelope success
	t.decode(got.body, &envelope)
	if envelope.Meta.Page.NextCursor == nil {
		return ""
	}
	return *envelope.Meta.Page.NextCursor
}

func TestListsOfEventsAndSignalsRefuseWhatIsWrong(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const window = "from=2026-01-01&to=2026-02-01"
	for path, parameters := range map[string][]string{
		"/v2/events":                 {"from", "to"},
		"/v2/events?from=2026-01-01": {"to"},
		"/v2/events?from=2026-01-01&to=2026-04-01T00:00:00.001Z":     {"to"},
		"/v2/events?from=2026-01-02&to=2026-01-01":                   {"from"},
		"/v2/events?" + window + "&eventType=paused":                 {"eventType"},
		"/v2/events?" + window + "&eventType=voting_ended,":          {"eventType"},
		"/v2/events?" + window + "&timeBasis=now":                    {"timeBasis"},
		"/v2/events?" + window + "&importanceMin=101":                {"importanceMin"},
		"/v2/events?" + window + "&limit=201&importanceMin=-1":       {"importanceMin", "limit"},
		"/v2/events?" + window + "&sort=priorityDesc":                {"sort"},
		"/v2/signals?to=2026-01-01":                                  {"from"},
		"/v2/signals?from=2026-01-01&to=2026-04-01T00:00:01Z":        {"to"},
		"/v2/signals?" + window + "&signalType=rumour":               {"signalType"},
		"/v2/signals?" + window + "&surface=wall&sort=loudest":       {"sort", "surface"},
		"/v2/signals?" + window + "&priorityMin=101&limit=101":       {"limit", "priorityMin"},
		"/v2/signals?" + window + "&cursor=abc":                      {"cursor"},
		"/v2/signals?" + window + "&daoId=&timeBasis=discoveredTime": {"daoId", "timeBasis"},
	} {
		var named []string
		for _, problem := range n.wantProblems(path) {
			named = append(named, problem.Parameter)
		}
		slices.Sort(named)
		if diff := cmp.Diff(parameters, named); diff != "" {
			t.Errorf("GET %s: problems (-want +got):\n%s", path, diff)
		}
	}
}

func TestAnEmptyWindowIsNoMistake(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writePage(eventRequest(func(r *cache.PageRequest) { r.Filter.To = r.Filter.From }), []governance.EventRow{})
	got := n.get("/v2/events?from=2026-01-01&to=2026-01-01")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"data":[]`) {
		t.Errorf("got %d %s, want 200 and no rows", got.status, got.body)
	}
}
