// Package httpcache holds what HTTP caches are told of answers: how long they may keep them, where a node found
// them, the tags they are purged by, ETags, and compressed bodies. It knows no route.
package httpcache

import (
	"strconv"
	"time"
)

// Freshness is how long caches may reuse an answer, in whole seconds. Fields are directives of Cache-Control.
type Freshness struct {
	// MaxAge applies to the caller's own cache, which cannot be purged (max-age).
	MaxAge time.Duration
	// SMaxAge applies to shared caches that are not purged (s-maxage). Only an edge that authorizes every request
	// at a node may keep answers of paid routes.
	SMaxAge time.Duration
	// PurgedSMaxAge applies to shared caches that each publication purges (s-maxage).
	PurgedSMaxAge time.Duration
	// StaleWhileRevalidate is how much longer a shared cache may serve an answer while it renews it.
	StaleWhileRevalidate time.Duration
	// StaleIfError is how much longer a shared cache may serve an answer while renewals fail.
	StaleIfError time.Duration
	// Reason explains the values, as docs/production.md shows it.
	Reason string
}

// Published is the freshness of answers that publications change and purge.
func Published() Freshness {
	return Freshness{
		MaxAge: time.Second, SMaxAge: time.Second, PurgedSMaxAge: time.Minute,
		StaleWhileRevalidate: time.Second, StaleIfError: 24 * time.Hour,
		Reason: "Outdated by publications: one second, and one more during a renewal; with purges a minute, the cost of a lost purge. " +
			"A day while nodes fail: `dataAsOf` tells the age.",
	}
}

// Part is the freshness of parts of an export, which no publication changes.
func Part() Freshness {
	fresh := Published()
	fresh.MaxAge = time.Hour
	fresh.Reason = "A revision names its bytes: a part is what it is for as long as it is there."
	return fresh
}

// Signal is the freshness of signals, which expire at their deadlines.
func Signal() Freshness {
	fresh := Published()
	fresh.Reason = "Outdated by publications, and by the next deadline of a signal in it: it is kept until then at most, and its ETag changes."
	return fresh
}

// Voter is the freshness of answers about one voter, which are not purged.
func Voter() Freshness {
	return Expiring("A publication touches thousands of voters and purges none of them, so that they only expire.")
}

// Expiring is the freshness of answers that publications change and, for a reason, do not purge.
func Expiring(reason string) Freshness {
	fresh := Published()
	fresh.PurgedSMaxAge, fresh.Reason = fresh.SMaxAge, reason
	return fresh
}

// Pricing is the freshness of prices.
func Pricing() Freshness {
	return settled(time.Minute, "Prices change with a restart, and the 402 is binding.")
}

// Document is the freshness of documents.
func Document() Freshness {
	return settled(5*time.Minute, "Documents change with releases and prices.")
}

// settled is the freshness of what no publication changes, and which is served while nodes fail.
func settled(kept time.Duration, reason string) Freshness {
	fresh := same(kept, reason)
	fresh.StaleWhileRevalidate, fresh.StaleIfError = time.Minute, 24*time.Hour
	return fresh
}

// Missing is the freshness of the 404 for an id.
func Missing() Freshness {
	return same(time.Second, "May be published at any moment; a second is enough against a stampede of requests.")
}

// UnknownPath is the freshness of the 404 for a path without a route.
func UnknownPath() Freshness { return same(time.Minute, "A path appears with a release.") }

// same is the freshness of what every cache keeps for the same time.
func same(kept time.Duration, reason string) Freshness {
	return Freshness{MaxAge: kept, SMaxAge: kept, PurgedSMaxAge: kept, Reason: reason}
}

// LocalTTL is how long a node keeps its own copy of an answer, and how far it lags after a lost notification.
const LocalTTL = time.Second

// NodeLag bounds how long after a publication a node may still send answers of the previous one: the TTL of its
// local copies plus a margin for requests in flight.
const NodeLag = LocalTTL + 250*time.Millisecond

// EdgeLag bounds how much longer an edge may: the shared lifetime of an unpurged answer, and a renewal.
const EdgeLag = 2 * time.Second

// Values of Cache-Control that forbid caching.
const (
	// NoStore is for errors.
	NoStore = "no-store"
	// PrivateNoStore is for answers to one payment or about one token.
	PrivateNoStore = "private, no-store"
)

// Public returns the Cache-Control that lets any cache keep an answer, and shared caches for another time.
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

// Private returns the Cache-Control that lets only the caller's own cache keep an answer.
func (f Freshness) Private() string { return "private, max-age=" + wholeSeconds(f.MaxAge) }

// wholeSeconds rounds down, so that no cache keeps an answer longer than intended.
func wholeSeconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
