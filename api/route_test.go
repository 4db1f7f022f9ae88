package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	ids, paths := map[string]bool{}, map[string]bool{}
	for _, route := range routes.All() {
		if ids[route.ID] || paths[route.Path] || route.ID == "" || !strings.HasPrefix(route.Path, "/v2/") {
			t.Errorf("%s %s: want an id and a path below /v2 of its own", route.ID, route.Path)
		}
		ids[route.ID], paths[route.Path] = true, true
		buckets := map[governance.Tier]ratelimit.Bucket{governance.Free: "free", governance.Standard: "standard", governance.Plus: "detail"}
		if want, is := buckets[route.Tier]; !is || route.Bucket() != want {
			t.Errorf("%s: tier %q with the bucket %s, want %s", route.ID, route.Tier, route.Bucket(), want)
		}
		if !strings.HasSuffix(route.Summary, ".") {
			t.Errorf("%s: summary %q is no sentence", route.ID, route.Summary)
		}
		wantParams(t, route)
	}
}

// wantParams checks that the parameters of a route are those in its path and in
// its query, described.
func wantParams(t *testing.T, route routes.Route) {
	t.Helper()
	var inPath, named []string
	for part := range strings.SplitSeq(route.Path, "/") {
		if name, is := strings.CutPrefix(part, ":"); is {
			inPath = append(inPath, name)
		}
	}
	for _, one := range route.Params {
		if one.In == param.InPath {
			named = append(named, one.Name)
		}
		if !strings.HasSuffix(one.Description, ".") {
			t.Errorf("%s %s: meaning %q is no sentence", route.ID, one.Name, one.Description)
		}
		for what, value := range map[string]string{"example": one.Example, "default": one.Default} {
			if _, problem := one.Read(map[string]string{one.Name: value}); value != "" && problem != nil {
				t.Errorf("%s %s: %s %q: %+v", route.ID, one.Name, what, value, problem)
			}
		}
	}
	env.WantSame(t, route.ID+": parameters in the path", named, inPath)
}

func TestRequestsAreCountedByRouteAndStatus(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for path, times := range map[string]int{
		"/v2/daos": 3, "/v2/daos?limit=0": 1, "/v2/daos/uniswap": 2, "/v2/daos/nobody": 1, "/v2/daos/somebody": 1, "/a": 1, "/b": 1,
	} {
		for range times {
			n.get(path)
		}
	}
	n.ask(http.MethodHead, "/v2/daos", nil)
	n.ask(http.MethodPost, "/v2/daos", nil)
	got := n.counts("pnyx_http_requests_total")
	for series, want := range map[string]float64{
		"code= route=daos.list status=200": 4, "code=VALIDATION_ERROR route=daos.list status=400": 1,
		"code= route=daos.detail status=200": 2, "code=NOT_FOUND route=daos.detail status=404": 2,
	} {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			env.Want(t, want, got[series], series)
		})
	}
	if got := got["code=NOT_FOUND route=none status=404"]; got < 2 {
		t.Errorf("unknown paths: got %g, want at least 2", got)
	}
	if _, counted := got["code=INTERNAL route=daos.list status=500"]; !counted {
		t.Error("the series of bugs begins with the first: an increase from nothing is none, and no alert fires")
	}
	for series := range got {
		for _, given := range []string{"uniswap", "nobody", "route=/a", "route=/b"} {
			if strings.Contains(series, given) {
				t.Errorf("a series is named by what a caller sent: %s", series)
			}
		}
	}
	env.Want(t, 2, n.counts("pnyx_cache_misses_total")[""], "misses")
}

// counts are the values of a counter or gauge, by its labels.
func (t *node) counts(name string) map[string]float64 {
	t.Helper()
	return env.Counts(t, t.Registry, name)
}

