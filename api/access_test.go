package api_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// detailPath and timelinePath are paid.
var detailPath = "/v2/proposals/" + string(countedKey)

// partner returns the record of a token, and the token.
func partner(plan ratelimit.Plan, scopes ...access.Scope) (access.Token, string) {
	id := access.NewTokenID()
	token := access.GenerateToken(id)
	return access.Token{
		ID: id, Plan: plan, Scopes: scopes, Hash: access.HashToken(token), CreatedAt: noon.AddDate(-1, 0, 0),
	}, token
}

// admitsTwiceAMonth admits a new token with a month of two answers and buckets that do not
// refuse, and returns it.
func (t *node) admitsTwiceAMonth() (token string) {
	t.Helper()
	record, token := partner(ratelimit.Custom, access.V2All)
	ample := ratelimit.Rate{PerMinute: 600, Burst: 200}
	record.Limits = &ratelimit.Limits{Month: 2, Standard: ample, Detail: ample}
	t.admits(token, record)
	return token
}

// admits publishes records and waits until the node knows them, and that there are no
// others.
func (t *node) admits(token string, records ...access.Token) {
	t.Helper()
	t.Tokens(records...)
	env.Until(t, func() error {
		got := t.askWith(http.MethodHead, "/v2/meta/usage", token)
		if got.status == http.StatusUnauthorized || got.status == http.StatusServiceUnavailable {
			return fmt.Errorf("the token is not known: got %d", got.status)
		}
		unknown := access.GenerateToken(access.NewTokenID())
		if got := t.askWith(http.MethodHead, "/v2/meta/usage", unknown); got.status != http.StatusUnauthorized {
			return fmt.Errorf("another token: got %d", got.status)
		}
		return nil
	})
}

// admitsOne admits a new token alone, and returns it.
func (t *node) admitsOne(plan ratelimit.Plan, scopes ...access.Scope) (token string) {
	t.Helper()
	record, token := partner(plan, scopes...)
	t.admits(token, record)
	return token
}

// waitAdmitted waits until the node accepts a token, which uses nothing of its limits.
func (t *node) waitAdmitted(token string) {
	t.Helper()
	env.Until(t, func() error {
		header := http.Header{access.HeaderToken: {token}, access.HeaderInternal: {internalToken}}
		if got := t.askAs(http.MethodHead, "/v2/meta/usage", header); got.status != http.StatusOK {
			return fmt.Errorf("the token is not known: got %d", got.status)
		}
		return nil
	})
}

// askWith asks with a partner token.
func (t *node) askWith(method, path, token string) answer {
	t.Helper()
	return t.askAs(method, path, http.Header{access.HeaderToken: {token}})
}

func TestAttackPaidRoutesRequireCredentials(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	record, token := partner(ratelimit.Business, access.V2Plus)
	small, smallToken := partner(ratelimit.Business, access.V2Standard, access.V1All)
	n.admits(token, record, small)

	failed := n.wantFailure(n.askAs(http.MethodGet, detailPath, nil), http.StatusPaymentRequired, apierror.CodePaymentRequired)
	if !strings.Contains(failed.Error.Message, "x-service-api-token") || !strings.Contains(string(failed.Error.Details), "v2:paid:plus") {
		t.Errorf("without credentials: got %+v, want how to get in", failed.Error)
	}
	for name, header := range map[string]http.Header{
		"malformed":      {access.HeaderToken: {"pnyx_1"}},
		"unknown":        {access.HeaderToken: {access.GenerateToken(access.NewTokenID())}},
		"wrong":          {access.HeaderToken: {access.GenerateToken(record.ID)}},
		"internal":       {access.HeaderInternal: {"internal-token-of-nobody-whatsoever-at-all"}},
		"wrong internal": {access.HeaderInternal: {"x"}, access.HeaderToken: {token}},
	} {
		t.Run(name, func(t *testing.T) {
			got := n.askAs(http.MethodGet, detailPath, header)
			n.wantFailure(got, http.StatusUnauthorized, apierror.CodeUnauthorized)
			if got.header.Get("Www-Authenticate") == "" || strings.Contains(got.body, "internal") {
				t.Errorf("%s: got %v %s, want a challenge, and no word of internal callers", name, got.header, got.body)
			}
		})
	}
	failed = n.wantFailure(n.askWith(http.MethodGet, detailPath, smallToken), http.StatusForbidden, apierror.CodeForbidden)
	if !strings.Contains(failed.Error.Message, "v2:paid:plus") || !strings.Contains(string(failed.Error.Details), `"scopeNeeded":"v2:paid:plus"`) {
		t.Errorf("too small: got %+v, want the scope that is needed", failed.Error)
	}
	got := n.askWith(http.MethodGet, detailPath, token)
	if got.status != http.StatusOK || got.header.Get("Cache-Control") != "private, max-age=1" {
		t.Errorf("valid: got %d %v, want a private answer", got.status, got.header)
	}
	if got := n.askAs(http.MethodGet, detailPath, http.Header{access.HeaderInternal: {internalToken}}); got.status != http.StatusOK ||
		got.header.Get("RateLimit") != "" {
		t.Errorf("internal: got %d %v, want an answer without limits", got.status, got.header)
	}
}

