package config

import "strings"

// Purge is the caches in front of the API that are told what is outdated.
type Purge struct {
	Kind  string     `env:"PNYX_PURGE_KIND" unit:"fastly|cloudflare|varnish" doc:"How caches in front of the API are told what a publication outdates; empty: they are not, and keep nothing for more than a second or two. To be set for API and worker alike."`
	URLs  SecretURLs `env:"PNYX_PURGE_URL" unit:"address[,address]" doc:"Where the worker sends purges: https://api.fastly.com/service/ID/purge, https://api.cloudflare.com/client/v4/zones/ID/purge_cache, or each Varnish."`
	Token Secret     `env:"PNYX_PURGE_TOKEN" unit:"token" doc:"What purges are allowed by at Fastly or Cloudflare; Varnish goes by addresses."`
}

// SecretURLs are addresses, joined by commas, that may hold passwords. They are
// masked like a SecretURL.
type SecretURLs string

// All returns the addresses themselves.
func (u SecretURLs) All() []string {
	if u == "" {
		return nil
	}
	return strings.Split(string(u), ",")
}

// String is the addresses with their passwords masked.
func (u SecretURLs) String() string {
	masked := u.All()
	for i, address := range masked {
		masked[i] = SecretURL(address).String()
	}
	return strings.Join(masked, ",")
}

// MarshalText is String, for log handlers and JSON.
func (u SecretURLs) MarshalText() ([]byte, error) {
	return []byte(u.String()), nil
}

func (u SecretURLs) acceptable() bool {
	for _, address := range u.All() {
		if !SecretURL(address).startsWith([]string{"http://", "https://"}) {
			return false
		}
	}
	return true
}

// Secret is a token that is never printed.
type Secret string

// String is the mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// MarshalText is String, for log handlers and JSON.
func (s Secret) MarshalText() ([]byte, error) {
	return []byte(s.String()), nil
}

func (s Secret) acceptable() bool {
	return !strings.ContainsFunc(string(s), func(r rune) bool { return r <= ' ' || r > '~' })
}