// FuzzParams asks a node for whatever stands behind the host in an address: no
// request may bring it to anything but an answer in an envelope.
func FuzzParams(f *testing.F) {
	for _, path := range goldens() {
		f.Add(path)
	}
	for _, path := range []string{
		"", "/", "//", "/v2/daos?", "/v2/daos?&&", "/v2/daos?a;b", "/v2/daos/%zz", "/v2/daos/%00", "/v2/daos/%ff?%ff=%ff",
		"/v2/daos?limit=%31", "/v2/daos?LIMIT=1", "/v2/daos/../daos", "/v2/daos#x", "http://[::1", "\x00", "/v2/daos?cursor=\n",
	} {
		f.Add(path)
	}
	handler := newHandler(f)
	f.Fuzz(func(t *testing.T, uri string) {
		var request fasthttp.RequestCtx
		request.Request.Header.SetMethod(http.MethodGet)
		request.Request.Header.SetHost("pnyx.example")
		request.Request.SetRequestURI(uri)
		request.Request.Header.Set(access.HeaderInternal, internalToken)
		handler(&request)
		status, body := request.Response.StatusCode(), request.Response.Body()
		if strings.HasPrefix(string(request.Path()), "/docs") || status == http.StatusOK && !strings.HasPrefix(string(request.Path()), "/v2/") {
			return // a document
		}
		// Nobody makes pages on demand here.
		if !slices.Contains([]int{
			http.StatusOK, http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestURITooLong, http.StatusServiceUnavailable,
		}, status) {
			t.Fatalf("%q: got %d %s, want 200, 400, 401, 404, 414 or 503", uri, status, body)
		}
		var envelope struct{ Data, Error, Meta json.RawMessage }
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&envelope); err != nil || (envelope.Data == nil) == (envelope.Error == nil) || envelope.Meta == nil {
			t.Fatalf("%q: got %s, %v, want an envelope", uri, body, err)
		}
	})
}

// hotPath has an answer at the node of newHandler.
const hotPath = "/v2/daos/uniswap"

// newHandler answers without a socket, from a Redis in which everything is published, and
// hotPath alone is there.
func newHandler(f *testing.F) fasthttp.RequestHandler {
	f.Helper()
	return apinode.Start(f, apinode.Settings{
		Sample:   apinode.Sample{Views: map[cache.Key]any{cache.DAODetailKey("uniswap"): uniswapDetail()}},
		Unlogged: true, Options: func(o *api.Options) { o.RequestTimeout = 50 * time.Millisecond },
	}).API.Handler()
}

func TestEveryRouteHasAPrice(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var got governance.Pricing
	n.decode(string(n.wantSuccess("/v2/meta/pricing").Data), &got)
	want := governance.Pricing{Token: "USDC", Network: "eip155:8453"}
	for _, route := range routes.All() {
		price := map[governance.Tier]governance.Decimal{governance.Free: "0", governance.Standard: "0.001", governance.Plus: "0.005"}[route.Tier]
		want.Routes = append(want.Routes, governance.RoutePrice{
			RouteID: route.ID, Method: "GET", Path: route.Path, Tier: route.Tier, Paid: route.Tier != governance.Free, Price: price,
		})
	}
	limits := func(month string, standard, burst, detail, detailBurst string) governance.PlanLimits {
		l := governance.PlanLimits{
			Standard: governance.BucketSize{PerMinute: standard, Burst: burst},
			Detail:   governance.BucketSize{PerMinute: detail, Burst: detailBurst},
		}
		if month != "" {
			l.MonthlyAnswers = &month
		}
		return l
	}
	for plan, l := range map[int]governance.PlanLimits{
		0: limits("3000", "30", "10", "10", "5"), 1: limits("20000", "120", "40", "30", "10"),
		2: limits("100000", "300", "100", "75", "25"), 3: limits("", "60", "20", "20", "8"),
	} {
		l.Plan = []string{"developer", "business", "custom", "pay-per-request"}[plan]
		env.WantSame(t, "plans", l, got.Plans[plan])
	}
	got.Plans = nil
	env.WantSame(t, "prices", want, got)
	if got.Routes[0].RouteID != "meta.pricing" || got.Routes[0].Paid {
		t.Errorf("got %+v, want that prices cost nothing", got.Routes[0])
	}
}

// Prices do not come from the worker, and its silence does not make them old.
func TestPricesAreReadyWithoutAWorker(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{clock: func() time.Time { return noon.Add(time.Hour) }})
	env.Want(t, governance.Ready, n.wantSuccess("/v2/meta/pricing").Meta.Readiness.Status, "prices", "ready")
	env.Want(t, governance.Stale, n.wantSuccess("/v2/meta/data-status").Meta.Readiness.Status, "data", "stale")
}
