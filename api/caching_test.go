package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/ratelimit"
	"pnyx/reference"
	"pnyx/test/env"
)

// spelling is a request as it should be spelled, and as it may be.
type spelling struct{ canonical, other string }

// everyRoute is one request of each route that is not one caller's alone.
func everyRoute() map[string]spelling {
	const window = "?from=2026-01-01T00:00:00.000Z&to=2026-02-01T00:00:00.000Z"
	proposal := "/v2/proposals/" + string(countedKey)
	other := "/v2/proposals/%701" + strings.TrimPrefix(string(countedKey), "p1")
	return map[string]spelling{
		"meta.pricing":           {"/v2/meta/pricing", "/v2/meta/pricing?"},
		"meta.data-status":       {"/v2/meta/data-status?daoId=uniswap", "/v2/meta/data-status?%64aoId=%75niswap"},
		"daos.list":              {"/v2/daos?hasVoteData=true&coverageStatus=complete", "/v2/daos?limit=50&coverageStatus=complete&hasVoteData=true"},
		"daos.detail":            {"/v2/daos/uniswap", "/v2/daos/%75niswap"},
		"daos.timeline":          {"/v2/daos/uniswap/timeline?metric=votes_cast&toMonth=2026-06", "/v2/daos/uniswap/timeline?toMonth=2026-06&metric=votes_cast"},
		"daos.delegates":         {"/v2/daos/uniswap/delegates", "/v2/daos/uniswap/delegates?order=power&limit=025"},
		"voters.delegations":     {"/v2/voters/0xab/delegations", "/v2/voters/0xAB/delegations?limit=50"},
		"voters.open":            {"/v2/voters/0xab/open", "/v2/voters/0xAb/open?limit=50"},
		"daos.voters":            {"/v2/daos/uniswap/voters", "/v2/daos/uniswap/voters?limit=025"},
		"proposals.list":         {"/v2/proposals?lifecycleStatus=active,closed", "/v2/proposals?sort=updatedDesc&lifecycleStatus=closed%2Cactive,closed&timeField=updatedAt"},
		"proposals.resolve":      {"/v2/proposals/resolve?title=deploy%20v4", "/v2/proposals/resolve?limit=5&title=deploy+v4"},
		"proposals.detail":       {proposal, other},
		"proposals.vote-summary": {proposal + "/votes/summary", other + "/votes/summary"},
		"proposals.votes":        {proposal + "/votes", proposal + "/votes?limit=100&order=power"},
		"proposals.export":       {proposal + "/votes/export", other + "/votes/export"},
		"daos.export":            {"/v2/daos/uniswap/export", "/v2/daos/%75niswap/export"},
		"daos.export-part":       {"/v2/daos/uniswap/export/abc", "/v2/daos/uniswap/export/abc?format=ndjson"},
		"proposals.export-part":  {partPath, partPath + "?format=ndjson"},
		"proposals.evidence":     {proposal + "/evidence", other + "/evidence"},
		"forum-topics.list":      {"/v2/forum-topics?minReplies=3", "/v2/forum-topics?sort=updatedDesc&minReplies=03"},
		"forum-topics.detail":    {"/v2/forum-topics/" + string(talkKey), "/v2/forum-topics/%741" + strings.TrimPrefix(string(talkKey), "t1")},
		"voters.profile":         {"/v2/voters/0xab", "/v2/voters/0xAB"},
		"voters.votes":           {"/v2/voters/0xab/votes", "/v2/voters/0xAb/votes?limit=50"},
		"events.list":            {"/v2/events" + window, "/v2/events?to=2026-02-01&from=2026-01-01T01:00:00%2B01:00&timeBasis=eventTime"},
		"signals.list":           {"/v2/signals" + window, "/v2/signals?surface=agent&to=2026-02-01&from=2026-01-01&limit=50"},
	}
}