func TestParametersAreCheckedBeforeAccess(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.wantFailure(n.askAs(http.MethodGet, "/v2/proposals/nothing", nil), http.StatusBadRequest, apierror.CodeValidation)
	n.wantFailure(n.askWith(http.MethodGet, detailPath+"?x=1", "pnyx_1"), http.StatusBadRequest, apierror.CodeValidation)
	n.wantFailure(n.askAs(http.MethodGet, "/v2/nowhere", nil), http.StatusNotFound, apierror.CodeNotFound)
}

func TestATokenIsAcceptedByTheFirstRequestAfterItIsPublished(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	record, before := partner(ratelimit.Business, access.V2All)
	n.admits(before, record)

	issued, fresh := partner(ratelimit.Business, access.V2All)
	n.Tokens(record, issued)
	env.Want(t, http.StatusOK, n.askWith(http.MethodGet, detailPath, fresh).status, "a token that was just issued")

	after := access.GenerateToken(record.ID)
	record.PreviousHash, record.PreviousUntil = record.Hash, noon.Add(time.Hour)
	record.Hash = access.HashToken(after)
	n.Tokens(record, issued, issued) // a later revision
	for name, token := range map[string]string{"after": after, "before": before} {
		env.Want(t, http.StatusOK, n.askWith(http.MethodGet, "/v2/meta/usage", token).status, "the token", name, "a rotation")
	}
}

func TestInvalidTokenOnFreeRouteIsIgnored(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, header := range []http.Header{
		{access.HeaderToken: {"pnyx_1"}}, {access.HeaderToken: {access.GenerateToken(access.NewTokenID())}}, {access.HeaderInternal: {"x"}},
	} {
		if got := n.askAs(http.MethodGet, "/v2/daos", header); got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Cache-Control"), "public,") {
			t.Errorf("%v: got %d %v, want an answer for everyone", header, got.status, got.header)
		}
	}
}

func TestTokensAreUnavailableWhileRedisLacksThem(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.admitsOne(ratelimit.Custom, access.V2All)
	env.FlushRedis(t, env.RedisClient(t, n.redisURL))
	unknown := access.GenerateToken(access.NewTokenID())
	env.Until(n, func() error {
		got := n.askWith(http.MethodGet, detailPath, unknown)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			return fmt.Errorf("an unknown token: got %d %s, want to come back", got.status, got.body)
		}
		return nil
	})
	n.publishSamples()
	n.wantFailure(n.askWith(http.MethodGet, detailPath, "pnyx_1"), http.StatusUnauthorized, apierror.CodeUnauthorized)
}

// limitDetails are the details of a 429.
type limitDetails struct {
	Plan      string
	Bucket    string
	Limit     int
	Remaining *int
	ResetAt   time.Time
}

func (t *node) wantLimited(got answer, code apierror.Code) limitDetails {
	t.Helper()
	failed := t.wantFailure(got, http.StatusTooManyRequests, code)
	var details limitDetails
	env.Decode(t, failed.Error.Details, &details)
	if details.Remaining == nil || *details.Remaining != 0 || details.ResetAt.Before(noon) {
		t.Errorf("details of a refusal: got %s", failed.Error.Details)
	}
	return details
}

