package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/api/routes"
	"pnyx/governance"
)

func TestEveryRouteHasAPrice(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var got governance.Pricing
	n.decode(string(n.wantSuccess("/v2/meta/pricing").Data), &got)
	want := governance.Pricing{Token: "USDC", Network: "eip155:8453"}
	for _, route := range routes.All() {
		price := map[routes.Tier]governance.Decimal{routes.Free: "0", routes.Standard: "0.001", routes.Plus: "0.005"}[route.Tier]
		want.Routes = append(want.Routes, governance.RoutePrice{
			RouteID: route.ID, Method: "GET", Path: route.Path, Tier: route.Tier, Paid: route.Tier != routes.Free, Price: price,
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
		if diff := cmp.Diff(l, got.Plans[plan]); diff != "" {
			t.Errorf("plans (-want +got):\n%s", diff)
		}
	}
	got.Plans = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Routes[0].RouteID != "meta.pricing" || got.Routes[0].Paid {
		t.Errorf("got %+v, want that prices cost nothing", got.Routes[0])
	}
}

// Prices do not come from the worker, and its silence does not make them old.
func TestPricesAreReadyWithoutAWorker(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{clock: func() time.Time { return noon.Add(time.Hour) }})
	if got := n.wantSuccess("/v2/meta/pricing").Meta.Readiness.Status; got != governance.Ready {
		t.Errorf("prices: got %s, want ready", got)
	}
	if got := n.wantSuccess("/v2/meta/data-status").Meta.Readiness.Status; got != governance.Stale {
		t.Errorf("data: got %s, want stale", got)
	}
}

func TestBucketsFollowTiers(t *testing.T) {
	t.Parallel()
	for _, route := range routes.All() {
		want := map[routes.Tier]routes.Bucket{routes.Free: "free", routes.Standard: "standard", routes.Plus: "detail"}[route.Tier]
		if got := route.Bucket(); got != want {
			t.Errorf("%s: got %s, want %s", route.ID, got, want)
		}
	}
}
