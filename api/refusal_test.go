package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/ratelimit"
)

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
	if err := json.Unmarshal(got.Error.Details, &details); err != nil {
		t.Fatal(err)
	}
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
	n.publishTokens(record, small)
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
