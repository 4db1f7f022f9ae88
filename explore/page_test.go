package explore_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/governance"
	"pnyx/test/apinode"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// pagesOfTheSample lists a page of each kind.
func pagesOfTheSample() []string {
	return []string{
		"/explore", "/explore?name=of+many", "/explore/daos/dao-000", "/explore/proposals/" + string(sampleKey) + "?ballots=2000&compare=true",
		"/explore/voters/" + sampleVoter,
	}
}

// values returns the numbers of a page, whole.
func values(page string) []string {
	var all []string
	for _, match := range regexp.MustCompile(`<data value="([^"]*)" title="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		if match[1] == match[2] {
			all = append(all, match[1])
		}
	}
	return all
}

// data reads a route over HTTP as an internal caller.
func data[Data any](t *node, path string) (read Data) {
	t.Helper()
	got := t.send(http.MethodGet, path, asInternal()...)
	envelope := struct{ Data *Data }{&read}
	if err := json.Unmarshal([]byte(got.Body), &envelope); err != nil || got.Status != http.StatusOK {
		t.Fatalf("GET %s: got %d %s, want data", path, got.Status, got.Body)
	}
	return read
}

// TestNumbersAreThoseOfTheAPI compares what pages show with what the routes answer, to the
// last digit.
func TestNumbersAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	dao := data[governance.DAODetail](n, "/v2/daos/dao-000")
	var months, ranked, choices, top, cast []string
	for _, bucket := range data[governance.Timeline](n, "/v2/daos/dao-000/timeline?metric=votes_cast").Buckets {
		months = append([]string{string(bucket.Value)}, months...)
	}
	for _, voter := range data[[]governance.DAOVoter](n, "/v2/daos/dao-000/voters?limit=10") {
		ranked = append(ranked, string(voter.TotalVotingPower), string(voter.VoteCount))
	}
	proposal := "/v2/proposals/" + string(sampleKey)
	summary := data[governance.VoteSummary](n, proposal+"/votes/summary")
	for _, choice := range summary.Choices {
		choices = append(choices, string(choice.VotingPower))
	}
	sum := decimal.Zero
	for _, ballot := range data[[]governance.Ballot](n, proposal+"/votes?limit=10") {
		top, sum = append(top, string(ballot.VotingPower)), sum.Add(decimal.RequireFromString(string(ballot.VotingPower)))
	}
	profile := data[governance.VoterProfile](n, "/v2/voters/"+sampleVoter)
	for _, vote := range data[[]governance.VoterVote](n, "/v2/voters/"+sampleVoter+"/votes") {
		cast = append(cast, string(vote.VotingPower))
	}
	for path, want := range map[string][]string{
		"/explore/daos/dao-000": slices.Concat([]string{
			"12345", "0", string(dao.Participation.UniqueVoters), string(dao.Participation.TotalVotes), string(dao.Participation.TotalVotingPower),
			"12000", "0", "300", "0", "45",
		}, months, ranked),
		"/explore/proposals/" + string(sampleKey): slices.Concat(
			[]string{string(*summary.Totals.Votes), string(summary.Totals.VotingPower), string(summary.Quorum.Progress)}, choices),
		"/explore/voters/" + sampleVoter: slices.Concat([]string{
			string(profile.DAOCount), string(profile.ProposalCount), string(profile.VoteCount), string(profile.TotalVotingPower),
			string(profile.DAOs[0].VoteCount), string(profile.DAOs[0].TotalVotingPower),
		}, cast),
	} {
		page := n.page(path, asInternal()...)
		got := values(page[max(0, strings.Index(page, `id="choices"`)):]) // the dossier states numbers as texts
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: got the numbers %q, want them to begin with %q", path, got, want)
		}
	}
	got := values(n.page("/explore/proposals/"+string(sampleKey), asInternal()...))
	if last := got[len(got)-11:]; last[0] != sum.String() || !slices.Equal(last[1:], top) {
		t.Errorf("most power: got %q, want the sum %s of %q", last, sum, top)
	}
}

// TestCurveIsMadeOfTheBallotsOfTheAPI adds up what the table of the curve should end with.
func TestCurveIsMadeOfTheBallotsOfTheAPI(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, test := range map[string]struct {
		query  string
		most   int
		stated string
	}{
		"usually": {"", 500, "500 ballots, those with the most power."},
		"at most": {"?ballots=2000", 2000, "2000 ballots, those with the most power."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := n.with(t)
			page := n.page("/explore/proposals/"+string(sampleKey)+test.query, asInternal()...)
			sums := map[string]decimal.Decimal{}
			all := decimal.Zero
			for _, ballot := range ballots()[:test.most] {
				power := decimal.RequireFromString(string(ballot.VotingPower))
				sums[*ballot.ChoiceKey], all = sums[*ballot.ChoiceKey].Add(power), all.Add(power)
			}
			table := page[strings.Index(page, "Table of the course"):]
			rows := strings.Split(table[:strings.Index(table, "</table>")], "<tr>")
			want := []string{sums["for"].String(), sums["against"].String(), sums["abstain"].String(), sums["for"].Add(sums["abstain"]).String()}
			if got := values(rows[len(rows)-1]); !slices.Equal(got, want) {
				t.Errorf("the curve ends at %q, want %q", got, want)
			}
			share, _ := all.Shift(2).QuoRem(decimal.RequireFromString("50000000.000000000000000007"), 2)
			if want := share.String() + "% of all voting power: " + test.stated; !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
			if !strings.Contains(page, `class="quorum" d="M0`) || !strings.Contains(page, `<data value="10000000" title="10000000">`) {
				t.Error("the page lacks the line of the quorum of 10000000")
			}
		})
	}
}

