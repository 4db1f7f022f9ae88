package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// minSecretBytes is the shortest secret accepted: some 190 bits in base64.
const minSecretBytes = 32

// maxSecrets is how many may be valid at once: the old and the new one of a rotation.
const maxSecrets = 2

// Access configures authentication and rate limits.
type Access struct {
	// Internal is one token, or two while they are rotated; empty means that there are no
	// internal callers.
	Internal Secrets `env:"PNYX_INTERNAL_TOKEN" unit:"token[,token]" doc:"Token of internal callers, which are neither limited nor metered; two during a rotation; empty: there are none."`
	// V2Launch is the launch of v2; empty means that it is not launched, and a time in
	// the future that it is not launched yet.
	V2Launch Moment `env:"PNYX_V2_LAUNCHED_AT" unit:"timestamp" doc:"When v2 was launched: from then on tokens of v1 issued before carry v2:paid:*; empty: not yet. Set it for API and worker alike."`
	// LimitScope is "global" for buckets in Redis, or "process" for buckets of each node.
	LimitScope string `env:"RATELIMIT_SCOPE" envDefault:"global" unit:"global|process" doc:"Whether API nodes share rate limit buckets, or each has its own. They always share monthly quotas."`
	// LimitTimeout bounds the check of one rate limit in Redis; it is above 0 and below
	// API.RequestTimeout.
	LimitTimeout time.Duration `env:"PNYX_LIMIT_TIMEOUT" envDefault:"40ms" unit:"duration" doc:"Maximum time to wait for Redis to check a rate limit; after that the node uses its own buckets."`
	// FreeRate is how many requests a minute without a token one address may send to one
	// node; 0 means any number.
	FreeRate int `env:"PNYX_FREE_RATE" envDefault:"600" unit:"requests a minute" doc:"Requests without a token that one address may send to each API node, a third of them in a burst; 0: any number."`
	// TrustedProxies are those that may name the client's address; empty means none.
	TrustedProxies Networks `env:"PNYX_TRUSTED_PROXIES" unit:"addresses" doc:"Addresses and networks whose X-Forwarded-For is trusted, separated by commas; empty: none."`
}

// Secrets are tokens, separated by commas. They are never printed.
type Secrets string

// String returns the mask.
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

// All returns the tokens in plain text.
func (s Secrets) All() []string {
	if s == "" {
		return nil
	}
	return strings.Split(string(s), ",")
}

// Validate reports whether there are at most maxSecrets tokens, each long enough and of
// visible ASCII characters.
func (s Secrets) Validate() bool {
	for _, secret := range s.All() {
		if len(secret) < minSecretBytes || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return false
		}
	}
	return len(s.All()) <= maxSecrets
}

// Moment is an RFC 3339 time.
type Moment string

// Time returns the time, or the zero time for an empty Moment.
func (m Moment) Time() time.Time {
	moment, _ := time.Parse(time.RFC3339, string(m)) // validated
	return moment
}

// Validate reports whether the text is empty or an RFC 3339 time.
func (m Moment) Validate() bool {
	_, err := time.Parse(time.RFC3339, string(m))
	return m == "" || err == nil
}

// Networks are IP addresses and networks, separated by commas.
type Networks string

// Prefixes returns the networks. An address becomes a network of one address.
func (n Networks) Prefixes() []netip.Prefix {
	prefixes, _ := n.parse() // validated
	return prefixes
}

// Validate reports whether every part is an address or a network.
func (n Networks) Validate() bool {
	_, err := n.parse()
	return err == nil
}

// parse returns the networks, or the error of the first part that is neither an address
// nor a network. Empty parts are skipped.
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

// Origins are origins of web pages, separated by commas.
type Origins string

// All returns the origins, each as a scheme and a host.
func (o Origins) All() []string {
	return strings.FieldsFunc(string(o), func(r rune) bool { return r == ',' || r == ' ' })
}

// Validate reports whether every part is an origin: no path, no query.
func (o Origins) Validate() bool {
	for _, text := range o.All() {
		parsed, err := url.Parse(text)
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || text != parsed.Scheme+"://"+parsed.Host {
			return false
		}
	}
	return true
}