// publishEverything publishes what each request of everyRoute is answered from. No worker runs: a
// request for a page that is not published here waits until its client gives up.
func (t *node) publishEverything(revision uint64) {
	t.Helper()
	t.write(revision, cache.View{Readiness: governance.Ready}, map[cache.Key]any{
		cache.DataStatusKey("uniswap"):                     uniswapStatus(),
		cache.DAODetailKey("uniswap"):                      uniswapDetail(),
		cache.TimelineKey("uniswap", governance.VotesCast): governance.Timeline{DAOID: "uniswap"},
		cache.ProposalDetailKey(countedKey):                countedDetail(),
		cache.VoteSummaryKey(countedKey):                   countedSummary(),
		cache.EvidenceKey(countedKey):                      countedEvidence(),
		cache.TopicDetailKey(talkKey):                      talkDetail(),
	})
	t.writeDAOs(revision, uniswapRow(), ensRow())
	for _, page := range []struct {
		query   query.Page
		payload any
	}{
		{query.Voters{DAOID: "uniswap", Paging: firstPage[query.VoterPosition]()}, []governance.DAOVoter{}},
		{query.Proposals{
			Lifecycles: []governance.Lifecycle{governance.Active, governance.Closed}, Order: query.ProposalsByUpdate,
			Paging: firstPage[query.ProposalPosition](),
		}, listedRows()},
		{query.Resolve{Title: "deploy v4"}.Canonical(), []governance.ProposalCandidate{}},
		{nearProposals("deploy"), []cache.ProposalRow{}},
		{query.Ballots{
			Proposal: countedKey, Order: query.BallotsByPower, Paging: firstPage[query.BallotPosition](),
		}, []governance.Ballot{}},
		{query.BallotExport{Proposal: countedKey}, governance.BallotExport{Revision: "c1-x", Votes: "20001", VotingPower: "1.5"}},
		{firstPart(), exampleFile(t)},
		{query.DAOExport{DAOID: "uniswap"}, cache.DAOExport{DAOExport: governance.DAOExport{DAOID: "uniswap", Parts: []governance.DAOExportPart{{Digest: "abc"}}}}},
		{query.DAOPart{DAOID: "uniswap", Digest: "abc", Format: governance.ExportNDJSON}, exampleFile(t)},
		{query.Topics{
			Order: query.TopicsByUpdate, MinReplies: 3, Paging: firstPage[query.TopicPosition](),
		}, []governance.ForumTopic{}},
		{query.Delegates{DAOID: "uniswap", Order: query.DelegatesByPower, Paging: firstPage[query.DelegatePosition]()}, []governance.Delegate{}},
		{query.VoterDelegations{Voter: "0xab", Paging: firstPage[query.VoterDelegationPosition]()}, []governance.VoterDelegation{}},
		{query.OpenVotes{Voter: "0xab", Paging: firstPage[query.OpenVotePosition]()}, []governance.OpenVote{}},
		{query.Profile{Voter: "0xab"}, governance.VoterProfile{VoterIdentity: "0xab"}},
		{query.VoterVotes{Voter: "0xab", Paging: firstPage[query.VoterVotePosition]()}, []governance.VoterVote{}},
		{query.Dossier{Proposal: countedKey}, governance.Intelligence{Status: governance.IntelligenceAvailable}},
		{januaryEvents(), eventRows()},
		{januarySignals(), signalRows()},
	} {
		t.writePageAt(revision, page.query, page.payload)
	}
	t.API.ForgetCopies()
}

// kept is what a cache updates of what it holds when it is told that it still holds,
// and what HEAD says of GET.
func kept(header http.Header) map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		"Cache-Control", "Vary", "Etag", "Last-Modified", "Content-Location", "Surrogate-Key", "Cache-Tag", "Link",
	} {
		all[name] = header.Get(name)
	}
	return all
}

