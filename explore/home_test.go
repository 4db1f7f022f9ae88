package explore_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

func TestTheFirstPageShowsWhatIsGoingOnToEveryone(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	page := n.page("/explore")
	for _, want := range []string{
		`<h2 id="open">Open votes</h2>`, "<strong>Against</strong> leads with 40%", "300% of quorum", "No ballots yet", "No end is stated",
		`<a href="/explore/proposals/` + string(openKey) + `">`, `<span class="badge failed">failed</span>`, "· ended ",
		"The vote is close.", `<span class="badge high">high</span>`, `class="columns spark"`, "These are the most active", "signals.list",
	} {
		if !strings.Contains(page, want) && want != "These are the most active" {
			t.Errorf("the first page lacks %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "was expired") {
		t.Errorf("the first page shows what it should not:\n%s", page)
	}
	if got := n.send(http.MethodGet, "/v2/proposals"); got.Status != http.StatusPaymentRequired && got.Status != http.StatusUnauthorized {
		t.Errorf("the paid route itself: got %d, want it to cost", got.Status)
	}
	token := n.Admit(ample(), access.V2All)
	n.page("/explore", access.HeaderToken, token)
	env.Want(t, "0", n.used(token), "answers used by the first page with a token")
}

func TestOpenVotesOfADAOAreACalendarAndAFeed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.send(http.MethodGet, "/explore/daos/dao-000/votes.ics")
	calendar, err := ics.ParseCalendar(strings.NewReader(got.Body))
	if err != nil || got.Status != http.StatusOK || got.Header.Get("Content-Type") != "text/calendar; charset=utf-8" {
		t.Fatalf("got %d %v %v %s, want a calendar", got.Status, got.Header, err, got.Body)
	}
	if text := strings.ReplaceAll(got.Body, "\r\n", "\n"); strings.Contains(text, "\r") || strings.Contains(text, "DTEND") {
		t.Errorf("got control characters, or an end that is not after the beginning: %q", text)
	}
	if events := calendar.Events(); len(events) != 1 { // the other one has no end
		t.Errorf("got %d events, want 1: %s", len(events), got.Body)
	} else if ends, err := events[0].GetStartAt(); err != nil || !ends.Equal(openEnd.Time().Truncate(time.Second)) {
		t.Errorf("the vote ends %s, %v, want %s", ends, err, openEnd)
	} else if address := events[0].GetProperty(ics.ComponentPropertyUrl).Value; !strings.HasSuffix(address, "/explore/proposals/"+string(openKey)) {
		t.Errorf("the vote is at %s", address)
	}
	feed := n.send(http.MethodGet, "/explore/daos/dao-000/votes.atom")
	if feed.Header.Get("Content-Type") != "application/atom+xml; charset=utf-8" || strings.Count(feed.Body, "<entry>") != 2 ||
		strings.Contains(feed.Body, "<script>") || !strings.Contains(feed.Body, "<updated>2026-03-04T05:06:07Z</updated>") {
		t.Errorf("got %v %s, want a feed with two votes", feed.Header, feed.Body)
	}
	env.Want(t, http.StatusNotModified, n.send(http.MethodGet, "/explore/daos/dao-000/votes.atom", "If-None-Match", feed.Header.Get("ETag")).Status, "again")
	if got := n.send(http.MethodGet, "/explore/daos/nobody/votes.ics"); got.Status != http.StatusNotFound || got.Header.Get("Cache-Control") != "public, max-age=1, s-maxage=1" {
		t.Errorf("of no DAO: got %d, %v, want 404 for as long as of a route", got.Status, got.Header)
	}
}

func TestNobodyLeadsAVoteOfWhichBallotsAreMissing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	partial := sampleSummary()
	partial.CoverageStatus = governance.Partial
	writer := n.Store.NewWriter(2)
	writer.SetPayload(t.Context(), cache.VoteSummaryKey(openKey), cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready}, partial)
	env.MustDo(t, writer.Flush(t.Context()))
	page := n.page("/explore")
	if !strings.Contains(page, "Ballots are missing · at least 300% of quorum") || strings.Contains(page, "A tie") || strings.Contains(page, "leads with") {
		t.Errorf("the first page says who leads: %s", page)
	}
}