func TestSearchFindsProposalsAndVoters(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	link := func(path string) string { return `href="` + path + `"` }
	voter, proposal, titled := link("/explore/voters/"+sampleVoter), link("/explore/proposals/"+string(sampleKey)), link("/explore/proposals/"+string(earlierKey(0)))
	for _, test := range []struct {
		name   string
		known  bool
		has    string
		hasNot []string
	}{
		{sampleVoter, true, voter, []string{titled}},
		{strings.ToUpper(sampleVoter[2:]), true, titled, []string{voter}},
		{"0X" + sampleVoter[2:], false, voter, []string{`class="box`}},
		{"0x" + strings.Repeat("f", 40), true, "0 of 130 DAOs match", []string{"/explore/voters/", titled}},
		{string(sampleKey), false, proposal, []string{titled}},
		{"script", true, titled, []string{voter, `class="box`}},
		{"script", false, `class="box notice"`, []string{titled}},
		{"zz", true, "0 of 130 DAOs match", []string{titled, `class="box`}},
	} {
		var header []string
		if test.known {
			header = asInternal()
		}
		got := n.page("/explore?name="+test.name, header...)
		env.WantPart(t, test.has, got, test.name, "with a token", test.known)
		for _, unwanted := range test.hasNot {
			if strings.Contains(got, unwanted) {
				t.Errorf("%s, with a token %t: got %s in %s", test.name, test.known, unwanted, got)
			}
		}
	}
}

// TestEachRequestIsCountedAsTheRoute reads pages with a token.
func TestEachRequestIsCountedAsTheRoute(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.Admit(ample(), access.V2All)
	used := 0
	for _, test := range []struct {
		path, footnote string
		paid           int
	}{
		{"/explore", "made 19 requests of the API: <code>2 × daos.list</code>, <code>2 × proposals.list</code>, <code>2 × proposals.vote-summary</code>, <code>signals.list</code>, <code>12 × daos.timeline</code>.", 0},
		{"/explore/daos", "made 1 request of the API: <code>daos.list</code>.", 0},
		{"/explore?name=nothing", "made 3 requests of the API: <code>2 × daos.list</code>, <code>proposals.list</code>.", 1},
		{"/explore?name=" + sampleVoter, "made 3 requests of the API: <code>2 × daos.list</code>, <code>voters.profile</code>.", 1},
		{"/explore/daos/dao-000", "made 5 requests of the API: <code>daos.detail</code>, <code>proposals.list</code>, <code>daos.timeline</code>, <code>daos.voters</code>, <code>daos.delegates</code>.", 4},
		{"/explore/proposals/" + string(sampleKey), "made 4 requests of the API: <code>proposals.detail</code>, <code>proposals.evidence</code>, <code>proposals.vote-summary</code>, <code>proposals.votes</code>.", 4},
		{
			"/explore/proposals/" + string(sampleKey) + "?ballots=2000&compare=true",
			"made 18 requests of the API: <code>proposals.detail</code>, <code>proposals.evidence</code>, <code>11 × proposals.vote-summary</code>, <code>4 × proposals.votes</code>, <code>proposals.list</code>.", 18,
		},
		{"/explore/voters/" + sampleVoter, "made 2 requests of the API: <code>voters.profile</code>, <code>voters.votes</code>.", 2},
		{"/explore/proposals/" + string(sampleKey) + "?compare=perhaps", "", 0},
	} {
		env.WantPart(t, test.footnote, n.send(http.MethodGet, test.path, access.HeaderToken, token).Body, test.path)
		used += test.paid
		env.Until(n, func() error {
			if got, want := n.used(token), strconv.Itoa(used); got != want {
				return fmt.Errorf("after %s the token has used %s, want %s", test.path, got, want)
			}
			return nil
		})
	}
}