func TestEveryRouteAnswers304UntilItsDataChanges(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.publishEverything(2)
	names := map[string]string{}
	for _, route := range routes.All() {
		if route.TokenOnly || route.Stream { // answers of one caller, and of one moment
			continue
		}
		asked, listed := everyRoute()[route.ID]
		if !listed {
			t.Errorf("%s is not tried here", route.ID)
			continue
		}
		first := n.get(asked.canonical)
		if first.status != http.StatusOK {
			t.Errorf("GET %s: got %d %s", asked.canonical, first.status, first.body)
			continue
		}
		etag := first.header.Get("Etag")
		names[route.ID] = etag
		head := n.ask(http.MethodHead, asked.canonical, nil)
		held := n.ask(http.MethodGet, asked.canonical, http.Header{"If-None-Match": {`"x"`, `"y", ` + etag}})
		n.wantUnchanged(held, etag)
		for method, got := range map[string]answer{"HEAD": head, "304": held} {
			want := kept(first.header)
			if method == "304" {
				want["Link"] = got.header.Get("Link") // of the body, which is not sent
			}
			env.WantSame(t, method+" "+asked.canonical, want, kept(got.header))
		}
		other := n.get(asked.other)
		if other.header.Get("Etag") != etag || other.header.Get("Content-Location") != asked.canonical ||
			first.header.Get("Content-Location") != "" {
			t.Errorf("GET %s: got ETag %s and Content-Location %q, want %s and %q", asked.other,
				other.header.Get("Etag"), other.header.Get("Content-Location"), etag, asked.canonical)
		}
		n.wantUnchanged(n.ask(http.MethodGet, asked.other, http.Header{"If-None-Match": {etag}}), etag)
	}

	n.publishEverything(3)
	for id, etag := range names {
		got := n.ask(http.MethodGet, everyRoute()[id].canonical, http.Header{"If-None-Match": {etag}})
		if slices.Contains([]string{"meta.pricing", "proposals.export-part", "daos.export-part"}, id) { // neither changes with the data
			n.wantUnchanged(got, etag)
			continue
		}
		if got.status != http.StatusOK || got.header.Get("Etag") == etag {
			t.Errorf("%s after a publication: got %d, ETag %s, want a new answer", id, got.status, got.header.Get("Etag"))
		}
	}
}

func TestStaleAnswerHasAnotherETag(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	ready := n.get("/v2/daos/uniswap").header.Get("Etag")
	n.write(1, cache.View{Readiness: governance.Stale}, map[cache.Key]any{cache.DAODetailKey("uniswap"): uniswapDetail()})
	n.API.ForgetCopies()
	got := n.ask(http.MethodGet, "/v2/daos/uniswap", http.Header{"If-None-Match": {ready}})
	if got.status != http.StatusOK || got.header.Get("Etag") == ready || !strings.Contains(got.body, `"stale"`) {
		t.Errorf("got %d, ETag %s, want the stale answer under another name than %s", got.status, got.header.Get("Etag"), ready)
	}
}

// tabled is what the table says of a route; an empty cell of purged answers says the same as the one before.
func tabled(t *testing.T, id string) (control, purged, missing string) {
	t.Helper()
	table := env.Must(reference.CachingTable())(t)
	for line := range strings.Lines(string(table)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || !strings.Contains(cells[0], "`"+id+"`") {
			continue
		}
		control, purged, missing = strings.Trim(cells[1], "`"), strings.Trim(cells[2], "`"), strings.Trim(cells[3], "`")
		if purged == "" {
			purged = control
		}
		return control, purged, missing
	}
	t.Fatalf("%s is not in the table", id)
	return "", "", ""
}

func TestCacheControlMatchesTheCachingTable(t *testing.T) {
	t.Parallel()
	plain, told := newNode(t), startNode(t, settings{purged: true})
	plain.publishEverything(2)
	told.publishEverything(2)
	for id, asked := range everyRoute() {
		control, purged, _ := tabled(t, id)
		for n, want := range map[*node]string{plain: control, told: purged} {
			got := n.get(asked.canonical).header
			env.Want(t, want, got.Get("Cache-Control"), id, "where caches are purged", n == told)
			if tags := got.Get("Surrogate-Key"); (tags != "") != (n == told) || (got.Get("Cache-Tag") != "") != (n == told) {
				t.Errorf("%s: got Surrogate-Key %q and Cache-Tag %q, want them: %t", id, tags, got.Get("Cache-Tag"), n == told)
			}
		}
	}
	for id, path := range map[string]string{
		"meta.data-status": "/v2/meta/data-status?daoId=nobody", "daos.detail": "/v2/daos/nobody", "daos.timeline": "/v2/daos/nobody/timeline?metric=votes_cast",
		"proposals.detail": "/v2/proposals/" + string(unknownKey), "proposals.vote-summary": summaryPath(unknownKey),
		"proposals.evidence": "/v2/proposals/" + string(unknownKey) + "/evidence", "forum-topics.detail": "/v2/forum-topics/" + string(unknownTopicKey),
	} {
		t.Run(id, func(t *testing.T) {
			_, _, missing := tabled(t, id)
			got := told.get(path)
			if got.status != http.StatusNotFound || got.header.Get("Cache-Control") != missing || got.header.Get("Surrogate-Key") == "" {
				t.Errorf("GET %s: got %d %v, want 404, %q and what ends it", path, got.status, got.header, missing)
			}
		})
	}
}

