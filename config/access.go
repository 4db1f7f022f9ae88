package config

import (
	"net/netip"
	"strings"
	"time"
)

// leastSecret is how long a secret has to be, at 6 bits a character or so.
const leastSecret = 32

// mostSecrets is how many may hold at once: the old and the new while they rotate.
const mostSecrets = 2

// Access is who may ask, and how much.
type Access struct {
	Internal       Secrets       `env:"PNYX_INTERNAL_TOKEN" unit:"token[,token]" doc:"Token of internal callers, who are neither limited nor metered; two while it rotates; empty: there are none."`
	V2Launch       Moment        `env:"PNYX_V2_LAUNCHED_AT" unit:"timestamp" doc:"When v2 was launched: from then on tokens of v1 issued before carry v2:paid:*; empty: not yet."`
	LimitScope     string        `env:"RATELIMIT_SCOPE" envDefault:"global" unit:"global|process" doc:"Whether a bucket holds over all API nodes, or each has its own. Monthly quotas hold over all."`
	LimitTimeout   time.Duration `env:"PNYX_LIMIT_TIMEOUT" envDefault:"40ms" unit:"duration" doc:"Longest time to wait for Redis to say whether a request is within its limits; then the node decides for itself."`
	FreeRate       int           `env:"PNYX_FREE_RATE" envDefault:"600" unit:"requests a minute" doc:"What one address may ask of free routes, a third of it at once, of each API node; 0: any number."`
	TrustedProxies Networks      `env:"PNYX_TRUSTED_PROXIES" unit:"addresses" doc:"Addresses and networks whose X-Forwarded-For is believed, joined by commas; empty: nobody's."`
}

// Secrets are tokens, joined by a comma. They are never printed.
type Secrets string

// String is the mask.
func (s Secrets) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// MarshalText is String, for log handlers and JSON.
func (s Secrets) MarshalText() ([]byte, error) {
	return []byte(s.String()), nil
}

// All returns the tokens themselves.
func (s Secrets) All() []string {
	if s == "" {
		return nil
	}
	return strings.Split(string(s), ",")
}

func (s Secrets) acceptable() bool {
	for _, secret := range s.All() {
		if len(secret) < leastSecret || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return false
		}
	}
	return len(s.All()) <= mostSecrets
}

// Moment is an RFC 3339 time.
type Moment string

// Time is the moment, or the zero time for none.
func (m Moment) Time() time.Time {
	moment, _ := time.Parse(time.RFC3339, string(m)) // validated
	return moment
}

func (m Moment) acceptable() bool {
	_, err := time.Parse(time.RFC3339, string(m))
	return m == "" || err == nil
}

// Networks are IP addresses and networks, joined by commas.
type Networks string

// Prefixes returns the networks; an address is a network of one.
func (n Networks) Prefixes() []netip.Prefix {
	prefixes, _ := n.parse() // validated
	return prefixes
}

func (n Networks) acceptable() bool {
	_, err := n.parse()
	return err == nil
}

func (n Networks) parse() ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for text := range strings.SplitSeq(string(n), ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if address, err := netip.ParseAddr(text); err == nil {
			prefixes = append(prefixes, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}