func TestFreePartsAreForEveryoneAndPaidOnesAreBoxes(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	paying := startNode(t, apinode.Settings{Payments: facilitator.NewLedger(t)})
	for path, boxes := range map[string]int{
		"/explore/daos": 0, "/explore/daos/dao-000": 4, "/explore/proposals/" + string(sampleKey): 4, "/explore/voters/" + sampleVoter: 2,
		"/explore/proposals/" + string(unknownKey): 4, // whether it exists is not free either
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			page := n.with(t).page(path)
			env.Want(t, boxes, strings.Count(page, "endpoint: part of a partner"), "boxes", page)
			env.Want(t, boxes, strings.Count(paying.with(t).page(path), "endpoint: 0.005 USDC a request, or part of a partner"), "boxes with a price where payments are taken")
			for _, paid := range []string{"12345678901234567890", "7777777.5", "50000000.000000000000000007", "123456789.123456789", "10000.000000000000000001", string(earlierKey(0))} {
				if strings.Contains(page, paid) {
					t.Errorf("the free page shows %s, which is paid", paid)
				}
			}
		})
	}
	if log := n.Logged.String(); strings.Contains(log, `"status":402`) {
		t.Error("a page without a token asks for what is not free")
	}
}

func TestBoxesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	limits := ample()
	limits.Detail.Burst, limits.Detail.PerMinute = 2, 1
	for name, test := range map[string]struct {
		header func(*node) []string
		want   []string
	}{
		"a bad token":   {func(*node) []string { return []string{access.HeaderToken, "pnyx_token"} }, []string{"4 UNAUTHORIZED"}},
		"Authorization": {func(*node) []string { return []string{"Authorization", "Bearer pnyx_token"} }, []string{"4 UNAUTHORIZED"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantBoxes(t, n.with(t).page("/explore/proposals/"+string(sampleKey), test.header(n)...), test.want...)
		})
	}
	t.Run("a token of another tier", func(t *testing.T) {
		t.Parallel()
		n := newNode(t)
		wantBoxes(t, n.page("/explore/daos/dao-000", access.HeaderToken, n.Admit(ample(), access.V2Standard)), "3 FORBIDDEN")
	})
	t.Run("an empty bucket", func(t *testing.T) {
		t.Parallel()
		n := newNode(t)
		page := n.page("/explore/proposals/"+string(sampleKey)+"?compare=true", access.HeaderToken, n.Admit(limits, access.V2All))
		wantBoxes(t, page, "3 RATE_LIMITED")
		if !strings.Contains(page, "Try again in ") || strings.Count(page, "13 × ") > 0 {
			t.Errorf("got %s, want to be told when to try again, once", page)
		}
	})
	t.Run("a month that is used up", func(t *testing.T) {
		t.Parallel()
		n := newNode(t)
		limits := ample()
		limits.Month = 1
		wantBoxes(t, n.page("/explore/voters/"+sampleVoter, access.HeaderToken, n.Admit(limits, access.V2All)), "1 QUOTA_EXCEEDED")
	})
}

