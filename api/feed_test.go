package api_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
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
			SignalID: "s1_b", SignalType: "proposal_deadline_reminder", Priority: rules.PriorityOf(65), Actionability: "vote_now",
			DAOID: "uniswap", Title: "Last day to vote: “Deploy \"v4\"”", Summary: "Voting ends on 1 June 2026, 11:59 UTC.", SourceURL: &url,
			DeadlineAtMs: ago(60), Severity: rules.SeverityWarning, ProposalKey: &key, Evidence: []byte(`{"rule":"proposal_deadline_reminder","votes":"3"}`),
		}},
		{DetectedAt: *ago(3600), Signal: governance.Signal{
			SignalID: "recorded", SignalType: "close_race", Priority: rules.PriorityOf(20), DAOID: "ens.eth", Evidence: []byte(`{"figure":1.10e2}`),
		}},
	}
}

func TestFeedParametersSelectThePage(t *testing.T) {
	t.Parallel()
	n, events, signals := newNode(t), januaryEvents(), januarySignals()
	events.DAOID, events.Basis, events.MinImportance = "uniswap", query.EventTimeDiscovered, 40
	events.Types = []governance.EventType{rules.QuorumReached, rules.VotingEnded}
	n.writePage(events, eventRows())
	signals.DAOID, signals.Surface, signals.MinPriority, signals.Order = "uniswap", governance.AtlasPriority, 70, query.SignalsByDeadline
	signals.Types = []governance.SignalType{"close_race", "late_swing"}
	n.writePage(signals, signalRows())
	for path, want := range map[string]string{
		"/v2/events?to=2026-02-01T00:00:00Z&from=2026-01-01&daoId=uniswap&timeBasis=discoveredTime&importanceMin=40&eventType=voting_ended,quorum_reached,voting_ended": `"eventId":"e1_b"`,
		"/v2/signals?to=2026-02-01&from=2026-01-01&daoId=uniswap&sort=deadlineAsc&surface=atlas_priority&priorityMin=70&signalType=late_swing,close_race":               `"evidence":{"figure":1.10e2}`,
	} {
		got := n.get(path)
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("got %d %s, want the page with %s, digit by digit", got.status, got.body, want)
		}
		if strings.Contains(got.body, "discoveredAt") || strings.Contains(got.body, "detectedAt") {
			t.Errorf("got %s, want only the fields of the contract", got.body)
		}
	}
}

// What is past and what is to come stays as the first page had it.
func TestNextPageOfDeadlinesKeepsItsTime(t *testing.T) {
	t.Parallel()
	n, q, signal := newNode(t), januarySignals(), signalRows()[0]
	q.Order = query.SignalsByDeadline
	n.writePage(q, signalRows())
	q.After = &query.SignalPosition{Score: 65, At: signal.DeadlineAtMs, ID: "s1_b", AsOf: new(dataAsOf)}
	n.writePage(q, []struct{}{})
	const path = "/v2/signals?limit=1&from=2026-01-01&to=2026-02-01&sort=deadlineAsc"
	env.Want(t, "", n.listed(path+"&cursor="+n.listed(path)), "cursor", "after the last page")
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

func TestInvalidListParametersAreRejected(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const window = "from=2026-01-01&to=2026-02-01"
	for path, parameters := range map[string][]string{
		"/v2/events":                 {"from", "to"},
		"/v2/events?from=2026-01-01": {"to"},
		"/v2/events?from=2026-01-01&to=2026-04-01T00:00:00.001Z":                                                              {"to"},
		"/v2/events?from=2026-01-02&to=2026-01-01":                                                                            {"from"},
		"/v2/events?" + window + "&eventType=paused":                                                                          {"eventType"},
		"/v2/events?" + window + "&eventType=voting_ended,":                                                                   {"eventType"},
		"/v2/events?" + window + "&timeBasis=now":                                                                             {"timeBasis"},
		"/v2/events?" + window + "&importanceMin=101":                                                                         {"importanceMin"},
		"/v2/events?" + window + "&limit=201&importanceMin=-1":                                                                {"importanceMin", "limit"},
		"/v2/events?" + window + "&sort=priorityDesc":                                                                         {"sort"},
		"/v2/signals?to=2026-01-01":                                                                                           {"from"},
		"/v2/signals?from=2026-01-01&to=2026-04-01T00:00:01Z":                                                                 {"to"},
		"/v2/signals?" + window + "&signalType=rumour":                                                                        {"signalType"},
		"/v2/signals?" + window + "&surface=wall&sort=loudest":                                                                {"sort", "surface"},
		"/v2/signals?" + window + "&priorityMin=101&limit=101":                                                                {"limit", "priorityMin"},
		"/v2/signals?" + window + "&cursor=abc":                                                                               {"cursor"},
		"/v2/signals?" + window + "&daoId=&timeBasis=discoveredTime":                                                          {"daoId", "timeBasis"},
		"/v2/proposals?from=2025-01-01&to=2026-01-02":                                                                         {"to"}, // 366 days
		"/v2/proposals?from=2026-01-02&to=2026-01-01":                                                                         {"from"},
		"/v2/proposals?cursor=AAAA":                                                                                           {"cursor"},
		"/v2/proposals?lifecycleStatus=active,running&timeField=votedAt&sort=repliesDesc&limit=101":                           {"lifecycleStatus", "limit", "sort", "timeField"},
		"/v2/proposals?outcome=passed,&includeVotes=true&provider=&limit=0":                                                   {"includeVotes", "limit", "outcome", "provider"},
		"/v2/forum-topics?updatedFrom=2024-01-02&updatedTo=2024-01-01":                                                        {"updatedFrom"},
		"/v2/forum-topics?cursor=abc":                                                                                         {"cursor"},
		"/v2/forum-topics?minReplies=-1&sort=updatedAsc&limit=0&governanceRelated=1":                                          {"governanceRelated", "limit", "minReplies", "sort"},
		"/v2/forum-topics?minReplies=1.5&limit=101&daoId=&provider=&from=2024-01-01":                                          {"daoId", "from", "limit", "minReplies", "provider"},
		"/v2/forum-topics?minReplies=2147483648&updatedFrom=yesterday&updatedTo=2024-13-01&sort=createdDesc&sort=createdDesc": {"minReplies", "sort", "updatedFrom", "updatedTo"},
	} {
		t.Run(path, func(t *testing.T) {
			var named []string
			for _, problem := range n.with(t).wantProblems(path) {
				named = append(named, problem.Parameter)
			}
			slices.Sort(named)
			env.WantSame(t, "problems", parameters, named)
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
