package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Access configures authentication and rate limits.
type Access struct {
	Internal       Secret        `env:"PNYX_INTERNAL_TOKEN" unit:"token[,token]" doc:"Token of internal callers, which are neither limited nor metered; two during a rotation; empty: there are none."`
	V2Launch       Moment        `env:"PNYX_V2_LAUNCHED_AT" unit:"timestamp" doc:"When v2 was launched: from then on tokens of v1 issued before carry v2:paid:*; empty: not yet. Set it for API and worker alike."`
	LimitScope     string        `env:"RATELIMIT_SCOPE" envDefault:"global" unit:"global|process" doc:"Whether API nodes share rate limit buckets, or each has its own. They always share monthly quotas."`
	LimitTimeout   time.Duration `env:"PNYX_LIMIT_TIMEOUT" envDefault:"40ms" unit:"duration" doc:"Maximum time to wait for Redis to check a rate limit; after that the node uses its own buckets."`
	FreeRate       int           `env:"PNYX_FREE_RATE" envDefault:"600" unit:"requests a minute" doc:"Requests without a token that one address may send to each API node, a third of them in a burst; 0: any number."`
	TrustedProxies Networks      `env:"PNYX_TRUSTED_PROXIES" unit:"addresses" doc:"Addresses and networks whose X-Forwarded-For is trusted, separated by commas; empty: none."`
}

// Moment is an RFC 3339 time.
type Moment string

// Time returns the time, or the zero time for an empty Moment.
func (m Moment) Time() time.Time {
	moment, _ := time.Parse(time.RFC3339, string(m)) // validated
	return moment
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// Networks are IP addresses and networks, separated by commas.
type Networks string

// Prefixes returns the networks. An address becomes a network of one address.
func (n Networks) Prefixes() []netip.Prefix {
	prefixes, _ := n.parse() // validated
	return prefixes
}

func areNetworks(text string) bool {
	_, err := Networks(text).parse()
	return err == nil
}

// parse returns the networks, or the error of the first part that is neither an address nor a network.
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

func isOrigins(text string) bool {
	return !slices.ContainsFunc(Origins(text).All(), func(text string) bool {
		parsed, err := url.Parse(text)
		return err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || text != parsed.Scheme+"://"+parsed.Host
	})
}