// wantBoxes checks how many boxes of a page have each code: "3 UNAUTHORIZED".
func wantBoxes(t *testing.T, page string, want ...string) {
	t.Helper()
	var got []string
	for _, info := range api.Codes(false) {
		if n := strings.Count(page, "was not read. <code>"+string(info.Code)+"</code>"); n > 0 {
			got = append(got, decimal.NewFromInt(int64(n)).String()+" "+string(info.Code))
		}
	}
	env.WantSame(t, "boxes", want, got)
}

func TestStrangersTextsAreTexts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range pagesOfTheSample() {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			page := n.with(t).page(path, asInternal()...)
			for _, wrong := range []string{"<script>", "<img src=x", "</title></h1>", " style=", "onerror=alert(3)>"} {
				if strings.Contains(page, wrong) {
					t.Errorf("the page has %q", wrong)
				}
			}
			for _, link := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				if !strings.HasPrefix(link[1], "/") && link[1] != "#main" {
					t.Errorf("the page links to %q", link[1])
				}
			}
		})
	}
	env.WantPart(t, "</th><td>unknown</td><td></td></tr>", n.page("/explore/proposals/"+string(sampleKey), asInternal()...), "a voter whose ballot may be missing is not unknown")
	env.WantPart(t, `href="/explore/daos/a%2Fb%20c.eth"`, n.page("/explore/voters/"+sampleVoter, asInternal()...), "an id with a slash and a space is not escaped in its address")
}

func TestErrorsArePages(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for path, want := range map[string]struct {
		status int
		code   apierror.Code
		text   string
	}{
		"/explore/daos/nobody":                                   {404, apierror.CodeNotFound, "there is no DAO with the daoId"},
		"/explore/proposals/" + string(unknownKey):               {404, apierror.CodeNotFound, "there is no proposal"},
		"/explore/voters/0xnobody":                               {404, apierror.CodeNotFound, "there is no voter"},
		"/explore/nothing":                                       {404, apierror.CodeNotFound, "there is no such page"},
		"/explore/proposals/p1_short":                            {400, apierror.CodeValidation, "proposalKey must be p1_ and 22"},
		"/explore/daos/%ff":                                      {400, apierror.CodeValidation, "daoId must be a text"},
		"/explore?limit=3":                                       {400, apierror.CodeValidation, "limit"},
		"/explore?name=a&name=b":                                 {400, apierror.CodeValidation, "name is given more than once"},
		"/explore?name=":                                         {400, apierror.CodeValidation, "name is empty"},
		"/explore?cursor=abc":                                    {400, apierror.CodeValidation, "cursor"},
		"/explore/daos/dao-000?cursor=abc":                       {400, apierror.CodeValidation, "cursor"},
		"/explore/daos/dao-000?metric=x":                         {400, apierror.CodeValidation, "metric must be one of"},
		"/explore/proposals/" + string(sampleKey) + "?ballots=9": {400, apierror.CodeValidation, "ballots must be one of 500, 2000"},
		"/explore/voters/" + sampleVoter + "?cursor=abc":         {400, apierror.CodeValidation, "cursor"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got := n.with(t).send(http.MethodGet, path, append(asInternal(), "X-Request-Id", "the-id")...)
			if got.Status != want.status || !strings.Contains(got.Body, "<code>"+string(want.code)+"</code>") || !strings.Contains(got.Body, want.text) {
				t.Errorf("got %d %s, want %d %s %q", got.Status, got.Body, want.status, want.code, want.text)
			}
			if strings.Contains(got.Body, "details.") || !strings.Contains(got.Body, "<code>the-id</code>") || got.Header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("got %s %s, want a page with the request's id", got.Header.Get("Content-Type"), got.Body)
			}
		})
	}
	env.Want(t, http.StatusBadRequest, n.send(http.MethodGet, "/explore/proposals/p1_short").Status, "a wrong key without a token")
}

