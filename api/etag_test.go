package api_test

import (
	"net/http"
	"testing"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/governance"
)

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
		view, err := cache.NewView(cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready}, rows)
		if err != nil {
			t.Fatal(err)
		}
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

func Test304CostsNoQuota(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	token := n.admitsTwiceAMonth()
	etag := n.askWith(http.MethodGet, paidPath, token).header.Get("Etag")
	for range 3 {
		n.wantUnchanged(n.askAs(http.MethodGet, paidPath, http.Header{access.HeaderToken: {token}, "If-None-Match": {etag}}), etag)
	}
	if got := n.askWith(http.MethodGet, paidPath, token); got.status != http.StatusOK {
		t.Errorf("the second of two answers a month: got %d", got.status)
	}

	n.wantFailure(n.askAs(http.MethodGet, paidPath, http.Header{"If-None-Match": {etag}}), http.StatusPaymentRequired, apierror.CodePaymentRequired)
	payment := n.sign(paidPath)
	n.wantUnchanged(n.askAs(http.MethodGet, paidPath, http.Header{x402.HeaderPayment: {payment}, "If-None-Match": {etag}}), etag)
	n.wantCharged(0)
	if got := n.with(payment, paidPath); got.status != http.StatusOK {
		t.Errorf("the payment is lost: %d %s", got.status, got.body)
	}
	n.wantCharged(1)
}