func TestAnswersThatAreNotReadyAreCachedBriefly(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{purged: true})
	soon := governance.TimestampOf(noon.Add(20_500_000_000))
	for want, head := range map[string]cache.View{
		"s-maxage=60,": {Readiness: governance.Ready},
		"s-maxage=20,": {Readiness: governance.Ready, FreshUntil: &soon}, // a vote ends then
		"s-maxage=1,":  {Readiness: governance.ReadinessBackfilling},
	} {
		t.Run(want, func(t *testing.T) {
			n.write(2, head, map[cache.Key]any{cache.DAODetailKey("uniswap"): uniswapDetail()})
			n.API.ForgetCopies()
			env.WantPart(t, want, n.get("/v2/daos/uniswap").header.Get("Cache-Control"))
		})
	}
}

func TestCacheStatusNamesTheLayers(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	status := func() string { return n.get("/v2/daos/uniswap").header.Get("Cache-Status") }
	env.Want(t, "pnyx-redis; hit, pnyx-node; fwd=uri-miss; stored", status(), "first answer")
	env.Until(t, func() error { // a node that has just connected drops what it holds
		if got, want := status(), "pnyx-node; hit"; got != want {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
	until := governance.TimestampOf(noon.Add(-3_000_000_000))
	n.write(2, cache.View{Readiness: governance.Ready, FreshUntil: &until}, map[cache.Key]any{cache.DAODetailKey("uniswap"): uniswapDetail()})
	n.API.ForgetCopies()
	if got := status(); !strings.HasPrefix(got, "pnyx-redis; hit; ttl=-3, ") {
		t.Errorf("what should have been renewed: got %q", got)
	}
}

// cached is what a cache that keeps RFC 9111 may do with an answer to GET.
type cached struct {
	shared, private bool
	// lifetime is how long a shared cache may use it, in seconds, guessed says that the
	// cache has to guess.
	lifetime int
	guessed  bool
}

// directives reads Cache-Control.
func directives(header http.Header) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), "=")
		all[name] = strings.Trim(value, `"`)
	}
	return all
}

// readByRFC9111 applies its section 3, on what may be stored, and 4.2, on what is
// fresh.
func readByRFC9111(request http.Header, got answer) cached {
	has := func(name string) bool { _, is := directives(got.header)[name]; return is }
	heuristic := map[int]bool{200: true, 203: true, 204: true, 206: true, 300: true, 301: true, 308: true, 404: true, 405: true, 410: true, 414: true, 501: true}
	if has("no-store") || got.status == http.StatusNotModified || strings.TrimSpace(got.header.Get("Vary")) == "*" {
		return cached{}
	}
	explicit := has("max-age") || got.header.Get("Expires") != ""
	c := cached{private: explicit || has("public") || has("private") || heuristic[got.status]}
	c.shared = !has("private") && (explicit || has("public") || has("s-maxage") || heuristic[got.status])
	if request.Get("Authorization") != "" && !has("must-revalidate") && !has("public") && !has("s-maxage") {
		c.shared = false
	}
	for _, name := range []string{"s-maxage", "max-age"} {
		if _, err := fmt.Sscan(directives(got.header)[name], &c.lifetime); err == nil {
			return c
		}
	}
	c.guessed = c.private || c.shared
	return c
}