func TestPagesWithoutATokenMayBeCached(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/explore", "/explore/daos/dao-000", "/explore/proposals/" + string(sampleKey)} {
		got := n.send(http.MethodGet, path)
		etag := got.Header.Get("ETag")
		if control := got.Header.Get("Cache-Control"); !strings.HasPrefix(control, "public, max-age=1,") || etag == "" {
			t.Errorf("%s: got %q and the ETag %q, want public", path, control, etag)
		}
		env.Want(t, "Accept-Encoding, X-Service-Api-Token, Authorization", got.Header.Get("Vary"), path, "Vary")
		if again := n.send(http.MethodGet, path, "If-None-Match", etag); again.Status != http.StatusNotModified || again.Body != "" {
			t.Errorf("%s, again: got %d %s, want 304", path, again.Status, again.Body)
		}
		if head := n.send(http.MethodHead, path); head.Status != http.StatusOK || head.Body != "" || head.Header.Get("ETag") != etag {
			t.Errorf("HEAD %s: got %d %q, want what GET has", path, head.Status, head.Header)
		}
	}
	env.Want(t, "public, max-age=1, s-maxage=1", n.send(http.MethodGet, "/explore/daos/nobody").Header.Get("Cache-Control"), "404", "a second")
	env.Want(t, "no-store", n.send(http.MethodGet, "/explore?limit=3").Header.Get("Cache-Control"), "400")
}

func TestPagesWithCredentialsAreStoredByNobody(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, header := range [][]string{asInternal(), {access.HeaderToken, "pnyx_token"}, {"Authorization", "Bearer pnyx_token"}} {
		for _, path := range []string{"/explore", "/explore/daos/dao-000", "/explore/daos/nobody"} {
			got := n.send(http.MethodGet, path, header...)
			if control, etag := got.Header.Get("Cache-Control"), got.Header.Get("ETag"); control != "private, no-store" || etag != "" {
				t.Errorf("%s with %s: got %q and the ETag %q, want private, no-store", path, header[0], control, etag)
			}
		}
	}
}

func TestPagesAreReadOnly(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const path = "/explore/daos/dao-000"
	if got := n.send(http.MethodPost, path); got.Status != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("POST: got %d, Allow %q, want 405", got.Status, got.Header.Get("Allow"))
	}
	if got := n.send(http.MethodOptions, path); got.Status != http.StatusNoContent || got.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("OPTIONS: got %d, Allow %q, want 204", got.Status, got.Header.Get("Allow"))
	}
	if got := n.send(http.MethodGet, path+"/"); got.Status != http.StatusMovedPermanently || got.Header.Get("Location") != path {
		t.Errorf("with a slash: got %d %q, want a redirect to %s", got.Status, got.Header.Get("Location"), path)
	}
	policy := n.send(http.MethodGet, path).Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || !strings.Contains(policy, "form-action 'self'") {
		t.Errorf("got the policy %q", policy)
	}
}

func TestFreeRoutesOfAPageAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	n := startNode(t, apinode.Settings{FreeRate: 1})
	for range 10 {
		got := n.send(http.MethodGet, "/explore")
		if got.Status == http.StatusOK {
			continue
		}
		if got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" || !strings.Contains(got.Body, "<code>RATE_LIMITED</code>") ||
			got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("got %d %q %s, want a page that says RATE_LIMITED", got.Status, got.Header, got.Body)
		}
		return
	}
	t.Error("ten pages are read in the minute of one free request")
}

// TestRequestsAreCountedAndLogged reads pages, and looks at what remains of that.
func TestRequestsAreCountedAndLogged(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.Admit(ample(), access.V2All)
	for path, status := range map[string]int{
		"/explore/daos": 200, "/explore/daos/nobody": 404, "/explore/proposals/" + string(sampleKey): 200, "/explore/nothing": 404,
	} {
		env.Want(t, status, n.send(http.MethodGet, path, access.HeaderToken, token).Status, "GET", path)
	}
	counts := env.Counts(t, n.Registry, "pnyx_http_requests_total")
	for series, want := range map[string]float64{
		"code= route=explore status=200": 2, "code=NOT_FOUND route=explore status=404": 2, "code= route=daos.list status=200": 1,
		"code=NOT_FOUND route=daos.detail status=404": 1, "code= route=proposals.votes status=200": 1,
	} {
		env.Want(t, want, counts[series], series, "requests")
	}
	log := n.Logged.String()
	for _, line := range []string{`"route":"explore","status":200`, `"route":"explore","status":404`, `"path":"/explore/daos/nobody"`, `"route":"proposals.votes","status":200`} {
		env.WantPart(t, line, log, "the log lacks")
	}
	if strings.Contains(log, token) || strings.Contains(log, token[:20]) {
		t.Error("the log has the token")
	}
}
