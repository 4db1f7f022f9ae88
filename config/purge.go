package config

import "strings"

// Purge configures the caches in front of the API that the worker purges.
type Purge struct {
	// Kind is "fastly", "cloudflare" or "varnish"; empty means that nothing is purged.
	Kind string `env:"PNYX_PURGE_KIND" unit:"fastly|cloudflare|varnish" doc:"Kind of the caches in front that the worker purges after a publication; empty: none, and answers are cached for two seconds at most. Set it for API and worker alike."`
	// URLs are the addresses that purges are sent to; the worker needs one where Kind is
	// set.
	URLs SecretURLs `env:"PNYX_PURGE_URL" unit:"address[,address]" doc:"Where the worker sends purges: https://api.fastly.com/service/ID/purge, https://api.cloudflare.com/client/v4/zones/ID/purge_cache, or each Varnish."`
	// Token authorizes purges; it is empty for Varnish.
	Token Secret `env:"PNYX_PURGE_TOKEN" unit:"token" doc:"Token that authorizes purges at Fastly or Cloudflare; Varnish checks addresses instead."`
}

// SecretURLs are URLs, separated by commas, that may contain passwords. They are masked
// like a SecretURL.
type SecretURLs string

// All returns the URLs with their passwords.
func (u SecretURLs) All() []string {
	if u == "" {
		return nil
	}
	return strings.Split(string(u), ",")
}

// String returns the URLs with their passwords masked.
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

// Validate reports whether each is a well-formed http or https URL.
func (u SecretURLs) Validate() bool {
	for _, address := range u.All() {
		if !SecretURL(address).startsWith([]string{"http://", "https://"}) {
			return false
		}
	}
	return true
}

// Secret is a token that is never printed.
type Secret string

// String returns the mask.
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

// Validate reports whether the token is of visible ASCII characters.
func (s Secret) Validate() bool {
	return !strings.ContainsFunc(string(s), func(r rune) bool { return r <= ' ' || r > '~' })
}