func TestSharedCachesMayNotKeepPaidAnswers(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	record, token := partner(ratelimit.Developer, access.V2All)
	small, smallToken := partner(ratelimit.Developer, access.V2Standard)
	n.admits(token, record, small)
	withToken := http.Header{access.HeaderToken: {token}}
	payment := http.Header{x402.HeaderPayment: {n.sign(paidPath)}}
	missing := "/v2/proposals/" + string(unknownKey)
	for name, c := range map[string]struct {
		path   string
		header http.Header
		status int
		shared bool
	}{
		"a free answer":                     {"/v2/daos/uniswap", nil, 200, true},
		"a free answer, with a token":       {"/v2/daos/uniswap", withToken, 200, true},
		"a free answer, with authorization": {"/v2/daos/uniswap", http.Header{"Authorization": {"Bearer x"}}, 200, true},
		"no such DAO":                       {"/v2/daos/nobody", nil, 404, true},
		"no such path":                      {"/v2/brief", nil, 404, true},
		"prices":                            {"/v2/meta/pricing", nil, 200, true},
		"a document":                        {"/llms.txt", nil, 200, true},
		"a wrong parameter":                 {"/v2/daos?limit=0", nil, 400, false},
		"nobody":                            {paidPath, nil, 402, false},
		"a bad token":                       {paidPath, http.Header{access.HeaderToken: {"pnyx_1"}}, 401, false},
		"a small token":                     {paidPath, http.Header{access.HeaderToken: {smallToken}}, 403, false},
		"a token":                           {paidPath, withToken, 200, false},
		"an internal caller":                {paidPath, http.Header{access.HeaderInternal: {internalToken}}, 200, false},
		"no such proposal":                  {missing, withToken, 404, false},
		"usage":                             {"/v2/meta/usage", withToken, 200, false},
		"usage of nobody":                   {"/v2/meta/usage", nil, 401, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := n.askAs(http.MethodGet, c.path, c.header)
			n.wantKept(name, c.header, got, c.status, c.shared)
		})
	}
	n.wantKept("a payment", payment, n.askAs(http.MethodGet, paidPath, payment), 200, false)
	n.wantKept("its replay", payment, n.askAs(http.MethodGet, paidPath, payment), 200, false)
	n.wantKept("another method", nil, n.askAs(http.MethodPost, "/v2/daos", nil), 405, false)
	limited := n.askAs(http.MethodGet, paidPath, withToken)
	for limited.status == http.StatusOK { // the clock stands still
		limited = n.askAs(http.MethodGet, paidPath, withToken)
	}
	n.wantKept("a token that asks too often", withToken, limited, 429, false)

	empty := startNode(t, settings{unpublished: true})
	empty.wantKept("nothing published", nil, empty.get("/v2/daos/uniswap"), 503, false)
	broken := startNode(t, settings{broken: true})
	broken.wantKept("a failure", nil, broken.get("/v2/daos/uniswap"), 500, false)
}

// wantKept checks what caches may do with an answer. None may have to guess.
func (t *node) wantKept(name string, request http.Header, got answer, status int, shared bool) {
	t.Helper()
	read := readByRFC9111(request, got)
	if got.status != status || read.shared != shared || read.guessed || read.shared && read.lifetime == 0 {
		t.Errorf("%s: got %d %q, which reads as %+v; want %d, shared %t", name, got.status, got.header.Get("Cache-Control"), read, status, shared)
	}
	if status >= 400 && status != http.StatusNotFound && read.private {
		t.Errorf("%s: got %q, which a cache may keep", name, got.header.Get("Cache-Control"))
	}
}

// wantUnchanged checks that the caller is told to use what it has.
func (t *node) wantUnchanged(got answer, etag string) {
	t.Helper()
	if got.status != http.StatusNotModified || got.body != "" || got.header.Get("Etag") != etag {
		t.Errorf("got %d %q, ETag %s, want 304 of %s without a body", got.status, got.body, got.header.Get("Etag"), etag)
	}
}

// A page that is made before anything of its scope is published, as after a flush of Redis,
// has no revision: two that differ may not share an ETag.
func TestPagesWithoutARevisionHaveTheETagOfTheirContent(t *testing.T) {
	t.Parallel()
	const path = "/v2/forum-topics?daoId=nobody&limit=2"
	etags := map[string]string{}
	for name, rows := range map[string][]governance.ForumTopic{
		"none": titled(), "a": titled("a"), "two": titled("a", "b"), "more than two": titled("a", "b", "c"),
	} {
		view := env.Must(cache.NewView(cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready}, rows))(t)
		n := newNode(t)
		n.fillPages(view)
		got := n.get(path)
		etag := got.header.Get("Etag")
		if other, again := etags[etag]; got.status != http.StatusOK || etag == "" || again {
			t.Errorf("%s: got %d, ETag %s, want one that differs from %q's", name, got.status, etag, other)
		}
		etags[etag] = name
	}
}

