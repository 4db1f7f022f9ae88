package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// IPLimiter limits requests per IP address on free routes, in this process. It stores no
// address, only a hash with a seed that is lost with the process.
type IPLimiter struct {
	rate    Rate
	trusted []netip.Prefix
	buckets *Buckets[uint64]
	seed    maphash.Seed

	allowed, refused prometheus.Counter
}

// NewIPLimiter allows each address perMinute requests a minute, with a burst of a third
// of them; zero for no limit. Only proxies in the trusted networks may name the address
// of a client in X-Forwarded-For.
func NewIPLimiter(perMinute int, trusted []netip.Prefix, metrics prometheus.Registerer) *IPLimiter {
	decisions := newDecisions(metrics)
	return &IPLimiter{
		rate:    Rate{PerMinute: perMinute, Burst: max(1, perMinute/3)},
		trusted: trusted, buckets: NewBuckets[uint64](), seed: maphash.MakeSeed(),
		allowed: decisions[decision{planAnonymous, Free, outcomeAllowed}],
		refused: decisions[decision{planAnonymous, Free, outcomeBucket}],
	}
}

// Rate returns the size of the bucket of an address. It returns false for no limit.
func (a *IPLimiter) Rate() (Rate, bool) {
	return a.rate, a.rate.PerMinute > 0
}

// Take takes a token from the bucket of the client that sent a request.
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

// client returns the last address of the route that is not a trusted proxy. The
// addresses before it are unverified claims of that client.
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

// TrustsProxy reports whether an address is that of a trusted proxy.
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

// networkOf returns the network of one subscriber: an IPv4 address, or an IPv6 network of
// 64 bits.
func networkOf(address netip.Addr) netip.Prefix {
	bits := 64
	if address.Is4() {
		bits = 32
	}
	network, _ := address.WithZone("").Prefix(bits) // a peer without an address shares the zero one
	return network
}