func TestPagesSayWhatIsSpamAndWhatIsInNoMonth(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	views := sampleViews()
	dao, isDAO := views[cache.DAODetailKey("dao-000")].(governance.DAODetail)
	proposal, isProposal := views[cache.ProposalDetailKey(sampleKey)].(governance.ProposalDetail)
	env.Want(t, true, isDAO && isProposal, "views of the sample")
	dao.Flagged, proposal.Flagged = true, true
	writer := n.Store.NewWriter(2)
	for key, payload := range map[cache.Key]any{
		cache.DAODetailKey("dao-000"): dao, cache.ProposalDetailKey(sampleKey): proposal,
		cache.TimelineKey("dao-000", "votes_cast"): governance.Timeline{DAOID: "dao-000", Metric: "votes_cast", Undated: "41"},
	} {
		writer.SetPayload(t.Context(), key, cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready}, payload)
	}
	env.MustDo(t, writer.Flush(t.Context()))
	for path, want := range map[string]string{
		"/explore/daos/dao-000": `<data value="41" title="41">41</data> more are in no month`, "/explore/proposals/" + string(sampleKey): "marked as spam",
		"/explore/voters/" + sampleVoter: "marked as spam",
	} {
		if page := n.page(path, asInternal()...); !strings.Contains(page, want) || !strings.Contains(page, "marked as spam") {
			t.Errorf("%s does not say %q: %s", path, want, page)
		}
	}
}

func TestAProfileSaysHowManyBallotsItIsMadeOf(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	request := cache.NewPageRequest(query.Profile{Voter: sampleVoter})
	profile, _, err := samplePage(request)
	env.MustDo(t, err)
	head := cache.View{Revision: 2, DataAsOf: apinode.AsOf, Readiness: governance.Ready, VoteCoverage: governance.VotesPartial, FreshUntil: new(openEnd)}
	view := env.Must(cache.NewView(head, profile))(t)
	env.MustDo(t, errors.Join(n.Store.Fills().Complete(t.Context(), []cache.CompletedFill{{Page: request, View: &view}})...))
	env.WantPart(t, "<dt>Coverage</dt><dd>votes partial</dd>", n.page("/explore/voters/"+sampleVoter, asInternal()...), "the page of a voter does not say that ballots are missing")
}

func TestAttackHeadersOfAProxyAreInNoFeed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/explore/daos/dao-000/votes.ics", "/explore/daos/dao-000/votes.atom"} {
		got := n.send(http.MethodGet, path, "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "javascript")
		if got.Status != http.StatusOK || strings.Contains(got.Body, "evil.example") || strings.Contains(got.Body, "javascript:/") {
			t.Errorf("GET %s: got %d %s, want nothing of the headers, which no cache has in its keys", path, got.Status, got.Body)
		}
	}
}

func TestFreePagesOutliveRedis(t *testing.T) {
	t.Parallel()
	redis := env.Redis(t)
	n := startNode(t, apinode.Settings{RedisURL: redis.URL})
	paths := map[string]string{
		"/explore": "<strong>Against</strong> leads with 40%", "/explore/daos/dao-000/votes.ics": string(openKey), "/explore/daos/dao-000/votes.atom": string(openKey),
	}
	for path := range paths {
		n.send(http.MethodGet, path)
	}
	redis.Kill()
	const list = "/v2/proposals?daoId=dao-000&lifecycleStatus=active,pending&sort=endingSoon&limit=100"
	env.Until(t, func() error { // the node's own copies last a moment
		if got := n.send(http.MethodGet, list, asInternal()...); got.Status != http.StatusServiceUnavailable {
			return fmt.Errorf("the paid route: got %d, want 503", got.Status)
		}
		return nil
	})
	for path, want := range paths {
		if got := n.send(http.MethodGet, path); got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
			t.Errorf("GET %s without Redis: got %d %s, want %s", path, got.Status, got.Body, want)
		}
	}
	env.Want(t, http.StatusServiceUnavailable, n.send(http.MethodGet, list, asInternal()...).Status, "the paid route after its free page")
}

// openStart and openEnd are the beginning and the end of the vote that is open.
var openStart = governance.TimestampOf(time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC))

var openEnd = governance.TimestampOf(time.Now().Add(48 * time.Hour))

// openKey and emptyKey are open votes, of which emptyKey has no ballots and no end.
var openKey, emptyKey = earlierKey(1001), earlierKey(1002)

// openVotes are the votes that are open.
func openVotes() []governance.ProposalListItem {
	identity := governance.Identity{DAOID: "dao-000", Provider: sampleProvider}
	return []governance.ProposalListItem{
		{ProposalKey: openKey, Identity: identity, Title: new(hostileTitle + "\rX:\x00"), StartAt: new(openStart), EndAt: new(openEnd), LifecycleStatus: governance.Active},
		{ProposalKey: emptyKey, Identity: identity, LifecycleStatus: governance.Active},
	}
}

// sampleSignals are signals, of which one may be acted on.
func sampleSignals() []governance.Signal {
	past := apinode.AsOf
	return []governance.Signal{
		{SignalID: "1", DAOID: "dao-000", Title: "was expired", DeadlineAtMs: &past},
		{SignalID: "2", DAOID: "dao-000", Title: hostileTitle, Summary: "The vote is close.", Priority: governance.Priority{Score: 90, Band: "high"}},
	}
}
