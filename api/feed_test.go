package api_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
)

// firstPage selects the first page of a list, in the size that nodes request.
func firstPage[Position any]() query.Paging[Position] {
	return query.Paging[Position]{Limit: query.ShortPage}
}

// januaryEvents is the query that a node sends to workers for the events of a month.
func januaryEvents() query.Events {
	return query.Events{
		From: instant("2026-01-01"), To: instant("2026-02-01"), Basis: query.EventTimeOccurred,
		Paging: firstPage[query.EventPosition](),
	}
}

// januarySignals is the query that a node sends to workers for the signals of a month.
func januarySignals() query.Signals {
	return query.Signals{
		From: instant("2026-01-01"), To: instant("2026-02-01"), Surface: governance.AgentSurface,
		Order: query.SignalsByPriority, Paging: firstPage[query.SignalPosition](),
	}
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
			SignalID: "recorded", SignalType: "close_race", Priority: rules.PriorityOf(20), DAOID: "ens.eth", Evidence: []byte(`{"figure":1.10e2}`),
		}},
	}
}

func TestEventParametersSelectThePage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	q := januaryEvents()
	q.DAOID, q.Basis, q.MinImportance = "uniswap", query.EventTimeDiscovered, 40
	q.Types = []governance.EventType{rules.QuorumReached, rules.VotingEnded}
	n.writePage(q, eventRows())
	got := n.get("/v2/events?to=2026-02-01T00:00:00Z&from=2026-01-01&daoId=uniswap&timeBasis=discoveredTime&importanceMin=40&eventType=voting_ended,quorum_reached,voting_ended")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"eventId":"e1_b"`) {
		t.Errorf("got %d %s, want the page", got.status, got.body)
	}
	if strings.Contains(got.body, "discoveredAt") {
		t.Errorf("got %s, want only the fields of the contract", got.body)
	}
}

func TestSignalParametersSelectThePage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	q := januarySignals()
	q.DAOID, q.Surface, q.MinPriority, q.Order = "uniswap", governance.AtlasPriority, 70, query.SignalsByDeadline
	q.Types = []governance.SignalType{"close_race", "late_swing"}
	n.writePage(q, signalRows())
	got := n.get("/v2/signals?to=2026-02-01&from=2026-01-01&daoId=uniswap&sort=deadlineAsc&surface=atlas_priority&priorityMin=70&signalType=late_swing,close_race")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"signalId":"s1_b"`) {
		t.Errorf("got %d %s, want the page", got.status, got.body)
	}
	if strings.Contains(got.body, "detectedAt") || !strings.Contains(got.body, `"evidence":{"figure":1.10e2}`) {
		t.Errorf("got %s, want only the fields of the contract, and evidence digit by digit", got.body)
	}
}

func TestNextPageOfEventsBeginsAfterTheLastRowShown(t *testing.T) {
	t.Parallel()
	event := eventRows()[0]
	for basis, after := range map[query.EventTime]governance.Timestamp{
		query.EventTimeOccurred: event.EventTimeMs, query.EventTimeDiscovered: event.DiscoveredAt,
	} {
		t.Run(string(basis), func(t *testing.T) {
			t.Parallel()
			n, q := newNode(t), januaryEvents()
			q.Basis = basis
			n.writePage(q, eventRows())
			path := "/v2/events?limit=1&from=2026-01-01&to=2026-02-01&timeBasis=" + string(basis)
			first := n.listed(path)
			q.After = &query.EventPosition{At: after, ID: "e1_b"}
			n.writePage(q, []struct{}{})
			if got := n.listed(path + "&cursor=" + first); got != "" {
				t.Errorf("got cursor %q after the last page, want none", got)
			}
		})
	}
}

func TestNextPageOfSignalsBeginsAfterTheLastRowShown(t *testing.T) {
	t.Parallel()
	signal := signalRows()[0]
	for order, after := range map[query.SignalOrder]*governance.Timestamp{
		query.SignalsByPriority: &signal.DetectedAt, query.SignalsByDetection: &signal.DetectedAt,
		query.SignalsByDeadline: signal.DeadlineAtMs,
	} {
		t.Run(string(order), func(t *testing.T) {
			t.Parallel()
			n, q := newNode(t), januarySignals()
			q.Order = order
			n.writePage(q, signalRows())
			path := "/v2/signals?limit=1&from=2026-01-01&to=2026-02-01&sort=" + string(order)
			first := n.listed(path)
			q.After = &query.SignalPosition{Score: 65, At: after, ID: "s1_b"}
			if order == query.SignalsByDeadline { // past and to come stay as the first page had them
				q.After.AsOf = new(dataAsOf)
			}
			n.writePage(q, []struct{}{})
			if got := n.listed(path + "&cursor=" + first); got != "" {
				t.Errorf("got cursor %q after the last page, want none", got)
			}
		})
	}
}

// What can be done about a signal depends on the time of the answer, and its ETag tells the two
// answers apart although nothing was published in between.
func TestSignalExpiresAtItsDeadline(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	n := startNode(t, settings{clock: func() time.Time { return noon.Add(time.Duration(passed.Load())) }})
	rows := signalRows()
	rows[0].DeadlineAtMs = new(governance.TimestampOf(noon.Add(500 * time.Millisecond)))
	n.writePage(januarySignals(), rows)
	const path = "/v2/signals?from=2026-01-01&to=2026-02-01"
	before := n.get(path)
	passed.Store(int64(500*time.Millisecond - 1))
	n.wantUnchanged(n.ask(http.MethodGet, path, http.Header{"If-None-Match": {before.header.Get("Etag")}}), before.header.Get("Etag"))
	passed.Store(int64(500 * time.Millisecond))
	after := n.ask(http.MethodGet, path, http.Header{"If-None-Match": {before.header.Get("Etag")}})
	for want, got := range map[string]answer{`"actionability":"vote_now"`: before, `"actionability":"expired"`: after} {
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("got %d %s, want %s in it", got.status, got.body, want)
		}
	}
}

// listed reads a page and returns where the next begins.
func (t *node) listed(path string) string {
	t.Helper()
	next := t.wantSuccess(path).Meta.Page.NextCursor
	if next == nil {
		return ""
	}
	return *next
}

func TestInvalidFeedParametersAreRejected(t *testing.T) {
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
		t.Run(path, func(t *testing.T) {
			var named []string
			for _, problem := range n.with(t).wantProblems(path) {
				named = append(named, problem.Parameter)
			}
			slices.Sort(named)
			if diff := cmp.Diff(parameters, named); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyWindowIsAllowed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	q := januaryEvents()
	q.To = q.From
	n.writePage(q, []governance.EventRow{})
	got := n.get("/v2/events?from=2026-01-01&to=2026-01-01")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"data":[]`) {
		t.Errorf("got %d %s, want 200 and no rows", got.status, got.body)
	}
}