// A publication may come in between the reads of a DAO and of its sources: the first answer of its revision
// then has a DAO of before.
func TestADAOAndItsStatusHaveTheETagOfTheirContent(t *testing.T) {
	t.Parallel()
	n, head, detail := newNode(t), cache.View{Readiness: governance.Ready}, uniswapDetail()
	n.write(9, head, map[cache.Key]any{cache.DataStatusKey("uniswap"): uniswapStatus()})
	between := n.get("/v2/daos/uniswap")
	detail.ProposalCounts.Total++
	n.write(9, head, map[cache.Key]any{cache.DAODetailKey("uniswap"): detail})
	n.API.ForgetCopies()
	after := n.get("/v2/daos/uniswap")
	if got := after.header.Get("Etag"); got == "" || got == between.header.Get("Etag") {
		t.Errorf("got ETag %s for two DAOs", got)
	}
	lagging := func(at time.Time) string {
		n, status := startNode(t, settings{clock: func() time.Time { return at }}), uniswapStatus()
		status.Sources = []governance.SourceStatus{{ReadThroughAt: ago(60)}}
		n.write(9, head, map[cache.Key]any{cache.DataStatusKey("uniswap"): status})
		return n.get("/v2/meta/data-status?daoId=uniswap").header.Get("Etag")
	}
	if got := lagging(noon); got == "" || got == lagging(noon.Add(time.Second)) {
		t.Errorf("got ETag %s for two lags", got)
	}
}

func Test304CostsNoQuota(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	token := n.admitsTwiceAMonth()
	etag := n.askWith(http.MethodGet, paidPath, token).header.Get("Etag")
	for range 3 {
		n.wantUnchanged(n.askAs(http.MethodGet, paidPath, http.Header{access.HeaderToken: {token}, "If-None-Match": {etag}}), etag)
	}
	env.Want(t, http.StatusOK, n.askWith(http.MethodGet, paidPath, token).status, "the second of two answers a month")

	n.wantFailure(n.askAs(http.MethodGet, paidPath, http.Header{"If-None-Match": {etag}}), http.StatusPaymentRequired, apierror.CodePaymentRequired)
	payment := n.sign(paidPath)
	n.wantUnchanged(n.askAs(http.MethodGet, paidPath, http.Header{x402.HeaderPayment: {payment}, "If-None-Match": {etag}}), etag)
	n.wantCharged(0)
	env.Want(t, http.StatusOK, n.with(payment, paidPath).status, "the payment is lost")
	n.wantCharged(1)
}

// TestACompressedAnswerIsTheAnswer asks for an answer that is compressed once for all
// callers, with ids of every length: what unpacks is what others get, to the last byte.
func TestACompressedAnswerIsTheAnswer(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{prepare: (*api.API).KeepCopies})
	var many []governance.DAOListItem
	for i := range 60 {
		many = append(many, daos(strings.Repeat("d", i+1))...)
	}
	n.writeDAOs(3, many...)
	n.API.ForgetCopies()
	for _, path := range []string{"/v2/daos?limit=7", "/v2/daos?limit=60", "/v2/daos?limit=100"} { // with a cursor, in one write, in more
		t.Run(path, func(t *testing.T) {
			n.with(t).get(path) // from then on the node has a copy
			for _, id := range []string{"a", strings.Repeat("b", 26), strings.Repeat("c", 64)} {
				header := http.Header{api.HeaderRequestID: {id}}
				want := n.with(t).askAs(http.MethodGet, path, header)
				header.Set("Accept-Encoding", "gzip")
				got := n.with(t).askAs(http.MethodGet, path, header)
				if unpacked(t, got.header.Get("Content-Encoding"), got.body) != want.body || got.header.Get("Content-Encoding") != "gzip" {
					t.Errorf("id %s: got %q, want %s in gzip", id, got.body, want.body)
				}
			}
		})
	}
}