func TestAnswersCarryRateLimitHeaders(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	server.SetTime(noon) // it stands still: no bucket fills between requests
	n := startNode(t, settings{redisURL: "redis://" + server.Addr()})
	token := n.admitsOne(ratelimit.Developer, access.V2All)
	// Noon of 1 March 2024, and 5 ms: 31 days less 43,200 seconds are left, rounded up.
	for left := 4; left >= 0; left-- {
		got := n.askWith(http.MethodGet, detailPath, token)
		wantState := fmt.Sprintf(`"detail";r=%d;t=%d, "month";r=%d;t=2635200`, left, 6, 2995+left)
		if got.status != http.StatusOK || got.header.Get("RateLimit") != wantState ||
			got.header.Get("RateLimit-Policy") != `"detail";q=5;w=30, "month";q=3000;w=2678400` {
			t.Errorf("with %d left: got %d %v, want %s", left, got.status, got.header, wantState)
		}
	}
	got := n.askWith(http.MethodGet, detailPath, token)
	details := n.wantLimited(got, apierror.CodeRateLimited)
	if after := got.header.Get("Retry-After"); details.Plan != "developer" || details.Bucket != "detail" || details.Limit != 10 || after != "6" {
		t.Errorf("got %+v, Retry-After %s, want the developer's detail bucket and 6 s", details, after)
	}
	if state := got.header.Get("RateLimit"); !strings.HasPrefix(state, `"detail";r=0;t=6, `) || !strings.Contains(state, `"month";r=2995`) {
		t.Errorf("refused: got %s, want the time of Retry-After, and nothing taken from the month", state)
	}
	var usage struct {
		Data struct {
			Buckets []struct {
				Bucket, Remaining string
				ResetAt           time.Time
			}
		}
	}
	env.Decode(t, []byte(n.askWith(http.MethodGet, "/v2/meta/usage", token).body), &usage)
	for i, want := range []time.Duration{0, 6 * time.Second} { // one is full, the other empty
		got := usage.Data.Buckets[i]
		env.Want(t, want, got.ResetAt.Sub(noon).Round(time.Millisecond), "usage")
	}
}

func TestFreeAnswersSayWhatIsLeftOfTheAddress(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{freeRate: 6, trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}})
	for _, step := range []struct {
		address, path, token string
		status               int
		want                 string
	}{
		{"203.0.113.1", "/v2/daos", "", http.StatusOK, `"free";r=1;t=10`},
		{"203.0.113.1", "/v2/daos/nothing", "", http.StatusNotFound, `"free";r=0;t=10`},
		{"203.0.113.1", "/v2/daos", "", http.StatusTooManyRequests, `"free";r=0;t=10`},
		{"203.0.113.2", "/v2/daos", "", http.StatusOK, `"free";r=1;t=10`},
		{"203.0.113.2", detailPath, "pnyx_1", http.StatusUnauthorized, `"free";r=0;t=10`},
	} {
		got := n.askAs(http.MethodGet, step.path, http.Header{"X-Forwarded-For": {step.address}, access.HeaderToken: {step.token}})
		if limit, policy := got.header.Get("RateLimit"), got.header.Get("RateLimit-Policy"); got.status != step.status ||
			limit != step.want || policy != `"free";q=2;w=20` {
			t.Errorf("%s from %s: got %d, %s of %s, want %d, %s", step.path, step.address, got.status, limit, policy, step.status, step.want)
		}
	}
	if got := n.ask(http.MethodGet, "/v2/daos", nil); got.header.Get("RateLimit")+got.header.Get("RateLimit-Policy") != "" {
		t.Errorf("internal: got %v, want no limits", got.header)
	}
}

