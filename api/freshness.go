package api

import (
	"strconv"
	"time"

	"pnyx/governance"
)

// Freshness says how long an answer may be used again without asking, and by whom.
// On the wire all of it is in whole seconds.
type Freshness struct {
	// MaxAge is for whoever asked (max-age). No purge reaches a caller.
	MaxAge time.Duration
	// SMaxAge is for caches that callers share (s-maxage), where nobody tells them what is
	// published; Purged where they are told. Of paid answers it is for an edge that has
	// every request authorized, and for no other.
	SMaxAge, PurgedSMaxAge time.Duration
	// StaleWhileRevalidate is how much longer a shared cache may serve what it has while it asks for
	// it anew (stale-while-revalidate), Failing while it gets no answer (stale-if-error).
	StaleWhileRevalidate, StaleIfError time.Duration
	// Reason is the reason for the numbers.
	Reason string
}

// publishedFreshness is that of answers which a publication outdates, and purges.
func publishedFreshness() Freshness {
	return Freshness{
		MaxAge: time.Second, SMaxAge: time.Second, PurgedSMaxAge: time.Minute, StaleWhileRevalidate: time.Second, StaleIfError: 24 * time.Hour,
		Reason: "Outdated by publications. Unpurged: one second, and one more for whoever starts the renewal, so that nobody waits for it; " +
			"asking again is a 304. Purged: a minute, which is what a purge that is lost can cost. " +
			"A day without us: `dataAsOf` tells how old it is.",
	}
}

// voterFreshness is that of answers about one voter.
func voterFreshness() Freshness {
	fresh := publishedFreshness()
	fresh.PurgedSMaxAge = fresh.SMaxAge
	fresh.Reason = "A publication touches thousands of voters and purges none of them, so that only time outdates these."
	return fresh
}

// pricingFreshness is that of what every route costs.
func pricingFreshness() Freshness {
	return Freshness{
		MaxAge: time.Minute, SMaxAge: time.Minute, PurgedSMaxAge: time.Minute, StaleWhileRevalidate: time.Minute, StaleIfError: 24 * time.Hour,
		Reason: "Prices change when nodes are started anew, and what binds is the 402.",
	}
}

// MissingFreshness is that of a 404 which a publication may end.
func MissingFreshness() Freshness {
	return Freshness{
		MaxAge: time.Second, SMaxAge: time.Second, PurgedSMaxAge: time.Second,
		Reason: "May be published at any moment. A second is enough against a stampede, and there is no end of ids to keep.",
	}
}

// UnknownPathFreshness is that of a 404 for a path that nothing has.
func UnknownPathFreshness() Freshness {
	return Freshness{
		MaxAge: time.Minute, SMaxAge: time.Minute, PurgedSMaxAge: time.Minute,
		Reason: "A path appears with a release.",
	}
}

// DocumentFreshness is that of what there is to read about the routes.
func DocumentFreshness() Freshness {
	return Freshness{
		MaxAge: 5 * time.Minute, SMaxAge: 5 * time.Minute, PurgedSMaxAge: 5 * time.Minute, StaleWhileRevalidate: time.Minute, StaleIfError: 24 * time.Hour,
		Reason: "Documents change with releases and prices.",
	}
}

// NodeLag is how long after a publication a node may answer as before it: as long as
// it keeps copies, and a little for what is under way.
const NodeLag = localTTL + 250*time.Millisecond

// MaxPurgedAge is how long caches keep answers that are purged, at the longest.
func MaxPurgedAge() time.Duration {
	var longest time.Duration
	for _, route := range Routes() {
		longest = max(longest, route.Fresh.PurgedSMaxAge+route.Fresh.StaleWhileRevalidate)
	}
	return longest
}

// What answers say that are no cache's.
const (
	noStore = "no-store"
	// PrivateNoStore is for what one payment, or one token's account, was answered with.
	PrivateNoStore = "private, no-store"
)

// Public lets any cache keep an answer, shared ones for a lifetime of its own.
func (f Freshness) Public(shared time.Duration) string {
	control := "public, max-age=" + wholeSeconds(f.MaxAge) + ", s-maxage=" + wholeSeconds(shared)
	if f.StaleWhileRevalidate > 0 {
		control += ", stale-while-revalidate=" + wholeSeconds(f.StaleWhileRevalidate)
	}
	if f.StaleIfError > 0 {
		control += ", stale-if-error=" + wholeSeconds(f.StaleIfError)
	}
	return control
}

// defaultCacheControl is what an answer says while nothing shortens its life.
func (r *Route) defaultCacheControl() string {
	if r.Paid() {
		return r.Fresh.Private()
	}
	return r.Fresh.Public(r.Fresh.SMaxAge)
}

// Private lets only the caller's own cache keep an answer.
func (f Freshness) Private() string {
	return "private, max-age=" + wholeSeconds(f.MaxAge)
}

// sharedLifetime is how long a shared cache may keep an answer: of a paid one, an edge
// that has every request authorized. What is not as it should be may be so in a
// moment, without a publication that would purge it; and nothing is kept beyond the
// moment at which time alone makes it wrong.
func (a *API) sharedLifetime(route *Route, found *rendered, readiness governance.Readiness) time.Duration {
	fresh := route.Fresh
	if !a.purgeEnabled || readiness != governance.Ready {
		return fresh.SMaxAge
	}
	lifetime := fresh.PurgedSMaxAge
	if until := found.view.FreshUntil; until != nil {
		lifetime = min(lifetime, until.Time().Sub(a.now()).Truncate(time.Second))
	}
	return max(fresh.SMaxAge, lifetime)
}

// wholeSeconds rounds down: nothing is kept for longer than it may be.
func wholeSeconds(d time.Duration) string {
	return strconv.Itoa(int(d / time.Second))
}
