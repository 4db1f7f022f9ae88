package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// IPLimiter limits free requests and payments per IP address, in this process. It stores no address, only a
// hash with a seed that is lost with the process.
type IPLimiter struct {
	rate    Rate
	trusted []netip.Prefix
	// buckets are for free requests, payments for payments: a flood of one kind drops no buckets of the other.
	buckets   *Buckets[uint64]
	payments  *Buckets[paymentKey]
	seed      maphash.Seed
	decisions decisions
}

type paymentKey struct {
	address uint64
	bucket  Bucket
}

// NewIPLimiter allows each address perMinute requests a minute, with a burst of a third of them; zero for no
// limit. Only proxies in trusted may name the address of a client in X-Forwarded-For.
func NewIPLimiter(perMinute int, trusted []netip.Prefix, metrics prometheus.Registerer) *IPLimiter {
	return &IPLimiter{
		rate:    Rate{PerMinute: perMinute, Burst: max(1, perMinute/3)},
		trusted: trusted, buckets: NewBuckets[uint64](), payments: NewBuckets[paymentKey](),
		seed: maphash.MakeSeed(), decisions: newDecisions(metrics),
	}
}

// Rate returns the size of the bucket of an address. It returns false for no limit.
func (a *IPLimiter) Rate() (Rate, bool) { return a.rate, a.rate.PerMinute > 0 }

// Take takes a token from the bucket of the client that sent a request.
func (a *IPLimiter) Take(peer netip.Addr, forwardedFor string, now time.Time) Decision {
	if a.rate.PerMinute == 0 {
		return Decision{Allowed: true}
	}
	return a.count(Free, a.buckets.Take(a.hash(peer, forwardedFor), a.rate, now))
}

// TakePayment takes a token from a bucket for payments of the client that sent one.
func (a *IPLimiter) TakePayment(b Bucket, peer netip.Addr, forwardedFor string, now time.Time) Decision {
	key := paymentKey{a.hash(peer, forwardedFor), b}
	return a.count(b, a.payments.Take(key, PaymentRate(b), now))
}

// hash returns the hash of the network of the client that sent a request.
func (a *IPLimiter) hash(peer netip.Addr, forwardedFor string) uint64 {
	return maphash.Comparable(a.seed, networkOf(a.client(peer, forwardedFor)))
}

func (a *IPLimiter) count(b Bucket, d Decision) Decision {
	outcome := outcomeAllowed
	if !d.Allowed {
		outcome = outcomeBucket
	}
	a.decisions.count(planAnonymous, b, outcome)
	return d
}

// client returns the last address that is not a trusted proxy. Addresses before it are unverified claims of the
// client.
func (a *IPLimiter) client(peer netip.Addr, forwardedFor string) netip.Addr {
	address := peer.Unmap()
	if !a.TrustsProxy(address) {
		return address
	}
	hops := strings.Split(forwardedFor, ",")
	for i := len(hops) - 1; i >= 0 && a.TrustsProxy(address); i-- {
		text := strings.TrimSpace(hops[i])
		hop, err := netip.ParseAddr(text)
		if err != nil { // some proxies add the port
			withPort, err := netip.ParseAddrPort(text)
			if err != nil {
				break
			}
			hop = withPort.Addr()
		}
		address = hop.Unmap()
	}
	return address
}

// TrustsProxy reports whether an address belongs to a trusted proxy.
func (a *IPLimiter) TrustsProxy(address netip.Addr) bool {
	return slices.ContainsFunc(a.trusted, func(network netip.Prefix) bool { return network.Contains(address.Unmap()) })
}

// networkOf returns the network of one subscriber: an IPv4 address, or an IPv6 network of 64 bits.
func networkOf(address netip.Addr) netip.Prefix {
	bits := 64
	if address.Is4() {
		bits = 32
	}
	network, _ := address.WithZone("").Prefix(bits) // a peer without an address shares the zero one
	return network
}