func TestOnlyAnswersWithDataCountTowardsTheQuota(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsTwiceAMonth()
	for range 5 {
		n.wantFailure(n.askWith(http.MethodGet, "/v2/proposals/"+string(unknownKey), token), http.StatusNotFound, apierror.CodeNotFound)
		n.wantFailure(n.askWith(http.MethodGet, "/v2/proposals/x", token), http.StatusBadRequest, apierror.CodeValidation)
	}
	for range 2 {
		if got := n.askWith(http.MethodGet, detailPath, token); got.status != http.StatusOK {
			t.Fatalf("within the month: got %d %s", got.status, got.body)
		}
	}
	got := n.askWith(http.MethodGet, detailPath, token)
	details := n.wantLimited(got, apierror.CodeQuotaExceeded)
	if want := time.Date(2024, 4, 1, 0, 0, 0, 0, time.UTC); !details.ResetAt.Equal(want) || details.Bucket != "month" || details.Limit != 2 ||
		got.header.Get("Retry-After") != "2635200" {
		t.Errorf("got %+v, Retry-After %s, want 2 answers until %s", details, got.header.Get("Retry-After"), want)
	}
	var usage struct {
		Data struct {
			Month struct{ Month, Limit, Used, Remaining string }
		}
	}
	env.Decode(t, []byte(n.askWith(http.MethodGet, "/v2/meta/usage", token).body), &usage)
	if month := usage.Data.Month; month.Month != "2024-03" || month.Limit != "2" || month.Used != "2" || month.Remaining != "0" {
		t.Errorf("usage: got %+v, want 2 of 2 used", month)
	}
}

func TestUsageDescribesTheTokenOfTheRequest(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	record, token := partner(ratelimit.Business, access.V1All)
	other, otherToken := partner(ratelimit.Developer, access.V2Standard)
	n.admits(token, record, other)
	n.wantFailure(n.askAs(http.MethodGet, "/v2/meta/usage", nil), http.StatusUnauthorized, apierror.CodeUnauthorized)
	n.wantFailure(n.ask(http.MethodGet, "/v2/meta/usage", nil), http.StatusUnauthorized, apierror.CodeUnauthorized)
	for token, want := range map[string]access.Token{token: record, otherToken: other} {
		t.Run(string(want.Plan), func(t *testing.T) {
			for range 2 {
				got := n.askWith(http.MethodGet, "/v2/meta/usage", token)
				if got.status != http.StatusOK || !strings.Contains(got.body, `"tokenId":"`+want.ID+`","plan":"`+string(want.Plan)+`"`) ||
					got.header.Get("Cache-Control") != "private, no-store" {
					t.Errorf("usage of %s: got %d %s", want.ID, got.status, got.body)
				}
			}
		})
	}
}

func TestAttackEveryForwardedForLineIsRead(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{freeRate: 6, trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}})
	allowed := 0
	for i := range 20 {
		// The caller's own line, and the line of a proxy that appends a line.
		lines := http.Header{"X-Forwarded-For": {fmt.Sprintf("198.51.100.%d", i), "192.0.2.1"}}
		if got := n.askAs(http.MethodGet, "/v2/daos", lines); got.status == http.StatusOK {
			allowed++
		}
	}
	env.Want(t, 2, allowed, "requests of one address allowed", "the burst of 2")
}

func TestAttackForwardedForIsIgnoredFromUntrustedPeers(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{freeRate: 3})
	first := n.askAs(http.MethodGet, "/v2/daos", http.Header{"X-Forwarded-For": {"192.0.2.1"}})
	second := n.askAs(http.MethodGet, "/v2/daos", http.Header{"X-Forwarded-For": {"192.0.2.2"}})
	if first.status != http.StatusOK || second.status != http.StatusTooManyRequests {
		t.Errorf("got %d and %d, want the second refused", first.status, second.status)
	}
}

func TestAttackHeadIsMeteredLikeGet(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsTwiceAMonth()
	for left := 1; left >= 0; left-- {
		got := n.askWith(http.MethodHead, detailPath, token)
		if limits := got.header.Get("RateLimit"); got.status != http.StatusOK || !strings.Contains(limits, `"month";r=`+string(rune('0'+left))+";") {
			t.Fatalf("got %d %q, want 200 and %d left of the month", got.status, limits, left)
		}
	}
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		env.Want(t, http.StatusTooManyRequests, n.askWith(method, detailPath, token).status, method, "after the month is used up")
	}
}

