package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// IPLimiter limits what one address may ask of free routes, in this process. It
// keeps no address, but a hash under a key that ends with the process.
type IPLimiter struct {
	rate    Rate
	trusted []netip.Prefix
	buckets *Buckets[uint64]
	seed    maphash.Seed

	allowed, refused prometheus.Counter
}

// NewIPLimiter allows each address so many requests a minute, a third of them at
// once; zero for any number. What proxies in the trusted networks say of where a
// request came from is believed.
func NewIPLimiter(perMinute int, trusted []netip.Prefix, metrics prometheus.Registerer) *IPLimiter {
	decisions := newDecisions(metrics)
	return &IPLimiter{
		rate:    Rate{PerMinute: perMinute, Burst: max(1, perMinute/3)},
		trusted: trusted, buckets: NewBuckets[uint64](), seed: maphash.MakeSeed(),
		allowed: decisions[decision{planAnonymous, Free, outcomeAllowed}],
		refused: decisions[decision{planAnonymous, Free, outcomeBucket}],
	}
}

// Rate returns the size of an address's bucket, and whether there is a bound.
func (a *IPLimiter) Rate() (Rate, bool) {
	return a.rate, a.rate.PerMinute > 0
}

// Take takes a token out of the bucket of whoever asks.
func (a *IPLimiter) Take(peer netip.Addr, forwardedFor string, now time.Time) Decision {
	if a.rate.PerMinute == 0 {
		return Decision{Allowed: true}
	}
	network := networkOf(a.client(peer, forwardedFor))
	d := a.buckets.Take(maphash.Comparable(a.seed, network), a.rate, now)
	if d.Allowed {
		a.allowed.Inc()
	} else {
		a.refused.Inc()
	}
	return d
}

// client is the last address on the way here that is no trusted proxy's: what
// stands before it is what that address says, and anybody may say anything.
func (a *IPLimiter) client(peer netip.Addr, forwardedFor string) netip.Addr {
	address := peer.Unmap()
	if !a.isTrusted(address) {
		return address
	}
	hops := strings.Split(forwardedFor, ",")
	for i := len(hops) - 1; i >= 0 && a.isTrusted(address); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = hop.Unmap()
	}
	return address
}

// TrustsProxy says whether an address is that of a trusted proxy.
func (a *IPLimiter) TrustsProxy(address netip.Addr) bool {
	return a.isTrusted(address.Unmap())
}

func (a *IPLimiter) isTrusted(address netip.Addr) bool {
	for _, network := range a.trusted {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// networkOf is what one subscriber has: an IPv4 address, or an IPv6 network of 64
// bits.
func networkOf(address netip.Addr) netip.Prefix {
	bits := 64
	if address.Is4() {
		bits = 32
	}
	network, _ := address.WithZone("").Prefix(bits) // a peer without an address shares the zero one
	return network
}
