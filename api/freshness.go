package api

import (
	"strconv"
	"time"

	"pnyx/governance"
)

// Freshness says how long an answer may be used again without asking, and by whom.
// On the wire all of it is in whole seconds.
type Freshness struct {
	// Caller is for whoever asked (max-age). No purge reaches a caller.
	Caller time.Duration
	// Edge is for caches that callers share (s-maxage), where nobody tells them what is
	// published; Purged where they are told. Of paid answers it is for an edge that has
	// every request authorized, and for no other.
	Edge, Purged time.Duration
	// Renewing is how much longer a shared cache may serve what it has while it asks for
	// it anew (stale-while-revalidate), Failing while it gets no answer (stale-if-error).
	Renewing, Failing time.Duration
	// Why is the reason for the numbers.
	Why string
}

// publishedFreshness is that of answers which a publication outdates, and purges.
func publishedFreshness() Freshness {
	return Freshness{
		Caller: time.Second, Edge: time.Second, Purged: time.Minute, Renewing: time.Second, Failing: 24 * time.Hour,
		Why: "Outdated by publications. Unpurged: one second, and one more for whoever starts the renewal, so that nobody waits for it; " +
			"asking again is a 304. Purged: a minute, which is what a purge that is lost can cost. " +
			"A day without us: `dataAsOf` tells how old it is.",
	}
}

// voterFreshness is that of answers about one voter.
func voterFreshness() Freshness {
	fresh := publishedFreshness()
	fresh.Purged = fresh.Edge
	fresh.Why = "A publication touches thousands of voters and purges none of them, so that only time outdates these."
	return fresh
}

// pricingFreshness is that of what every route costs.
func pricingFreshness() Freshness {
	return Freshness{
		Caller: time.Minute, Edge: time.Minute, Purged: time.Minute, Renewing: time.Minute, Failing: 24 * time.Hour,
		Why: "Prices change when nodes are started anew, and what binds is the 402.",
	}
}

// missingFreshness is that of a 404 which a publication may end.
func missingFreshness() Freshness {
	return Freshness{
		Caller: time.Second, Edge: time.Second, Purged: time.Second,
		Why: "May be published at any moment. A second is enough against a stampede, and there is no end of ids to keep.",
	}
}

// nowhereFreshness is that of a 404 for a path that nothing has.
func nowhereFreshness() Freshness {
	return Freshness{
		Caller: time.Minute, Edge: time.Minute, Purged: time.Minute,
		Why: "A path appears with a release.",
	}
}

// documentFreshness is that of what there is to read about the routes.
func documentFreshness() Freshness {
	return Freshness{
		Caller: 5 * time.Minute, Edge: 5 * time.Minute, Purged: 5 * time.Minute, Renewing: time.Minute, Failing: 24 * time.Hour,
		Why: "Documents change with releases and prices.",
	}
}

// NodeLag is how long after a publication a node may answer as before it: as long as
// it keeps copies, and a little for what is under way.
const NodeLag = localFor + 250*time.Millisecond

// LongestPurged is how long caches keep answers that are purged, at the longest.
func LongestPurged() time.Duration {
	var longest time.Duration
	for _, route := range Routes() {
		longest = max(longest, route.Fresh.Purged+route.Fresh.Renewing)
	}
	return longest
}

// What answers say that are no cache's.
const (
	neverStored = "no-store"
	// boughtOnce is for what one payment, or one token's account, was answered with.
	boughtOnce = "private, no-store"
)

// forAll lets any cache keep an answer, shared ones for a lifetime of its own.
func (f Freshness) forAll(shared time.Duration) string {
	control := "public, max-age=" + wholeSeconds(f.Caller) + ", s-maxage=" + wholeSeconds(shared)
	if f.Renewing > 0 {
		control += ", stale-while-revalidate=" + wholeSeconds(f.Renewing)
	}
	if f.Failing > 0 {
		control += ", stale-if-error=" + wholeSeconds(f.Failing)
	}
	return control
}

// usually is what an answer says while nothing shortens its life.
func (r *Route) usually() string {
	if r.Paid() {
		return r.Fresh.forCaller()
	}
	return r.Fresh.forAll(r.Fresh.Edge)
}

// forCaller lets only the caller's own cache keep an answer.
func (f Freshness) forCaller() string {
	return "private, max-age=" + wholeSeconds(f.Caller)
}

// edgeLifetime is how long a shared cache may keep an answer: of a paid one, an edge
// that has every request authorized. What is not as it should be may be so in a
// moment, without a publication that would purge it; and nothing is kept beyond the
// moment at which time alone makes it wrong.
func (a *API) edgeLifetime(route *Route, found *rendered, readiness governance.Readiness) time.Duration {
	fresh := route.Fresh
	if !a.purged || readiness != governance.Ready {
		return fresh.Edge
	}
	lifetime := fresh.Purged
	if until := found.view.FreshUntil; until != nil {
		lifetime = min(lifetime, until.Time().Sub(a.now()).Truncate(time.Second))
	}
	return max(fresh.Edge, lifetime)
}

// wholeSeconds rounds down: nothing is kept for longer than it may be.
func wholeSeconds(d time.Duration) string {
	return strconv.Itoa(int(d / time.Second))
}