// manyParameters returns a query of different names that no route has, just short of
// the longest request URI.
func manyParameters() (query string, names int) {
	var all strings.Builder
	for all.Len() < 8000 {
		fmt.Fprintf(&all, "&%02x", names)
		names++
	}
	return "?" + all.String()[1:], names
}

func TestAttackManyWrongParametersGetAShortAnswer(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	query, names := manyParameters()
	got := n.wantFailure(n.get("/v2/daos"+query), http.StatusBadRequest, apierror.CodeValidation)
	var details struct {
		Problems []problem
		Omitted  int
	}
	env.Decode(t, got.Error.Details, &details)
	if len(details.Problems) != 20 || details.Omitted != names-20 || !strings.HasSuffix(got.Error.Message, fmt.Sprintf("; and %d more", names-20)) {
		t.Errorf("got %d problems and %d omitted, %s, want 20 and %d", len(details.Problems), details.Omitted, got.Error.Message, names-20)
	}
	// The answer stays within four times the request, whatever the request is made of.
	const most = 32 << 10
	for name, path := range map[string]string{
		"many names":         "/v2/daos" + query,
		"long name":          "/v2/daos?" + strings.Repeat("x", 8000) + "=1",
		"escaped name":       "/v2/daos?" + strings.Repeat("%01", 2600) + "=1",
		"long value":         "/v2/daos?cursor=" + strings.Repeat("%01", 2600),
		"repeated value":     "/v2/daos?limit=1" + strings.Repeat("&limit=1", 990),
		"list of one value":  "/v2/proposals?outcome=" + strings.Repeat("passed,", 1000) + "passe",
		"twenty long values": "/v2/daos?" + strings.Repeat("%01%02%03%04&", 600),
		"long path":          "/v2/" + strings.Repeat("%01", 2600),
		"many path segments": "/v2/daos" + strings.Repeat("/x", 4000),
	} {
		t.Run(name, func(t *testing.T) {
			got := n.with(t).get(path)
			if got.status != http.StatusBadRequest && got.status != http.StatusNotFound || len(got.body) > most {
				t.Errorf("got %d with %d bytes, want a refusal of at most %d", got.status, len(got.body), most)
			}
		})
	}
}

// refusedNode returns a node whose free bucket holds two requests, and a function that
// sends a request from an address.
func refusedNode(t *testing.T) (n *node, from func(address, method, path string, header http.Header) answer) {
	t.Helper()
	n = startNode(t, settings{freeRate: 6, trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}})
	return n, func(address, method, path string, header http.Header) answer {
		header = header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set("X-Forwarded-For", address)
		return n.askAs(method, path, header)
	}
}

func TestAttackRefusalsEmptyTheBucketOfTheToken(t *testing.T) {
	t.Parallel()
	n, _ := refusedNode(t)
	record, token := partner(ratelimit.Developer, access.V2All)
	small, smallToken := partner(ratelimit.Developer, access.V2Standard)
	n.Tokens(record, small)
	n.waitAdmitted(token)
	for name, refused := range map[string]struct {
		token, path string
		status      int
	}{
		"wrong parameter": {token, detailPath + "?x=1", http.StatusBadRequest},
		"narrow scope":    {smallToken, detailPath, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			n := n.with(t)
			for left := 4; left >= 0; left-- {
				got := n.askWith(http.MethodGet, refused.path, refused.token)
				if limits := got.header.Get("RateLimit"); got.status != refused.status || !strings.HasPrefix(limits, fmt.Sprintf(`"detail";r=%d;`, left)) ||
					strings.Contains(limits, "month") {
					t.Errorf("got %d %q, want %d, %d left and no word of the month", got.status, limits, refused.status, left)
				}
			}
			details := n.wantLimited(n.askWith(http.MethodGet, refused.path, refused.token), apierror.CodeRateLimited)
			if details.Plan != "developer" || details.Bucket != "detail" {
				t.Errorf("got %+v, want the token's own bucket", details)
			}
		})
	}
}
